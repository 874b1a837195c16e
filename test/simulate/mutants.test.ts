// The simulator finds out hosts that are broken on purpose, and makes what it found short.

import { describe, expect, it } from "vitest";
import { draw } from "./draw.js";
import { MUTANTS, type Mutant } from "./mutants.js";
import type { Plan } from "./plan.js";
import { runPlan } from "./run.js";
import { shrink } from "./shrink.js";

/** Runs within which each must be found. */
const WITHIN = 300;
/** Lines of the longest history that may be left of it. */
const SHORT = 45;

describe("found out within some hundred runs and made short", () => {
  it.each(MUTANTS)("$name", { timeout: 600_000 }, async (mutant) => {
    const found = await firstFound(mutant);
    const { plan, ran } = await shrink(found.plan, found.kind, mutant.broken, 120);
    expect(ran.violations.map(({ kind }) => kind)).toContain(found.kind);
    expect(ran.lines.length).toBeLessThanOrEqual(SHORT);
    expect(sizeOf(plan)).toBeLessThanOrEqual(sizeOf(found.plan));
    // The same plan with nothing broken is in order: it is the mutant that was found.
    expect((await runPlan(plan)).violations).toEqual([]);
  });
});

async function firstFound({ broken, kinds }: Mutant) {
  for (let seed = 1; seed <= WITHIN; seed++) {
    const plan = draw(seed);
    const { violations } = await runPlan(plan, broken);
    const hit = violations.find(({ kind }) => kinds.includes(kind));
    if (hit) return { plan, kind: hit.kind };
  }
  throw new Error(`not found out within ${WITHIN} runs`);
}

function sizeOf({ turns, faults, moves, hosts, tools }: Plan): number {
  return turns.flatMap(({ steps }) => steps.flat()).length + faults.length + moves.length + hosts.length + tools.length;
}
