import { describe, expect, expectTypeOf, test } from "vitest";
import { aliasOf, type JsonObject, Permissions } from "../../src/contracts/index.js";
import {
  compilePolicy,
  decide,
  namesTool,
  POLICY_FINDINGS,
  type PolicyContext,
  type Target,
  unmatchedRules,
} from "../../src/policy/index.js";

const context: PolicyContext = {
  servers: ["docs", "files", "deploy", "google.calendar"],
  localTools: ["connect_server", "read_result", "read_file"],
};

function on(server: string, tool: string): Target {
  return { alias: server === "local" ? tool : aliasOf(server, tool), server, tool };
}

function kindOf(permissions: Partial<Permissions>, target: Target, args: JsonObject = {}, where = context): string {
  const { policy, findings } = compilePolicy(Permissions.parse(permissions), where);
  expect(findings.filter(({ level }) => level === "error")).toEqual([]);
  return decide(policy, target, args).kind;
}

function codes(permissions: Partial<Permissions>, where = context): string[] {
  return compilePolicy(Permissions.parse(permissions), where).findings.map(({ code }) => code);
}

describe("order of decisions (policy-1, G3)", () => {
  const all = { allow: ["mcp__docs__search"], ask: ["mcp__docs__*"], deny: ["mcp__*__search"] };

  // Hosts want wide rules, but an allow must still name one literal server.
  test.each([
    ["deny beats ask and allow", all, "deny"],
    ["ask beats allow", { allow: all.allow, ask: all.ask }, "ask"],
    ["deny beats allow", { allow: all.allow, deny: all.deny }, "deny"],
    ["a wide deny beats an allow of the very tool", { allow: all.allow, deny: ["*"] }, "deny"],
    ["allow stands alone", { allow: all.allow }, "allow"],
    ["nothing says anything: ask (policy-3)", {}, "ask"],
    ["nothing says anything under default deny (policy-3)", { default: "deny" as const }, "deny"],
  ])("%s", (_name, permissions, expected) => {
    expect(kindOf(permissions, on("docs", "search"))).toBe(expected);
  });

  test("a decision carries the rules behind it, each once", () => {
    const { policy } = compilePolicy(
      Permissions.parse({ deny: ["mcp__docs__search", "mcp__docs__search", "mcp__docs__s*"], allow: ["mcp__docs"] }),
      context,
    );
    expect(decide(policy, on("docs", "search"), {})).toEqual({
      kind: "deny",
      rules: ["mcp__docs__search", "mcp__docs__s*"],
      reason: "denied by `mcp__docs__search`, `mcp__docs__s*`",
    });
    expect(decide(policy, on("docs", "get"), {})).toEqual({
      kind: "allow",
      rules: ["mcp__docs"],
      reason: "allowed by `mcp__docs`",
    });
    expect(decide(policy, on("files", "get"), {})).toEqual({
      kind: "ask",
      rules: [],
      reason: "no rule matches this call",
    });
  });

  test("what a server says of itself is not an input (policy-4)", () => {
    expectTypeOf<keyof Target>().toEqualTypeOf<"alias" | "server" | "tool">();
  });

  test("the alias that came with a target has no influence", () => {
    const forged = { alias: "mcp__docs__search", server: "files", tool: "erase" };
    expect(kindOf({ allow: ["mcp__docs__search"] }, forged)).toBe("ask");
  });
});

describe("which tools a rule means", () => {
  test.each([
    ["mcp__docs", on("docs", "search"), "allow"],
    ["mcp__docs__*", on("docs", "search"), "allow"],
    ["mcp__docs__get_*", on("docs", "get_version"), "allow"],
    ["mcp__docs__get_*", on("docs", "get"), "ask"],
    ["mcp__docs__get_*", on("docs", "forget_all"), "ask"],
    ["mcp__docs__search", on("docs", "search2"), "ask"],
    ["mcp__docs__search", on("docs", "Search"), "ask"],
    ["mcp__docs__search", on("files", "search"), "ask"],
    // One tool: own name, mapped name.
    ["mcp__docs__search.docs", on("docs", "search.docs"), "allow"],
    ["mcp__docs__search_docs", on("docs", "search.docs"), "allow"],
    ["mcp__docs__search.docs", on("docs", "search_docs"), "ask"],
    ["mcp__google_calendar__list", on("google.calendar", "list"), "allow"],
    ["mcp__google.calendar__list", on("google.calendar", "list"), "allow"],
    ["mcp__google_calendar__*", on("google.calendar", "list"), "allow"],
    // A glob must cover both the own and the mapped name (pattern-2).
    ["mcp__docs__read_*", on("docs", "read_all"), "allow"],
    ["mcp__docs__read_*", on("docs", "read.all"), "ask"],
    ["mcp__docs__read.*", on("docs", "read.all"), "ask"],
    ["mcp__docs__*all", on("docs", "read.all"), "allow"],
    // A bare name is a tool of the host.
    ["read_file", on("local", "read_file"), "allow"],
    ["read_file", on("files", "read_file"), "ask"],
  ])("allow `%s` on %o: %s", (rule, target, expected) => {
    expect(kindOf({ allow: [rule] }, target)).toBe(expected);
  });

  test.each([
    ["mcp__*__delete_*", on("files", "delete_all"), "deny"],
    ["mcp__*__delete_*", on("files", "undelete"), "ask"],
    ["mcp__*", on("files", "x"), "deny"],
    ["mcp__*", on("local", "read_file"), "ask"],
    ["*", on("local", "read_file"), "deny"],
    ["*", on("files", "x"), "deny"],
    ["mcp__*delete*", on("files", "hard-delete-all"), "deny"],
    ["mcp__doc*", on("docs", "search"), "deny"],
    ["mcp__do*s", on("docs", "search"), "deny"],
    ["*_file", on("local", "read_file"), "deny"],
    ["*_file", on("files", "read_file"), "deny"],
    // It is enough that the glob covers one of the two names (pattern-3).
    ["mcp__docs__read_*", on("docs", "read.all"), "deny"],
    ["mcp__docs__read.*", on("docs", "read.all"), "deny"],
    ["mcp__*__read.*", on("docs", "read.all"), "deny"],
    ["mcp__google_*__list", on("google.calendar", "list"), "deny"],
  ])("deny `%s` on %o: %s", (rule, target, expected) => {
    expect(kindOf({ deny: [rule] }, target)).toBe(expected);
  });

  test("the alias of a long name, cut and ended with a hash, names that tool", () => {
    const tool = `create_${"very_".repeat(12)}long_name`;
    const target = on("docs", tool);
    expect(target.alias).toHaveLength(64);
    expect(kindOf({ allow: [target.alias] }, target)).toBe("allow");
    expect(kindOf({ allow: [`mcp__docs__${tool}`] }, target)).toBe("allow");
    expect(kindOf({ allow: [target.alias] }, on("docs", `${tool}2`))).toBe("ask");
  });

  test("an alias cut within a long server name still names one tool", () => {
    const server = "s".repeat(70);
    const where = { servers: ["docs", server], localTools: [] };
    const target = on(server, "list");
    expect(kindOf({ allow: [target.alias] }, target, {}, where)).toBe("allow");
    expect(kindOf({ allow: [target.alias] }, on(server, "erase"), {}, where)).toBe("ask");
    expect(codes({ allow: [target.alias] })).toEqual(["rule_no_server"]);
  });

  test("namesTool knows the three spellings of a tool and no other", () => {
    const tool = { server: "google.calendar", tool: "list.all" };
    const spelled = [
      "mcp__google_calendar__list_all",
      "mcp__google.calendar__list.all",
      "mcp__google.calendar__list_all",
    ];
    expect(spelled.map((text) => namesTool(text, tool))).toEqual([true, true, true]);
    expect(["list.all", "mcp__google_calendar", "*"].map((text) => namesTool(text, tool))).toEqual([
      false,
      false,
      false,
    ]);
  });
});

// Rules such as `mcp__server__*` were matched as text and did not match what they seemed to.
describe("separators inside names (pattern-1)", () => {
  const where = { servers: ["a", "a__b"], localTools: [] };

  test("a rule for one server allows nothing of a server whose name begins alike", () => {
    expect(kindOf({ allow: ["mcp__a__*"] }, on("a", "b__c"), {}, where)).toBe("allow");
    expect(kindOf({ allow: ["mcp__a__*"] }, on("a__b", "c"), {}, where)).toBe("ask");
    expect(kindOf({ allow: ["mcp__a"] }, on("a__b", "c"), {}, where)).toBe("ask");
  });

  test("an allow that can be read on two servers is refused", () => {
    expect(codes({ allow: ["mcp__a__b__c"] }, where)).toEqual(["rule_ambiguous"]);
    expect(codes({ allow: ["mcp__a__b"] }, where)).toEqual(["rule_ambiguous"]);
    expect(codes({ allow: ["mcp__docs___x"] }, { servers: ["docs", "docs_"], localTools: [] })).toEqual([
      "rule_ambiguous",
    ]);
  });

  test("a deny that can be read on two servers holds on both", () => {
    expect(kindOf({ deny: ["mcp__a__b__c"] }, on("a", "b__c"), {}, where)).toBe("deny");
    expect(kindOf({ deny: ["mcp__a__b__c"] }, on("a__b", "c"), {}, where)).toBe("deny");
    expect(kindOf({ deny: ["*__delete*"] }, on("a", "b__delete_it"), {}, where)).toBe("deny");
    expect(kindOf({ deny: ["*__delete*"] }, on("a__b", "delete"), {}, where)).toBe("deny");
  });

  test("with one of the two servers configured there is one reading", () => {
    const only = { servers: ["a"], localTools: [] };
    expect(kindOf({ allow: ["mcp__a__b__c"] }, on("a", "b__c"), {}, only)).toBe("allow");
    expect(kindOf({ allow: ["mcp__a__b__c"] }, on("a__b", "c"), {}, only)).toBe("ask");
  });
});

describe("rules that are load errors (pattern-4)", () => {
  // Hosts want wide rules, but an allow must still name one literal server.
  test.each([
    ["*", "rule_server_glob"],
    ["mcp__*", "rule_server_glob"],
    ["mcp__*__get", "rule_server_glob"],
    ["mcp__do*__get", "rule_server_glob"],
    ["mcp__docs*", "rule_server_glob"],
    ["mcp__docs_*", "rule_server_glob"],
    ["read_*", "rule_server_glob"],
    ["mcp__doc__get", "rule_no_server"],
    ["mcp__docs__", "rule_no_server"],
    ["mcp__", "rule_no_server"],
    ["mcp__local__read_file", "rule_no_server"],
    ["search", "rule_no_tool"],
    ["docs", "rule_no_tool"],
    ["", "rule_malformed"],
    [" mcp__docs", "rule_malformed"],
    ["mcp__docs__ge\u200bt", "rule_malformed"],
    ["mcp__docs\n", "rule_malformed"],
    ["mcp__docs__get)", "rule_malformed"],
    // Two groups were read as one odd glob, so that a deny let through what it names.
    ["mcp__docs__get(path:secrets/**)(mode:overwrite)", "rule_malformed"],
    ["mcp__docs__get(", "rule_malformed"],
    ["mcp__docs__get()", "rule_malformed"],
    ["mcp__docs__get(path)", "rule_malformed"],
    ["mcp__docs__get(:x)", "rule_malformed"],
    ["mcp__docs__get(path:)", "rule_malformed"],
    ["mcp__docs__get(path:a,)", "rule_malformed"],
    ["mcp__docs__get(path:a) ", "rule_malformed"],
    ["mcp__docs__get(path:\u202ea)", "rule_malformed"],
    ["(path:a)", "rule_malformed"],
  ])("allow `%s`: %s", (rule, code) => {
    expect(codes({ allow: [rule] })).toEqual([code]);
  });

  test.each([
    ["mcp__nowhere__*", "rule_no_server"],
    ["mcp__*nowhere", undefined],
    ["nowhere_*", "rule_no_server"],
    ["nowhere", "rule_no_tool"],
    ["mcp__nowhere", "rule_no_server"],
  ])("deny `%s`: %s", (rule, code) => {
    expect(codes({ deny: [rule] })).toEqual(code === undefined ? [] : [code]);
  });

  test("a server whose name holds a star cannot be allowed by a rule with that star", () => {
    const where = { servers: ["*", "docs"], localTools: [] };
    expect(codes({ allow: ["mcp__*"] }, where)).toEqual(["rule_server_glob"]);
    expect(kindOf({ allow: ["mcp_____get"] }, on("*", "get"), {}, where)).toBe("allow");
  });

  test("messages hold the user's own words and what is known", () => {
    const { findings } = compilePolicy(
      Permissions.parse({ allow: ["mcp__doc__get", "*", "read_fil"], deny: ["mcp__docs__x(y)"] }),
      context,
    );
    expect(findings).toEqual([
      {
        level: "error",
        code: "rule_malformed",
        message: "permissions.deny: `mcp__docs__x(y)` has an argument test that is not `(param:glob, …)`",
      },
      {
        level: "error",
        code: "rule_no_server",
        message:
          "permissions.allow: `mcp__doc__get` can match no configured server; " +
          "configured: `docs`, `files`, `deploy`, `google.calendar`",
      },
      {
        level: "error",
        code: "rule_server_glob",
        message: "permissions.allow: `*` needs a literal server: only the tool's part may hold a `*`",
      },
      {
        level: "error",
        code: "rule_no_tool",
        message: "permissions.allow: `read_fil` is none of the host's own tools; near: `read_file`",
      },
    ]);
  });

  test("permissions with an error permit nothing (policy-5)", () => {
    const { policy } = compilePolicy(Permissions.parse({ allow: ["mcp__docs"], deny: ["mcp__typo__x"] }), context);
    expect(decide(policy, on("docs", "search"), {})).toEqual({
      kind: "deny",
      rules: [],
      reason: "the permissions have an error and permit nothing",
    });
  });

  test("the codes are these", () => {
    expect([...POLICY_FINDINGS]).toEqual([
      "rule_malformed",
      "rule_no_server",
      "rule_no_tool",
      "rule_server_glob",
      "rule_ambiguous",
      "rule_futile",
      "rule_unmatched",
      "rule_unfit",
      "read_back_writes",
      "inject_local",
    ]);
  });
});

describe("argument tests", () => {
  const rule = "mcp__files__read_file(path:reports/*)";
  const file = on("files", "read_file");

  test.each([
    [{ path: "reports/q3.md" }, "allow", "deny"],
    [{ path: "reports/" }, "allow", "deny"],
    [{ path: "reports/.hidden" }, "allow", "deny"],
    [{ path: "reports/..." }, "allow", "deny"],
    [{ path: "reports/2025/q3.md" }, "ask", "ask"],
    [{ path: "secrets/q3.md" }, "ask", "ask"],
    [{ path: "" }, "ask", "ask"],
    // A value that cannot be evaluated is never allowed and always denied (arguments-2, policy-2).
    [{}, "ask", "deny"],
    [{ path: 1 }, "ask", "deny"],
    [{ path: null }, "ask", "deny"],
    [{ path: [["reports/q3.md"]] }, "ask", "deny"],
    [{ path: { toString: "reports/q3.md" } }, "ask", "deny"],
    [{ path: "reports/.." }, "ask", "deny"],
    [{ path: "./reports/x" }, "ask", "deny"],
    [{ path: "reports/../../etc/passwd" }, "ask", "deny"],
    [{ path: "reports//x" }, "ask", "deny"],
    [{ path: "reports/..\\x" }, "ask", "deny"],
    [{ path: "reports/a\0b" }, "ask", "deny"],
    [{ path: "reports/a\nb" }, "ask", "deny"],
    [{ path: "reports/a\tb" }, "ask", "deny"],
    [{ path: "reports/a\u200bb" }, "ask", "deny"],
    [{ path: "reports/a\u202eb" }, "ask", "deny"],
    [{ path: "reports/%2e%2E" }, "ask", "deny"],
    [{ path: "reports/a%2Fb" }, "ask", "deny"],
    [{ path: "reports/a%2fb" }, "ask", "deny"],
    [{ path: "~/reports/x" }, "ask", "deny"],
    [{ path: "~root" }, "ask", "deny"],
  ])("%o: under allow %s, under deny %s", (args, allowed, denied) => {
    expect(kindOf({ allow: [rule] }, file, args as JsonObject)).toBe(allowed);
    expect(kindOf({ deny: [rule] }, file, args as JsonObject)).toBe(denied);
  });

  test("`**` crosses folders, `*` does not", () => {
    expect(kindOf({ allow: ["mcp__files__read_file(path:**)"] }, file, { path: "a/b/c" })).toBe("allow");
    expect(kindOf({ allow: ["mcp__files__read_file(path:*)"] }, file, { path: "a/b" })).toBe("ask");
    expect(kindOf({ allow: ["mcp__files__read_file(path:a/**/z)"] }, file, { path: "a/b/c/z" })).toBe("allow");
  });

  test("all tests of a rule must hold (arguments-1)", () => {
    const both = "mcp__files__write(path:out/*, mode:append)";
    const write = on("files", "write");
    expect(kindOf({ allow: [both] }, write, { path: "out/x", mode: "append" })).toBe("allow");
    expect(kindOf({ allow: [both] }, write, { path: "out/x", mode: "truncate" })).toBe("ask");
    expect(kindOf({ allow: [both] }, write, { path: "out/x" })).toBe("ask");
    expect(kindOf({ deny: [both] }, write, { path: "out/x" })).toBe("deny");
    expect(kindOf({ deny: [both] }, write, { path: "in/x" })).toBe("ask");
  });

  test("only an argument of its own counts, never an inherited one", () => {
    const inherited = Object.create({ path: "reports/q3.md" }) as JsonObject;
    expect(kindOf({ allow: [rule] }, file, inherited)).toBe("ask");
    expect(kindOf({ allow: ["mcp__files__read_file(constructor:**)"] }, file, {})).toBe("ask");
  });

  test("a test behind a whole server or a glob is a test too", () => {
    expect(kindOf({ allow: ["mcp__files(path:a)"] }, file, { path: "a" })).toBe("allow");
    expect(kindOf({ allow: ["mcp__files__*(path:a)"] }, file, { path: "b" })).toBe("ask");
    expect(kindOf({ allow: ["read_file(path:a)"] }, on("local", "read_file"), { path: "a" })).toBe("allow");
  });

  test("an allow that no value can meet is said to be futile and is no error", () => {
    expect(codes({ allow: ["mcp__files__get(path:a/../b/*)"] })).toEqual(["rule_futile"]);
    expect(codes({ deny: ["mcp__files__get(path:a/../b/*)"] })).toEqual([]);
    expect(kindOf({ deny: ["mcp__files__get(path:../*)"] }, on("files", "get"), { path: "../x" })).toBe("deny");
  });
});

describe("built-ins (policy-6)", () => {
  const connect = on("local", "connect_server");

  test("are allowed whatever the default and whatever a glob covers", () => {
    expect(kindOf({ default: "deny" }, connect)).toBe("allow");
    expect(kindOf({ deny: ["*"], ask: ["connect_*"] }, connect)).toBe("allow");
  });

  test("are denied or asked about by name", () => {
    expect(kindOf({ deny: ["connect_server"] }, connect)).toBe("deny");
    expect(kindOf({ ask: ["connect_server"] }, connect)).toBe("ask");
    expect(kindOf({ deny: ["connect_server(name:prod)"] }, connect, { name: "prod" })).toBe("deny");
    expect(kindOf({ deny: ["connect_server(name:prod)"] }, connect, { name: "test" })).toBe("allow");
  });

  test("a server's tool of that name is an ordinary tool", () => {
    expect(kindOf({}, on("docs", "connect_server"))).toBe("ask");
  });
});

describe("rules that match no listed tool", () => {
  const { policy } = compilePolicy(
    Permissions.parse({
      allow: ["mcp__docs__search", "mcp__docs__serach(q:a)", "mcp__files__x", "read_file"],
      deny: ["mcp__*__delete_*"],
    }),
    { servers: ["docs", "files"], localTools: ["read_file"] },
  );

  test("are reported for connected servers", () => {
    expect(unmatchedRules(policy, [on("docs", "search")], ["docs"])).toEqual([
      {
        level: "warning",
        code: "rule_unmatched",
        message: "permissions.allow: `mcp__docs__serach(q:a)` matches no tool that its server lists",
      },
    ]);
  });

  test("are reported for stars once every server they can cover is connected", () => {
    const messages = unmatchedRules(policy, [on("docs", "search"), on("files", "x")], ["docs", "files"]);
    expect(messages.map(({ message }) => message.split("`")[1])).toEqual([
      "mcp__*__delete_*",
      "mcp__docs__serach(q:a)",
    ]);
  });
});
