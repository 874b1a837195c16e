import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { aliasOf, type JsonObject, mapName, Permissions } from "../../src/contracts/index.js";
import { canBegin, matches, nameGlob, pathGlob } from "../../src/policy/glob.js";
import { compilePolicy, decide, type PolicyContext, type Target } from "../../src/policy/index.js";

const SERVERS = ["a", "a__b", "x.y", "docs"];
const TOOLS = ["get", "b__c", "delete_all", "x.y", "x_y", "__", "é"];
const context: PolicyContext = { servers: SERVERS, localTools: ["connect_server", "read_result", "get"] };

const target: fc.Arbitrary<Target> = fc
  .tuple(fc.constantFrom(...SERVERS, "local"), fc.constantFrom(...TOOLS))
  .map(([server, tool]) => ({ alias: server === "local" ? tool : aliasOf(server, tool), server, tool }));
const tested = fc.constantFrom("", "(p:a/*)", "(p:**)", "(p:a/*, q:x)", "(q:*)");
const value = fc.constantFrom<unknown>("a/b", "a/b/c", "x", "../x", "~", 1, null);
const args = fc.dictionary(fc.constantFrom("p", "q"), value) as fc.Arbitrary<JsonObject>;

const allow = fc
  .tuple(fc.constantFrom("mcp__docs", "mcp__docs__get", "mcp__x_y__*", "mcp__x.y__x.y", "mcp__a__*", "get"), tested)
  .map((parts) => parts.join(""));
const restrict = fc
  .tuple(fc.constantFrom("*", "mcp__*", "mcp__*__delete_*", "mcp__a__b__c", "mcp__x*", "*__*", "get", "g*"), tested)
  .map((parts) => parts.join(""));
const permissions = fc
  .record({
    allow: fc.array(allow, { maxLength: 6 }),
    ask: fc.array(fc.oneof(restrict, allow), { maxLength: 4 }),
    deny: fc.array(fc.oneof(restrict, allow), { maxLength: 3 }),
    default: fc.constantFrom("ask" as const, "deny" as const),
  })
  .map((given) => Permissions.parse(given));

const RANK = { allow: 0, ask: 1, deny: 2 };

describe("policy, for all rules and calls", () => {
  test("is total: any text is a rule or a finding, any call gets a decision", () => {
    const junk = fc.array(fc.oneof(fc.string({ unit: "binary", maxLength: 30 }), allow, restrict), { maxLength: 4 });
    const anyTarget = fc.record({
      alias: fc.string(),
      server: fc.string({ unit: "binary" }),
      tool: fc.string({ unit: "binary" }),
    });
    fc.assert(
      fc.property(junk, junk, junk, fc.oneof(target, anyTarget), fc.anything(), (one, two, three, call, given) => {
        const { policy, findings } = compilePolicy({ allow: one, ask: two, deny: three, default: "ask" }, context);
        expect(findings.length).toBeLessThanOrEqual(one.length + two.length + three.length);
        expect(["allow", "ask", "deny"]).toContain(decide(policy, call, given as JsonObject).kind);
      }),
    );
  });

  test("is order-free (policy-1): shuffled rules decide alike, by the same rules", () => {
    const shuffled = permissions.chain((given) =>
      fc.tuple(
        fc.constant(given),
        fc.record({
          allow: fc.shuffledSubarray(given.allow, { minLength: given.allow.length }),
          ask: fc.shuffledSubarray(given.ask, { minLength: given.ask.length }),
          deny: fc.shuffledSubarray(given.deny, { minLength: given.deny.length }),
          default: fc.constant(given.default),
        }),
      ),
    );
    fc.assert(
      fc.property(shuffled, target, args, ([given, other], call, values) => {
        const [one, two] = [given, other].map((rules) => decide(compilePolicy(rules, context).policy, call, values));
        expect(one?.kind).toBe(two?.kind);
        expect(new Set(one?.rules)).toEqual(new Set(two?.rules));
      }),
    );
  });

  test("one more deny or ask never loosens a decision, one less allow neither (G3)", () => {
    fc.assert(
      fc.property(permissions, restrict, target, args, (given, rule, call, values) => {
        const rank = (rules: Permissions): number =>
          RANK[decide(compilePolicy(rules, context).policy, call, values).kind];
        expect(rank({ ...given, deny: [...given.deny, rule] })).toBeGreaterThanOrEqual(rank(given));
        const asking = { ...given, default: "ask" as const }; // under default deny, an ask is said on purpose
        expect(rank({ ...asking, ask: [...given.ask, rule] })).toBeGreaterThanOrEqual(rank(asking));
        expect(rank({ ...given, allow: given.allow.slice(1) })).toBeGreaterThanOrEqual(rank(given));
      }),
    );
  });

  test("an allow for one server never allows a tool of another (pattern-1)", () => {
    const name = fc.string({
      unit: fc.constantFrom("a", "b", "_", "__", ".", "-", "*", "é"),
      minLength: 1,
      maxLength: 6,
    });
    fc.assert(
      fc.property(
        fc.uniqueArray(name, { minLength: 2, maxLength: 3 }),
        name,
        name,
        name,
        (servers, text, tool, own) => {
          const [first, ...others] = servers as [string, ...string[]];
          const where = { servers, localTools: [] };
          const rule = `mcp__${first}__${text}`;
          const { policy } = compilePolicy(Permissions.parse({ allow: [rule] }), where);
          const allowed = servers.filter((server) =>
            [tool, own, text].some((one) => decide(policy, { alias: rule, server, tool: one }, {}).kind === "allow"),
          );
          expect(allowed.length).toBeLessThanOrEqual(1);
          if (others.every((other) => !mapName(rule).startsWith(`mcp__${mapName(other)}`))) {
            expect(allowed.every((server) => server === first)).toBe(true);
          }
        },
      ),
    );
  });
});

describe("globs, for all patterns and texts", () => {
  const pattern = fc.string({ unit: fc.constantFrom("a", "b", "/", "*", "**", "."), maxLength: 8 });
  const text = fc.string({ unit: fc.constantFrom("a", "b", "/", "*", "."), maxLength: 10 });

  test("agree with a plain recursive reading (glob-2)", () => {
    fc.assert(
      fc.property(pattern, text, (given, value) => {
        expect(matches(pathGlob(given), value)).toBe(oracle(given, value, false));
        expect(matches(nameGlob(given), value)).toBe(oracle(given, value, true));
      }),
      { numRuns: 1_000 },
    );
  });

  test("can begin with every prefix of what they match, and with nothing else", () => {
    fc.assert(
      fc.property(pattern, text, fc.nat({ max: 10 }), (given, value, cut) => {
        const glob = nameGlob(given);
        if (matches(glob, value)) expect(canBegin(glob, value.slice(0, cut))).toBe(true);
        const completed = given.replaceAll("*", "");
        if (!given.includes("*")) expect(canBegin(glob, value)).toBe(completed.startsWith(value));
      }),
    );
  });

  test("take time linear in the text (glob-1)", () => {
    const hostile = pathGlob("**a*a**a*a**a*a**a*a**a*a**b");
    expect(matches(hostile, "a".repeat(100_000))).toBe(false);
    expect(matches(hostile, `${"a".repeat(100_000)}b`)).toBe(true);
  });
});

/** What a glob means, said as plainly as possible and as slowly as it may be. */
function oracle(pattern: string, text: string, crosses: boolean): boolean {
  if (pattern === "") return text === "";
  if (!pattern.startsWith("*"))
    return text !== "" && pattern[0] === text[0] && oracle(pattern.slice(1), text.slice(1), crosses);
  const double = pattern.startsWith("**");
  const rest = pattern.slice(double ? 2 : 1);
  for (let taken = 0; taken <= text.length; taken++) {
    if (!double && !crosses && text.slice(0, taken).includes("/")) return false;
    if (oracle(rest, text.slice(taken), crosses)) return true;
  }
  return false;
}
