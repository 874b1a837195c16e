// Hosts on one database: ledgers with a clock and owners in the test's hands, or with the database's clock.

import { afterAll, afterEach, beforeAll } from "vitest";
import { openPostgres, type PostgresOptions, type PostgresStores } from "../../src/adapters/postgres/open.js";
import { BOOTED, START, type World } from "../conformance/ledger-world.js";
import { onePostgres } from "../support/one-postgres.js";
import { startPostgres, type TestPostgres } from "../support/postgres.js";

export interface PostgresHost extends World, Omit<PostgresStores, "ledger"> {}

export interface Hosts {
  readonly server: () => TestPostgres;
  /** Opens stores as another host would; closed after the test. */
  open(url: string, options?: PostgresOptions): PostgresHost;
}

/** A server that only this file uses, so that its tests can kill it. */
function ownPostgres(): () => TestPostgres {
  let server: TestPostgres;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(async () => {
    await server?.stop();
  });
  return () => server;
}

/** Call it once at the top of a test file. `own` starts a server for this file alone. */
export function hosts({ own = false } = {}): Hosts {
  const server = own ? ownPostgres() : onePostgres();
  const opened: PostgresHost[] = [];
  afterEach(async () => {
    for (const host of opened.splice(0)) await host.close();
  });
  return {
    server,
    open(url, options = { clock: "host" }) {
      const clock = { now: START };
      const steady = { now: BOOTED };
      const life: World["life"] = new Map();
      const deps: World["deps"] = {
        now: () => clock.now,
        steady: () => steady.now,
        liveness: (of, id) => life.get(id) ?? life.get(of.instance) ?? "alive",
      };
      const host = { ...openPostgres(url, deps, options), clock, steady, life, deps };
      opened.push(host);
      return host;
    },
  };
}
