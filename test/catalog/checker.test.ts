import { spawnSync } from "node:child_process";
import { afterAll, describe, expect, it } from "vitest";
import { createSchemaChecker } from "../../src/adapters/schema/checker.js";
import { digest, type JsonObject } from "../../src/contracts/index.js";

// The limit is generous because the machine that runs the tests may be busy; what it does is tested in test/hostile.
const checker = createSchemaChecker({ limitMs: 5_000 });
afterAll(() => checker.close());

const check = (schema: JsonObject, value: unknown) => checker.check(digest(schema), schema, value);
const VALID = { valid: true };
const wrong = (...problems: string[]) => ({ valid: false, problems });

const REF = { $ref: "#/$defs/M" };
const TUPLE = { type: "array", items: [{ type: "integer" }, { type: "integer" }], additionalItems: false };
const PREFIX = { type: "array", prefixItems: [{ type: "number" }, { type: "number" }], items: false };
const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({ type: "object", properties, ...more });
const NESTED = object(
  { m: REF },
  { required: ["m"], $defs: { M: object({ n: { type: "number" } }, { required: ["n"] }) } },
);
const TREE = object(
  { root: { $ref: "#/$defs/N" } },
  { $defs: { N: object({ kids: { type: "array", items: { $ref: "#/$defs/N" } } }) } },
);

describe("checking a value", () => {
  it.each<[string, JsonObject, unknown, object]>([
    // An adapter looked this reference up against an empty id and refused the whole server.
    ["a local reference, broken", NESTED, { m: { n: "x" } }, wrong("/m/n: must be number")],
    ["a local reference, kept", NESTED, { m: { n: 1 } }, VALID],
    [
      // A client expanded a schema that refers to itself into a cyclic object and lost the server.
      "a tree, broken deep down",
      TREE,
      { root: { kids: [{ kids: [{ kids: 1 }] }] } },
      wrong("/root/kids/0/kids/0/kids: must be array"),
    ],
    ["a tree, kept", TREE, { root: { kids: [{ kids: [] }] } }, VALID],
    [
      // Generators write references such as `#/properties/a`; strict providers refused the whole list for one.
      "a reference outside `$defs`",
      object({ a: object({ v: { type: "string" } }), b: { $ref: "#/properties/a" } }),
      { b: { v: 1 } },
      wrong("/b/v: must be string"),
    ],
    [
      // One tool with only `anyOf` at its root made two providers refuse every request of the session.
      "none of the alternatives",
      { type: "object", anyOf: [{ required: ["content"] }] },
      {},
      wrong("/: must have required property 'content'", "/: must match a schema in anyOf"),
    ],
    [
      "one of the alternatives",
      { type: "object", anyOf: [{ required: ["content"] }, { required: ["url"] }] },
      { url: "u" },
      VALID,
    ],
    // A provider that reads only 2020-12 refused the whole request because of a draft-07 tuple.
    ["a tuple of the wrong type", object({ win: TUPLE }), { win: [1, "x"] }, wrong("/win/1: must be integer")],
    ["a tuple too long", object({ win: TUPLE }), { win: [1, 2, 3] }, wrong("/win: must NOT have more than 2 items")],
    ["a tuple, kept", object({ win: TUPLE }), { win: [1, 2] }, VALID],
    // A validator that did not know `prefixItems` refused valid data after the tool had run.
    ["`prefixItems` is read in 2020-12", object({ p: PREFIX }), { p: [1, 2] }, VALID],
    // A client dropped all tools because one property was `true`, and still said that it was connected.
    ["`true` takes anything", object({ payload: true, never: false }), { payload: [1] }, VALID],
    [
      "`false` takes nothing",
      object({ payload: true, never: false }),
      { never: 1 },
      wrong("/never: boolean schema is false"),
    ],
    // A provider required `properties`, which MCP lets a schema leave out.
    ["no properties, an open object", { type: "object" }, { x: 1 }, VALID],
    // A client closed its copy of the schema without adapting `required`, and a strict reader refused it.
    ["a key more than named", object({ server: { type: "string" } }), { server: "a", more: 1 }, VALID],
    [
      "a key more than allowed",
      object({ a: true }, { additionalProperties: false }),
      { a: 1, other: 2 },
      wrong("/: must NOT have additional properties: `other`"),
    ],
    [
      // A host stripped its own fields from arguments by name and removed a parameter of the server's.
      "a parameter of the server's with a leading underscore",
      object({ path: { type: "string" }, _reason: { type: "string" } }, { additionalProperties: false }),
      { path: "a", _reason: "x" },
      VALID,
    ],
    [
      // A server mapped an unknown word to the first member of an enum and ran another action than was asked for.
      "a value outside an enum",
      object({ action: { type: "string", enum: ["None", "Confirm"] } }),
      { action: "search" },
      wrong('/action: must be equal to one of the allowed values: ["None","Confirm"]'),
    ],
    ["a whole number that is `true`", object({ n: { type: "integer" } }), { n: true }, wrong("/n: must be integer")],
    ["a number in quotes", object({ n: { type: "integer" } }), { n: "1" }, wrong("/n: must be integer")],
    [
      // JavaScript reads an unescaped bracket in a class; a provider's engine did not, and all calls failed.
      "a bracket in a class",
      object({ p: { pattern: "^[a[\\]|@]+$" } }),
      { p: "b" },
      wrong('/p: must match pattern "^[a[\\]|@]+$"'),
    ],
    ["a lookahead", object({ p: { pattern: "^(?=.*x).+$" } }), { p: "axb" }, VALID],
    ["a pattern that is only valid without `u`", object({ p: { pattern: "^[\\w\\-]+\\:$" } }), { p: "a-b:" }, VALID],
    [
      "a format",
      object({ d: { type: "string", format: "date" } }),
      { d: "2026-13-01" },
      wrong('/d: must match format "date"'),
    ],
    ["a format nobody knows", object({ d: { type: "string", format: "moon-phase" } }), { d: "?" }, VALID],
    [
      // Names such as `constructor` hit inherited keys of an object that was used as a table.
      "a parameter named like an inherited one",
      object({}, { required: ["toString"] }),
      {},
      wrong("/: must have required property 'toString'"),
    ],
    ["a parameter named `constructor`", object({ constructor: { type: "string" } }), {}, VALID],
    ["draft-04's `id`", object({ a: { id: "x", type: "string" } }), { a: 1 }, wrong("/a: must be string")],
    [
      "OpenAPI's `nullable` is no keyword",
      object({ a: { nullable: true, anyOf: [{ type: "string" }] } }),
      { a: "x" },
      VALID,
    ],
    [
      "a parameter named `nullable`",
      object({ nullable: { type: "string" } }),
      { nullable: 1 },
      wrong("/nullable: must be string"),
    ],
    [
      "Ajv's `$async` is no keyword",
      { $async: true, ...object({ a: { type: "string" } }) },
      { a: 1 },
      wrong("/a: must be string"),
    ],
    ["nothing at all", { type: "object" }, undefined, wrong("/: must be object")],
  ])("%s", async (_what, schema, value, verdict) => {
    expect(await check(schema, value)).toEqual(verdict);
  });

  // Clients dropped or added defaults such as null or 20.
  it("fills in no default, and changes neither value nor schema (checker-1)", async () => {
    const schema = object({ limit: { type: "integer", default: 20 }, q: { type: "string", default: null } });
    const value = {};
    expect(await check(schema, value)).toEqual(VALID);
    expect(value).toEqual({});
    expect(schema.properties).toEqual({
      limit: { type: "integer", default: 20 },
      q: { type: "string", default: null },
    });
  });

  // Hundreds of tools, and enums of thousands of words, made requests fail or tools disappear.
  it("an enum of 5,000 words is exact", async () => {
    const schema = object({ w: { enum: Array.from({ length: 5_000 }, (_, index) => `word${index}`) } });
    expect(await check(schema, { w: "word4999" })).toEqual(VALID);
    expect(await check(schema, { w: "word5000" })).toMatchObject({ valid: false });
  });

  it("schemas with one `$id`, or one key, are not confused (checker-2)", async () => {
    const id = "https://example.org/s";
    const key = digest("one key");
    const text = { $id: id, type: "object", properties: { v: { type: "string" } } };
    const number = { $id: id, type: "object", properties: { v: { type: "number" } } };
    const borrowed = { type: "object", properties: { v: { $ref: `${id}#/properties/v` } } };
    expect(await checker.check(key, text, { v: "x" })).toEqual(VALID);
    expect(await checker.check(key, number, { v: "x" })).toEqual(wrong("/v: must be number"));
    expect(await checker.check(key, borrowed, { v: "x" })).toMatchObject({
      valid: false,
      unusable: expect.any(String),
    });
  });

  it("a schema that claims the id of a meta-schema changes nothing for others (checker-2)", async () => {
    const id = "http://json-schema.org/draft-07/schema";
    expect(await check({ $id: id, not: {} }, {})).toMatchObject({ valid: false });
    expect(await check({ $schema: `${id}#`, type: "object" }, {})).toEqual(VALID);
  });

  it.each<[string, JsonObject]>([
    ["a type that is none", { type: "strnig" }],
    // A server mapped an unknown word to the first member of an enum and ran another action than was asked for.
    ["an empty enum", { enum: [] }],
    ["a reference to nothing", { $ref: "#/$defs/none" }],
    ["a remote reference", { $ref: "https://example.org/schema" }],
    // A validator that did not know `prefixItems` refused valid data after the tool had run.
    ["another dialect", { $schema: "https://json-schema.org/draft/2019-09/schema" }],
    // A named group of Python's in one schema made the listing throw, and the host showed a failed login.
    ["a pattern of another language", { pattern: "(?P<y>\\d+)" }],
  ])("a schema that does not compile is no yes: %s (checker-3)", async (_what, schema) => {
    const verdict = await check(schema, "x");
    expect(verdict).toEqual({ valid: false, unusable: expect.stringMatching(/^[^\n]{1,300}$/) });
  });

  it("what cannot be handed over is not valid (checker-3)", async () => {
    expect(await check({}, { run: () => {} })).toEqual(wrong("/: it is not JSON"));
    expect(await check({}, {})).toEqual(VALID);
  });

  it("answers in the order it was asked, and more schemas than it keeps", async () => {
    const asked = Array.from({ length: 300 }, (_, index) => ({ const: index }));
    const verdicts = await Promise.all(asked.map((schema, index) => check(schema, index)));
    expect(verdicts.filter((verdict) => verdict.valid)).toHaveLength(300);
    expect(await check({ const: 0 }, 1)).toEqual(wrong("/: must be equal to constant: [0]"));
  });

  it("tells of many faults in few bounded lines without hidden characters", async () => {
    const schema = { anyOf: Array.from({ length: 50 }, () => ({ required: [`a\u202E\n${"x".repeat(500)}`] })) };
    const verdict = await check(schema, {});
    const problems = "problems" in verdict ? verdict.problems : [];
    expect(problems).toHaveLength(8);
    expect(problems.every((line) => /^[^\n\u202E]{1,300}$/.test(line))).toBe(true);
  });

  it("after it is closed says so, also of what was still in line", async () => {
    const closing = createSchemaChecker({ limitMs: 5_000 });
    const waiting = [closing.check(digest(1), {}, 1), closing.check(digest(1), {}, 2)];
    await closing.close();
    const closed = { valid: false, unusable: "the checker is closed" };
    expect(await Promise.all(waiting)).toEqual([closed, closed]);
    expect(await closing.check(digest(1), {}, 1)).toEqual(closed);
  });

  it("waits for an answer, then lets the process end without being closed", () => {
    const module = new URL("../../src/adapters/schema/checker.ts", import.meta.url).href;
    const script = `import { createSchemaChecker } from ${JSON.stringify(module)};
      console.log(JSON.stringify(await createSchemaChecker({ limitMs: 5000 }).check("k", { type: "string" }, "x")));`;
    const args = ["--import", "tsx", "--input-type=module", "--eval", script];
    const ran = spawnSync(process.execPath, args, { encoding: "utf8", timeout: 25_000 });
    expect([ran.stdout.trim(), ran.stderr, ran.status]).toEqual(['{"valid":true}', "", 0]);
  });

  // Nothing but the thread kept the process alive, and it ended within `close()`, with nothing that came after it done.
  it.each(["before the check began", "while it is made", "after it"])(
    "keeps the process alive until it is closed, %s",
    (when) => {
      const module = new URL("../../src/adapters/schema/checker.ts", import.meta.url).href;
      const script = `import { createSchemaChecker } from ${JSON.stringify(module)};
      const checker = createSchemaChecker({ limitMs: 5000 });
      const verdict = checker.check("k", { type: "string" }, "x");
      if (${JSON.stringify(when)} === "while it is made") await new Promise((go) => setImmediate(go));
      if (${JSON.stringify(when)} === "after it") await verdict;
      await checker.close();
      console.log("closed");`;
      const args = ["--import", "tsx", "--input-type=module", "--eval", script];
      const ran = spawnSync(process.execPath, args, { encoding: "utf8", timeout: 25_000 });
      expect([ran.stdout.trim(), ran.stderr, ran.status]).toEqual(["closed", "", 0]);
    },
  );
});
