import { ledgerSuite } from "../conformance/ledger.js";
import { postgresWorlds } from "./worlds.js";

const postgres = postgresWorlds();

ledgerSuite("Postgres ledger", postgres.ledger);

const prepared = postgresWorlds({ prepared: true });

ledgerSuite("Postgres ledger with prepared statements", prepared.ledger);
