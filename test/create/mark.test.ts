// The file beside a store: what it says, who adds to it, and what becomes of it when it is long or odd.

import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { fileMark } from "../../src/adapters/process/mark.js";

let folder = "";
const path = () => join(folder, "marks", "mark");
const lines = () =>
  readFileSync(path(), "utf8")
    .split("\n")
    .filter((line) => line !== "");
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "toolgate-mark-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("says the most of each thread, in every process that has it open (mark-2)", () => {
  const [one, other] = [fileMark(path()), fileMark(path())];
  expect([one.read("t1"), other.read("t1")]).toEqual([undefined, undefined]);
  one.add("t1", { store: "s", sends: 1, changes: 4 });
  other.add("t2", { store: "s", sends: 3, changes: 7 });
  one.add("t1", { store: "s", sends: 2, changes: 9 });
  for (const mark of [one, other, fileMark(path())]) {
    expect(mark.read("t1")).toEqual({ store: "s", sends: 3, changes: 9 });
    expect(mark.read("t2")).toEqual({ store: "s", sends: 3, changes: 7 });
    expect(mark.read("new")).toEqual({ store: "s", sends: 3, changes: 0 });
  }
  expect(readFileSync(path(), "utf8")).not.toContain("t1"); // a thread's name is nobody else's business
  expect(statSync(path()).mode & 0o777).toBe(0o600);
});

test("forgets what it said of another store, and of everything that is put in its place", () => {
  const [one, other] = [fileMark(path()), fileMark(path())];
  one.add("t1", { store: "old", sends: 5, changes: 4 });
  other.add("t1", { store: "new", sends: 1, changes: 1 });
  expect(one.read("t1")).toEqual({ store: "new", sends: 1, changes: 1 });
  other.renew([["t2", { store: "new", sends: 2, changes: 3 }]]);
  expect([one.read("t1"), one.read("t2")]).toEqual([
    { store: "new", sends: 2, changes: 0 },
    { store: "new", sends: 2, changes: 3 },
  ]);
  one.add("t1", { store: "new", sends: 3, changes: 2 });
  expect(other.read("t1")).toEqual({ store: "new", sends: 3, changes: 2 });
});

test("a long file is written anew with a line for each thread", () => {
  fileMark(path()).add("t1", { store: "s", sends: 1, changes: 1 });
  const [first] = lines();
  for (let n = 0; n < 11; n++) appendFileSync(path(), `${first}\n`.repeat(1_000));
  fileMark(path()).add("t2", { store: "s", sends: 2, changes: 2 });
  expect(lines()).toHaveLength(2);
  expect(fileMark(path()).read("t1")).toEqual({ store: "s", sends: 2, changes: 1 });
});

test("a line that is being written is not read yet; what is no mark is refused with what to do", () => {
  const mark = fileMark(path());
  mark.add("t1", { store: "s", sends: 1, changes: 1 });
  appendFileSync(path(), '["s","abc');
  expect(mark.read("t1")).toEqual({ store: "s", sends: 1, changes: 1 });
  fileMark(path()).add("t1", { store: "s", sends: 2, changes: 5 }); // whoever wrote that line lost its power
  expect(mark.read("t1")).toEqual({ store: "s", sends: 2, changes: 5 });
  writeFileSync(path(), "my shopping list\n");
  expect(() => fileMark(path()).read("t1")).toThrow("cannot be used");
  expect(() => fileMark(folder).add("t1", { store: "s", sends: 1, changes: 1 })).toThrow("EISDIR");
});
