// Rules and the schemas of the tools that they are for.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { aliasOf, type JsonObject, Permissions } from "../../src/contracts/index.js";
import { compilePolicy, type ToolWithSchema, unfitRules, withheldByDeny } from "../../src/policy/index.js";

const context = { servers: ["shop"], localTools: ["connect_server"] };

function tool(properties: JsonObject, more: JsonObject = {}): ToolWithSchema {
  const inputSchema = { type: "object", properties, ...more };
  return { alias: aliasOf("shop", "pay"), server: "shop", tool: "pay", inputSchema };
}

const policyOf = (permissions: object) => compilePolicy(Permissions.parse(permissions), context).policy;
const withheld = (condition: string, offered: ToolWithSchema) =>
  withheldByDeny(policyOf({ deny: [`mcp__shop__pay(${condition})`] }), offered);

// A deny by a parameter that the server had renamed denied each call, and nobody learnt why.
describe("a deny that cannot be tested withholds the tool (fit-1)", () => {
  test.each<[string, ToolWithSchema, string]>([
    ["amount:>100", tool({ sum: { type: "number" } }), "it has no parameter `amount`"],
    ["amount:>100", tool({}), "it has no parameter `amount`"],
    ["amount:>100", tool({ amount: { type: "string" } }), "its parameter `amount` is no number"],
    ["amount:>100", tool({ amount: { type: ["string", "null"] } }), "its parameter `amount` is no number"],
    ["amount:>100", tool({ amount: { enum: ["a", "b"] } }), "its parameter `amount` is no number"],
    [
      "amount:>100",
      tool({ amount: { type: "array", items: { type: "string" } } }),
      "its parameter `amount` is no number",
    ],
    ["path:/etc/**", tool({ path: { type: "integer" } }), "its parameter `path` is no string"],
    [
      "path:/etc/**",
      tool({ path: { anyOf: [{ type: "object" }, { type: "null" }] } }),
      "its parameter `path` is no string",
    ],
    ["url:https://a.b/**", tool({ url: { type: "boolean" } }), "its parameter `url` is no string"],
    ["amount:5", tool({ amount: { type: "boolean" } }), "its parameter `amount` is no string or number"],
    ["force:true", tool({ force: { type: "number" } }), "its parameter `force` is no string or boolean"],
    ["a:x, amount:>1", tool({ a: { type: "string" } }), "it has no parameter `amount`"],
    [
      "amount:>1",
      tool({ amount: { $ref: "#/$defs/text" } }, { $defs: { text: { type: "string" } } }),
      "its parameter `amount` is no number",
    ],
    [
      "amount:>1",
      tool({ amount: { allOf: [{ type: ["string", "number"] }, { type: "string" }] } }),
      "its parameter `amount` is no number",
    ],
    ["toString:x", tool({ a: { type: "string" } }), "it has no parameter `toString`"],
  ])("(%s) and %o", (condition, offered, why) => {
    const rule = `\`permissions.deny\` \`mcp__shop__pay(${condition})\``;
    expect(withheld(condition, offered)).toBe(`${rule} cannot be tested on it: ${why}`);
  });

  test.each<[string, ToolWithSchema]>([
    ["amount:>100", tool({ amount: { type: "number" } })],
    ["amount:>100", tool({ amount: { type: "integer" } })],
    ["amount:>100", tool({ amount: { type: ["string", "integer"] } })],
    ["amount:>100", tool({ amount: {} })],
    ["amount:>100", tool({ amount: true as never })],
    ["amount:>100", tool({ amount: { type: "array", items: { type: "integer" } } })],
    ["amount:>100", tool({ amount: { type: "array" } })],
    ["amount:>100", tool({ amount: { anyOf: [{ type: "null" }, { type: "number" }] } })],
    ["amount:>100", tool({ amount: { $ref: "#/$defs/sum" } }, { $defs: { sum: { type: "number" } } })],
    ["amount:>100", tool({ amount: { $ref: "#/$defs/gone" } })],
    ["amount:>100", tool({ amount: { $ref: "#/properties/amount" } })],
    // It may have the parameter: nobody can tell from here, and each call is judged by what it has.
    ["amount:>100", tool({}, { additionalProperties: { type: "number" } })],
    ["amount:>100", tool({}, { patternProperties: { a: {} } })],
    ["amount:>100", tool({}, { anyOf: [{ properties: { amount: { type: "number" } } }, { properties: { b: {} } }] })],
    ["amount:>100", tool({}, { $ref: "#/$defs/all", $defs: { all: { properties: { amount: { type: "number" } } } } })],
    ["path:*", tool({ path: { enum: ["a", null] } })],
  ])("and none that can: (%s) and %o", (condition, offered) => {
    expect(withheld(condition, offered)).toBeUndefined();
  });

  test("a schema that speaks of no parameter keeps its tool, one that takes none does not", () => {
    const of = (inputSchema: JsonObject) => withheld("amount:>1", { ...tool({}), inputSchema });
    expect(of({ type: "object" })).toBeUndefined();
    expect(of({ type: "object", additionalProperties: false })).toContain("it has no parameter `amount`");
  });

  test("neither an allow nor an ask nor a deny of another tool withholds one", () => {
    const offered = tool({});
    const rules = {
      allow: ["mcp__shop__pay(a:x)"],
      ask: ["mcp__shop__pay(a:x)"],
      deny: ["mcp__shop__refund(a:x)", "mcp__shop__buy"],
    };
    expect(withheldByDeny(policyOf(rules), offered)).toBeUndefined();
  });

  test("a glob names no built-in (policy-6)", () => {
    const offered = {
      alias: "connect_server",
      server: "local",
      tool: "connect_server",
      inputSchema: { properties: {} },
    };
    expect(withheldByDeny(policyOf({ deny: ["*(a:x)"] }), offered)).toBeUndefined();
    expect(withheldByDeny(policyOf({ deny: ["connect_server(a:x)"] }), offered)).toContain("it has no parameter `a`");
  });

  test("any schema has an answer", () => {
    const schema = fc.oneof(
      fc.object({ maxDepth: 4 }),
      fc.jsonValue().map((value) => ({ properties: value })),
    );
    const rules = policyOf({ deny: ["mcp__shop__pay(a:<5)"], allow: ["mcp__shop__pay(a:x)"] });
    fc.assert(
      fc.property(schema, (inputSchema) => {
        const offered = { ...tool({}), inputSchema: inputSchema as JsonObject };
        expect(["string", "undefined"]).toContain(typeof withheldByDeny(rules, offered));
        unfitRules(rules, [offered]);
      }),
    );
  });

  test("a schema that refers to itself, or doubles at each step, has one soon", () => {
    const doubled = Object.fromEntries(
      Array.from({ length: 40 }, (_, at) => [
        `d${at}`,
        { anyOf: [{ $ref: `#/$defs/d${at + 1}` }, { $ref: `#/$defs/d${at + 1}` }] },
      ]),
    );
    expect(withheld("amount:>1", tool({ amount: { $ref: "#/$defs/d0" } }, { $defs: doubled }))).toBeUndefined();
    expect(withheld("amount:>1", tool({}, { allOf: [{ $ref: "#" }] }))).toBeUndefined();
  });
});

// An allow with a mistyped word asked about each call, and nothing said that it never could match.
describe("rules that can never match are findings (fit-2)", () => {
  const found = (permissions: object, ...tools: ToolWithSchema[]) =>
    unfitRules(policyOf(permissions), tools).map(({ level, code, message }) => `${level} ${code} ${message}`);

  test("of an allow: no parameter, another type, a word that is none of the enum", () => {
    const offered = tool({
      mode: { enum: ["append", "overwrite"] },
      amount: { type: "number" },
      all: { type: "array", items: { enum: ["a"] } },
    });
    const at = "on `mcp__shop__pay`";
    expect(found({ allow: ["mcp__shop__pay(sum:<5)"] }, offered)).toEqual([
      `warning rule_unfit permissions.allow: \`mcp__shop__pay(sum:<5)\` never matches ${at}: it has no parameter \`sum\``,
    ]);
    expect(found({ allow: ["mcp__shop__pay(amount:5*)"] }, offered)).toEqual([
      `warning rule_unfit permissions.allow: \`mcp__shop__pay(amount:5*)\` never matches ${at}: its parameter \`amount\` is no string`,
    ]);
    expect(found({ allow: ["mcp__shop__pay(mode:apend)"], deny: ["mcp__shop__pay(mode:apend)"] }, offered)).toEqual([
      `warning rule_unfit permissions.deny: \`mcp__shop__pay(mode:apend)\` never matches ${at}: none of the values that \`mode\` may have meets it`,
      `warning rule_unfit permissions.allow: \`mcp__shop__pay(mode:apend)\` never matches ${at}: none of the values that \`mode\` may have meets it`,
    ]);
    expect(found({ allow: ["mcp__shop__pay(all:b)"] }, offered)).toHaveLength(1);
    expect(
      found({ allow: ["mcp__shop__pay(mode:append)", "mcp__shop__pay(amount:5)", "mcp__shop__pay(all:a)"] }, offered),
    ).toEqual([]);
    expect(found({ deny: ["mcp__shop__pay(mode:APPEND)"] }, offered)).toEqual([]);
  });

  test("an ask that cannot be tested asks about every call", () => {
    expect(found({ ask: ["mcp__shop__pay(sum:<5)"] }, tool({}))).toEqual([
      "warning rule_unfit permissions.ask: `mcp__shop__pay(sum:<5)` asks about every call of `mcp__shop__pay`: it has no parameter `sum`",
    ]);
  });

  test("a rule that fits one of the tools it matches is none", () => {
    const other = { ...tool({ path: { type: "string" } }), alias: "mcp__shop__read", tool: "read" };
    expect(found({ allow: ["mcp__shop__*(path:a/*)"] }, tool({}), other)).toEqual([]);
    expect(found({ allow: ["mcp__shop__*(path:a/*)"] }, tool({}))).toHaveLength(1);
  });
});
