import { expect, test } from "vitest";
import { createBackground } from "../../src/create/background.js";
import { once, takeEvery } from "../../src/create/once.js";

test("all is quiet only when what was added while it was waited for has ended, too", async () => {
  const background = createBackground();
  const trail: string[] = [];
  const soon = (what: string, then: () => void = () => {}) =>
    new Promise<void>((resolve) =>
      setImmediate(() => {
        trail.push(what);
        then();
        resolve();
      }),
    );
  background.add(
    soon("the call is settled", () => background.add(soon("its late answer is stored"), "a")),
    "batch",
  );
  await background.allQuiet();
  expect(trail).toEqual(["the call is settled", "its late answer is stored"]);
});

test("work that is done once is done again after it failed, and its failure is told each time", async () => {
  let tries = 0;
  const load = once(async () => {
    tries += 1;
    if (tries === 1) throw new Error("no network");
    return tries;
  });
  await expect(Promise.all([load(), load()])).rejects.toThrow("no network");
  expect(await Promise.all([load(), load()])).toEqual([2, 2]);
});

test("every step is taken, and the first failure is thrown at the end", async () => {
  const taken: number[] = [];
  const step =
    (n: number, fails = false) =>
    async () => {
      taken.push(n);
      if (fails) throw new Error(`step ${n}`);
    };
  await expect(takeEvery([step(1), step(2, true), step(3, true), step(4)])).rejects.toThrow("step 2");
  expect(taken).toEqual([1, 2, 3, 4]);
});
