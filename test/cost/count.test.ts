// The counter of this folder, against statements whose cost is known.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Counter, startCounting } from "./count.js";

let folder: string;
let db: Database.Database;
let counter: Counter;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "toolgate-cost-"));
  db = new Database(join(folder, "test.sqlite"));
  db.pragma("journal_mode = WAL");
  db.pragma("synchronous = FULL");
  db.exec("CREATE TABLE threads (id TEXT); CREATE TABLE checkpoints (id TEXT); INSERT INTO threads VALUES ('a')");
  counter = startCounting(folder);
});
afterEach(() => {
  counter.restore();
  db.close();
  rmSync(folder, { recursive: true, force: true });
});

const put = () => db.prepare("INSERT INTO threads VALUES ('b')").run();
const read = () => db.prepare("SELECT id FROM threads").all();
const counted = (run: () => unknown) => {
  counter.take();
  run();
  const { fsyncs, ledgerReads } = counter.take();
  return { fsyncs, ledgerReads };
};

test("a transaction that wrote waits for the disk once, however many statements it has (cost-1)", () => {
  const store = db.transaction(() => {
    read();
    put();
    put();
  });
  expect(counted(() => store.immediate())).toEqual({ fsyncs: 1, ledgerReads: 0 });
  expect(counted(put)).toEqual({ fsyncs: 1, ledgerReads: 0 });
  expect(counted(() => db.exec("INSERT INTO threads VALUES ('c')"))).toEqual({ fsyncs: 1, ledgerReads: 0 });
});

test("a commit does not wait for the disk while `synchronous` is below FULL (cost-1)", () => {
  const store = db.transaction(put);
  db.pragma("synchronous = NORMAL");
  expect(counted(() => store.immediate())).toEqual({ fsyncs: 0, ledgerReads: 0 });
  db.exec("PRAGMA synchronous = FULL");
  expect(counted(() => store.immediate())).toEqual({ fsyncs: 1, ledgerReads: 0 });
});

test("a transaction that was rolled back costs nothing", () => {
  const store = db.transaction(() => {
    put();
    throw new Error("no");
  });
  expect(counted(() => expect(() => store.immediate()).toThrow("no"))).toEqual({ fsyncs: 0, ledgerReads: 0 });
});

test("a transaction that wrote nothing is one read, and so is a SELECT of its own (cost-2)", () => {
  const look = db.transaction(() => [read(), read()]);
  expect(counted(() => look.deferred())).toEqual({ fsyncs: 0, ledgerReads: 1 });
  expect(counted(() => look.immediate())).toEqual({ fsyncs: 0, ledgerReads: 1 });
  expect(counted(read)).toEqual({ fsyncs: 0, ledgerReads: 1 });
});

test("what the checkpointer reads is no read of the ledger (cost-2)", () => {
  expect(counted(() => db.prepare("SELECT id FROM checkpoints").all())).toEqual({ fsyncs: 0, ledgerReads: 0 });
});
