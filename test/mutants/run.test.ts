// Mutants as such are run by `npm run mutants`. This says that each of them still fits the sources.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { MUTANTS } from "./mutants.js";
import { changed } from "./run.js";

const root = fileURLToPath(new URL("../..", import.meta.url));

test.each(MUTANTS)("the text that is replaced stands once in its file: $name (mutants-1)", (mutant) => {
  const text = readFileSync(join(root, mutant.file), "utf8");
  expect(changed(text, mutant)).not.toBe(text);
  expect(mutant.tests.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

test("a text that is missing or stands twice is an error (mutants-1)", () => {
  const mutant = { name: "a mutant", file: "a.ts", find: "one", replace: "two" };
  expect(() => changed("three", mutant)).toThrow("a mutant: the text to replace stands 0 times in a.ts");
  expect(() => changed("one one", mutant)).toThrow("a mutant: the text to replace stands 2 times in a.ts");
});

test("mutants have names of their own", () => {
  expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length);
});
