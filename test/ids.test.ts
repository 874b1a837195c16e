// Invariant ids. An id such as `stdio-3` is defined in the header of one file, as a comment line that begins with the id and
// a full stop, and is cited elsewhere in parentheses or at the beginning of a comment.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
const FOLDERS = ["src", "servers", "test", "bench", "docs", "examples", "graphs"];

const ID = "[a-z]+(?:-[a-z]+)*-[1-9][0-9]*";
const PROMISE = "G[0-9]+";
const DEFINITION = new RegExp(`^//\\s+(${ID})\\.(?:\\s|$)`, "gmu");
const IN_PARENTHESES = new RegExp(`\\((?:${ID}|${PROMISE})(?:(?:[,;]|,? and) (?:${ID}|${PROMISE}))*\\)`, "gu");
const AT_A_COMMENT = new RegExp(`// (${ID}(?:(?:[,;]|,? and) ${ID})*)(?=[\\s,;:)]|$)`, "gmu");
/** Words that look like an id and are none. */
const WORDS: readonly string[] = ["utf-8", "sha-256"];

interface Place {
  readonly id: string;
  /** `file:line`. */
  readonly at: string;
}

interface Source {
  readonly path: string;
  readonly text: string;
}

const sources: readonly Source[] = FOLDERS.filter((folder) => existsSync(join(root, folder))).flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((path) => /\.(?:ts|mjs)$/.test(path) && `${folder}/${path}` !== "test/ids.test.ts") // its samples define nothing
    .map((path) => ({ path: `${folder}/${path}`, text: readFileSync(join(root, folder, path), "utf8") })),
);

const idsIn = (text: string) => text.match(new RegExp(ID, "gu")) ?? [];

function places(
  { path, text }: Source,
  pattern: RegExp,
  idsOf: (match: RegExpExecArray) => readonly string[],
): Place[] {
  return [...text.matchAll(pattern)].flatMap((match) => {
    const at = `${path}:${text.slice(0, match.index).split("\n").length}`;
    return idsOf(match).map((id) => ({ id, at }));
  });
}

function definitions(of: readonly Source[]): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const { id, at } of of.flatMap((one) => places(one, DEFINITION, (match) => [match[1] as string]))) {
    found.set(id, [...(found.get(id) ?? []), at]);
  }
  return found;
}

function citations(of: readonly Source[]): Place[] {
  return of
    .flatMap((one) => [
      ...places(one, IN_PARENTHESES, ([text]) => idsIn(text)),
      ...places(one, AT_A_COMMENT, (match) => idsIn(match[1] as string)),
    ])
    .filter(({ id }) => !WORDS.includes(id));
}

/** Ids of the form that is given up, such as `L7`, in comments of src. The promises, `G1` to `G12`, keep theirs. */
function oldIds(of: readonly Source[]): Place[] {
  return of
    .filter(({ path }) => path.startsWith("src/"))
    .flatMap((one) =>
      places(one, /(?:\/\/|^\s*(?:\/\*)?\*)[^\n]*/gmu, ([comment]) =>
        [...comment.matchAll(/(?<![\w+`.-])[A-Z][0-9]{1,2}(?![\w+`-])/gu)].map(([id]) => id),
      ),
    )
    .filter(({ id }) => !/^G[0-9]+$/.test(id));
}

test("each invariant id is defined once", () => {
  const several = [...definitions(sources)].filter(([, at]) => at.length > 1);
  expect(several).toEqual([]);
});

test("each invariant id that is cited is defined", () => {
  const defined = definitions(sources);
  expect(citations(sources).filter(({ id }) => !defined.has(id))).toEqual([]);
});

test("no id of the old form is left in src", () => {
  const left = oldIds(sources);
  expect({ count: left.length, places: left }).toEqual({ count: 0, places: [] });
});

describe("what counts as an id", () => {
  const file = (text: string, path = "src/a.ts"): Source => ({ path, text });

  test("a definition stands at the beginning of a comment line, with a full stop", () => {
    const text = ["//   stdio-1. Sentence.", "//   two-words-12. Sentence.", "// stdio-2 is kept", "stdio-3. no"].join(
      "\n",
    );
    expect([...definitions([file(text)])]).toEqual([
      ["stdio-1", ["src/a.ts:1"]],
      ["two-words-12", ["src/a.ts:2"]],
    ]);
  });

  test("a citation stands in parentheses or at the beginning of a comment", () => {
    const text = [
      "/** A sentence. (stdio-1) */",
      "a(); // stdio-2",
      "b(); // policy-2 is kept by applies()",
      'test("it holds (claim-1, claim-2 and G4)", f);',
      "c(`thread-1`, utf-8, (draft-07)); // see the list of utf-8",
      "d = a-1;",
    ].join("\n");
    expect(
      citations([file(text)])
        .map(({ id }) => id)
        .sort(),
    ).toEqual(["claim-1", "claim-2", "policy-2", "stdio-1", "stdio-2"]);
  });

  test("the old form is one capital letter and a number, in a comment of src", () => {
    const text = [
      "//   L7. Sentence.",
      "a(); // X1, S2",
      " * Kept. (K9)",
      "const B2 = 1; // G4",
      "// U+2028 and `A4`",
    ].join("\n");
    expect(oldIds([file(text), file("// L8", "test/a.ts")]).map(({ id, at }) => `${id} ${at}`)).toEqual([
      "L7 src/a.ts:1",
      "X1 src/a.ts:2",
      "S2 src/a.ts:2",
      "K9 src/a.ts:3",
    ]);
  });
});
