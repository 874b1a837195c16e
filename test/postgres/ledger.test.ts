import { ledgerSuite } from "../conformance/ledger.js";
import { postgresWorlds } from "./worlds.js";

const postgres = postgresWorlds();

ledgerSuite("Postgres ledger", postgres.ledger);
