// Names that a person can take for one another.

import fc from "fast-check";
import { expect, test } from "vitest";
import { mistakable, mixesScripts, serverKey, toolKey } from "../../src/contracts/index.js";

/** Whether a person is told that the first of two servers has a name like the second's. */
const looksAlike = (one: string, other: string) =>
  mistakable([one, other], []).get(serverKey(one))?.startsWith("has a name that looks like") ?? false;
const tool = (server: string, name: string) => ({ server, tool: name, alias: `mcp__${server}__${name}` });

// A second server listed `delete_filе` with a Cyrillic letter, and a yes for the first was given to the second.
test.each([
  ["paypal", "pаypal"],
  ["copy", "сору"],
  ["docs", "ｄｏｃｓ"],
  ["ocean", "οcean"],
  ["read_file", "readFile"],
  ["read_file", "read-file"],
  ["list", "Iist"],
  ["v1", "vl"],
  ["café", "cafe\u0301"],
])("`%s` and `%s` look alike (look-alike-1)", (one, other) => {
  expect(looksAlike(one, other)).toBe(true);
  expect(looksAlike(other, one)).toBe(true);
});

test.each([
  ["read_file", "read_files"],
  ["mail", "mall"],
  ["чтение", "запись"],
  ["docs", "docs"],
])("`%s` and `%s` do not", (one, other) => expect(looksAlike(one, other)).toBe(false));

test("a word of two scripts is told, and two words of one script each are not (look-alike-2)", () => {
  expect(["dосs", "аlpha", "ωmega"].map(mixesScripts)).toEqual([true, true, true]);
  expect(["docs", "документы", "docs документы", "docs_ключ", "日本docs"].map(mixesScripts)).toEqual([
    false,
    false,
    false,
    false,
    false,
  ]);
});

test("a tool is compared with those of its server, and by alias and look with all", () => {
  const said = mistakable(
    ["docs", "dосs", "web"],
    [
      tool("docs", "search"),
      tool("web", "search"),
      tool("web", "sеаrсh"),
      tool("docs", "get_user"),
      tool("web", "getUser"),
      tool("web", "get-user"),
      tool("web", "other"),
    ],
  );
  expect(Object.fromEntries(said)).toEqual({
    [serverKey("docs")]: "has a name that looks like that of server `dосs`",
    [serverKey("dосs")]: "has a name that looks like that of server `docs`",
    [toolKey("docs", "search")]: "has a name that looks like that of `sеаrсh` of `web`",
    [toolKey("web", "search")]: "has a name that looks like that of `sеаrсh` of `web`",
    [toolKey("web", "sеаrсh")]: "has a name that looks like that of `search` of `web`, `search` of `docs`",
    [toolKey("web", "getUser")]: "has a name that looks like that of `get-user` of `web`",
    [toolKey("web", "get-user")]: "has a name that looks like that of `getUser` of `web`",
  });
});

test("any letter replaced by one that looks like it is found (property)", () => {
  const twins = { a: "аα", e: "е", o: "оοօ", p: "рρ", c: "сϲ", x: "хχ", i: "іι", y: "уγ" } as const;
  const word = fc.array(fc.constantFrom(..."aeopcxiybdfgkl_7"), { minLength: 1, maxLength: 12 });
  fc.assert(
    fc.property(word, fc.nat(), (letters, pick) => {
      const at = letters.findIndex((letter) => letter in twins);
      fc.pre(at >= 0);
      const choices = [...(twins[letters[at] as keyof typeof twins] as string)];
      const twin = letters.with(at, choices[pick % choices.length] as string).join("");
      expect(looksAlike(letters.join(""), twin)).toBe(true);
      expect(looksAlike(twin, letters.join(""))).toBe(true);
    }),
  );
});

test("names of plain letters that differ in one are not told (property)", () => {
  const word = fc.array(fc.constantFrom(..."abcdefghjkmnpqrstuvwxyz"), { minLength: 2, maxLength: 12 });
  fc.assert(
    fc.property(word, word, (one, other) => {
      fc.pre(one.join("") !== other.join(""));
      expect(mistakable([one.join(""), other.join("")], [])).toEqual(new Map());
    }),
  );
});

test("a thousand names that look alike are told in bounded time and words", () => {
  const names = Array.from({ length: 1_000 }, (_, at) =>
    tool("s", `a${"_".repeat(at % 200)}${"-".repeat(Math.floor(at / 200))}`),
  );
  const said = mistakable([], names);
  for (const line of said.values()) expect(line.match(/ of `s`/g)?.length).toBeLessThanOrEqual(3);
  expect(said.size).toBe(1_000);
});
