// Journals and operations: one word decides, whoever reads it, and an id is taken once.

import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Folder, openFolder } from "../../../servers/documents/folder.js";
import { type Io, nodeIo } from "../../../servers/documents/io.js";
import { type JournalRecord, lineOf, parseJournal } from "../../../servers/documents/journal.js";
import { type Begin, type FenceBounds, operationsIn } from "../../../servers/documents/operations.js";

const begun = { filename: "a.md", bytes: 1, sha256: "f".repeat(64), pid: 7, started: "boot:1" };
const text = (...records: JournalRecord[]): string => records.map((record) => lineOf(record).toString()).join("");
const begins = { kind: "begun", begun, created: false, ended: false, outcome: undefined };

describe("a journal's text", () => {
  test.each<[string, string, object]>([
    ["nothing", "", { kind: "blank" }],
    ["begun", text({ begun }), begins],
    ["fenced", text({ fenced: { at: 5 } }), { kind: "fenced", at: 5 }],
    ["begun, then a fence that came late (documents-journal-1)", text({ begun }, { fenced: { at: 5 } }), begins],
    [
      "a fence, then a save that came late (documents-journal-1)",
      text({ fenced: { at: 5 } }, { begun }),
      { kind: "fenced", at: 5 },
    ],
    ["created", text({ begun }, { created: true }), { ...begins, created: true }],
    ["saved", text({ begun }, { ended: { status: "ok" } }), { ...begins, ended: true, outcome: "saved" }],
    ["refused", text({ begun }, { ended: { status: "rejected" } }), { ...begins, ended: true, outcome: "refused" }],
    ["failed: nothing is known by that", text({ begun }, { ended: { status: "failed" } }), { ...begins, ended: true }],
    [
      "unknown, then found",
      text({ begun }, { ended: { status: "result_unknown" } }, { settled: { carriedOut: true } }),
      { ...begins, ended: true, outcome: "found" },
    ],
    [
      "broken off, then not found",
      text({ begun }, { settled: { carriedOut: false } }),
      { ...begins, outcome: "not_found" },
    ],
    [
      "the first that was said counts",
      text(
        { begun },
        { settled: { carriedOut: false } },
        { ended: { status: "ok" } },
        { settled: { carriedOut: true } },
      ),
      { ...begins, ended: true, outcome: "not_found" },
    ],
    ["half a line (documents-journal-2)", '{"begun":{"filename":"a', { kind: "blank" }],
    ["a line without its newline (documents-journal-2)", JSON.stringify({ begun }), { kind: "blank" }],
    [
      "half a line, then a fence (documents-journal-2)",
      `{"begun":{${text({ fenced: { at: 5 } })}`,
      { kind: "fenced", at: 5 },
    ],
    ["half a last line (documents-journal-2)", `${text({ begun })}{"ended":{"sta`, begins],
    [
      "what is no record (documents-journal-2)",
      `null\n7\n[]\n{"ended":{"status":"fine"}}\n{"begun":{}}\n${text({ begun })}`,
      begins,
    ],
    ["an end before any beginning", text({ ended: { status: "ok" } }, { begun }), begins],
  ])("%s", (_what, given, journal) => {
    expect(parseJournal(given)).toEqual(journal);
  });

  test("once a word decides, nothing that is added changes it, however it is cut (documents-journal-1)", () => {
    const record = fc.constantFrom<JournalRecord>(
      { begun },
      { fenced: { at: 5 } },
      { created: true },
      { ended: { status: "ok" } },
      { ended: { status: "rejected" } },
      { ended: { status: "failed" } },
      { settled: { carriedOut: true } },
      { settled: { carriedOut: false } },
    );
    const piece = record.chain((one) => {
      const line = lineOf(one).toString();
      return fc.oneof(
        fc.constant(line),
        fc.nat(line.length).map((length) => line.slice(0, length)),
      );
    });
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 6 }), fc.array(piece, { maxLength: 6 }), (first, second) => {
        const before = parseJournal(first.join(""));
        const after = parseJournal([...first, ...second].join(""));
        if (before.kind !== "blank") expect(after.kind).toBe(before.kind);
        if (before.kind === "begun" && before.outcome !== undefined && after.kind === "begun")
          expect(after.outcome).toBe(before.outcome);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("operations", () => {
  const id = "a".repeat(64);
  const other = "b".repeat(64);
  let root = "";
  let folder: Folder;
  let now = 1_000_000;

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "toolgate-operations-"));
    folder = openFolder(root, nodeIo);
    now = 1_000_000;
  });
  afterEach(() => {
    folder.close();
    rmSync(root, { recursive: true });
  });
  const operations = (io: Io = nodeIo, bounds?: FenceBounds) => operationsIn(folder, io, () => now, bounds);
  const ownDescriptors = (): number => readdirSync("/proc/self/fd").length;
  const file = (of = id): string => join(root, of);
  function began(value: Begin | "used" | "fenced"): Begin {
    if (typeof value === "string") throw new Error(`expected a beginning, got ${value}`);
    return value;
  }

  test("an id is taken once, and its journal says by what, for nobody else to read (documents-operations-1)", () => {
    const begin = began(operations().begin(id, begun));
    expect(operations().begin(id, begun)).toBe("used");
    expect(operations().fence(id)).toBe(true);
    begin.note({ created: true });
    begin.note({ ended: { status: "ok" } });
    begin.close();
    expect(operations().look(id)).toEqual({ ...begins, created: true, ended: true, outcome: "saved" });
    expect(operations().look(other)).toBeUndefined();
    expect(readFileSync(file(), "utf8").split("\n").filter(Boolean)).toEqual([
      '{"begun":{"filename":"a.md","bytes":1,"sha256":"ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff","pid":7,"started":"boot:1"}}',
      '{"created":true}',
      '{"ended":{"status":"ok"}}',
    ]);
    expect(statSync(file()).mode & 0o777).toBe(0o600);
  });

  test("a fenced id is refused to every save", () => {
    expect(operations().fence(id)).toBe(true);
    expect(operations().begin(id, begun)).toBe("fenced");
    expect(operations().look(id)).toEqual({ kind: "fenced", at: 1_000_000 });
  });

  test("a fence that comes between a journal's making and its first word wins, and the save sees it (documents-journal-1)", () => {
    let crossed = false;
    const io: Io = {
      ...nodeIo,
      write(fd, bytes, offset) {
        if (!crossed) {
          crossed = true;
          expect(operations().look(id)).toEqual({ kind: "blank" });
          expect(operations().fence(id)).toBe(true);
          expect(operations().look(id)).toEqual({ kind: "fenced", at: 1_000_000 });
        }
        return nodeIo.write(fd, bytes, offset);
      },
    };
    const before = ownDescriptors();
    expect(operations(io).begin(id, begun)).toBe("fenced");
    expect(operations().look(id)).toEqual({ kind: "fenced", at: 1_000_000 });
    expect(ownDescriptors()).toBe(before);
  });

  test("a fence that found a blank journal but comes second changes nothing (documents-journal-1)", () => {
    writeFileSync(file(), "");
    const late: Folder = {
      ...folder,
      append(name) {
        appendFileSync(file(), lineOf({ begun })); // the save's own word, after the fence looked
        return folder.append(name);
      },
    };
    expect(operationsIn(late, nodeIo, () => now).fence(id)).toBe(true);
    expect(readFileSync(file(), "utf8")).toBe(text({ begun }, { fenced: { at: 1_000_000 } }));
    expect(operations().look(id)).toEqual(begins);
  });

  test.each<[string, Partial<Io>, object]>([
    ["the line cannot be written", { write: fails("ENOSPC") }, { kind: "blank" }],
    ["it cannot be had on disk", { fsync: fails("EIO") }, { ...begins, ended: true }],
  ])(
    "a beginning that fails (%s) is an error, takes the id, and gives its descriptor back",
    (_what, broken, journal) => {
      const before = ownDescriptors();
      let failures = 0;
      const io = {
        ...nodeIo,
        ...broken,
        fsync: (fd: number) => (broken.fsync && failures++ === 0 ? broken.fsync(fd) : nodeIo.fsync(fd)),
      };
      expect(() => operations(io).begin(id, begun)).toThrow();
      expect(ownDescriptors()).toBe(before);
      expect(operations().look(id)).toEqual(journal);
      expect(operations().begin(id, begun)).toBe("used");
    },
  );

  test("a journal that is a link or too large is an error, not an answer", () => {
    mkdirSync(join(root, "elsewhere"));
    symlinkSync("elsewhere", file());
    expect(() => operations().look(id)).toThrow("the journal cannot be read: link");
    writeFileSync(file(other), "x".repeat(70_000));
    expect(() => operations().look(other)).toThrow("the journal cannot be read: too_large");
    expect(operations().begin(other, begun)).toBe("used");
  });

  test("many fences: old ones go, young ones stay, saves are never touched, and at the bound none is made (documents-operations-2)", () => {
    const bounds = { many: 4, most: 6, keptMs: 600_000 };
    const idOf = (n: number): string => n.toString(16).padStart(64, "0");
    const fence = (n: number): boolean => operations(nodeIo, bounds).fence(idOf(n));
    began(operations().begin(id, begun)).close();
    for (let n = 0; n < 6; n++) expect(fence(n)).toBe(true);
    expect([fence(6), readdirSync(root).length]).toEqual([false, 7]);
    now += 600_000; // not older than that yet
    expect(fence(6)).toBe(false);
    now += 1;
    expect(fence(6)).toBe(true);
    expect(readdirSync(root)).toEqual([idOf(6), id]);
    expect(operations().look(id)).toEqual(begins);
  });
});

function fails(code: string): () => never {
  return () => {
    throw Object.assign(new Error(code), { code });
  };
}
