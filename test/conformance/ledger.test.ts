import { createMemoryLedger } from "../../src/adapters/memory/ledger.js";
import { createSqliteLedger } from "../../src/adapters/sqlite/ledger.js";
import { ledgerSuite } from "./ledger.js";

// The same suite for Postgres: test/postgres/ledger.test.ts.
ledgerSuite("memory ledger", createMemoryLedger);
ledgerSuite("SQLite ledger", (deps) => createSqliteLedger(":memory:", deps));
