// Hosts on one database: ledgers with a clock and owners in the test's hands, or with the database's clock.

import { afterAll, afterEach, beforeAll } from "vitest";
import { openPostgres, type PostgresOptions, type PostgresStores } from "../../src/adapters/postgres/open.js";
import { START, type World } from "../conformance/ledger-world.js";
import { startPostgres, type TestPostgres } from "../support/postgres.js";

export interface PostgresHost extends World, Omit<PostgresStores, "ledger"> {}

export interface Hosts {
  readonly server: () => TestPostgres;
  /** Opens stores as another host would; closed after the test. */
  open(url: string, options?: PostgresOptions): PostgresHost;
}

/** Call it once at the top of a test file: one server for all of its tests. */
export function hosts(): Hosts {
  let server: TestPostgres;
  const opened: PostgresHost[] = [];
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterEach(async () => {
    for (const host of opened.splice(0)) await host.close();
  });
  afterAll(async () => {
    await server?.stop();
  });
  return {
    server: () => server,
    open(url, options = { clock: "host" }) {
      const clock = { now: START };
      const life: World["life"] = new Map();
      const deps: World["deps"] = {
        now: () => clock.now,
        liveness: (of, id) => life.get(id) ?? life.get(of.instance) ?? "alive",
      };
      const host = { ...openPostgres(url, deps, options), clock, life, deps };
      opened.push(host);
      return host;
    },
  };
}
