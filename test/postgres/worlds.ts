// Ledgers and result stores on one Postgres server for the tests of a file, each on tables that are empty.

import { afterAll, beforeAll } from "vitest";
import { type Connection, connect } from "../../src/adapters/postgres/connection.js";
import { postgresResults } from "../../src/adapters/postgres/results.js";
import { postgresStore } from "../../src/adapters/postgres/store.js";
import { createLedger } from "../../src/ledger/ledger.js";
import type { Ledger, LedgerDeps } from "../../src/ledger/port.js";
import type { Store } from "../../src/ledger/tables.js";
import type { ResultStore } from "../../src/observation/results.js";
import { onePostgres } from "../support/one-postgres.js";

const EMPTY = `DO $$ DECLARE name text; BEGIN
  FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = current_schema()
    AND tablename LIKE 'toolgate%' AND tablename NOT IN ('toolgate_migrations', 'toolgate_card')
  LOOP EXECUTE format('DELETE FROM %I', name); END LOOP;
  UPDATE toolgate_card SET seal = NULL; END $$`;

export interface PostgresWorlds {
  /** A ledger on empty tables. Those made before are of no more use. Its clock is the test's. */
  ledger(deps: LedgerDeps): Promise<Ledger>;
  store(deps: LedgerDeps): Promise<Store>;
  /** Two hosts' ledgers on the same tables, as one: the methods are called on them in an order that is always the same. */
  hosts(deps: LedgerDeps): Promise<Ledger>;
  results(): Promise<ResultStore>;
  connection(): Connection;
}

/** `prepared`: statements have names, as where `store.prepared` says so. */
export function postgresWorlds({ prepared = false } = {}): PostgresWorlds {
  const server = onePostgres();
  let connection: Connection;
  beforeAll(async () => {
    connection = connect(await server().freshSchema(), { prepared });
    await connection.ready();
  });
  afterAll(async () => {
    await connection?.close();
  });
  const store = async ({ now }: LedgerDeps) => {
    await connection.query(EMPTY);
    return postgresStore(connection, { clock: "host", now });
  };
  return {
    store,
    connection: () => connection,
    ledger: async (deps) => createLedger(await store(deps), deps),
    hosts: async (deps) => {
      const first = createLedger(await store(deps), deps);
      const second = createLedger(postgresStore(connection, { clock: "host", now: deps.now }), deps);
      let seed = 1;
      const next = () => {
        seed = (seed * 48_271) % 2_147_483_647;
        return seed % 2 === 0 ? first : second;
      };
      return new Proxy(first, { get: (_, name) => Reflect.get(next(), name) });
    },
    results: async () => {
      await connection.query(EMPTY);
      return postgresResults(connection);
    },
  };
}
