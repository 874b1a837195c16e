import { createMemoryLedger } from "../../src/adapters/memory/ledger.js";
import { createSqliteLedger } from "../../src/adapters/sqlite/ledger.js";
import { ledgerSuite } from "./ledger.js";
import { postgresWorlds } from "./postgres-worlds.js";

const postgres = postgresWorlds();

ledgerSuite("memory ledger", createMemoryLedger);
ledgerSuite("SQLite ledger", (deps) => createSqliteLedger(":memory:", deps));
ledgerSuite("Postgres ledger", postgres.ledger);
