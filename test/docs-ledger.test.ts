// docs/ledger.md is written from the table of moves that the ledger follows.

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { TRANSITIONS } from "../src/ledger/transitions.js";

const root = fileURLToPath(new URL("..", import.meta.url));
const page = readFileSync(new URL("../docs/ledger.md", import.meta.url), "utf8");
const moves = TRANSITIONS.map(({ from, to }) => `${from} ${to}`);

describe("docs/ledger.md", () => {
  test("is what the table of moves says", { timeout: 60_000 }, () => {
    const args = ["--import", "tsx", "docs/ledger.ts", "--check"];
    const ran = spawnSync(process.execPath, args, { cwd: root, encoding: "utf8" });
    expect([ran.status, ran.stderr]).toEqual([0, ""]);
  });

  test("draws every move once, and no other", () => {
    const drawn = [...page.matchAll(/^ {2}(\w+) --> (\w+) : [a-zA-Z, ]+$/gmu)].map(([, from, to]) => `${from} ${to}`);
    expect(drawn).toEqual(moves);
    expect(page.match(/-->/gu)).toHaveLength(moves.length + 1); // one arrow to proposed; none is an end, since a person may doubt a changed record
  });

  test("lists every move once, with the methods that make it", () => {
    const listed = [...page.matchAll(/^\| `(\w+)` \| `(\w+)` \| (.+) \|$/gmu)].map(([, ...row]) => row);
    expect(listed).toEqual(TRANSITIONS.map(({ from, to, by }) => [from, to, by]));
  });
});
