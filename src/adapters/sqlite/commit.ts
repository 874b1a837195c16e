// Transaction: how a SQLite file is read and written, and what a commit survives.
//
//   commit-1. In WAL mode with `synchronous=NORMAL` a commit survives the end of the process, and with FULL also a loss of
//             power (SQLite, "PRAGMA synchronous"). One file has one log: the fsync of a FULL commit makes every earlier
//             commit durable, whoever made it. What a loss of power takes away is therefore always the end of the log,
//             as if the process had been killed a little earlier.

import type Database from "better-sqlite3";
import type { Rule, Store, Survives, Tables } from "../../ledger/tables.js";
import { toCell } from "./codec.js";
import { storeError } from "./failure.js";
import { mustBeReadable } from "./schema.js";

/** Runs work as one IMMEDIATE transaction. Throws `store_failed`. */
export type Commit = <T>(survives: Survives, work: () => T) => T;

/** What each open database was told last. The setting belongs to the connection. */
const settings = new WeakMap<Database.Database, Survives>();

export function committing(db: Database.Database): Commit {
  const version = db.prepare("PRAGMA user_version").pluck();
  const transact = db.transaction((work: () => unknown) => {
    mustBeReadable(Number(version.get())); // another process may have migrated the file since it was opened
    return work();
  });
  return <T>(survives: Survives, work: () => T): T => {
    try {
      setSynchronous(db, survives);
      return transact.immediate(work) as T;
    } catch (error) {
      throw storeError(db.name, error);
    }
  };
}

/** It cannot be changed within a transaction, so it is set before one begins. */
function setSynchronous(db: Database.Database, survives: Survives): void {
  if (settings.get(db) === survives) return;
  db.exec(`PRAGMA synchronous = ${survives === "power-loss" ? "FULL" : "NORMAL"}`); // commit-1
  settings.set(db, survives);
}

const OF_THREAD = "thread = (SELECT n FROM threads WHERE key = @key)";
const SHOWN = (of: string) =>
  `SELECT snapshot_id FROM model_requests WHERE turn ${of} (SELECT n FROM turns WHERE ${OF_THREAD})`;

/** What is taken out for good when a thread is forgotten. */
const ERASING = [
  `DELETE FROM questions WHERE operation IN (SELECT n FROM operations WHERE ${OF_THREAD})`,
  `UPDATE operations SET arguments = '{}' WHERE ${OF_THREAD}`,
  `UPDATE model_requests SET proposal = NULL WHERE turn IN (SELECT n FROM turns WHERE ${OF_THREAD})`,
  `DELETE FROM snapshots WHERE id IN (${SHOWN("IN")}) AND id NOT IN (${SHOWN("NOT IN")})`,
];

/** Where the checkpoints are that name what the ledger holds. */
export type Checkpoints = "same file" | "elsewhere";

/**
 * The ledger's store: each rule runs on the tables of the file, within one transaction. Where the checkpoints are in the
 * same file, a commit survives what its rule asks for; elsewhere they could name what is lost, so it survives everything.
 */
export function sqliteStore(
  db: Database.Database,
  tables: Tables,
  close: () => Promise<void>,
  checkpoints: Checkpoints = "elsewhere",
): Store {
  const commit = committing(db);
  const transact = db.transaction((rule: Rule<unknown>) => rule(tables));
  return {
    write: async (_readSet, rule, survives) =>
      commit(checkpoints === "elsewhere" ? "power-loss" : survives, () => rule(tables)),
    read: async <T>(_readSet: unknown, rule: Rule<T>) => {
      try {
        return transact.deferred(rule) as T;
      } catch (error) {
        throw storeError(db.name, error);
      }
    },
    erase: async (threadId) => {
      commit("power-loss", () => {
        for (const text of ERASING) db.prepare(text).run({ key: toCell(threadId) });
      });
      db.pragma("wal_checkpoint(TRUNCATE)"); // what was written over stands in the log until then
    },
    close,
  };
}
