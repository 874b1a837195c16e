// However a denied path is spelled, it is denied; and nothing that has no normal form is allowed.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type JsonObject, Permissions } from "../../src/contracts/index.js";
import { matches, overlap, pathGlob, wideGlob } from "../../src/policy/glob.js";
import { compilePolicy, decide } from "../../src/policy/index.js";
import { fold, isStrict, looseForm } from "../../src/policy/spelling.js";

const context = { servers: ["fs"], localTools: [] };
const target = { alias: "mcp__fs__act", server: "fs", tool: "act" };

function policyOf(permissions: object) {
  return compilePolicy(Permissions.parse(permissions), context).policy;
}

const letter = fc.constantFrom("a", "b", "é", "ñ", "Å", "ß", "z", "7", "-", "_", "日");
const segment = fc.string({ unit: letter, minLength: 1, maxLength: 5 });
const path = fc.array(segment, { minLength: 1, maxLength: 4 }).map((segments) => `/${segments.join("/")}`);

type Mutator = (text: string, at: number) => string;
const percent = (text: string) => [...new TextEncoder().encode(text)].map((byte) => `%${byte.toString(16)}`).join("");
const each = (text: string, at: number, change: (unit: string) => string) =>
  [...text].map((unit, index) => (index % 3 === at % 3 ? change(unit) : unit)).join("");
const wide = (unit: string) =>
  /[!-~]/.test(unit) ? String.fromCodePoint((unit.codePointAt(0) as number) + 0xfee0) : unit;

/** Each leaves a path that some program takes for the same. `first`: only at the beginning of the whole. */
const MUTATORS: Readonly<Record<string, Mutator>> = {
  composed: (text) => text.normalize("NFC"),
  decomposed: (text) => text.normalize("NFD"),
  upper: (text) => text.toUpperCase(),
  lower: (text, at) => each(text, at, (unit) => unit.toLowerCase()),
  percent: (text, at) => each(text, at, (unit) => (unit === "%" ? "%25" : percent(unit))),
  fullwidth: (text, at) => each(text, at, wide),
  blanks: (text) => ` ${text} `,
  innerBlanks: (text) => text.replace(/(?<=.)\//g, " / "),
  dots: (text) => text.replaceAll("/", "/./"),
  slashes: (text) => text.replace(/(?<=.)\//g, "///"),
  trailing: (text) => `${text}/`,
  up: (text) => text.replace(/^\//, "/x/../"),
  file: (text) => (text.startsWith("/") ? `file://${text}` : text),
  fileOne: (text) => (text.startsWith("/") ? `FILE:${text}` : text),
  selector: (text) => text.replace(/(?<=[a-z])(?=\/|$)/, "\uFE0F"),
  star: (text) => (text.includes("%") ? text : text.replace(/[a-z](?=[^/]*$)/, "*")),
  query: (text) => (text.includes("%") ? text : text.replace(/[a-z](?=[^/]*$)/, "?")),
};
const mutations = fc.array(fc.tuple(fc.constantFrom(...Object.keys(MUTATORS)), fc.nat(5)), { maxLength: 4 });
const spelled = (text: string, by: readonly (readonly [string, number])[]) =>
  by.reduce((so, [name, at]) => (MUTATORS[name] as Mutator)(so, at), text);

describe("spellings, for all paths", () => {
  test("every spelling of a denied path, of what is below it and of the folder is denied", () => {
    fc.assert(
      fc.property(path, fc.array(segment, { maxLength: 2 }), mutations, (folder, below, by) => {
        const rules = { allow: ["mcp__fs"], deny: [`mcp__fs__act(path:${folder}/**)`] };
        const value = spelled([folder, ...below].join("/"), by);
        expect([value, decide(policyOf(rules), target, { path: value }).kind]).toEqual([value, "deny"]);
        expect(decide(policyOf(rules), target, { path: ["/other", value] }).kind).toBe("deny");
      }),
      { numRuns: 1_000 },
    );
  });

  test("a path beside it, spelled plainly, is not: the deny is no deny of everything", () => {
    fc.assert(
      fc.property(path, segment, (folder, name) => {
        const rules = { allow: ["mcp__fs"], deny: [`mcp__fs__act(path:${folder}/**)`] };
        const value = `${folder}x${name}/key`.normalize("NFC");
        expect(decide(policyOf(rules), target, { path: value }).kind).toBe("allow");
      }),
    );
  });

  const text = fc.oneof(
    fc.tuple(path, mutations).map(([value, by]) => spelled(value, by)),
    fc.string({
      unit: fc.constantFrom("a", "/", ".", "%", "2", "e", "\\", "~", " ", ":", "*", "$", "{", "}", "é", "\u0301"),
    }),
    fc.string({ unit: "binary" }),
  );

  test("an allow covers no value without a normal form (arguments-2, text-3)", () => {
    const policy = policyOf({ allow: ["mcp__fs__act(path:**/**)", "mcp__fs__act(path:/**)", "mcp__fs__act(path:**)"] });
    fc.assert(
      fc.property(text, (value) => {
        if (looseForm(value, true) !== undefined) return;
        expect([value, isStrict(value, true)]).toEqual([value, false]);
        const rules = policyOf({ allow: ["mcp__fs__act(path:/**)"] });
        expect(decide(rules, target, { path: value }).kind).toBe("ask");
      }),
      { numRuns: 2_000 },
    );
    expect(decide(policy, target, { path: "a" }).kind).toBe("allow");
  });

  test("what an allow covers, a deny of the same words covers, and so does an ask (text-1, text-2)", () => {
    const condition = fc.oneof(
      path.map((one) => `${one}/**`),
      fc.constantFrom("**", "*", "a*", "**/a", "/*/b", "https://**", "https://*.a.b/**", "5", "<=5", "true", "./a"),
    );
    const value = fc.oneof(
      text as fc.Arbitrary<unknown>,
      fc.constantFrom<unknown>("https://x.a.b/c", 5, 7, true, null, [], ["a"], [5, "a"], "a/a", "/a/b"),
      fc.jsonValue(),
    );
    fc.assert(
      fc.property(condition, value, (written, given) => {
        const rule = `mcp__fs__act(path:${written})`;
        const args = { path: given } as JsonObject;
        if (decide(policyOf({ allow: [rule] }), target, args).kind !== "allow") return;
        expect(decide(policyOf({ allow: [rule], deny: [rule] }), target, args).kind).toBe("deny");
        expect(decide(policyOf({ allow: [rule], ask: [rule] }), target, args).kind).toBe("ask");
      }),
      { numRuns: 2_000 },
    );
  });

  test("one more deny with a condition never loosens a decision (G3)", () => {
    const condition = fc.oneof(path, fc.constantFrom("<=5", "https://**", "*", "true", ">0", "~/x"));
    const rank = { allow: 0, ask: 1, deny: 2 };
    fc.assert(
      fc.property(condition, condition, condition, fc.oneof(text, fc.jsonValue()), (one, two, more, given) => {
        const rule = (written: string) => `mcp__fs__act(path:${written})`;
        const rules = { allow: ["mcp__fs", rule(one)], ask: [rule(two)] };
        const kind = (permissions: object) => decide(policyOf(permissions), target, { path: given }).kind;
        expect(rank[kind({ ...rules, deny: [rule(more)] })]).toBeGreaterThanOrEqual(rank[kind(rules)]);
      }),
    );
  });

  test("folding twice is folding once", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (one) => {
        expect(fold(fold(one))).toBe(fold(one));
      }),
    );
  });
});

// A server could have stopped its host with one long argument.
describe("long values", () => {
  const policy = policyOf({
    deny: ["mcp__fs__act(path:/a/**/b/**)", "mcp__fs__act(path:https://*.a.b/**)"],
    ask: ["mcp__fs__act(path:x*y)"],
  });
  const long = 32_000;

  test.each([
    ["nested encoding", `%${"25".repeat(long / 2)}41`],
    ["dots", `${".".repeat(long)}x`],
    ["dots and blanks", `${". ".repeat(long / 2)}x`],
    ["open braces", "${".repeat(long / 2)],
    ["open brackets", "[".repeat(long)],
    ["slashes", `https://a${"/".repeat(long)}`],
    ["dots of a host", `https://a${".".repeat(long)}x`],
    ["stars", "*/".repeat(long / 2)],
    ["blanks", `${" ".repeat(long)}x`],
    ["marks", `a${"\u0301\u0327".repeat(long / 2)}`],
    ["proc", `/proc/${"a/".repeat(long / 2)}`],
  ])("%s take milliseconds (spelling-1)", (_name, value) => {
    const before = performance.now();
    expect(["ask", "deny"]).toContain(decide(policy, target, { path: value }).kind);
    expect(performance.now() - before).toBeLessThan(1_500); // quadratic time would be minutes
  });
});

describe("globs that meet globs", () => {
  const pattern = fc.string({ unit: fc.constantFrom("a", "b", "/", "*", "**"), maxLength: 6 });
  const word = fc.string({ unit: fc.constantFrom("a", "b", "/"), maxLength: 8 });

  test("overlap wherever a text is covered by both", () => {
    fc.assert(
      fc.property(pattern, pattern, word, (one, other, both) => {
        const covered = matches(wideGlob(one), both) && matches(pathGlob(other), both);
        if (covered) expect(overlap(wideGlob(one), pathGlob(other))).toBe(true);
      }),
      { numRuns: 5_000 },
    );
  });

  test.each([
    ["a/**", "a/*", true],
    ["a/b", "a/*", true],
    ["a/b/c", "a/*", false],
    ["a/b/c", "a/**", true],
    ["**/secrets/**", "src/*.ts", false],
    ["**/.env", "app/*", true],
    ["**/.env", "app/x*", false],
    ["**/b", "ab", false],
    ["**/b", "b", true],
    ["**/b", "x/b", true],
  ])("%s and %s: %s", (one, other, expected) => {
    expect(overlap(wideGlob(one), pathGlob(other))).toBe(expected);
  });
});
