import { createMemoryLedger } from "../../src/adapters/memory/ledger.js";
import { sqliteStore } from "../../src/adapters/sqlite/commit.js";
import { createSqliteLedger } from "../../src/adapters/sqlite/ledger.js";
import { openStore } from "../../src/adapters/sqlite/open.js";
import { sqliteTables } from "../../src/adapters/sqlite/tables.js";
import { createLedger } from "../../src/ledger/ledger.js";
import type { Store } from "../../src/ledger/tables.js";
import { within } from "../../src/ledger/within.js";
import { ledgerSuite } from "./ledger.js";

/** The same store, whose rules may look only at what their read-sets name, as on a store that loads before it runs. */
function heldToReadSets(store: Store): Store {
  return {
    ...store,
    write: (readSet, rule, survives) => store.write(readSet, (tables) => rule(within(readSet(), tables)), survives),
    read: (readSet, rule) => store.read(readSet, (tables) => rule(within(readSet(), tables))),
  };
}

// The same suite for Postgres: test/postgres/ledger.test.ts.
ledgerSuite("memory ledger", createMemoryLedger);
ledgerSuite("SQLite ledger", (deps) => createSqliteLedger(":memory:", deps));
ledgerSuite("SQLite ledger held to read-sets", (deps) => {
  const db = openStore(":memory:");
  const store = sqliteStore(db, sqliteTables(db), async () => void db.close());
  return createLedger(heldToReadSets(store), deps);
});
