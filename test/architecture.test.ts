// The rooms, the floors they stand on, and what each may import. A file that breaks this is in the wrong room.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const src = fileURLToPath(new URL("../src", import.meta.url));
const files = readdirSync(src, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".ts"));

/** Each room imports itself and rooms on lower floors. */
const FLOORS: readonly (readonly string[])[] = [
  ["contracts"],
  ["ledger", "policy", "approval", "observation", "catalog"],
  ["gate", "langgraph", "listings"],
  ["execution", "report"],
  ["graph", "adapters"],
  ["create"],
  ["index.ts", "testing.ts"],
  ["cli"],
];
/** Only these choose adapters. */
const DOORS = ["create", "index.ts", "testing.ts", "cli"];
/** Rooms on one floor that know of one another, with the reason. */
const NEIGHBOURS: Readonly<Record<string, readonly string[]>> = {
  execution: [],
  observation: [],
};

const room = (path: string) => path.split("/")[0] as string;
const floorOf = (name: string) => FLOORS.findIndex((floor) => floor.includes(name));
const importsOf = (path: string) => {
  const text = readFileSync(join(src, path), "utf8");
  return [...text.matchAll(/(?:from|import)\s*\(?\s*"([^"]+)"/gu)].map((match) => match[1] as string);
};
const targetsOf = (path: string) =>
  importsOf(path)
    .filter((specifier) => specifier.startsWith("."))
    .map((specifier) => relative(src, join(src, dirname(path), specifier)).replace(/\.js$/u, ".ts"))
    .filter((target) => target.endsWith(".ts"));

describe("architecture", () => {
  test("every file is in a room that has a floor", () => {
    expect(files.filter((path) => floorOf(room(path)) < 0)).toEqual([]);
  });

  test("no room imports one on its own floor or above", () => {
    const strange = files.flatMap((path) =>
      targetsOf(path)
        .filter((target) => room(target) !== room(path) && !NEIGHBOURS[room(path)]?.includes(room(target)))
        .filter((target) => floorOf(room(target)) >= floorOf(room(path)))
        .map((target) => `${path} -> ${target}`),
    );
    expect(strange).toEqual([]);
  });

  test("contracts import zod and each other; digest.ts alone adds the canonical JSON library and node:crypto", () => {
    const strange = files
      .filter((path) => room(path) === "contracts")
      .flatMap((path) => importsOf(path).map((specifier) => `${path} -> ${specifier}`))
      .filter((line) => !/ -> (?:zod|\.\/[a-z-]+\.js)$/u.test(line));
    expect(strange).toEqual(["contracts/digest.ts -> node:crypto", "contracts/digest.ts -> json-canonicalize"]);
  });

  test("only composition and front doors import adapters", () => {
    const importers = files
      .filter((path) => room(path) !== "adapters" && !DOORS.includes(room(path)))
      .flatMap((path) =>
        targetsOf(path)
          .filter((target) => room(target) === "adapters")
          .map((target) => `${path} -> ${target}`),
      );
    expect(importers).toEqual([]);
  });

  test("the road of a call knows nothing of LangGraph", () => {
    const found = files
      .filter((path) => ["ledger", "gate", "execution"].includes(room(path)))
      .flatMap((path) =>
        importsOf(path)
          .filter((specifier) => /langgraph/u.test(specifier))
          .map((specifier) => `${path} -> ${specifier}`),
      );
    expect(found).toEqual([]);
  });

  test("no node imports another node", () => {
    const found = files
      .filter((path) => path.startsWith("graph/nodes/"))
      .flatMap((path) =>
        targetsOf(path)
          .filter((target) => target.startsWith("graph/nodes/"))
          .map((target) => `${path} -> ${target}`),
      );
    expect(found).toEqual([]);
  });

  test("no file imports itself by way of others, types aside", () => {
    const runtime = new Map(
      files.map((path) => {
        const text = readFileSync(join(src, path), "utf8");
        const specifiers = [...text.matchAll(/^(?:import|export) (?!type )[^;]*?from "(\.[^"]+)";/gmu)];
        const targets = specifiers
          .filter(([statement]) => !/^(?:import|export) \{(?:\s*type [^,}]+,?)+\s*\} from/u.test(statement))
          .map((match) => relative(src, join(src, dirname(path), match[1] as string)).replace(/\.js$/u, ".ts"));
        return [path, targets] as const;
      }),
    );
    const cycles: string[] = [];
    const done = new Set<string>();
    const visit = (path: string, trail: readonly string[]): void => {
      if (trail.includes(path)) {
        cycles.push([...trail.slice(trail.indexOf(path)), path].join(" -> "));
        return;
      }
      if (done.has(path)) return;
      for (const target of runtime.get(path) ?? []) visit(target, [...trail, path]);
      done.add(path);
    };
    for (const path of files) visit(path, []);
    expect(cycles).toEqual([]);
  });

  test("clock, chance, environment and I/O stay in adapters, composition and front doors", () => {
    const pure = files.filter((path) => !["adapters", ...DOORS].includes(room(path)));
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

  test("the public door is at most 40 lines, and the graphs for LangGraph's server use only what a package exports", () => {
    expect(readFileSync(join(src, "index.ts"), "utf8").split("\n").length).toBeLessThanOrEqual(41);
    const graphs = join(src, "..", "graphs");
    const inside = readdirSync(graphs).flatMap((name) =>
      [...readFileSync(join(graphs, name), "utf8").matchAll(/from "([^"]+)"/gu)]
        .map((match) => match[1] as string)
        .filter((specifier) => specifier.includes("/src/") && !specifier.endsWith("/src/index.js"))
        .map((specifier) => `${name} -> ${specifier}`),
    );
    expect(inside).toEqual([]);
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
