// Schema: what toolgate keeps in Postgres, in the schema that a connection starts in, as versioned migrations.
//
//   postgres-schema-1. Hosts that start at the same time migrate one after the other, under an advisory lock. None waits in the
//                      database for the lock: it asks again. A host that stops while it holds the lock loses it after `IDLE_MS`.
//   postgres-schema-2. A database that a later version wrote is refused before anything in it is changed.
//   postgres-schema-3. A host that is connected while a later version migrates stores nothing any more.
//
// `toolgate_migrations` names the versions applied. A migration, once released, never changes; each is applied whole or not
// at all. Nouns are JSON text in `body`; beside it are the columns that they are found by, and those that change more often.

import { ToolgateError } from "../../contracts/index.js";
import { isSound } from "./failure.js";
import { moveToScopes } from "./scopes.js";

/** What one session of Postgres is asked through. */
export interface Session {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
}

/** Takes the lock that whoever changes the schema holds, if nobody does. */
const LOCK = "SELECT pg_try_advisory_xact_lock(hashtextextended('toolgate schema', 0)) AS taken";

/** Milliseconds without a statement after which the database ends the turn of a host. */
const IDLE_MS = 3_000; // less than a host is patient

/** Asks the catalog itself: `to_regclass` may remember within a transaction that a table was not there. */
const THERE = "SELECT FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'toolgate_migrations'";

const MIGRATIONS: readonly (string | ((session: Session) => Promise<void>))[] = [
  `
  CREATE TABLE toolgate_clock (one int PRIMARY KEY CHECK (one = 1), at float8 NOT NULL, elapsed float8 NOT NULL);
  CREATE TABLE toolgate_threads (
    n bigint GENERATED ALWAYS AS IDENTITY,
    thread text PRIMARY KEY,
    name text NOT NULL,
    version bigint NOT NULL,
    recent text[] NOT NULL,
    last_at float8 NOT NULL,
    last_seq bigint NOT NULL,
    holder text,
    holder_key text,
    holder_until float8
  );
  CREATE INDEX toolgate_threads_held ON toolgate_threads (holder_key) WHERE holder_key IS NOT NULL;
  CREATE TABLE toolgate_turns (
    thread text NOT NULL,
    turn text NOT NULL,
    model_requests bigint NOT NULL,
    calls bigint NOT NULL,
    writes bigint NOT NULL,
    active_ms float8 NOT NULL,
    budget_spent boolean NOT NULL,
    final_made boolean NOT NULL,
    PRIMARY KEY (thread, turn)
  );
  CREATE TABLE toolgate_snapshots (id text PRIMARY KEY, body bytea NOT NULL);
  CREATE TABLE toolgate_tool_lists (digest text PRIMARY KEY, body text NOT NULL);
  CREATE TABLE toolgate_requests (
    n bigint GENERATED ALWAYS AS IDENTITY,
    request text PRIMARY KEY,
    thread text NOT NULL,
    turn text NOT NULL,
    tools text NOT NULL,
    body text NOT NULL,
    proposal text UNIQUE,
    proposal_body text
  );
  CREATE INDEX toolgate_requests_of_turn ON toolgate_requests (thread, turn);

  CREATE TABLE toolgate_operations (
    n bigint GENERATED ALWAYS AS IDENTITY,
    id text PRIMARY KEY,
    thread text NOT NULL,
    turn text NOT NULL,
    proposal text NOT NULL,
    arguments text NOT NULL,
    identical text NOT NULL,
    body text NOT NULL,
    state text NOT NULL,
    effect text NOT NULL,
    status text,
    reason text,
    seq bigint,
    halt_scope text NOT NULL,
    owner text,
    lease_until float8
  );
  CREATE INDEX toolgate_operations_of_proposal ON toolgate_operations (proposal);
  CREATE INDEX toolgate_operations_of_turn ON toolgate_operations (thread, turn);
  CREATE INDEX toolgate_operations_in_hand ON toolgate_operations (thread) WHERE state IN ('claimed', 'dispatching');
  CREATE INDEX toolgate_operations_leased ON toolgate_operations (owner) WHERE state IN ('claimed', 'dispatching');
  CREATE INDEX toolgate_operations_undecided ON toolgate_operations (thread) WHERE state IN ('proposed', 'claimed');
  CREATE INDEX toolgate_operations_unknown ON toolgate_operations (thread)
    WHERE status = 'result_unknown' AND effect = 'write';
  CREATE INDEX toolgate_operations_rejected ON toolgate_operations (thread, turn)
    WHERE status = 'rejected' AND reason = 'person';
  CREATE INDEX toolgate_operations_identical ON toolgate_operations (thread, identical) WHERE effect = 'write';
  CREATE INDEX toolgate_operations_numbered ON toolgate_operations (thread, seq) WHERE seq IS NOT NULL;

  CREATE TABLE toolgate_questions (
    n bigint GENERATED ALWAYS AS IDENTITY,
    approval text PRIMARY KEY,
    operation text NOT NULL,
    body text NOT NULL
  );
  CREATE INDEX toolgate_questions_about ON toolgate_questions (operation);

  CREATE TABLE toolgate_bodies (sha256 bytea PRIMARY KEY, coding text NOT NULL, body bytea NOT NULL);
  CREATE TABLE toolgate_results (ref bytea PRIMARY KEY, thread text NOT NULL, sha256 bytea NOT NULL);
  `,
  // The column is renamed, so that a host of an older version that is still connected is refused by the database from now
  // on, whatever it asks (postgres-schema-3). Leases are counted on the machine's own clock, too. Threads carry their seals, and
  // move to their scopes.
  async (session) => {
    await session.query(`
  ALTER TABLE toolgate_threads RENAME COLUMN name TO key;
  ALTER TABLE toolgate_threads ADD COLUMN scope text;
  ALTER TABLE toolgate_threads ADD COLUMN holder_steady float8;
  ALTER TABLE toolgate_threads ADD COLUMN head text;
  ALTER TABLE toolgate_threads ADD COLUMN accepted text;
  ALTER TABLE toolgate_threads ADD COLUMN forgotten float8;
  ALTER TABLE toolgate_requests ADD COLUMN snapshot text;
  UPDATE toolgate_requests SET snapshot = substring(body FROM '"snapshotId":"([0-9a-f]{64})"');
  CREATE TABLE toolgate_card (one int PRIMARY KEY CHECK (one = 1), id text NOT NULL, seal text);
  INSERT INTO toolgate_card (one, id) VALUES (1, gen_random_uuid()::text);
  ALTER TABLE toolgate_operations ADD COLUMN lease_steady float8;
  UPDATE toolgate_threads SET version = version + 1; -- what such a host has loaded is stale from now on
  `);
    await moveToScopes(session);
  },
];

/** The version this code reads and writes. */
export const SCHEMA_VERSION = MIGRATIONS.length;

/** Brings the database to this version. Throws `store_version`. */
export async function migrate(session: Session): Promise<void> {
  if ((await versionOf(session)) === SCHEMA_VERSION) return;
  await alone(session, async () => {
    const version = await versionOf(session); // again, under the lock: another host may have been first
    if (version === 0) {
      await session.query(
        "CREATE TABLE IF NOT EXISTS toolgate_migrations (version int PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())",
      );
    }
    for (const [index, migration] of MIGRATIONS.entries()) {
      if (index < version) continue;
      if (typeof migration === "string") await session.query(migration);
      else await migration(session);
      await session.query("INSERT INTO toolgate_migrations (version) VALUES ($1)", [index + 1]);
    }
  });
}

/** Another host's turn, under the code that Postgres gives a lock it does not wait for. */
class Taken extends Error {
  readonly code = "55P03";
  constructor() {
    super("another host is setting up or migrating the tables");
  }
}

/**
 * Runs what changes the schema in a transaction that no other host's overlaps. Throws while it is another's turn; that may
 * be tried again in a moment. (postgres-schema-1)
 */
export async function alone(session: Session, change: () => Promise<void>): Promise<void> {
  await session.query("BEGIN");
  try {
    await session.query(`SET LOCAL idle_in_transaction_session_timeout = ${IDLE_MS}`);
    const [lock] = (await session.query(LOCK)).rows as { readonly taken: boolean }[];
    if (!lock?.taken) throw new Taken();
    await change();
    await session.query("COMMIT");
  } catch (error) {
    // What failed is the first error, not this one. A connection that does not answer would not answer this either.
    if (isSound(error)) await session.query("ROLLBACK").catch(() => undefined);
    throw error;
  }
}

/** Throws `store_version` for a database that is ahead of this version. (postgres-schema-2) */
async function versionOf(session: Session): Promise<number> {
  const known = await session.query(THERE);
  if (known.rows.length === 0) return 0;
  const found = await session.query("SELECT coalesce(max(version), 0) AS version FROM toolgate_migrations");
  const { version } = found.rows[0] as { version: number };
  mustBeReadable(version);
  return version;
}

/** Throws `store_version` for a version that is later than this one. (postgres-schema-2, postgres-schema-3) */
export function mustBeReadable(version: number): void {
  if (version <= SCHEMA_VERSION) return;
  throw new ToolgateError(
    "store_version",
    `the store has version ${version}; this toolgate reads up to ${SCHEMA_VERSION}`,
    "use the toolgate that wrote it, or another database",
    { data: { version, supported: SCHEMA_VERSION } },
  );
}
