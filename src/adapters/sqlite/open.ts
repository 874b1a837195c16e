// Opening a SQLite file for toolgate: durable, shared between processes, private to its user; failures said in words.
//
//   open-1. The file is in WAL mode; commit.ts says what a commit survives.
//   open-2. Whatever SQLite or the file system says arrives as `store_failed` with a hint, never as a bare stack.

import { closeSync, openSync } from "node:fs";
import { dirname } from "node:path";
import Database from "better-sqlite3";
import { ToolgateError } from "../../contracts/index.js";
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

/** Runs what may fail in the store. (open-2) */
export function guarded<T>(path: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw storeError(path, error);
  }
}

function storeError(path: string, error: unknown): unknown {
  if (error instanceof ToolgateError || !(error instanceof Error)) return error;
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  const closed = error instanceof TypeError && /database connection is not open/.test(error.message);
  const broken = error instanceof SyntaxError; // a body that is no longer JSON
  if (!code && !closed && !broken) return error;
  const said = closed ? "it is closed" : broken ? "a stored record cannot be read" : error.message;
  return new ToolgateError("store_failed", `the store at \`${path}\` failed: ${said}`, hint(code, closed), {
    data: { path, code },
    cause: error,
  });
}

function hint(code: string, closed: boolean): string {
  if (closed) return "open the store again";
  if (isBusy({ code })) return "another process holds the store; try again when it is done";
  if (/FULL|ENOSPC/.test(code)) return "make room on the disk, then try again";
  if (/CORRUPT|NOTADB/.test(code)) return "the file is no store or is damaged; restore it or choose another store path";
  return "check that the path names a file in a folder that exists and that this user may write to";
}

function isBusy(error: unknown): boolean {
  const code = (error as { code?: unknown }).code;
  return typeof code === "string" && /^SQLITE_(BUSY|LOCKED)/.test(code);
}
