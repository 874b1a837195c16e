import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { promises } from "./promises.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const tests = readdirSync(join(root, "test"), { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".ts") && !path.startsWith("contract"))
  .map((path) => readFileSync(join(root, "test", path), "utf8"));

describe("promises", () => {
  for (const { id, since } of promises) {
    test(`${id} is ${since === null ? "not kept yet" : "cited by a test's name"}`, () => {
      const cited = tests.some((text) =>
        new RegExp(`(?:test|it|describe)(?:\\.[a-zA-Z]+)?\\([^\\n]*\\b${id}\\b`, "u").test(
          text.replace(/\(\s*\n\s*/gu, "("),
        ),
      );
      expect(cited || since === null).toBe(true);
    });
  }

  test("the README says them in the same words", () => {
    const readme = readFileSync(join(root, "README.md"), "utf8").replace(/\s+/gu, " ");
    expect(promises.filter(({ sentence }) => !readme.includes(sentence)).map(({ id }) => id)).toEqual([]);
  });
});
