// Stores: ledger, results and checkpoints of the configured kind.
//
// The ledger can be opened alone. What only a run needs, LangGraph above all, takes most of a second to load, so it is
// imported where it is used.

import { join } from "node:path";
import type { BaseCheckpointSaver } from "@langchain/langgraph";
import Database from "better-sqlite3";
import { createMemoryLedger } from "../adapters/memory/ledger.js";
import { fileMark } from "../adapters/process/mark.js";
import { makeFolder } from "../adapters/sqlite/folder.js";
import { createSqliteLedger, sqliteHolds } from "../adapters/sqlite/ledger.js";
import { openPatiently } from "../adapters/sqlite/open.js";
import { STEP_MS } from "../adapters/sqlite/patience.js";
import { logOf, type OnFinding } from "../adapters/sqlite/wal.js";
import { type Config, ToolgateError } from "../contracts/index.js";
import type { Ledger, LedgerDeps } from "../ledger/port.js";
import type { ResultStore } from "../observation/index.js";
import { sealsOf } from "./chance.js";

export interface Stores {
  readonly ledger: Ledger;
  readonly results: ResultStore;
  readonly checkpointer: BaseCheckpointSaver;
  readonly close: () => Promise<void>;
}

/** A ledger without the stores beside it. */
export interface LedgerStore {
  readonly ledger: Ledger;
  /** Opens the checkpoints beside the ledger. They are to be read only. */
  readonly checkpoints: () => Promise<BaseCheckpointSaver>;
  readonly close: () => Promise<void>;
}

/** What of the store is used; in the place of the rest the caller brings something of its own. */
export interface Used {
  /** Runs hold their threads in the store's ledger, so its checkpointer can ask whose a thread is. */
  readonly ledger: boolean;
  readonly checkpointer: boolean;
}

/** How an edit of the ledger, or of the whole store, by another hand is noticed. */
export function guardsOf(config: Config): Pick<LedgerDeps, "seals" | "mark"> {
  const { store } = config;
  const seals = sealsOf(config);
  const path = store.kind === "memory" || seals === undefined ? undefined : store.mark;
  return { seals, ...(path === undefined ? {} : { mark: fileMark(path) }) };
}

/** Throws `store_failed` and `store_version`. */
export async function openStores(config: Config, deps: LedgerDeps, used: Used, onFinding: OnFinding): Promise<Stores> {
  switch (config.store.kind) {
    case "memory": {
      const { createMemoryResults } = await import("../adapters/memory/results.js");
      return {
        ledger: createMemoryLedger(deps),
        results: createMemoryResults(),
        checkpointer: await memoryCheckpoints(),
        close: async () => undefined,
      };
    }
    case "sqlite":
      return openSqlite(config.store.path, deps, used, onFinding);
    case "postgres": {
      const { openPostgres } = await import("../adapters/postgres/open.js");
      const { url, prepared, max } = config.store;
      return openPostgres(url, deps, { fenced: used.ledger, prepared, max });
    }
  }
}

/** Opens the ledger alone. Throws `store_failed` and `store_version`. */
export async function openLedger(config: Config, deps: LedgerDeps): Promise<LedgerStore> {
  switch (config.store.kind) {
    case "memory":
      return { ledger: createMemoryLedger(deps), checkpoints: memoryCheckpoints, close: async () => undefined };
    case "sqlite": {
      const db = openDatabase(config.store.path);
      return closedOnFailure(db, async () => ({
        ledger: createSqliteLedger(db, deps),
        checkpoints: async () => (await import("../adapters/sqlite/checkpointer.js")).openCheckpointer(db),
        close: async () => void db.close(),
      }));
    }
    case "postgres":
      return openPostgresLedger(config.store, deps);
  }
}

async function openSqlite(folder: string, deps: LedgerDeps, used: Used, onFinding: OnFinding): Promise<Stores> {
  const { openCheckpointer } = await import("../adapters/sqlite/checkpointer.js");
  const { createSqliteResults } = await import("../adapters/sqlite/results.js");
  const db = openDatabase(folder);
  return closedOnFailure(db, async () => {
    logOf(db).onFinding = onFinding;
    return {
      ledger: createSqliteLedger(db, deps, used.checkpointer ? "same file" : "elsewhere"),
      results: createSqliteResults(db, used.ledger ? "kill" : "power-loss"),
      checkpointer: openCheckpointer(db, used.ledger ? sqliteHolds(db) : undefined),
      close: async () => void db.close(),
    };
  });
}

/** The same connection and ledger as `openPostgres` makes. Nothing connects before the first use. */
async function openPostgresLedger(
  { url, prepared, max }: Extract<Config["store"], { kind: "postgres" }>,
  deps: LedgerDeps,
): Promise<LedgerStore> {
  const { connect } = await import("../adapters/postgres/connection.js");
  const { postgresStore } = await import("../adapters/postgres/store.js");
  const { createLedger } = await import("../ledger/ledger.js");
  const connection = connect(url, { prepared, max });
  return {
    ledger: createLedger(postgresStore(connection, { clock: "database", now: deps.now }), deps),
    checkpoints: async () =>
      (await import("../adapters/postgres/checkpointer.js")).postgresCheckpointer(connection, false),
    close: () => connection.close(),
  };
}

async function memoryCheckpoints(): Promise<BaseCheckpointSaver> {
  const { MemorySaver } = await import("@langchain/langgraph-checkpoint");
  const { CheckpointSerializer } = await import("../langgraph/serde.js");
  const { ourSaver } = await import("../langgraph/keyed-saver.js");
  return ourSaver(new MemorySaver(new CheckpointSerializer()));
}

/** One file holds ledger, results and checkpoints: what belongs together is backed up together. */
function openDatabase(folder: string): Database.Database {
  const file = join(folder, "toolgate.sqlite");
  try {
    makeFolder(folder);
    return new Database(file, { timeout: STEP_MS });
  } catch (cause) {
    throw new ToolgateError(
      "store_failed",
      `the store \`${file}\` cannot be opened: ${(cause as Error).message}`,
      "check that `store.path` is a folder you may write to",
      { cause },
    );
  }
}

async function closedOnFailure<T>(db: Database.Database, open: () => Promise<T>): Promise<T> {
  try {
    await openPatiently(db);
    return await open();
  } catch (error) {
    db.close();
    throw error;
  }
}
