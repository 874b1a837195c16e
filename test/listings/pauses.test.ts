import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createPauses } from "../../src/listings/pauses.js";

function pausesAt(start: number) {
  const clock = { now: start };
  return { clock, pauses: createPauses(() => clock.now) };
}

describe("the pauses of a server that fails", () => {
  // A server that ends at each start was started by every batch of every thread.
  it("grow from one second to one minute, counted from the end of each try (pauses-1)", () => {
    const { clock, pauses } = pausesAt(5_000);
    expect(pauses.waitMs("a")).toBe(0);
    const waits: number[] = [];
    for (let tries = 0; tries < 9; tries++) {
      const since = clock.now;
      clock.now += 30_000; // the try itself
      pauses.failed("a", "it hangs", since);
      waits.push(pauses.waitMs("a"));
      clock.now += pauses.waitMs("a");
    }
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]);
    expect(pauses.waitMs("a")).toBe(0);
    expect(pauses.problem("a")).toBe("it hangs");
  });

  // Five threads that waited for the same server at once would have made its pause half a minute.
  it("count tries that went on at the same time once, and say what the last one said (pauses-1)", () => {
    const { clock, pauses } = pausesAt(100);
    clock.now = 200;
    for (const problem of ["one", "two", "three"]) pauses.failed("a", problem, 100);
    expect(pauses.waitMs("a")).toBe(1_000);
    expect(pauses.problem("a")).toBe("three");
    pauses.failed("a", "four", 200);
    expect(pauses.waitMs("a")).toBe(2_000);
  });

  it("end with a complete list, and are each server's own (pauses-2)", () => {
    const { pauses } = pausesAt(0);
    for (let tries = 0; tries < 4; tries++) pauses.failed("a", "gone", 0);
    pauses.failed("b", "gone", 0);
    pauses.listed("a");
    expect([pauses.problem("a"), pauses.waitMs("a")]).toEqual([undefined, 0]);
    expect([pauses.problem("b"), pauses.waitMs("b")]).toEqual(["gone", 1_000]);
    pauses.failed("a", "gone", 0);
    expect(pauses.waitMs("a")).toBe(1_000);
  });

  it("never last longer than a minute, and never grow while nothing fails (pauses-1)", () => {
    const step = fc.oneof(
      fc.record({ do: fc.constant("wait" as const), ms: fc.integer({ min: 0, max: 100_000 }) }),
      fc.record({ do: fc.constant("fail" as const), ms: fc.integer({ min: 0, max: 40_000 }) }),
      fc.record({ do: fc.constant("list" as const), ms: fc.constant(0) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const { clock, pauses } = pausesAt(1);
        let inARow = 0;
        for (const one of steps) {
          const before = pauses.waitMs("a");
          const since = clock.now;
          clock.now += one.ms;
          if (one.do === "fail") {
            pauses.failed("a", "no", since);
            inARow += 1;
            if (pauses.waitMs("a") !== [0, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000].at(inARow) && inARow < 7)
              return false;
          } else if (one.do === "list") {
            pauses.listed("a");
            inARow = 0;
          } else if (pauses.waitMs("a") > before) return false;
          if (pauses.waitMs("a") > 60_000) return false;
        }
        return true;
      }),
    );
  });
});
