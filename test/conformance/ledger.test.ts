import { createMemoryLedger, memoryStore } from "../../src/adapters/memory/ledger.js";
import { type MemoryTables, memoryTables } from "../../src/adapters/memory/tables.js";
import { sqliteStore } from "../../src/adapters/sqlite/commit.js";
import { createSqliteLedger } from "../../src/adapters/sqlite/ledger.js";
import { openStore } from "../../src/adapters/sqlite/open.js";
import { sqliteTables } from "../../src/adapters/sqlite/tables.js";
import type { OperationRow } from "../../src/contracts/index.js";
import { createLedger } from "../../src/ledger/ledger.js";
import type { Store } from "../../src/ledger/tables.js";
import { within } from "../../src/ledger/within.js";
import { ledgerSuite } from "./ledger.js";
import { SEALS, sealSuite, withoutSeals } from "./seals.js";

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
ledgerSuite("sealed memory ledger", (deps) => withoutSeals(createMemoryLedger({ ...deps, seals: SEALS })));
ledgerSuite("sealed SQLite ledger held to read-sets", (deps) => {
  const db = openStore(":memory:");
  const store = sqliteStore(db, sqliteTables(db), async () => void db.close());
  return withoutSeals(createLedger(heldToReadSets(store), { ...deps, seals: SEALS }));
});
ledgerSuite("SQLite ledger", (deps) => createSqliteLedger(":memory:", deps));
ledgerSuite("SQLite ledger held to read-sets", (deps) => {
  const db = openStore(":memory:");
  const store = sqliteStore(db, sqliteTables(db), async () => void db.close());
  return createLedger(heldToReadSets(store), deps);
});

sealSuite("memory ledger", () => {
  const tables = memoryTables();
  const out = new Set<string>();
  const there = <Row extends OperationRow>(rows: Row[]) => rows.filter((row) => !out.has(row.operation.id));
  const without: MemoryTables = {
    ...tables,
    row: (id) => (out.has(id) ? undefined : tables.row(id)),
    rowsOfProposal: (id) => there(tables.rowsOfProposal(id)),
    rowsOfThread: (...of) => there(tables.rowsOfThread(...of)),
    unknownWrites: (...of) => there(tables.unknownWrites(...of)),
    seals: (threadId) => {
      const { rows, proposals } = tables.seals(threadId);
      return { rows: rows.filter(({ id }) => !out.has(id)), proposals };
    },
    putRow: (row) => {
      out.delete(row.operation.id);
      tables.putRow(row);
    },
  };
  return { store: memoryStore(without), takeOut: async (id) => void out.add(id) };
});
sealSuite("SQLite ledger held to read-sets", () => {
  const db = openStore(":memory:");
  const store = heldToReadSets(sqliteStore(db, sqliteTables(db), async () => void db.close()));
  const takeOut = async (id: string) =>
    void db.prepare("DELETE FROM operations WHERE id = ?").run(Buffer.from(id, "hex"));
  return { store, takeOut };
});
