import { describe, expect, it } from "vitest";
import { dialectOf, schemaProblem } from "../../src/catalog/schema-problem.js";
import { LIMITS } from "./helpers.js";

const problem = (schema: unknown, limits = {}) => schemaProblem(schema, { ...LIMITS, ...limits });
const object = (properties: Record<string, unknown>, more = {}) => ({ type: "object", properties, ...more });

/** `count` definitions of which each applies the one before it twice. */
function doubling(count: number) {
  const $defs: Record<string, unknown> = { d0: { type: "string" } };
  for (let index = 1; index < count; index++) {
    const ref = { $ref: `#/$defs/d${index - 1}` };
    $defs[`d${index}`] = { anyOf: [ref, ref] };
  }
  return object({ v: { $ref: `#/$defs/d${count - 1}` } }, { $defs });
}

describe("the dialect of a schema", () => {
  // A validator that did not know `prefixItems` refused valid data after the tool had run.
  it.each([
    ["2020-12", "https://json-schema.org/draft/2020-12/schema"],
    ["draft-07", "http://json-schema.org/draft-07/schema#"],
    ["draft-07", "https://json-schema.org/draft-07/schema"],
    [undefined, "https://json-schema.org/draft/2019-09/schema"],
    [undefined, "http://json-schema.org/draft-04/schema#"],
    [undefined, "2020-12"],
    [undefined, 7],
  ])("is %s for %j", (dialect, $schema) => {
    expect(dialectOf({ $schema, type: "object" })).toBe(dialect);
  });

  // A provider that reads only 2020-12 refused the whole request because of a draft-07 tuple.
  it("is 2020-12 when none is named, and draft-07 when some `items` is a list", () => {
    expect(dialectOf(object({}))).toBe("2020-12");
    expect(dialectOf(object({ win: { type: "array", items: [{}, {}] } }))).toBe("draft-07");
    expect(dialectOf(object({ a: { anyOf: [{ not: { items: [{}] } }] } }))).toBe("draft-07");
  });

  it("is not told by data that looks like a schema", () => {
    expect(dialectOf(object({ a: { default: { items: [1] }, enum: [{ items: [] }] } }))).toBe("2020-12");
  });

  it("is undefined for what is no object", () => {
    expect([dialectOf(null), dialectOf(true), dialectOf([])]).toEqual([undefined, undefined, undefined]);
  });
});

describe("a schema that can be used", () => {
  it.each([
    // An adapter looked this reference up against an empty id and refused the whole server.
    ["a local reference", object({ m: { $ref: "#/$defs/M" } }, { $defs: { M: { type: "object" } } })],
    ["under `definitions` too", object({ m: { $ref: "#/definitions/M" } }, { definitions: { M: {} } })],
    [
      // A client expanded a schema that refers to itself into a cyclic object and lost the server.
      "a tree",
      object(
        { root: { $ref: "#/$defs/N" } },
        {
          $defs: { N: { properties: { kids: { type: "array", items: { $ref: "#/$defs/N" } } } } },
        },
      ),
    ],
    [
      // Generators write references such as `#/properties/a`; strict providers refused the whole list for one.
      "a reference outside `$defs`",
      object({ a: object({ v: { type: "string" } }), b: { $ref: "#/properties/a" } }),
    ],
    // One tool with only `anyOf` at its root made two providers refuse every request of the session.
    ["a root with only `anyOf`", { type: "object", anyOf: [{ required: ["a"] }, { required: ["b"] }] }],
    // A provider that reads only 2020-12 refused the whole request because of a draft-07 tuple.
    ["a tuple", object({ win: { type: "array", items: [{}, {}], additionalItems: false } })],
    // JavaScript reads an unescaped bracket in a class; a provider's engine did not, and all calls failed.
    ["a bracket in a class", object({ p: { pattern: "^[a[\\]|@]+$" } })],
    ["an escape that is only valid without the `u` flag", object({ p: { pattern: "^[\\w\\-]+\\:$" } })],
    // A client dropped all tools because one property was `true`, and still said that it was connected.
    ["`true` and `false` as parameters", object({ payload: true, never: false })],
    // A provider required `properties`, which MCP lets a schema leave out.
    ["no `properties`", { type: "object" }],
    // Clients dropped or added defaults such as null or 20.
    ["a default of the wrong type", object({ q: { type: "string", default: null } })],
    ["an anchor", object({ a: { $ref: "#thing" } }, { $defs: { T: { $anchor: "thing" } } })],
    ["a draft-07 anchor", object({ a: { $ref: "#thing" } }, { definitions: { T: { $id: "#thing" } } })],
    ["escapes in a pointer", object({ a: { $ref: "#/$defs/x~1y~0z%20w" } }, { $defs: { "x/y~z w": {} } })],
    [
      "a reference by its own id",
      { $id: "https://example.org/s", ...object({ a: { $ref: "https://example.org/s#" } }) },
    ],
    ["an embedded schema's own `#`", object({ a: { $id: "inner", $defs: { T: {} }, allOf: [{ $ref: "#/$defs/T" }] } })],
    ["parameters named like keywords", object({ $ref: { type: "string" }, enum: { type: "string" }, type: {} })],
    ["references in data", object({ a: { const: { $ref: "https://example.org" }, default: { $ref: 1 } } })],
    ["unknown keywords", object({ a: { "x-order": 1, nullable: true, example: [], id: 3 } })],
  ])("%s", (_what, schema) => {
    expect(problem(schema)).toBeUndefined();
  });
});

describe("a schema under `refs: refuse`", () => {
  const refused = (schema: unknown) => schemaProblem(schema, { ...LIMITS, refs: "refuse" });

  it("may refer to nothing, not even within itself", () => {
    expect(refused(object({ m: { $ref: "#/$defs/M" } }, { $defs: { M: {} } }))).toBe(
      "it refers to another part at `/properties/m`",
    );
    expect(refused({ $dynamicRef: "#m", $dynamicAnchor: "m" })).toBe("it refers to another part at `/`");
    expect(refused(object({ $ref: { type: "string" }, b: { const: { $ref: "#" } } }))).toBeUndefined();
  });
});

describe("a schema that cannot be used", () => {
  it.each([
    ["no object", true, "it is no object"],
    // A validator that did not know `prefixItems` refused valid data after the tool had run.
    ["another dialect", { $schema: "urn:x" }, "its dialect is not read here: `urn:x`"],
    [
      "a remote reference",
      object({ a: { $ref: "other.json" } }),
      "`$ref` at `/properties/a` leaves the schema: `other.json`",
    ],
    ["a reference to nothing", { $ref: "#/$defs/M" }, "`$ref` at `/` points at nothing: `#/$defs/M`"],
    ["a reference to an inherited key", { $ref: "#/__proto__" }, "`$ref` at `/` points at nothing: `#/__proto__`"],
    [
      "a reference to a length",
      { $ref: "#/allOf/length", allOf: [{}] },
      "`$ref` at `/` points at nothing: `#/allOf/length`",
    ],
    ["a reference with a broken escape", { $ref: "#/%" }, "`$ref` at `/` points at nothing: `#/%`"],
    ["a reference that is no string", { $ref: 3 }, "`$ref` at `/` is no string"],
    ["a reference behind a reference", { $ref: "#/x", x: { $ref: "#/y" } }, "`$ref` at `#/x` points at nothing: `#/y`"],
    [
      "a reference to itself (refs-1)",
      { allOf: [{ $ref: "#" }] },
      "a reference leads back to itself without a step into the value",
    ],
    [
      "a circle of references (refs-1)",
      object({ a: { $ref: "#/$defs/x" } }, { $defs: { x: { not: { $ref: "#/$defs/y" } }, y: { $ref: "#/$defs/x" } } }),
      "a reference leads back to itself without a step into the value",
    ],
    ["forty doublings (refs-1)", doubling(40), "its references multiply into more than 10000 steps for one value"],
    ["an unknown type", object({ a: { type: "strnig" } }), "`type` at `/properties/a` names no JSON type"],
    ["a type twice", { type: ["string", "string"] }, "`type` at `/` names no JSON type"],
    [
      // A server mapped an unknown word to the first member of an enum and ran another action than was asked for.
      "an empty enum",
      object({ a: { enum: [] } }),
      "`enum` at `/properties/a` is no list of values: nothing could pass it",
    ],
    ["a count that is none", object({ a: { minLength: -1 } }), "`minLength` at `/properties/a` is no count"],
    [
      "a draft-04 bound",
      object({ a: { exclusiveMinimum: true } }),
      "`exclusiveMinimum` at `/properties/a` is no number",
    ],
    ["a multiple of zero", object({ a: { multipleOf: 0 } }), "`multipleOf` at `/properties/a` is no number above zero"],
    ["a parameter that is no schema", object({ a: "string" }), "`properties` at `/` does not map names to schemas"],
    ["no alternatives", { anyOf: [] }, "`anyOf` at `/` is no list of schemas"],
    [
      "draft-03 `required`",
      object({ a: { required: true } }),
      "`required` at `/properties/a` is no list of different names",
    ],
    [
      "a tuple in 2020-12",
      { $schema: "https://json-schema.org/draft/2020-12/schema", ...object({ a: { items: [{}] } }) },
      "`items` at `/properties/a` is no schema",
    ],
    ["a required `__proto__`", { required: ["__proto__"] }, "`required` at `/` asks for a key named `__proto__`"],
    ["a `__proto__` key", JSON.parse('{"$defs":{"__proto__":{}}}'), "it is no plain JSON: a key named __proto__"],
    [
      // A named group of Python's in one schema made the listing throw, and the host showed a failed login.
      "a pattern of another language",
      { pattern: "(?P<y>\\d+)" },
      "`pattern` at `/` is none that JavaScript reads: `(?P<y>\\d+)`",
    ],
    [
      "such a pattern for names",
      { patternProperties: { "(?i)x": {} } },
      "`pattern` at `/` is none that JavaScript reads: `(?i)x`",
    ],
  ])("%s", (_what, schema, says) => {
    expect(problem(schema)).toBe(says);
  });

  it("too deep, too many nodes or bytes, and is then looked at no further (schema-1)", () => {
    const broken = { $ref: "https://example.org", a: { b: { c: {} } } };
    expect(problem(broken, { schemaDepth: 2 })).toBe("it has nesting deeper than 2");
    expect(problem(broken, { schemaDepth: 3 })).toContain("leaves the schema");
    expect(problem(broken, { schemaNodes: 3 })).toBe("it has more than 3 nodes");
    expect(problem({ description: "x".repeat(100) }, { toolBytes: 100 })).toBe("it has more than 100 bytes");
  });

  // A recursive check threw RangeError on a schema of 500 levels.
  it("500 levels, or as many as a stack holds not, are counted and not followed (schema-1)", () => {
    for (const levels of [500, 50_000]) {
      const deep = JSON.parse(`${'{"not":'.repeat(levels)}{}${"}".repeat(levels)}`);
      expect(problem(deep)).toBe("it has nesting deeper than 32");
      expect(problem(deep, { schemaDepth: 1_000_000, schemaNodes: 1_000_000, toolBytes: 10_000_000 })).toBe(
        "it is no plain JSON: nested deeper than 64",
      );
    }
  });

  it("long chains of references are followed without a stack (refs-1)", () => {
    const $defs: Record<string, unknown> = { d0: {} };
    for (let index = 1; index < 12_000; index++) $defs[`d${index}`] = { $ref: `#/$defs/d${index - 1}` };
    const limits = { schemaNodes: 100_000, toolBytes: 10_000_000 };
    expect(problem(object({ a: { $ref: "#/$defs/d11999" } }, { $defs }), limits)).toBe(
      "its references multiply into more than 10000 steps for one value",
    );
  });

  // A recursive check threw RangeError on a schema of 500 levels.
  it("is told in bounded lines without hidden characters", () => {
    const says = problem(object({ [`a\u202E${"x".repeat(1_000)}`]: { $ref: `\u0007${"y".repeat(1_000)}` } })) ?? "";
    expect(says).toMatch(/^`\$ref` at `\/properties\/a\\u\{202E\}x+…` leaves the schema: `\\u\{7\}y+…`$/);
    expect(says.length).toBeLessThan(300);
  });
});
