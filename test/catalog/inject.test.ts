import { describe, expect, it } from "vitest";
import { aliases, LIMITS, listing, reasons, refusalOf, snapshotOf, tool } from "./helpers.js";

const injected = (_server: string, name: string) => (name === "save" ? ["approval_token"] : []);
const save = (schema: Record<string, unknown>) => listing("documents", [tool("save", { inputSchema: schema })]);

const CLOSED = {
  type: "object",
  properties: { content: { type: "string" }, approval_token: { type: "string" } },
  required: ["content", "approval_token"],
  additionalProperties: false,
};

describe("parameters the host fills in", () => {
  it("are not in the schema the model is shown, and the digest is still that of what the server sent (inject-1)", () => {
    const shown = snapshotOf([save(CLOSED)], [], { injected });
    expect(shown.tools[0]?.inputSchema).toEqual({
      type: "object",
      properties: { content: { type: "string" } },
      required: ["content"],
      additionalProperties: false,
    });
    const whole = snapshotOf([save(CLOSED)]);
    expect(whole.tools[0]?.inputSchema).toEqual(CLOSED);
    expect(shown.tools[0]?.digest).toBe(whole.tools[0]?.digest);
    expect(shown.id).not.toBe(whole.id);
  });

  it("withhold the tool when its schema does not have them", () => {
    const snapshot = snapshotOf([save({ type: "object" })], [], { injected });
    expect(reasons(snapshot)).toEqual({ save: "`approval_token` is to be injected and is no parameter of it" });
  });

  it.each([
    ["anyOf", { anyOf: [{ required: ["approval_token"] }, { required: ["content"] }] }],
    ["dependentRequired", { dependentRequired: { approval_token: ["content"] } }],
    ["if", { if: { properties: { approval_token: { const: "x" } } } }],
    ["enum", { enum: [{ content: "a", approval_token: "b" }] }],
    ["allOf and a reference", { allOf: [{ $ref: "#/$defs/B" }], $defs: { B: { required: ["approval_token"] } } }],
    ["a reference of the root", { $ref: "#/$defs/B", $defs: { B: { required: ["approval_token"] } } }],
    ["an anchor", { allOf: [{ $ref: "#b" }], $defs: { B: { $anchor: "b", required: ["approval_token"] } } }],
  ])("withhold the tool when a rule (%s) is about them (inject-1)", (_rule, more) => {
    const snapshot = snapshotOf([save({ ...CLOSED, ...more })], [], { injected });
    expect(reasons(snapshot)).toEqual({
      save: "`approval_token` is to be injected, but a rule of its schema is about it",
    });
  });

  it("are not given away by an example, and are no rule where a parameter's own part has the same name (inject-1)", () => {
    const nested = { type: "object", properties: { approval_token: { $ref: "#/$defs/T" } } };
    const schema = {
      ...CLOSED,
      properties: { ...CLOSED.properties, nested },
      $defs: { T: { type: "string" } },
      default: { approval_token: "x" },
      examples: [{ approval_token: "x" }],
    };
    const shown = snapshotOf([save(schema)], [], { injected }).tools[0]?.inputSchema;
    expect(shown).toEqual({
      type: "object",
      properties: { content: { type: "string" }, nested },
      required: ["content"],
      additionalProperties: false,
      $defs: { T: { type: "string" } },
    });
  });

  it("withhold the tool when another parameter refers to them (inject-1)", () => {
    const properties = { ...CLOSED.properties, other: { $ref: "#/properties/approval_token" } };
    const snapshot = snapshotOf([save({ ...CLOSED, properties })], [], { injected });
    expect(reasons(snapshot).save).toBe(
      "input schema without what is injected: `$ref` at `/properties/other` points at nothing: `#/properties/approval_token`",
    );
  });

  it("do not count towards the least number of parameters (inject-1)", () => {
    const { tools } = snapshotOf([save({ ...CLOSED, minProperties: 2 })], [], { injected });
    expect(tools[0]?.inputSchema).toMatchObject({ minProperties: 1 });
  });
});

describe("strings only", () => {
  const limits = { ...LIMITS, schema: "strings-only", parameters: 4, descriptionChars: 400 } as const;
  const search = (schema: Record<string, unknown>) => listing("docs", [tool("search.docs", { inputSchema: schema })]);
  const QUERY = {
    type: "object",
    properties: { query: { type: "string" } },
    required: ["query"],
    additionalProperties: false,
  };

  it("takes a closed object of required strings", () => {
    const described = {
      ...QUERY,
      $schema: "http://json-schema.org/draft-07/schema#",
      properties: { query: { type: "string", description: "what to look for" } },
    };
    for (const schema of [QUERY, described])
      expect(aliases(snapshotOf([search(schema)], [], { limits }))).toEqual(["mcp__docs__search_docs"]);
  });

  it.each([
    ["an open object", { ...QUERY, additionalProperties: true }, "it does not say `additionalProperties: false`"],
    ["another keyword", { ...QUERY, minProperties: 1 }, "`minProperties` is more than required string fields"],
    ["a field that may be absent", { ...QUERY, required: [] }, "the field `query` is not required"],
    ["a number", { ...QUERY, properties: { query: { type: "number" } } }, "the field `query` is no string"],
    [
      "a field with rules",
      { ...QUERY, properties: { query: { type: "string", maxLength: 3 } } },
      "the field `query` is more than a string",
    ],
    [
      "another name",
      { ...QUERY, properties: { Query: { type: "string" } } },
      "the field `Query` is not named `^[a-z][a-z0-9_]{0,31}$`",
    ],
    [
      "a requirement without its field",
      { ...QUERY, required: ["query", "x"] },
      "it requires a field that it does not have",
    ],
  ])("refuses %s", (_what, schema, says) => {
    expect(refusalOf([search(schema)], [], { limits, onInvalid: "refuse" })).toBe(
      `\`search.docs\` of \`docs\` is refused: input schema: ${says}`,
    );
  });

  it("refuses a fifth field, when four are allowed", () => {
    const names = ["a", "b", "c", "d", "e"];
    const five = {
      ...QUERY,
      properties: Object.fromEntries(names.map((name) => [name, { type: "string" }])),
      required: names,
    };
    expect(refusalOf([search(five)], [], { limits, onInvalid: "refuse" })).toBe(
      "`search.docs` of `docs` is refused: input schema: it has more than 4 parameters",
    );
  });
});
