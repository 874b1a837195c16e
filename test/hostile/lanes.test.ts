// Checks beside checks that never end: who waits for whom. What counts is who ends first, and how often a worker was asked:
// times would say how busy the machine is.

import { Worker } from "node:worker_threads";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createSchemaChecker } from "../../src/adapters/schema/checker.js";
import { sha256 } from "../../src/contracts/index.js";

/** No slow check is stopped within a test, unless the test waits for it. */
const LONG_MS = 20_000;
const LIMIT_MS = 1_000;
const EVIL = `${"a".repeat(40)}!`;
const STOPPED = `checking took over ${LIMIT_MS} ms and was stopped`;

type Checker = ReturnType<typeof createSchemaChecker>;
const made: Checker[] = [];
function checkerAt(limitMs = LIMIT_MS) {
  const clock = { now: 1_000 };
  const checker = createSchemaChecker({ limitMs, steady: () => clock.now + performance.now() });
  made.push(checker);
  const check = (pattern: string, value: string, from = "s") =>
    checker.check(sha256(pattern), { type: "string", pattern }, value, from);
  return { checker, check, clock };
}
afterEach(async () => {
  await Promise.all(made.splice(0).map((checker) => checker.close()));
  vi.restoreAllMocks();
});

/** A checker whose lanes have run, with a thread kept warm. */
async function warmed(limitMs = LIMIT_MS) {
  const at = checkerAt(limitMs);
  for (let n = 0; n < 3; n++) await at.check("^[a-z]+$", `good${"x".repeat(n)}`);
  await vi.waitFor(async () => expect(await at.check("^[a-z]+$", "ready")).toEqual({ valid: true }));
  return at;
}

/** Patterns that backtrack without end, each another one. */
const evil = (n: number) => `^(a+)+${"b".repeat(n)}$`;

describe("a healthy check", () => {
  // A healthy turn took 16 to 31 s beside eight threads whose pattern backtracks.
  it("does not wait for checks that are slow, however many patterns there are (lane-1)", async () => {
    const { check } = await warmed(LONG_MS);
    const ended: string[] = [];
    for (let n = 0; n < 8; n++) void check(evil(n), EVIL).then(() => ended.push(evil(n)));
    expect(await check("^[a-z]+$", "fresh")).toEqual({ valid: true });
    expect(ended).toEqual([]);
  });

  it("of a schema that nobody knows does not wait for them either (lane-1) (lane-3)", async () => {
    const { check } = await warmed(LONG_MS);
    const ended: string[] = [];
    for (let n = 0; n < 2; n++) void check(evil(n), EVIL).then(() => ended.push(evil(n)));
    for (let n = 0; n < 5; n++) expect(await check(`^[a-z]{0,${n + 9}}$`, "fresh")).toEqual({ valid: true });
    expect(ended).toEqual([]);
  });

  it("does not wait for a pattern that was quick before (lane-1)", async () => {
    const { check } = await warmed(LONG_MS);
    expect(await check(evil(0), "aaa")).toEqual({ valid: true });
    const ended: string[] = [];
    void check(evil(0), EVIL).then(() => ended.push(evil(0)));
    expect(await check("^[a-z]+$", "fresh")).toEqual({ valid: true });
    expect(ended).toEqual([]);
  });
});

describe("a slow check", () => {
  it("that was broken off for another is made again, and gets its answer (lane-3)", async () => {
    const at = checkerAt(LONG_MS);
    // About two hundred milliseconds of backtracking: too long for the quick lane, and within the limit.
    const heavy = async (n: number) => at.check(`^(a+)+${"b".repeat(n)}$`, `${"a".repeat(23)}!`);
    const answers = await Promise.all([heavy(0), heavy(1), heavy(2), at.check("^[a-z]+$", "fine")]);
    const wrong = (n: number) => ({ valid: false, problems: [`/: must match pattern "^(a+)+${"b".repeat(n)}$"`] });
    expect(answers).toEqual([wrong(0), wrong(1), wrong(2), { valid: true }]);
  });

  // Each of eight threads paid for the same timeout, one after the other.
  it("is made once for all who wait for the same schema, and not again during its pause (lane-4) (suspect-2)", async () => {
    const at = await warmed();
    const posted = vi.spyOn(Worker.prototype, "postMessage");
    const checks = () => posted.mock.calls.filter(([job]) => "check" in (job as object)).length;
    const same = Array.from({ length: 8 }, (_, n) => at.check(evil(3), `${EVIL}${"!".repeat(n)}`));
    for (const verdict of await Promise.all(same))
      expect(verdict).toMatchObject({ valid: false, unusable: expect.stringContaining(STOPPED) });
    expect(checks()).toBe(1);
    const before = checks();
    expect((await at.check(evil(3), "aaabbb")).valid).toBe(false);
    expect(checks()).toBe(before);
    at.clock.now += 1_000;
    expect(await at.check(evil(3), "aaabbb")).toEqual({ valid: true });
    const again = checks();
    expect(await at.check(evil(3), EVIL)).toEqual({ valid: false, unusable: STOPPED });
    expect(checks()).toBe(again); // the very value is not tried again
  });

  // A server could copy the definition of another one's tool and have that tool refused.
  it("of one server says nothing of the same schema of another (lane-2)", async () => {
    const { check } = await warmed();
    expect(await check(evil(4), EVIL, "one")).toEqual({ valid: false, unusable: STOPPED });
    expect(await check(evil(4), "aaabbbb", "other")).toEqual({ valid: true });
  });

  // All six are known to be slow, so that they wait in one line, whatever the machine is busy with.
  it("waits behind at most one of each other server (lane-2)", async () => {
    const { check, clock } = checkerAt(600);
    const heavy = "^(a+)+c$"; // slow, and not without end
    for (let n = 0; n < 5; n++) await check(evil(n), EVIL, "hostile");
    expect(await check(heavy, `${"a".repeat(24)}!`, "honest")).toMatchObject({
      valid: false,
      problems: [expect.anything()],
    });
    clock.now += 10_000;

    const ended: string[] = [];
    for (let n = 0; n < 5; n++) void check(evil(n), `${EVIL}!`, "hostile").then(() => ended.push(`hostile ${n}`));
    await check(heavy, `${"a".repeat(23)}!!`, "honest").then(() => ended.push("honest"));
    expect(ended).toEqual(["hostile 0", "hostile 1", "honest"]);
  });
});
