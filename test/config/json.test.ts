// Strict JSON reads what JSON.parse reads, and refuses with a position what JSON.parse would silently lose.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MAX_JSON_DEPTH, parseStrictJson, whereIs } from "../../src/adapters/config/strict-json.js";

const jsonc = (text: string) => parseStrictJson(text, { comments: true, whenEmpty: {} });

describe("what it reads", () => {
  it("agrees with JSON.parse on every JSON value, with and without comments taken (json-1)", () => {
    fc.assert(
      fc.property(fc.json({ stringUnit: "grapheme" }), fc.constantFrom("", " ", "\r\n"), (text, space) => {
        const value: unknown = JSON.parse(text);
        const spaced = `${space}${JSON.stringify(value, null, space === "" ? 0 : 2)}${space}`;
        if (text.includes('"__proto__"')) return;
        for (const comments of [false, true])
          for (const input of [text, spaced])
            expect(parseStrictJson(input, { comments })).toEqual({ ok: true, value: JSON.parse(input) });
      }),
    );
  });

  it("reads numbers and escapes as JSON.parse does (json-1)", () => {
    const text = String.raw`[0, -0, 1.5e3, 9007199254740993, 1e-400, "\u00e9\ud83d\ude00\/\b\f\n\r\t\"\\", true, null]`;
    expect(parseStrictJson(text)).toEqual({
      ok: true,
      value: [0, -0, 1500, 9007199254740992, 0, 'é😀/\b\f\n\r\t"\\', true, null],
    });
  });

  // Hand-edited files hold comments, a byte order mark, CRLF or nothing at all.
  it("takes comments, trailing commas, CRLF and a byte order mark in a configuration", () => {
    const text = '\uFEFF{\r\n  // a server\r\n  "a": [1, 2,], /* and\r\n more */ "b": "//no comment",\r\n}\r\n';
    expect(jsonc(text)).toEqual({ ok: true, value: { a: [1, 2], b: "//no comment" } });
  });

  it("an empty text is what the caller says it is, a blank or commented-out one too", () => {
    for (const text of ["", " \r\n\t", "\uFEFF", "// {\n", "/* {} */"])
      expect(jsonc(text)).toEqual({ ok: true, value: {} });
    const problem = "expected a value, found the end of the text";
    expect(parseStrictJson("")).toEqual({ ok: false, problem, line: 1, column: 1 });
  });

  it("keys of every object's prototype are keys like any other", () => {
    const read = parseStrictJson('{"constructor": 1, "toString": 2, "hasOwnProperty": 3}');
    expect(read).toEqual({ ok: true, value: JSON.parse('{"constructor": 1, "toString": 2, "hasOwnProperty": 3}') });
  });
});

describe("what it refuses, and where", () => {
  const refusals: [string, string, string, number, number][] = [
    // Two servers had one name: JSON.parse kept the last one, without a warning.
    [
      "a key twice (json-2)",
      '{"a": 1,\n "b": 2, "a": 3}',
      "the key `a` stands twice in one object, first at line 1",
      2,
      10,
    ],
    [
      "a key twice, once escaped (json-2)",
      '{"a": 1, "\\u0061": 2}',
      "the key `a` stands twice in one object, first at line 1",
      1,
      10,
    ],
    ["__proto__ (json-3)", '{"__proto__": {}}', "a key named `__proto__` is not taken", 1, 2],
    ["__proto__, escaped (json-3)", '{"\\u005f_proto__": {}}', "a key named `__proto__` is not taken", 1, 2],
    ["half a surrogate pair, escaped (json-3)", '["\\ud800"]', "a string holds half of a surrogate pair", 1, 2],
    ["half a surrogate pair, raw (json-3)", '["\uDC00"]', "a string holds half of a surrogate pair", 1, 2],
    ["half a surrogate pair in a key (json-3)", '{"\\udfff": 1}', "a string holds half of a surrogate pair", 1, 2],
    ["a number beyond a double (json-3)", "[1e999]", "a number is too large", 1, 2],
    ["a missing comma", '{"a": 1\n"b": 2}', 'expected `,` or `}`, found `"`', 2, 1],
    ["a missing colon", '{"a" 1}', "expected `:`, found `1`", 1, 6],
    ["a missing value", '{"a": }', "expected a value, found `}`", 1, 7],
    ["an unfinished object", '{"a": 1', "expected `,` or `}`, found the end of the text", 1, 8],
    ["an unfinished string", '{"a": "x', "a string has no closing quote", 1, 7],
    ["a key in single quotes", "{'a': 1}", "expected a key in double quotes, found `'`", 1, 2],
    ["a key without quotes", "{a: 1}", "expected a key in double quotes, found `a`", 1, 2],
    ["a trailing comma", "[1,]", "expected a value, found `]`", 1, 4],
    ["a comment", "// x\n{}", "expected a value, found `/` (comments are not taken here)", 1, 1],
    ["something after the end", "{} x", "expected the end of the text, found `x`", 1, 4],
    ["a leading zero", "[01]", "expected the end of a number, found `1`", 1, 3],
    ["a leading plus", "[+1]", "expected a value, found `+`", 1, 2],
    ["a lone minus", "[-]", "expected a number, found `-`", 1, 2],
    ["NaN", "[NaN]", "expected a value, found `N`", 1, 2],
    ["a word that begins like true", "[truest]", "expected a value, found `t`", 1, 2],
    [
      "a raw line feed in a string",
      '["a\nb"]',
      "expected the rest of a string, where a control character must be escaped, found U+000A",
      1,
      4,
    ],
    ["an unknown escape", '["\\x41"]', "an escape that JSON does not have", 1, 3],
    ["a half escape", '["\\u12"]', "an escape that JSON does not have", 1, 3],
    ["a no-break space", "[\u00a01]", "expected a value, found U+00A0", 1, 2],
    ["NUL", "\0", "expected a value, found U+0000", 1, 1],
  ];
  it.each(refusals)("%s", (_, text, problem, line, column) => {
    expect(parseStrictJson(text)).toEqual({ ok: false, problem, line, column });
  });

  it("an unfinished comment is refused where it begins", () => {
    expect(jsonc('{"a": 1}\n/* x')).toEqual({
      ok: false,
      problem: "a comment has no closing `*/`",
      line: 2,
      column: 1,
    });
  });

  it("nesting beyond the bound is refused, however deep the text goes (json-4)", () => {
    const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
    expect(MAX_JSON_DEPTH).toBe(128);
    expect(parseStrictJson(nested(128)).ok).toBe(true);
    const refused = { ok: false, problem: "nested deeper than 128", line: 1, column: 129 };
    expect(parseStrictJson(nested(129))).toEqual(refused);
    expect(parseStrictJson("[".repeat(1_000_000))).toEqual(refused);
  });

  it("columns count without the byte order mark; a lone carriage return ends a line (json-5)", () => {
    expect(parseStrictJson("\uFEFFx")).toMatchObject({ line: 1, column: 1 });
    expect(parseStrictJson("[\r1,\rx]")).toMatchObject({ line: 3, column: 1 });
    expect(parseStrictJson("[\r\n1,\r\n x]")).toMatchObject({ line: 3, column: 2 });
  });

  it("whatever the text, a refusal is one short line (json-5)", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 40 }), (text) => {
        const read = parseStrictJson(text);
        if (read.ok) return;
        expect(read.problem.length).toBeLessThan(200);
        expect(read.problem).not.toMatch(/[\n\r]/);
      }),
    );
  });

  it("whatever JSON.parse refuses is refused (json-1)", () => {
    const jsonish = fc.array(fc.constantFrom("{", "}", "[", "]", ",", ":", '"a"', '"b"', "1", "-", "null", " ", "\\"));
    fc.assert(
      fc.property(jsonish, (parts) => {
        const text = parts.join("");
        let parsed = true;
        try {
          JSON.parse(text);
        } catch {
          parsed = false;
        }
        if (!parsed) expect(parseStrictJson(text).ok).toBe(false);
      }),
    );
  });
});

describe("where a value stands", () => {
  const text = '{\n  "a": { "b": [10,\n    20] }\n}';
  it("a member is found at its key, an item at its first character", () => {
    expect(whereIs(text, [])).toEqual({ line: 1, column: 1 });
    expect(whereIs(text, ["a", "b"])).toEqual({ line: 2, column: 10 });
    expect(whereIs(text, ["a", "b", 1])).toEqual({ line: 3, column: 5 });
    expect(whereIs(text, ["a", "c"])).toBeUndefined();
  });
});
