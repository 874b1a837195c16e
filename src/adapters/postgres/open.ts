// Postgres for toolgate: ledger, results and checkpoints in one database, on one pool.

import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { createLedger } from "../../ledger/ledger.js";
import type { Ledger, LedgerDeps } from "../../ledger/port.js";
import type { ResultStore } from "../../observation/results.js";
import { postgresCheckpointer } from "./checkpointer.js";
import { type ConnectionOptions, connect } from "./connection.js";
import { postgresResults } from "./results.js";
import { postgresStore, type StoreOptions } from "./store.js";

export interface PostgresStores {
  readonly ledger: Ledger;
  readonly results: ResultStore;
  readonly checkpointer: BaseCheckpointSaver;
  /** Ends the connections. The ledger's own `close` leaves them open: results and checkpoints use them, too. */
  close(): Promise<void>;
}

export interface PostgresOptions extends Pick<StoreOptions, "clock">, ConnectionOptions {
  /** Whether runs hold their threads in this ledger, so that what they save is held to it. @default true */
  readonly fenced?: boolean;
}

/**
 * Opens stores on a database by its connection string. Connects and migrates at the first use, so nothing fails here;
 * every method may reject with `store_failed`, and the first with `store_version`. `deps.now` is asked only under
 * `clock: "host"`, which is for tests.
 */
export function openPostgres(url: string, deps: LedgerDeps, options: PostgresOptions = {}): PostgresStores {
  const { clock = "database", fenced = true, ...rest } = options;
  const connection = connect(url, rest);
  return {
    ledger: createLedger(postgresStore(connection, { clock, now: deps.now }), deps),
    results: postgresResults(connection),
    checkpointer: postgresCheckpointer(connection, fenced),
    close: () => connection.close(),
  };
}
