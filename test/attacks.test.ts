// A sample of the attacks (`npm run attacks` makes many of each), and each of them where its wall is missing: there it gets through.
//
// Promises: G3, G6, G7, G9, G10, G11, G13, G14, G15 under attack.

import { describe, expect, test } from "vitest";
import { nameOf } from "./attacks/attack.js";
import { ATTACKS, strike } from "./attacks/run.js";

const SEEDS = [1, 2];
const TIME = 120_000;

describe("an attack", () => {
  test.each(ATTACKS.map((attack) => [nameOf(attack), attack] as const))(
    "%s gets nowhere",
    { timeout: TIME },
    async (_, attack) => {
      for (const seed of SEEDS) expect({ seed, through: await strike(attack, seed) }).toEqual({ seed, through: [] });
    },
  );

  // A check that finds nothing at an open door proves nothing.
  test.each(ATTACKS.map((attack) => [nameOf(attack), attack] as const))(
    "%s gets through where its wall is missing",
    { timeout: TIME },
    async (_, attack) => {
      const through: string[] = [];
      for (let seed = 1; seed <= 5 && through.length === 0; seed += 1)
        through.push(...(await strike(attack, seed, false)));
      expect(through).not.toEqual([]);
    },
  );
});
