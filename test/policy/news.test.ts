// What is new of a tool, against what the rules decide.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Decision, News } from "../../src/contracts/index.js";
import { allowedByName, compilePolicy, tightened } from "../../src/policy/index.js";

const news = (pinned: boolean): News => ({ kind: "new", pinned, text: "`x` of `s` is new" });
const decision = (kind: Decision["kind"]): Decision => ({ kind, rules: ["r"], reason: "by `r`" });

describe("a decision about a tool that is new", () => {
  test("an allow by a glob becomes an ask, and so does one by name where the server is pinned (news-1) (news-2)", () => {
    const asked = {
      kind: "ask",
      rules: ["r"],
      reason: "by `r`, but `x` of `s` is new; a person is asked each time until `toolgate pin` accepts it",
    };
    expect(tightened(decision("allow"), news(false), false)).toEqual(asked);
    expect(tightened(decision("allow"), news(true), false)).toEqual(asked);
    expect(tightened(decision("allow"), news(true), true)).toEqual(asked);
    expect(tightened(decision("allow"), news(false), true)).toEqual(decision("allow"));
  });

  test("a decision is never loosened, whatever is new (news-1)", () => {
    const strict = { deny: 2, ask: 1, allow: 0 };
    const any = fc.constantFrom("allow", "ask", "deny" as const);
    const what = fc.option(fc.boolean().map(news), { nil: undefined });
    fc.assert(
      fc.property(any, what, fc.boolean(), (kind, of, named) => {
        const before = decision(kind as Decision["kind"]);
        const after = tightened(before, of, named);
        expect(strict[after.kind]).toBeGreaterThanOrEqual(strict[before.kind]);
        if (of === undefined || kind === "deny") expect(after).toEqual(before);
      }),
    );
  });
});

describe("whether an allow names a tool", () => {
  const context = { servers: ["docs", "a__b"], localTools: [] };
  const named = (allow: string[], tool: string, args = {}, server = "docs") => {
    const permissions = { allow, ask: [], deny: [], default: "ask" as const };
    const { policy } = compilePolicy(permissions, context);
    return allowedByName(policy, { alias: "", server, tool }, args);
  };

  test("by its full name or its alias, and not by a glob or its server", () => {
    expect(named(["mcp__docs__find"], "find")).toBe(true);
    expect(named(["mcp__a__b__c"], "c", {}, "a__b")).toBe(true);
    expect(named(["mcp__docs__f_d"], "f.d")).toBe(true);
    expect(named(["mcp__docs__find*"], "find")).toBe(false);
    expect(named(["mcp__docs", "mcp__docs__*"], "find")).toBe(false);
    expect(named(["mcp__docs__find"], "find_all")).toBe(false);
    expect(named([], "find")).toBe(false);
  });

  test("only where its argument test holds for this call", () => {
    expect(named(["mcp__docs__find(path:a/*)"], "find", { path: "a/b" })).toBe(true);
    expect(named(["mcp__docs__find(path:a/*)", "mcp__docs"], "find", { path: "b" })).toBe(false);
  });
});
