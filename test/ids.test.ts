// Invariant ids, and the names of tests. An id such as `stdio-3` is defined in the header of one file, as a comment line that
// begins with the id and a full stop, and is cited elsewhere in parentheses or at the beginning of a comment. A test has a
// sentence as its name, and the ids of what it proves stand behind the sentence.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { describe, expect, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
const FOLDERS = ["src", "servers", "test", "bench", "docs", "examples", "graphs"];

const ID = "[a-z]+(?:-[a-z]+)*-[1-9][0-9]*";
const PROMISE = "G[0-9]+";
const DEFINITION = new RegExp(`^//\\s+(${ID})\\.(?:\\s|$)`, "gmu");
const IN_PARENTHESES = new RegExp(`\\((?:${ID}|${PROMISE})(?:(?:[,;]|,? and) (?:${ID}|${PROMISE}))*\\)`, "gu");
const AT_A_COMMENT = new RegExp(`// (${ID}(?:(?:[,;]|,? and) ${ID})*)(?=[\\s,;:)]|$)`, "gmu");
/** Any parentheses without a quote in them, as in `"it holds (property, body-3)"`. */
const OTHER_PARENTHESES = /\([^()"'`\n]*\)/gu;
/** The beginning of a string with a code in front. */
const CODE_IN_FRONT = /["'`]\(?(?!F[0-9]+\b)[A-Z][0-9]+(?![\w+])/u;
/** A case of a list that the repository does not hold. */
const CASE = /\bC[0-9]{3}\b/u;
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

/** The ids that a test file cites in any of these ways. */
function proved(of: readonly Source[]): Set<string> {
  const tests = of.filter(({ path }) => path.startsWith("test/"));
  const others = tests.flatMap((one) => places(one, OTHER_PARENTHESES, ([text]) => idsIn(text)));
  return new Set([...citations(tests), ...others].map(({ id }) => id));
}

/**
 * Names with a code in front. A name is the first argument of `test(…)`, `it.each(…)(…)`, `describe.skipIf(…)(…)`; a code is
 * `S1`, `(L4)`, or a promise such as `G4`, which stands at the end. A row of the fault matrix (`F20`) may stand in front.
 * `C053` is found in every string, because the rows of a table become names, too.
 */
function codedNames(of: readonly Source[]): Place[] {
  return of
    .filter(({ path }) => path.startsWith("test/"))
    .filter(({ text }) => CODE_IN_FRONT.test(text) || CASE.test(text)) // parsing takes time
    .flatMap(coded);
}

function coded({ path, text }: Source): Place[] {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest);
  const found: Place[] = [];
  const visit = (node: ts.Node, isName: boolean): void => {
    if (ts.isStringLiteralLike(node) || ts.isTemplateExpression(node)) {
      const said = node.getText(file);
      const line = file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1;
      const isCoded = CASE.test(said) || (isName && said.search(CODE_IN_FRONT) === 0);
      if (isCoded) found.push({ id: said.slice(1, -1), at: `${path}:${line}` });
    }
    const [name] = ts.isCallExpression(node) && isTest(node.expression) ? node.arguments : [];
    ts.forEachChild(node, (child) => visit(child, child === name));
  };
  visit(file, false);
  return found;
}

function isTest(callee: ts.Expression): boolean {
  if (ts.isIdentifier(callee)) return ["test", "it", "describe"].includes(callee.text);
  return (ts.isCallExpression(callee) || ts.isPropertyAccessExpression(callee)) && isTest(callee.expression);
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

test("each invariant id of src and servers is cited by a test", () => {
  const cited = proved(sources);
  const defined = definitions(sources.filter(({ path }) => /^(?:src|servers)\//.test(path)));
  expect([...defined.keys()].filter((id) => !cited.has(id))).toEqual([]);
});

test("no test has a code in front of its name", () => {
  expect(codedNames(sources)).toEqual([]);
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

  test("a test cites an id in parentheses with other words, too, and a string in parentheses is none", () => {
    const text = ['test("it holds (property, body-3)", f);', 'open("thread-1");', "g(); // body-4"].join("\n");
    expect([...proved([file(text, "test/a.ts"), file("// body-5")])].sort()).toEqual(["body-3", "body-4"]);
  });

  test("a code in a test's name is found in every form of test, and nowhere else", () => {
    const text = [
      'test("C053: a sentence", f);',
      'it.each([["S1", 2]])("X5 says %s", f);',
      "describe.skipIf(no)(`(L4) all`, f);",
      'test("a sentence (C126)", f);',
      'test("G4: a promise", f);',
      'test("a sentence (G4) (claim-1)", f);',
      'describe("F20 of the matrix", f);',
      'test("U+FFFD is one character, K8s is a word", f);',
      'open("T1");',
      'test.each([["C217 twice"]])("%s", f);',
    ].join("\n");
    expect(codedNames([file(text, "test/a.ts"), file(text)])).toEqual([
      { id: "C053: a sentence", at: "test/a.ts:1" },
      { id: "X5 says %s", at: "test/a.ts:2" },
      { id: "(L4) all", at: "test/a.ts:3" },
      { id: "a sentence (C126)", at: "test/a.ts:4" },
      { id: "G4: a promise", at: "test/a.ts:5" },
      { id: "C217 twice", at: "test/a.ts:10" },
    ]);
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
