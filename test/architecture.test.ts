// The rooms and what each may import. A file that breaks this is in the wrong room.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const src = fileURLToPath(new URL("../src", import.meta.url));
const files = readdirSync(src, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".ts"));

const ROOMS = ["catalog", "policy", "approval", "execution", "observation"];
const FRONT = ["index.ts", "testing.ts", "cli"]; // composition roots: they choose adapters

const room = (path: string) => path.split("/")[0] as string;
const importsOf = (path: string) => {
  const text = readFileSync(join(src, path), "utf8");
  return [...text.matchAll(/(?:from|import)\s*\(?\s*"([^"]+)"/gu)].map((match) => match[1] as string);
};
const targetOf = (path: string, specifier: string) => relative(src, join(src, dirname(path), specifier));

/** Imports of other rooms that a file makes, as `file -> target`. */
function foreign(path: string, allowed: readonly string[]): string[] {
  return importsOf(path)
    .filter((specifier) => specifier.startsWith("."))
    .map((specifier) => targetOf(path, specifier))
    .filter((target) => room(target) !== room(path) && !allowed.includes(room(target)))
    .map((target) => `${path} -> ${target}`);
}

describe("architecture", () => {
  test("contracts import zod and each other; digest.ts alone adds the canonical JSON library and node:crypto", () => {
    const strange = files
      .filter((path) => room(path) === "contracts")
      .flatMap((path) => importsOf(path).map((specifier) => `${path} -> ${specifier}`))
      .filter((line) => !/ -> (?:zod|\.\/[a-z-]+\.js)$/u.test(line));
    expect(strange).toEqual(["contracts/digest.ts -> node:crypto", "contracts/digest.ts -> json-canonicalize"]);
  });

  for (const name of ROOMS) {
    test(`${name} imports contracts and itself`, () => {
      expect(files.filter((path) => room(path) === name).flatMap((path) => foreign(path, ["contracts"]))).toEqual([]);
    });
  }

  test("graph imports rooms, never adapters", () => {
    expect(
      files.filter((path) => room(path) === "graph").flatMap((path) => foreign(path, ["contracts", ...ROOMS])),
    ).toEqual([]);
  });

  test("adapters import contracts and the ports they implement", () => {
    const strange = files
      .filter((path) => room(path) === "adapters")
      .flatMap((path) => foreign(path, ["contracts", ...ROOMS]));
    expect(strange).toEqual([]);
  });

  test("only composition roots import adapters", () => {
    const importers = files
      .filter((path) => room(path) !== "adapters" && !FRONT.includes(room(path)))
      .flatMap((path) =>
        importsOf(path)
          .filter((specifier) => specifier.includes("adapters/"))
          .map((specifier) => `${path} -> ${specifier}`),
      );
    expect(importers).toEqual([]);
  });

  test("clock, chance, environment and I/O stay in adapters and front doors", () => {
    const pure = files.filter((path) => !["adapters", ...FRONT].includes(room(path)));
    const found = pure.flatMap((path) => {
      const text = readFileSync(join(src, path), "utf8").replace(/\/\/[^\n]*|\/\*[\s\S]*?\*\//gu, "");
      const words = [
        ...text.matchAll(
          /Date\.now|new Date\(\)|Math\.random|process\.(?:env|exit|cwd)|randomUUID|randomBytes|setTimeout|setInterval|node:(?:fs|net|http|child_process|os)/gu,
        ),
      ];
      return words.map((match) => `${path}: ${match[0]}`);
    });
    expect(found).toEqual([]);
  });

  test("no default exports, no enums, every relative import has its extension", () => {
    const found = files.flatMap((path) => {
      const text = readFileSync(join(src, path), "utf8");
      const bad = [...text.matchAll(/^export default|^(?:export )?(?:const )?enum /gmu)].map(
        (match) => `${path}: ${match[0]}`,
      );
      return [
        ...bad,
        ...importsOf(path)
          .filter((specifier) => specifier.startsWith(".") && !/\.(?:js|mjs|json)$/u.test(specifier))
          .map((specifier) => `${path}: ${specifier}`),
      ];
    });
    expect(found).toEqual([]);
  });

  test("the top level holds what it should", () => {
    for (const path of [
      "package.json",
      "tsconfig.json",
      "langgraph.json",
      "toolgate.json",
      "toolgate.schema.json",
      "README.md",
      "AGENTS.md",
      "DECISIONS.md",
      "LICENSE",
      "graphs/agent.ts",
      ".ci/run",
    ]) {
      expect([path, existsSync(join(src, "..", path))]).toEqual([path, true]);
    }
  });
});
