// One Postgres server for all test files that need one. It is started before the first of them and stopped after the last.
//
// Each file works in a database of its own, so that what it asks of `current_database()` concerns nobody else's sessions.

import { afterAll, beforeAll, inject } from "vitest";
import type { TestProject } from "vitest/node";
import { namedPostgres, startPostgres, type TestPostgres } from "./postgres.js";

declare module "vitest" {
  interface ProvidedContext {
    /** Where the server's first database is. */
    postgres: string;
  }
}

let started: TestPostgres;

export async function setup(project: TestProject): Promise<void> {
  started = await startPostgres();
  project.provide("postgres", started.url());
}

export async function teardown(): Promise<void> {
  await started.stop();
}

/** Call it once at the top of a test file. What it returns may be called from the first test on. */
export function onePostgres(): () => TestPostgres {
  let own: TestPostgres | undefined;
  let shared: TestPostgres | undefined;
  beforeAll(async () => {
    shared = namedPostgres(inject("postgres"));
    own = namedPostgres(await shared.freshDatabase());
  });
  afterAll(async () => {
    await own?.stop();
    await shared?.stop();
  });
  return () => {
    if (own === undefined) throw new Error("there is no database before the first test");
    return own;
  };
}
