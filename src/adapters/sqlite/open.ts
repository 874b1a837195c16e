// Opening a SQLite file for toolgate: durable, shared between processes, private to its user; failures said in words.
//
// The file is in WAL mode; commit.ts says what a commit survives, patience.ts how another process that holds it is waited for.

import { closeSync, openSync } from "node:fs";
import { dirname } from "node:path";
import Database from "better-sqlite3";
import { reading } from "./commit.js";
import { guarded, isBusy } from "./failure.js";
import { makeFolder } from "./folder.js";
import { PATIENCE_MS, STEP_MS } from "./patience.js";
import { migrate, refuseLater } from "./schema.js";

/**
 * Opens (or makes) a store at a path, or prepares an open one. Waits for another process without letting the event loop run:
 * `openPatiently` first where somebody else runs in this process. Throws `store_failed` or `store_version`.
 */
export function openStore(db: Database.Database | string): Database.Database {
  return guarded(typeof db === "string" ? db : db.name, () => {
    if (typeof db !== "string") return prepare(db, PATIENCE_MS);
    if (db !== ":memory:") makeFile(db);
    const opened = new Database(db, { timeout: PATIENCE_MS });
    try {
      return prepare(opened, PATIENCE_MS);
    } catch (error) {
      opened.close();
      throw error;
    }
  });
}

/** Prepares an open store; the event loop runs while another process is waited for. Rejects as `openStore` throws. */
export function openPatiently(db: Database.Database): Promise<Database.Database> {
  return reading(db, () => prepare(db, STEP_MS)); // what is done once is not done again
}

function prepare(db: Database.Database, busyMs: number): Database.Database {
  db.pragma(`busy_timeout = ${busyMs}`);
  refuseLater(db); // before anything of it is changed
  db.pragma("secure_delete = ON"); // what is taken out is written over, not only let go
  db.pragma("synchronous = FULL"); // for whoever writes without commit.ts
  if (!db.memory && db.pragma("journal_mode", { simple: true }) !== "wal") turnOnWal(db, busyMs);
  migrate(db);
  db.pragma(`busy_timeout = ${STEP_MS}`); // from now on by patience.ts
  return db;
}

/** Turning WAL on does not wait for other processes as other statements do, and one of them may be turning it on. */
function turnOnWal(db: Database.Database, busyMs: number): void {
  const until = performance.now() + busyMs;
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
