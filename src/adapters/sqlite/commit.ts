// Transaction: how a SQLite file is read and written, and what a commit survives.
//
//   commit-1. In WAL mode with `synchronous=NORMAL` a commit survives the end of the process, and with FULL also a loss of
//             power (SQLite, "PRAGMA synchronous"). One file has one log: the fsync of a FULL commit makes every earlier
//             commit durable, whoever made it. What a loss of power takes away is therefore always the end of the log,
//             as if the process had been killed a little earlier.

import type Database from "better-sqlite3";
import type { Survives } from "../../ledger/port.js";
import type { Rule, Store, Tables } from "../../ledger/tables.js";
import { toCell } from "./codec.js";
import { storeError } from "./failure.js";
import { filesOf } from "./files.js";
import { patienceWith } from "./patience.js";
import { mustBeReadable } from "./schema.js";
import { logOf } from "./wal.js";

/** Runs work as one IMMEDIATE transaction, and waits for whoever holds the file. Rejects with `store_failed`. */
export type Commit = <T>(survives: Survives, work: () => T) => Promise<T>;

/** What each open database was told last. The setting belongs to the connection. */
const settings = new WeakMap<Database.Database, Survives>();

export function committing(db: Database.Database): Commit {
  const version = db.prepare("PRAGMA user_version").pluck();
  const transact = db.transaction((work: () => unknown) => {
    mustBeReadable(Number(version.get())); // another process may have migrated the file since it was opened
    return work();
  });
  const files = filesOf(db);
  const log = logOf(db);
  const { writing } = patienceWith(db);
  return <T>(survives: Survives, work: () => T): Promise<T> =>
    inWords(db, () =>
      writing(() => {
        const bytes = files.mustBeThere();
        setSynchronous(db, survives);
        const result = transact.immediate(work) as T;
        log.grewTo(bytes);
        return result;
      }),
    );
}

/** What reads, in words where it fails; waits for whoever holds the file. Rejects with `store_failed`. */
export function reading<T>(db: Database.Database, work: () => T | Promise<T>): Promise<T> {
  return inWords(db, () => patienceWith(db).reading(work));
}

async function inWords<T>(db: Database.Database, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw storeError(db.name, error);
  }
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
    read: <T>(_readSet: unknown, rule: Rule<T>) => reading(db, () => transact.deferred(rule) as T),
    erase: async (threadId) => {
      await commit("power-loss", () => {
        for (const text of ERASING) db.prepare(text).run({ key: toCell(threadId) });
      });
      await logOf(db).empty(); // what was written over stands in the log until then
    },
    close,
  };
}
