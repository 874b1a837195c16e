// Hosts that are broken on purpose are found out, and what is shown of it is short.

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
/** Making a history short takes many runs: those that are found at once, or with LONG_TESTS all. */
const SHRUNK = MUTANTS.filter(({ name }) => process.env.LONG_TESTS || /twice|begin$/.test(name));

describe("found out within some hundred runs", () => {
  it.each(MUTANTS)("$name", { timeout: 600_000 }, async (mutant) => {
    const { plan } = await firstFound(mutant);
    // The same plan with nothing broken is in order: it is the mutant that was found.
    expect((await runPlan(plan)).violations).toEqual([]);
  });
});

describe("made short", () => {
  it.each(SHRUNK)("$name", { timeout: 600_000 }, async (mutant) => {
    const { plan, kind } = await firstFound(mutant);
    const short = await shrink(plan, kind, mutant.broken);
    expect(short.ran.violations.map((one) => one.kind)).toContain(kind);
    expect(short.ran.lines.length).toBeLessThanOrEqual(SHORT);
    expect(sizeOf(short.plan)).toBeLessThan(sizeOf(plan));
    expect(short.plan.faults.length).toBeLessThanOrEqual(1);
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
