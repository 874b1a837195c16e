// Stores: ledger, results and checkpoints of the configured kind, opened together.

import { join } from "node:path";
import { type BaseCheckpointSaver, MemorySaver } from "@langchain/langgraph";
import Database from "better-sqlite3";
import { createMemoryLedger } from "../adapters/memory/ledger.js";
import { createMemoryResults } from "../adapters/memory/results.js";
import { openCheckpointer } from "../adapters/sqlite/checkpointer.js";
import { makeFolder } from "../adapters/sqlite/folder.js";
import { createSqliteLedger, sqliteHolds } from "../adapters/sqlite/ledger.js";
import { createSqliteResults } from "../adapters/sqlite/results.js";
import { type Config, ToolgateError } from "../contracts/index.js";
import { CheckpointSerializer } from "../langgraph/serde.js";
import type { Ledger, LedgerDeps } from "../ledger/port.js";
import type { ResultStore } from "../observation/index.js";

export interface Stores {
  readonly ledger: Ledger;
  readonly results: ResultStore;
  readonly checkpointer: BaseCheckpointSaver;
  readonly close: () => Promise<void>;
}

/**
 * `itsLedger`: runs hold their threads in the store's own ledger, so its checkpointer can ask whose a thread is. Throws
 * `store_failed` and `store_version`.
 */
export async function openStores(config: Config, deps: LedgerDeps, itsLedger: boolean): Promise<Stores> {
  switch (config.store.kind) {
    case "memory":
      return {
        ledger: createMemoryLedger(deps),
        results: createMemoryResults(),
        checkpointer: new MemorySaver(new CheckpointSerializer()),
        close: async () => undefined,
      };
    case "sqlite":
      return openSqlite(config.store.path, deps, itsLedger);
    case "postgres": {
      const { openPostgres } = await import("../adapters/postgres/open.js"); // its driver is loaded where it is used
      return openPostgres(config.store.url, deps, { fenced: itsLedger });
    }
  }
}

function openSqlite(folder: string, deps: LedgerDeps, itsLedger: boolean): Stores {
  const db = openDatabase(folder);
  try {
    return {
      ledger: createSqliteLedger(db, deps),
      results: createSqliteResults(db, itsLedger ? "kill" : "power-loss"),
      checkpointer: openCheckpointer(db, itsLedger ? sqliteHolds(db) : undefined),
      close: async () => {
        db.close();
      },
    };
  } catch (error) {
    db.close();
    throw error;
  }
}

/** One file holds ledger, results and checkpoints: what belongs together is backed up together. */
function openDatabase(folder: string): Database.Database {
  const file = join(folder, "toolgate.sqlite");
  try {
    makeFolder(folder);
    return new Database(file, { timeout: 5_000 });
  } catch (cause) {
    throw new ToolgateError(
      "store_failed",
      `the store \`${file}\` cannot be opened: ${(cause as Error).message}`,
      "check that `store.path` is a folder you may write to",
      { cause },
    );
  }
}
