// docs/architecture.md is written from the sources and from one real call.

import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { cycles, longFunctions, runtimeImports } from "../docs/architecture-source.js";

const root = fileURLToPath(new URL("..", import.meta.url));

test("docs/architecture.md is what the sources say", { timeout: 60_000 }, () => {
  const args = ["--import", "tsx", "docs/architecture.ts", "--check"];
  const ran = spawnSync(process.execPath, args, { cwd: root, encoding: "utf8" });
  expect([ran.status, ran.stderr]).toEqual([0, ""]);
});

describe("what is read from the sources", () => {
  const file = (text: string) => ({ path: "graph/a.ts", text });

  test("an import of types alone is not one at runtime", () => {
    const text = [
      'import type { A } from "./b.js";',
      'import { type C, type D } from "./c.js";',
      'import { type E, f } from "../policy/d.js";',
      'import "./e.js";',
      'export { g } from "./f.js";',
      'export type { H } from "./g.js";',
      'import { readFileSync } from "node:fs";',
    ].join("\n");
    expect(runtimeImports(file(text))).toEqual(["policy/d.ts", "graph/e.ts", "graph/f.ts"]);
  });

  test("a cycle is found once, with all its files", () => {
    const graph = new Map([
      ["a.ts", ["b.ts"]],
      ["b.ts", ["c.ts"]],
      ["c.ts", ["b.ts"]],
      ["d.ts", ["a.ts"]],
    ]);
    expect(cycles(graph)).toEqual([["b.ts", "c.ts"]]);
  });

  test("functions, methods and arrow functions are measured from their first line to their last", () => {
    const text = "const f = () => {\n\n\n};\nclass A {\n  b() {\n\n  }\n}\n";
    expect(longFunctions([file(text)], 2)).toEqual([
      { file: "graph/a.ts", name: "f", lines: 4 },
      { file: "graph/a.ts", name: "b", lines: 3 },
    ]);
  });
});
