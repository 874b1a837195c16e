import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createFairLine } from "../../src/adapters/schema/fair-line.js";
import { createSuspects } from "../../src/adapters/schema/suspects.js";

const STOPPED = "checking took over 250 ms and was stopped";
const value = (name: string) => () => name;

function suspectsAt() {
  const clock = { now: 1_000 };
  return { clock, suspects: createSuspects(() => clock.now) };
}

describe("what is remembered of a schema that was stopped", () => {
  // Eight threads wrote the same call, and each of them paid for the same timeout.
  it("answers the very value for a minute (suspect-1)", () => {
    const { clock, suspects } = suspectsAt();
    expect(suspects.known("s", value("v"))).toBeUndefined();
    suspects.stopped("s", "v", STOPPED);
    clock.now += 1_000;
    expect(suspects.known("s", value("v"))).toBe(STOPPED);
    expect(suspects.known("s", value("other"))).toBeUndefined();
    expect(suspects.known("other", value("v"))).toBeUndefined();
    clock.now += 58_999;
    expect(suspects.known("s", value("v"))).toBe(STOPPED);
    clock.now += 1;
    expect(suspects.known("s", value("v"))).toBeUndefined();
  });

  // A model that writes a new value each time would have the pattern tried without end.
  it("answers any value during pauses of 1, 2, 4 and 8 s, which a check that ends makes short again (suspect-2)", () => {
    const { clock, suspects } = suspectsAt();
    const pause = () => {
      let ms = 0;
      for (; suspects.known("s", value(`new ${clock.now}`)) !== undefined; ms += 500) clock.now += 500;
      return ms;
    };
    const pauses: number[] = [];
    for (let values = 0; values < 6; values++) {
      suspects.stopped("s", `v${values}`, STOPPED);
      pauses.push(pause());
    }
    expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 8_000, 8_000]);
    suspects.ended("s", false);
    suspects.stopped("s", "again", STOPPED);
    expect(suspects.known("s", value("x"))).toBe(`${STOPPED}; it is checked again in 1 s`);
    expect(pause()).toBe(1_000);
  });

  it("does not read the value during a pause, or where nothing is known", () => {
    const { suspects } = suspectsAt();
    const unread = () => {
      throw new Error("read");
    };
    expect(suspects.known("s", unread)).toBeUndefined();
    suspects.stopped("s", undefined, STOPPED);
    expect(suspects.known("s", unread)).toContain(STOPPED);
  });

  it("is slow until a check is quick (suspect-3)", () => {
    const { suspects } = suspectsAt();
    suspects.ended("s", true);
    expect(suspects.isSlow("s")).toBe(false);
    suspects.slow("s");
    expect(suspects.isSlow("s")).toBe(true);
    expect(suspects.known("s", value("v"))).toBeUndefined();
    suspects.ended("s", false);
    expect(suspects.isSlow("s")).toBe(true);
    suspects.ended("s", true);
    expect(suspects.isSlow("s")).toBe(false);
  });

  it("is bounded: 256 schemas, and 16 values of each (suspect-4)", () => {
    const { clock, suspects } = suspectsAt();
    for (let at = 0; at < 17; at++) suspects.stopped("s", `v${at}`, STOPPED);
    clock.now += 8_000;
    expect(suspects.known("s", value("v0"))).toBeUndefined();
    expect(suspects.known("s", value("v1"))).toBe(STOPPED);
    for (let at = 0; at < 256; at++) suspects.slow(`t${at}`);
    expect(suspects.isSlow("s")).toBe(false);
    expect(suspects.isSlow("t0")).toBe(true);
  });
});

describe("a fair line", () => {
  // A server with 512 tools would otherwise be served 512 times before another is served once.
  it("serves whoever waits in turn (line-1)", () => {
    const line = createFairLine<string>();
    for (const one of ["a1", "a2", "a3", "b1", "c1", "b2"]) line.add(one.charAt(0), one);
    expect(line.size).toBe(6);
    expect([1, 2, 3, 4, 5, 6, 7].map(() => line.take())).toEqual(["a1", "b1", "c1", "a2", "b2", "a3", undefined]);
    expect(line.size).toBe(0);
  });

  it("gives everything once, each server's in its order, and nobody a second thing before all have their first (line-1)", () => {
    const entries = fc.array(fc.record({ from: fc.constantFrom("a", "b", "c"), n: fc.nat() }), { maxLength: 30 });
    fc.assert(
      fc.property(entries, (added) => {
        const line = createFairLine<{ from: string; n: number; at: number }>();
        added.forEach((one, at) => {
          line.add(one.from, { ...one, at });
        });
        const odd = line.takeAll(({ n }) => n % 2 === 1);
        expect(odd.every(({ n }) => n % 2 === 1)).toBe(true);
        const taken = [];
        for (let one = line.take(); one !== undefined; one = line.take()) taken.push(one);
        expect(odd.length + taken.length).toBe(added.length);
        for (const from of ["a", "b", "c"]) {
          const own = taken.filter((one) => one.from === from).map(({ at }) => at);
          expect(own).toEqual([...own].sort((x, y) => x - y));
        }
        const firsts = new Set(taken.slice(0, new Set(taken.map(({ from }) => from)).size).map(({ from }) => from));
        expect(firsts.size).toBe(new Set(taken.map(({ from }) => from)).size);
      }),
    );
  });
});
