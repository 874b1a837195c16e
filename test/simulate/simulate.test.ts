// A fixed sample of simulated runs. All of them: `npm run simulate -- --runs 10000 --seed 1`.

import { describe, expect, it } from "vitest";
import { draw } from "./draw.js";
import { runPlan } from "./run.js";
import { bound, count, emptyTally } from "./tally.js";

const RUNS = process.env.LONG_TESTS ? 1_000 : 100;
const TIME = 600_000;

describe("random runs with several faults", () => {
  it("send nothing twice and nothing unapproved, say nothing false, and all come to an end (G4, G5, G6, G7, G8, G9)", {
    timeout: TIME,
  }, async () => {
    const tally = emptyTally();
    const wrong: string[] = [];
    for (let seed = 1; seed <= RUNS; seed++) {
      const ran = await runPlan(draw(seed));
      count(tally, seed, ran);
      wrong.push(...ran.violations.map(({ kind, what }) => `seed ${seed}: ${kind}: ${what}`));
    }
    expect(wrong).toEqual([]);
    // A sample in which nothing strikes proves nothing.
    expect(tally.effects).toBeGreaterThan(RUNS);
    const struck = Object.keys(tally.struck);
    expect(struck.filter((kind) => /^(crash|pause|clock|store_fails)/.test(kind)).sort()).toEqual([
      "clock after",
      "clock before",
      "crash after",
      "crash before",
      "pause after",
      "pause before",
      "store_fails after",
      "store_fails before",
    ]);
    expect(struck.filter((kind) => kind.startsWith("move"))).toHaveLength(11);
    expect(struck.filter((kind) => kind.startsWith("answer")).length).toBeGreaterThan(15);
  });

  // A clock an hour ahead beside a stopped host; an update of a checkpoint in which no node had run yet.
  it.each([20266448, 2009673])("seed %i, which failed once, does not", async (seed) => {
    expect((await runPlan(draw(seed))).violations).toEqual([]);
  });

  it("have the same history for the same seed, to the last call of a port, and another for another", {
    timeout: TIME,
  }, async () => {
    for (const seed of [7, 101, 202]) {
      const [first, second] = [await runPlan(draw(seed)), await runPlan(draw(seed))];
      expect(second.full.join("\n")).toBe(first.full.join("\n"));
      expect(first.full.length).toBeGreaterThan(20);
      expect((await runPlan(draw(seed + 1))).full).not.toEqual(first.full);
    }
  });

  it("say what their number can say, and no more", () => {
    expect(bound(10_000)).toBe("1 in 3333");
    expect(bound(0)).toBe("1 in 1");
  });
});
