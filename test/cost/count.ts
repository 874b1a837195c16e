// Counts what calls cost this process, by wrapping three prototypes for as long as a test file runs: how often SQLite waits
// for the disk, how often the ledger is read, and how often the schema worker is asked.
//
//   cost-1. A wait for the disk (fsync) is counted where SQLite does it in WAL mode: at a commit that changed rows while
//       `PRAGMA synchronous` was FULL, in a transaction or as a statement of its own, and at an explicit
//       `wal_checkpoint`. The checkpoints that SQLite makes by itself every 1,000 pages are not counted; with them,
//       `strace -f -e trace=fsync,fdatasync` showed 13.15 a call where 13 were counted, and 2.16 where 2 were.
//   cost-2. A read of the ledger is a transaction that wrote nothing, or a SELECT outside of a transaction, of any table
//       but the checkpointer's two and the result store's.
//
// Statements of every connection to a file of the given folder count, whichever module opened it; what agents of other
// tests in this process may still do does not.

import { Worker } from "node:worker_threads";
import Database from "better-sqlite3";

export interface Counts {
  readonly fsyncs: number;
  readonly ledgerReads: number;
  readonly workerTrips: number;
}

export interface Counter {
  /** What was counted since the last call of `take`. */
  take(): Counts;
  /** Puts the prototypes back. */
  restore(): void;
}

interface Statement {
  readonly source: string;
  readonly database: Database.Database;
}
type Method = (this: Statement, ...args: unknown[]) => unknown;

const OTHER_TABLES = /\b(?:FROM|INTO|UPDATE)\s+(?:checkpoints|writes|results|bodies)\b|^\s*PRAGMA|sqlite_master/i;
const READS = /^\s*(?:SELECT|WITH)\b/i;
const FULL = 2;

/** `folder` holds the databases whose statements are counted. */
export function startCounting(folder: string): Counter {
  let fsyncs = 0;
  let ledgerReads = 0;
  let workerTrips = 0;
  const undo: (() => void)[] = [];
  /** What a connection has changed when its transaction began. */
  const begun = new WeakMap<Database.Database, number>();
  let quiet = false; // our own questions are not counted

  const ask = <T>(db: Database.Database, text: string): T => {
    quiet = true;
    try {
      return db.prepare(text).pluck().get() as T;
    } finally {
      quiet = false;
    }
  };
  const changes = (db: Database.Database) => ask<number>(db, "SELECT total_changes()");
  const waits = (db: Database.Database) => ask<number>(db, "PRAGMA synchronous") >= FULL; // cost-1

  const around = (statement: Statement, run: () => unknown): unknown => {
    const { source, database: db } = statement;
    if (quiet || !db.name.startsWith(folder)) return run();
    const before = db.inTransaction;
    const ends = before && /^\s*(?:COMMIT|END)\b/i.test(source);
    const alone = !before && !READS.test(source) && !/^\s*(?:BEGIN|PRAGMA)\b/i.test(source);
    const since = ends ? begun.get(db) : alone ? changes(db) : undefined;
    const full = since !== undefined && waits(db); // the level is asked for before the commit: later it may be another one
    const result = run();
    if (!before && db.inTransaction) begun.set(db, changes(db));
    if (since !== undefined && !db.inTransaction) {
      if (changes(db) === since) {
        if (ends) ledgerReads += 1; // cost-2
      } else if (full) fsyncs += 1;
    }
    if (!before && !db.inTransaction && READS.test(source) && !OTHER_TABLES.test(source)) ledgerReads += 1; // cost-2
    if (/wal_checkpoint/i.test(source)) fsyncs += 1;
    return result;
  };

  const wrap = (prototype: object, name: string, wrapper: (real: Method) => Method) => {
    const descriptor = Object.getOwnPropertyDescriptor(prototype, name) as PropertyDescriptor;
    Object.defineProperty(prototype, name, { ...descriptor, value: wrapper(descriptor.value as Method) });
    undo.push(() => Object.defineProperty(prototype, name, descriptor));
  };

  const probe = new Database(":memory:");
  const statements = Object.getPrototypeOf(probe.prepare("SELECT 1")) as object;
  probe.close();
  for (const name of ["run", "get", "all", "iterate"]) {
    wrap(
      statements,
      name,
      (real) =>
        function (...args) {
          return around(this, () => real.apply(this, args));
        },
    );
  }
  wrap(
    Database.prototype as object,
    "exec",
    (real) =>
      function (text) {
        return around({ source: String(text), database: this as unknown as Database.Database }, () =>
          real.call(this, text),
        );
      },
  );
  wrap(
    Worker.prototype,
    "postMessage",
    (real) =>
      function (...args) {
        workerTrips += 1;
        return real.apply(this, args);
      },
  );

  return {
    take() {
      const counts = { fsyncs, ledgerReads, workerTrips };
      [fsyncs, ledgerReads, workerTrips] = [0, 0, 0];
      return counts;
    },
    restore() {
      for (const back of undo.splice(0)) back();
    },
  };
}
