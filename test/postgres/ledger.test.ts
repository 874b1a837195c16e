import { key } from "../../src/adapters/postgres/keys.js";
import { ledgerSuite } from "../conformance/ledger.js";
import { START } from "../conformance/ledger-world.js";
import { sealSuite } from "../conformance/seals.js";
import { postgresWorlds } from "./worlds.js";

const postgres = postgresWorlds();

ledgerSuite("Postgres ledger", postgres.ledger);

const prepared = postgresWorlds({ prepared: true });

ledgerSuite("Postgres ledger with prepared statements", prepared.ledger);

sealSuite("Postgres ledger", async () => ({
  store: await postgres.store({ now: () => START, steady: () => 0, liveness: () => "alive" }),
  takeOut: async (id) => {
    await postgres.connection().query("DELETE FROM toolgate_operations WHERE id = $1", [key(id)]);
  },
}));
