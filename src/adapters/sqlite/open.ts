// Opening a SQLite file for toolgate: durable, shared between processes, private to its user; failures said in words.
//
// The file is in WAL mode; commit.ts says what a commit survives.

import { closeSync, openSync } from "node:fs";
import { dirname } from "node:path";
import Database from "better-sqlite3";
import { guarded, isBusy } from "./failure.js";
import { makeFolder } from "./folder.js";
import { migrate, refuseLater } from "./schema.js";

/** Milliseconds to wait for another process that holds the file. */
const BUSY_MS = 5_000;

/** Opens (or makes) a store at a path, or prepares an open one. Throws `store_failed` or `store_version`. */
export function openStore(db: Database.Database | string): Database.Database {
  return guarded(typeof db === "string" ? db : db.name, () => {
    if (typeof db !== "string") return prepare(db);
    if (db !== ":memory:") makeFile(db);
    const opened = new Database(db, { timeout: BUSY_MS });
    try {
      return prepare(opened);
    } catch (error) {
      opened.close();
      throw error;
    }
  });
}

function prepare(db: Database.Database): Database.Database {
  db.pragma(`busy_timeout = ${BUSY_MS}`);
  refuseLater(db); // before anything of it is changed
  db.pragma("secure_delete = ON"); // what is taken out is written over, not only let go
  db.pragma("synchronous = FULL"); // for whoever writes without commit.ts
  if (!db.memory && db.pragma("journal_mode", { simple: true }) !== "wal") turnOnWal(db);
  migrate(db);
  return db;
}

/** Turning WAL on does not wait for other processes as other statements do, and one of them may be turning it on. */
function turnOnWal(db: Database.Database): void {
  const until = performance.now() + BUSY_MS;
  for (;;) {
    try {
      db.pragma("journal_mode = WAL");
      return;
    } catch (error) {
      if (!isBusy(error) || performance.now() > until) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
    }
  }
}

/** Arguments of calls are nobody else's business: the folder and the file are made for their user alone. */
function makeFile(path: string): void {
  makeFolder(dirname(path));
  closeSync(openSync(path, "a", 0o600));
}
