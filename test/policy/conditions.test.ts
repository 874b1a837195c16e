// What an argument test of a rule covers, by the kind that its writing says it is.

import { describe, expect, test } from "vitest";
import { aliasOf, type JsonObject, Permissions } from "../../src/contracts/index.js";
import { compilePolicy, decide } from "../../src/policy/index.js";

const context = { servers: ["fs"], localTools: [] };
const target = { alias: aliasOf("fs", "act"), server: "fs", tool: "act" };

/** What becomes of a call under an allow, and under a deny beside a wide allow. */
function under(test: string, args: JsonObject): [string, string] {
  const rule = `mcp__fs__act(${test})`;
  const kind = (permissions: object) => {
    const { policy, findings } = compilePolicy(Permissions.parse(permissions), context);
    expect(findings.filter(({ level }) => level === "error")).toEqual([]);
    return decide(policy, target, args).kind;
  };
  return [kind({ allow: [rule] }), kind({ allow: ["mcp__fs"], deny: [rule] })];
}

/** It is covered: allowed by the one and denied by the other. */
const YES = ["allow", "deny"];
/** It is something else. */
const NO = ["ask", "allow"];
/** Nobody can tell: it is not allowed, and denied. */
const ODD = ["ask", "deny"];

// Rules on amounts never matched, and a deny by amount denied every amount.
describe("numbers, and what is none (condition-1)", () => {
  test.each([
    ["amount:<=100", 100, YES],
    ["amount:<=100", 99.5, YES],
    ["amount:<=100", 100.01, NO],
    ["amount:<=100", -5, YES],
    ["amount:< 100", 100, NO],
    ["amount:>0.1", 0.2, YES],
    ["amount:>0.1", 0.1, NO],
    ["amount:>=-3", -3, YES],
    ["amount:>=-3", -3.5, NO],
    ["amount:=5", 5, YES],
    ["amount:=5", 6, NO],
    ["amount:5", 5, YES],
    ["amount:5", 6, NO],
    ["amount:5", "5", YES],
    ["amount:5", "6", NO],
    ["amount:<=100", "100", ODD],
    ["amount:<=100", "1e1", ODD],
    ["amount:<=100", null, ODD],
    ["amount:<=100", true, ODD],
    ["amount:<=100", undefined, ODD],
    ["amount:<=100", Number.NaN, ODD],
    ["amount:<=100", Number.NEGATIVE_INFINITY, ODD],
    // The server reads text as a number, too.
    ["amount:5", "5.0", ODD],
    ["amount:5", "05", ODD],
    ["amount:5", " 5", ODD],
    ["amount:5", "５", ODD],
    ["amount:5", true, ODD],
  ])("(%s) and %o", (condition, amount, expected) => {
    expect(under(condition, { amount })).toEqual(expected);
  });

  test("a range is two tests", () => {
    expect(under("amount:>=1, amount:<=10", { amount: 7 })).toEqual(YES);
    expect(under("amount:>=1, amount:<=10", { amount: 11 })).toEqual(NO);
  });

  test.each([
    "amount:<=1e3",
    "amount:<=0x10",
    "amount:<=05",
    "amount:<",
    "amount:=>5",
    "amount:>five",
    "amount:=99999999999999999999",
    "amount:<=Infinity",
  ])("(%s) is no rule", (condition) => {
    const { findings } = compilePolicy(Permissions.parse({ deny: [`mcp__fs__act(${condition})`] }), context);
    expect(findings.map(({ level, code }) => [level, code])).toEqual([["error", "rule_malformed"]]);
  });
});

describe("words and yes or no", () => {
  test.each([
    ["force:true", true, YES],
    ["force:true", false, NO],
    ["force:true", "true", YES],
    ["force:true", "TRUE", ODD],
    ["force:true", 1, ODD],
    ["force:true", undefined, ODD],
    ["mode:append", "append", YES],
    ["mode:append", "overwrite", NO],
    ["mode:append", "Append", ODD],
    ["mode:append", " append ", ODD],
    ["mode:append", "%61ppend", ODD],
    ["mode:append", "ａppend", ODD],
    ["mode:append", "appends", NO],
    ["mode:append", 3, ODD],
  ])("(%s) and %o", (condition, value, expected) => {
    const [param = ""] = condition.split(":");
    expect(under(condition, { [param]: value })).toEqual(expected);
  });
});

// Many tools take one path or a list of them, and the list was judged as no path.
describe("lists (condition-2)", () => {
  test.each([
    [["out/a", "out/b"], YES],
    [["out/a"], YES],
    [
      ["out/a", "in/b"],
      ["ask", "deny"],
    ],
    [["in/a", "in/b"], NO],
    [["in/a", 5], ODD],
    [["out/a", null], ODD],
    [[["out/a"]], ODD],
    [[], ODD],
    [{ 0: "out/a", length: 1 }, ODD],
  ])("%o", (paths, expected) => {
    expect(under("paths:out/*", { paths })).toEqual(expected);
  });

  test("of numbers", () => {
    expect(under("ids:<10", { ids: [1, 2] })).toEqual(YES);
    expect(under("ids:<10", { ids: [11, 12] })).toEqual(NO);
    expect(under("ids:<10", { ids: [1, 12] })).toEqual(["ask", "deny"]);
  });
});

// `//` made a value that no rule could cover, so that no rule for an address could be written.
describe("addresses (url-1, url-2)", () => {
  const ACME = "url:https://*.acme.com/**";

  test.each([
    ["https://api.acme.com/", YES],
    ["https://api.acme.com", YES],
    ["https://api.acme.com/v1/items?q=1#top", YES],
    ["https://api.acme.com/a%20b/%C3%A9", YES],
    ["HTTPS://API.ACME.COM/x", YES],
    ["https://api.acme.com:443/x", YES],
    ["https://acme.com/x", NO],
    ["https://evilacme.com/x", NO],
    ["https://api.acme.com.evil.com/x", NO],
    ["https://evil.com/api.acme.com/x", NO],
    ["https://evil.com/?x=https://api.acme.com/", NO],
    ["https://evil.com#.acme.com/", NO],
    ["http://api.acme.com/x", NO],
    ["ftp://api.acme.com/x", NO],
    // An allow means one label by `*`, a deny any number of them.
    ["https://a.b.acme.com/x", ODD],
    ["https://api.acme.com:8443/x", ODD],
    ["https://api.acme.com./x", ODD],
    ["https://user@api.acme.com/x", ODD],
    ["https://api.acme.com@evil.com/x", ODD],
    ["https://@evil.com/x", ODD],
    ["https://evil.com\\@api.acme.com/x", ODD],
    ["https:\\\\api.acme.com\\x", ODD],
    ["https:api.acme.com/x", ODD],
    ["https:/api.acme.com/x", ODD],
    ["//api.acme.com/x", ODD],
    ["api.acme.com/x", ODD],
    [" https://api.acme.com/x", ODD],
    ["https://api.acme.com/x y", ODD],
    ["https://ap\ti.acme.com/x", ODD],
    ["https://%61pi.acme.com/x", ODD],
    ["https://ａpi.acme.com/x", ODD],
    ["https://api。acme。com/x", ODD],
    ["https://api.acme.com/../x", ODD],
    ["https://api.acme.com/%2e%2e/x", ODD],
    ["https://api.acme.com/a/..;/x", ODD],
    ["https://api.acme.com//x", ODD],
    ["https://api.acme.com/%2Fx", ODD],
    ["https://api.acme.com/é", ODD],
    ["view-source:https://api.acme.com/x", ODD],
    ["javascript:alert(1)", ODD],
    ["", ODD],
    [5, ODD],
    [undefined, ODD],
  ])("%o", (url, expected) => {
    expect(under(ACME, { url })).toEqual(expected);
  });

  test.each([
    ["url:https://**", "https://anything.example/x/y?z", YES],
    ["url:https://**", "https://127.0.0.1/", YES],
    ["url:https://**", "http://anything.example/", NO],
    ["url:https://*/api/*", "https://a.b.example/api/x", YES],
    ["url:https://*/api/*", "https://a.b.example/api/x/y", NO],
    ["url:https://acme.com", "https://acme.com/", YES],
    ["url:https://acme.com", "https://acme.com/x", NO],
    ["url:https://acme.com/pay", "https://acme.com/pay", YES],
    // A query that the rule does not speak of: an allow of one page is no allow of what the page is told to do.
    ["url:https://acme.com/pay", "https://acme.com/pay?to=me", ODD],
    ["url:https://acme.com/pay", "https://acme.com/PAY/", ODD],
    ["url:https://acme.com/pay", "https://acme.com/p%61y", ODD],
    ["url:https://acme.com:8443/**", "https://acme.com:8443/x", YES],
    ["url:https://acme.com:8443/**", "https://acme.com/x", NO],
    ["url:https://acme.com:443/**", "https://acme.com/x", YES],
    ["url:http://acme.com:*/**", "http://acme.com:1234/x", YES],
    ["url:https://bücher.example/**", "https://xn--bcher-kva.example/x", YES],
    ["url:https://bücher.example/**", "https://bücher.example/x", ODD],
    ["url:https://bücher.example/**", "https://BÜCHER.example/x", ODD],
    ["url:http://127.0.0.1/**", "http://127.0.0.1/x", YES],
    ["url:http://127.0.0.1/**", "http://2130706433/x", ODD],
    ["url:http://127.0.0.1/**", "http://0x7f.1/x", ODD],
    ["url:http://127.0.0.1/**", "http://[::ffff:127.0.0.1]/x", ODD],
    ["url:http://[::1]/**", "http://[::1]/x", YES],
    ["url:http://[::1]/**", "http://[0:0:0:0:0:0:0:1]/x", ODD],
    ["url:db://main/**", "db://main/x", YES],
    ["url:db://main/**", "db://other/x", NO],
    ["url:file:///etc/*", "file:/etc/passwd", ODD],
    ["url:file:///etc/*", "/etc/passwd", ODD],
  ])("(%s) and %s", (condition, url, expected) => {
    expect(under(condition, { url })).toEqual(expected);
  });

  test("a deny may be for every scheme, an allow may not", () => {
    const codes = (permissions: object) =>
      compilePolicy(Permissions.parse(permissions), context).findings.map(({ code }) => code);
    const rule = "mcp__fs__act(url:*://acme.com/**)";
    expect(codes({ deny: [rule] })).toEqual([]);
    expect(codes({ allow: [rule] })).toEqual(["rule_malformed"]);
    const { policy } = compilePolicy(Permissions.parse({ allow: ["mcp__fs"], deny: [rule] }), context);
    const kinds = ["ftp://acme.com/x", "http://acme.com", "http://other.com"].map(
      (url) => decide(policy, target, { url }).kind,
    );
    expect(kinds).toEqual(["deny", "deny", "allow"]);
  });

  test.each([
    "https://",
    "https://*acme.com/**",
    "https://a@b.com/**",
    "https://acme.com/**?x=*",
    "https://a b/**",
    "https://%61.com/",
    "https://a..b*/",
  ])("an allow of %s is no rule", (url) => {
    const { findings } = compilePolicy(Permissions.parse({ allow: [`mcp__fs__act(url:${url})`] }), context);
    expect(findings.map(({ code }) => code)).toEqual(["rule_malformed"]);
  });
});

// A denied folder was read by another spelling of its path.
describe("paths", () => {
  const SECRETS = "path:/home/josé/secrets/**";

  test.each([
    ["/home/josé/secrets/key", YES],
    ["/home/jose\u0301/secrets/key", ODD],
    ["/home/josé/Secrets/key", ODD],
    ["/HOME/JOSÉ/SECRETS/KEY", ODD],
    ["/home/jos%C3%A9/secrets/key", ODD],
    ["/home/josé/s%65crets/key", ODD],
    ["/home/josé/s%2565crets/key", ODD],
    ["/home/jos%E9/secrets/key", ODD],
    [" /home/josé/secrets/key", ODD],
    ["/home/josé /secrets./key", ODD],
    ["/home//josé/./secrets/key", ODD],
    ["//home/josé/secrets/key", ODD],
    ["file:/home/josé/secrets/key", ODD],
    ["file:///home/josé/secrets/key", ODD],
    ["FILE://localhost/home/josé/secrets/key", ODD],
    ["file://other/home", ODD],
    ["/home/josé/secrets", ODD],
    ["/home/josé/secrets/", YES],
    ["/home/josé/ｓecrets/key", ODD],
    ["/home/josé／secrets／key", ODD],
    ["/home/josé/secrets\uFE0F/key", ODD],
    ["/home/josé\u2215secrets\u2215key", ODD],
    ["/home/josé/s*crets/key", ODD],
    ["/home/josé/s?crets/key", ODD],
    ["/home/josé/[s]ecrets/key", ODD],
    ["/home/josé/{secrets,x}/key", ODD],
    ["/home/josé/$DIR/key", ODD],
    ["/home/josé/%DIR%/key", ODD],
    ["/home/josé/`x`", ODD],
    ["/home/../home/josé/secrets/key", ODD],
    ["/proc/self/cwd/secrets/key", ODD],
    ["/proc/1/root/home", ODD],
    ["/dev/fd/3", ODD],
    ["~/secrets", ODD],
    ["C:/x", ODD],
    ["c:x", ODD],
    ["\\\\server\\share", ODD],
    ["//server/share", ODD],
    ["https://example.org/x", ODD],
    ["jar:file:/x!/y", ODD],
    // Neighbours, and odd names that lead nowhere else, are not denied with it.
    ["/home/josé/secrets2/key", NO],
    ["/home/josé/my-secrets/key", NO],
    ["/home/josé/notes/100%.txt", NO],
    ["/home/josé/app/[id]/page.tsx", NO],
    ["/home/josé/app/users.$id.tsx", NO],
    ["/home/josé/src/*.ts", NO],
    ["/home/josé", NO],
    ["secrets/key", NO],
    ["/proc/cpuinfo", NO],
  ])("%o", (path, expected) => {
    expect(under(SECRETS, { path })).toEqual(expected);
  });

  test.each([
    ["path:**/.env", ".env", ODD],
    ["path:**/.env", "app/.env", YES],
    ["path:**/.env", "app/.ENV", ODD],
    ["path:**/.env", "app/x.env", NO],
    ["path:src/**", "src/app/[id]/page.tsx", YES],
    ["path:src/**", "src/*.ts", ODD],
    ["path:src/**", "src", ODD],
    ["path:./src/*", "src/a", ODD],
    ["path:~/.ssh/**", "~/.ssh/id", ODD],
    ["path:notes/*", "notes/what's new.md", YES],
    ["path:notes/*", "notes/日本語.md", YES],
    ["path:notes/*", "notes/ＡＢＣ.md", YES],
    ["path:notes/*", "notes／a.md", ODD],
  ])("(%s) and %s", (condition, path, expected) => {
    expect(under(condition, { path })).toEqual(expected);
  });
});

// `Delete_x` ran beside a deny of `delete_*`.
describe("names of tools under a deny", () => {
  test.each([
    ["delete_x", "deny"],
    ["Delete_x", "deny"],
    ["DELETE_X", "deny"],
    ["ｄelete_x", "deny"],
    ["delete＿x", "deny"],
    ["xdelete_x", "allow"],
    ["delete", "allow"],
  ])("%s", (tool, expected) => {
    for (const rule of ["mcp__*__delete_*", "mcp__fs__Delete_*"]) {
      const { policy } = compilePolicy(Permissions.parse({ allow: ["mcp__fs__*"], deny: [rule] }), context);
      expect([rule, decide(policy, { alias: "", server: "fs", tool }, {}).kind]).toEqual([rule, expected]);
    }
  });

  test("also under a deny of one tool", () => {
    const rules = { allow: ["mcp__fs__*"], deny: ["mcp__fs__Delete_x"] };
    const { policy } = compilePolicy(Permissions.parse(rules), context);
    const kinds = ["delete_x", "Delete_x", "delete_y"].map((tool) => decide(policy, { ...target, tool }, {}).kind);
    expect(kinds).toEqual(["deny", "deny", "allow"]);
  });

  test("an allow, and a key of `tools`, is for the name as it is written", () => {
    const { policy } = compilePolicy(Permissions.parse({ allow: ["mcp__fs__read", "mcp__fs__get_*"] }), context);
    const kinds = ["read", "Read", "get_x", "GET_x"].map(
      (tool) => decide(policy, { alias: "", server: "fs", tool }, {}).kind,
    );
    expect(kinds).toEqual(["allow", "ask", "allow", "ask"]);
  });
});
