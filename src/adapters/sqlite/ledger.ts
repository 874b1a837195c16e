// The ledger in SQLite: the default. One file, shared by every process of a host. (ledger-7)

import type Database from "better-sqlite3";
import { sameOwner } from "../../contracts/index.js";
import { createLedger } from "../../ledger/ledger.js";
import type { Ledger, LedgerDeps } from "../../ledger/port.js";
import type { Holds } from "./checkpointer.js";
import { type Checkpoints, sqliteStore } from "./commit.js";
import { guarded } from "./failure.js";
import { openStore } from "./open.js";
import { sqliteTables } from "./tables.js";

/**
 * A ledger in a SQLite file (made if missing, with its folder) or in an open database. Migrates it to this version.
 * `close` closes what was opened here. Throws `store_failed`, `store_version`; every method may reject with `store_failed`.
 */
export function createSqliteLedger(
  db: Database.Database | string,
  deps: LedgerDeps,
  checkpoints?: Checkpoints,
): Ledger {
  const opened = openStore(db);
  const tables = guarded(opened.name, () => sqliteTables(opened));
  const close = async () => {
    if (typeof db === "string") opened.close();
  };
  return createLedger(sqliteStore(opened, tables, close, checkpoints), deps);
}

/** Tells, inside a transaction of whoever asks, whether a thread of the ledger in this file is a run's own. (ledger-8) */
export function sqliteHolds(db: Database.Database): Holds {
  const tables = sqliteTables(openStore(db));
  return (threadId, run) => sameOwner(tables.holder(threadId)?.owner, run);
}
