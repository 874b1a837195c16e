import { afterAll, describe, expect, it } from "vitest";
import { createSchemaChecker } from "../../src/adapters/schema/checker.js";
import { schemaProblem } from "../../src/catalog/index.js";
import { CatalogLimits, digest, type JsonObject } from "../../src/contracts/index.js";

// Schemas and values that are built to stop the process that checks them. The tests watch the event loop of the process
// during the check: it never stands still for as long as the check itself would take.

const checker = createSchemaChecker();
/** For checks that must get an answer, also on a busy machine. */
const patient = createSchemaChecker({ limitMs: 1_500 });
afterAll(() => Promise.all([checker.close(), patient.close()]));

const LIMITS = CatalogLimits.parse({});
const check = (schema: JsonObject, value: unknown) => checker.check(digest(schema), schema, value);
const STOPPED = { valid: false, unusable: "checking took over 250 ms and was stopped" };

/** Each definition applies the one before it twice: 2^(count - 1) steps for one value. */
function refBomb(count: number): JsonObject {
  const $defs: JsonObject = { d0: { type: "string" } };
  for (let index = 1; index < count; index++) {
    const ref = { $ref: `#/$defs/d${index - 1}` };
    $defs[`d${index}`] = { anyOf: [ref, ref] };
  }
  return { $ref: `#/$defs/d${count - 1}`, $defs };
}

/** Doubles the work at each level of the value, which a count of the steps for one value does not see. */
function nestedBomb(count: number): JsonObject {
  const $defs: JsonObject = { d0: { type: "string" } };
  for (let index = 1; index < count; index++) {
    const ref = { items: { $ref: `#/$defs/d${index - 1}` } };
    $defs[`d${index}`] = { anyOf: [ref, ref] };
  }
  return { $ref: `#/$defs/d${count - 1}`, $defs };
}

function nestedAllOf(levels: number): JsonObject {
  let schema: JsonObject = { type: "string" };
  for (let level = 0; level < levels; level++) schema = { allOf: [schema, structuredClone(schema)] };
  return schema;
}

/** Runs a check and counts the turns the process's own loop takes meanwhile: a frozen process takes none. */
async function watched<T>(work: Promise<T>): Promise<{ result: T; turns: number }> {
  let turns = 0;
  const ticking = setInterval(() => turns++, 5);
  const result = await work;
  clearInterval(ticking);
  return { result, turns };
}

describe("a schema made to stop the process", () => {
  it("a pattern that backtracks without end is stopped, and the process goes on meanwhile (worker-1)", async () => {
    const schema = { type: "string", pattern: "^(a+)+$" };
    expect(schemaProblem(schema, LIMITS)).toBeUndefined();
    const { result, turns } = await watched(check(schema, `${"a".repeat(40)}!`));
    expect(result).toEqual(STOPPED);
    expect(turns).toBeGreaterThan(5);
  });

  it("forty doublings by reference are refused beforehand, and stopped where they were not (refs-1) (worker-1)", async () => {
    expect(schemaProblem(refBomb(40), LIMITS)).toBe("its references multiply into more than 10000 steps for one value");
    const { result, turns } = await watched(check(refBomb(40), 5));
    expect(result).toEqual(STOPPED);
    expect(turns).toBeGreaterThan(5);
  });

  it("doublings at every level of the value, which no count in place sees, are stopped (worker-1)", async () => {
    expect(schemaProblem(nestedBomb(30), LIMITS)).toBeUndefined();
    let value: unknown = 5;
    for (let level = 0; level < 29; level++) value = [value];
    const { result, turns } = await watched(check(nestedBomb(30), value));
    expect(result).toEqual(STOPPED);
    expect(turns).toBeGreaterThan(5);
  });

  it("nested `allOf` of half a megabyte is refused by its size before anything reads it (schema-1)", () => {
    expect(schemaProblem(nestedAllOf(14), LIMITS)).toMatch(/^it has more than (4096 nodes|131072 bytes)$/);
  });

  it("a schema that applies itself to the same value ends (refs-1) (worker-1)", async () => {
    const self = { allOf: [{ $ref: "#" }] };
    expect(schemaProblem(self, LIMITS)).toBe("a reference leads back to itself without a step into the value");
    expect(await patient.check(digest(self), self, 1)).toMatchObject({ valid: false, unusable: expect.any(String) });
  });

  it("a check in line behind a stopped one is answered, by a new thread (worker-1)", async () => {
    const slow = patient.check(digest("slow"), { type: "string", pattern: "^(b+)+$" }, `${"b".repeat(40)}!`);
    const next = patient.check(digest("next"), { type: "string" }, 1);
    expect(await slow).toEqual({ valid: false, unusable: "checking took over 1500 ms and was stopped" });
    expect(await next).toEqual({ valid: false, problems: ["/: must be string"] });
  });

  it("a check that needs too much memory ends its thread, not the process (worker-1) (worker-2)", async () => {
    const small = createSchemaChecker({ limitMs: 10_000, memoryMb: 24 });
    const schema = { contains: { type: "string" } }; // one error kept for each element, until there is a string
    const value = new Array(300_000).fill(1);
    expect(await small.check(digest("memory"), schema, value)).toEqual({
      valid: false,
      unusable: "the check needed too much memory and was stopped",
    });
    expect(await small.check(digest("after"), { type: "string" }, "x")).toEqual({ valid: true });
    await small.close();
  });

  it("a value that is too deep for the validator is not valid and harms nothing (worker-1)", async () => {
    const tree = { $defs: { N: { properties: { k: { $ref: "#/$defs/N" } } } }, $ref: "#/$defs/N" };
    const deep = JSON.parse(`${'{"k":'.repeat(200_000)}1${"}".repeat(200_000)}`);
    expect(await patient.check(digest(tree), tree, deep)).toMatchObject({ valid: false });
    expect(await patient.check(digest(tree), tree, { k: { k: 1 } })).toEqual({ valid: true });
  });
});
