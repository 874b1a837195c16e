// Any name at all, to one process: what does not fit the rule is never made and never read, what fits is itself.

import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { CANARY, GOOD, onField } from "./field.js";
import { approved } from "./grants.js";
import { targetOn } from "./target.js";
import { changesOf, lookAt } from "./tree.js";

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/** The rule of a name, spelled out without a pattern. */
function fits(name: string): boolean {
  const stem = name.slice(0, -3);
  if (!name.endsWith(".md") || stem.length < 1 || stem.length > 64) return false;
  return [...stem].every((letter, at) => LETTERS.includes(letter) || (at > 0 && "-_".includes(letter)));
}

/** Documents whose names do not fit. */
const BAITS = [
  ".hidden.md",
  "a b.md",
  "UP.MD",
  "notes.txt",
  "n\u00f6tes.md",
  "-dash.md",
  `${"x".repeat(65)}.md`,
  "two\nlines.md",
];

const pieces = [
  "..",
  ".",
  "/",
  "\\",
  "~",
  "\u0000",
  "\n",
  " ",
  ".md",
  "md",
  "\uff0e",
  "\u202e",
  "sources",
  "reports",
  "good.md",
  "a",
  "-",
];
const letters = fc.string({ unit: fc.constantFrom(...LETTERS, "-", "_"), maxLength: 70 });
const names = fc.oneof(
  letters.map((stem) => `${stem}.md`),
  fc.constantFrom(...BAITS, "good.md"),
  fc.array(fc.constantFrom(...pieces), { maxLength: 6 }).map((parts) => parts.join("")),
  fc.string({ unit: "binary", maxLength: 20 }).map((stem) => `${stem}.md`),
  fc.string({ unit: "grapheme", maxLength: 20 }),
  // A right name with one thing put into it.
  fc.tuple(letters, fc.nat(), fc.string({ unit: "binary", minLength: 1, maxLength: 2 })).map(([stem, at, more]) => {
    const name = `${stem}.md`;
    const place = at % (name.length + 1);
    return name.slice(0, place) + more + name.slice(place);
  }),
);

test("200 names: nothing is made or read under a name that does not fit", async () => {
  await onField(async (field) => {
    const sources = join(field.root, "sources");
    mkdirSync(join(sources, "sub"));
    for (const bait of [...BAITS, "sub/inner.md"]) writeFileSync(join(sources, bait), CANARY);
    const target = await targetOn(field, "2026-07-28");
    const before = lookAt(field.ground);
    const saved = new Set<string>();
    let refused = 0;

    const one = async (name: string): Promise<void> => {
      const read = await target.ask("read_document", { filename: name });
      const found = name === "good.md" ? "ok" : "failed";
      expect(read.status).toBe(fits(name) ? found : "rejected");
      const save = await target.ask("save_report", approved({ filename: name, content: `${saved.size}\n` }));
      expect(save.status).toBe(fits(name) && !saved.has(name) ? "ok" : "rejected");
      if (save.status === "ok") saved.add(name);
      else refused += 1;
      expect(readdirSync(join(field.root, "reports")).sort()).toEqual([...saved].sort());
    };
    await fc.assert(fc.asyncProperty(names, one), { seed: 20261129, numRuns: 200, endOnFailure: true });

    expect(saved.size).toBeGreaterThan(20); // both kinds were tried
    expect(refused).toBeGreaterThan(100);
    const { added, changed, removed } = changesOf(before, lookAt(field.ground));
    const inside = /^root\/(reports\/[A-Za-z0-9][A-Za-z0-9_-]{0,63}\.md|\.operations\/[0-9a-f]{64})$/;
    expect(added.filter((path) => !inside.test(path))).toEqual([]);
    expect([changed, removed]).toEqual([[], []]);
    expect(field.log("effect")).toHaveLength(saved.size);
    expect((await target.ask("search_documents", { query: GOOD.trim() })).data.hits).toHaveLength(1);
  });
});
