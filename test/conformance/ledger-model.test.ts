import { it } from "vitest";
import { createSqliteLedger } from "../../src/adapters/sqlite/ledger.js";
import { compare } from "./ledger-model.js";

it("the ledgers in memory and in SQLite answer alike whatever is asked of them in whatever order, and begin no write twice (ledger-1) (ledger-5) (ledger-6) (G6)", async () => {
  await compare((deps) => createSqliteLedger(":memory:", deps), 100);
}, 120_000);
