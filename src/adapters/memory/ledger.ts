// The ledger in memory, for tests and short runs: it grows with every call and is gone with its process.

import { createLedger } from "../../ledger/ledger.js";
import type { Ledger, LedgerDeps } from "../../ledger/port.js";
import type { Store } from "../../ledger/tables.js";
import { type MemoryTables, memoryTables } from "./tables.js";

/** A ledger in memory. `close` does nothing: the rows stay readable. */
export function createMemoryLedger(deps: LedgerDeps): Ledger {
  return createLedger(memoryStore(memoryTables()), deps);
}

export function memoryStore(tables: MemoryTables): Store {
  return {
    write: async (_readSet, rule) => rule(tables),
    read: async (_readSet, rule) => rule(tables),
    erase: async (threadId) => tables.erase(threadId),
    close: async () => undefined,
  };
}
