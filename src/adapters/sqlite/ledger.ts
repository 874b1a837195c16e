// SQLite ledger: the default. One file, shared by every process of a host, durable at each commit.
//
//   L7. A write runs as one IMMEDIATE transaction with synchronous=FULL: when its promise resolves it survives SIGKILL.

import type Database from "better-sqlite3";
import type { Ledger, LedgerDeps } from "../../ledger/port.js";
import type { Holds } from "./checkpointer.js";
import { createLedger } from "../../ledger/ledger.js";
import { guarded, openStore } from "./open.js";
import { sameOwner } from "../../ledger/transaction.js";
import { sqliteTables } from "./tables.js";
import type { Reach, Tables } from "../../ledger/tables.js";

/**
 * A ledger in a SQLite file (made if missing, with its folder) or in an open database. Migrates it to this version.
 * `close` closes what was opened here. Throws `store_failed`, `store_version`; every method may reject with `store_failed`.
 */
export function createSqliteLedger(db: Database.Database | string, deps: LedgerDeps): Ledger {
  const opened = openStore(db);
  const tables = guarded(opened.name, () => sqliteTables(opened));
  const transact = opened.transaction((steps: (tables: Tables) => unknown) => steps(tables));
  return createLedger(
    {
      write: async <T>(_reach: Reach, steps: (tables: Tables) => T) =>
        guarded(opened.name, () => transact.immediate(steps) as T),
      read: async <T>(_reach: Reach, steps: (tables: Tables) => T) =>
        guarded(opened.name, () => transact.deferred(steps) as T),
      close: async () => {
        if (typeof db === "string") opened.close();
      },
    },
    deps,
  );
}

/** Tells, inside a transaction of whoever asks, whether a thread of the ledger in this file is a run's own. (L8) */
export function sqliteHolds(db: Database.Database): Holds {
  const tables = sqliteTables(openStore(db));
  return (threadId, run) => sameOwner(tables.holder(threadId)?.owner, run);
}
