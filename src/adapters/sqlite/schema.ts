// Schema: what toolgate keeps in SQLite, as versioned migrations. The ledger and the result store share one file.
//
//   sqlite-schema-1. A file that a later version wrote is refused before anything is read from it.
//   sqlite-schema-2. A process that has the file open while a later version migrates it stores nothing in it any more.
//
// `PRAGMA user_version` is the number of migrations applied. A migration, once released, never changes. Threads, turns, owners
// and tool lists are kept once and named by number; digests are 32 bytes, not 64 characters.

import type { Database } from "better-sqlite3";
import { ToolgateError } from "../../contracts/index.js";
import { moveToScopes } from "./scopes.js";

const MIGRATIONS: readonly (string | ((db: Database) => void))[] = [
  `
  CREATE TABLE clock (one INTEGER PRIMARY KEY CHECK (one = 1), at REAL NOT NULL, elapsed REAL NOT NULL);
  CREATE TABLE threads (
    n INTEGER PRIMARY KEY,
    thread_id UNIQUE NOT NULL,
    last_at REAL NOT NULL DEFAULT 0,
    last_seq INTEGER NOT NULL DEFAULT 0
  );
  CREATE TABLE turns (
    n INTEGER PRIMARY KEY,
    thread INTEGER NOT NULL,
    turn_id NOT NULL,
    model_requests INTEGER NOT NULL DEFAULT 0,
    calls INTEGER NOT NULL DEFAULT 0,
    writes INTEGER NOT NULL DEFAULT 0,
    active_ms REAL NOT NULL DEFAULT 0,
    budget_spent INTEGER NOT NULL DEFAULT 0,
    final_made INTEGER NOT NULL DEFAULT 0,
    UNIQUE (thread, turn_id)
  );
  CREATE TABLE owners (n INTEGER PRIMARY KEY, body TEXT UNIQUE NOT NULL);
  CREATE TABLE snapshots (id PRIMARY KEY, body BLOB NOT NULL) WITHOUT ROWID;
  CREATE TABLE tool_lists (n INTEGER PRIMARY KEY, digest UNIQUE NOT NULL, body TEXT NOT NULL);

  CREATE TABLE model_requests (
    n INTEGER PRIMARY KEY,
    request_id UNIQUE NOT NULL,
    turn INTEGER NOT NULL,
    snapshot_id NOT NULL,
    tools INTEGER NOT NULL,
    started_at REAL NOT NULL,
    ended_at REAL NOT NULL,
    final INTEGER NOT NULL,
    proposal_id UNIQUE,
    proposal TEXT
  );
  CREATE INDEX model_requests_of_turn ON model_requests (turn);

  CREATE TABLE operations (
    n INTEGER PRIMARY KEY,
    id UNIQUE NOT NULL,
    thread INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    scope NOT NULL,
    proposal_id NOT NULL,
    idx INTEGER NOT NULL,
    call_id NOT NULL,
    alias NOT NULL,
    server,
    tool,
    arguments TEXT NOT NULL,
    arguments_digest NOT NULL,
    effect TEXT NOT NULL,
    decision TEXT,
    replaces,
    replaced_by,
    tool_digest,
    state TEXT NOT NULL,
    status TEXT,
    reason TEXT,
    outcome TEXT,
    result TEXT,
    owner INTEGER,
    lease_until REAL,
    fence INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    seq INTEGER,
    sent INTEGER NOT NULL,
    sent_at REAL,
    settled_at REAL,
    created_at REAL NOT NULL,
    resolution TEXT,
    halt_scope TEXT NOT NULL DEFAULT 'thread'
  );
  CREATE INDEX operations_of_proposal ON operations (proposal_id);
  CREATE INDEX operations_of_turn ON operations (turn);
  CREATE INDEX operations_unsettled ON operations (state, thread) WHERE state <> 'settled';
  CREATE INDEX operations_unknown ON operations (thread) WHERE status = 'result_unknown';
  CREATE INDEX operations_rejected ON operations (turn) WHERE reason = 'person';
  CREATE INDEX operations_identical ON operations (thread, arguments_digest) WHERE effect = 'write';
  CREATE INDEX operations_numbered ON operations (thread, seq) WHERE seq IS NOT NULL;

  CREATE TABLE questions (
    n INTEGER PRIMARY KEY,
    approval_id UNIQUE NOT NULL,
    operation INTEGER NOT NULL,
    tool_digest NOT NULL,
    why TEXT NOT NULL,
    seen TEXT NOT NULL,
    created_at REAL NOT NULL,
    expires_at REAL NOT NULL,
    made_elapsed REAL NOT NULL,
    verdict TEXT,
    verdict_at REAL,
    answered_elapsed REAL,
    consumed INTEGER NOT NULL DEFAULT 0
  );
  CREATE INDEX questions_about ON questions (operation);

  CREATE TABLE bodies (n INTEGER PRIMARY KEY, sha256 BLOB UNIQUE NOT NULL, coding TEXT NOT NULL, body BLOB NOT NULL);
  CREATE TABLE results (ref BLOB PRIMARY KEY, thread_id NOT NULL, body INTEGER NOT NULL) WITHOUT ROWID;
  `,
  // Names of the parameters the host fills in, as JSON: they are part of what is approved.
  "ALTER TABLE questions ADD COLUMN injects TEXT",
  // Whose run a thread is.
  `ALTER TABLE threads ADD COLUMN holder INTEGER;
   ALTER TABLE threads ADD COLUMN holder_until REAL;
   CREATE INDEX threads_held ON threads (holder) WHERE holder IS NOT NULL;`,
  // Threads are kept by their key. The column is renamed, so that a process of an older version that still has the file
  // open is refused by SQLite from now on, whatever it asks (sqlite-schema-2). Leases are counted on the machine's own
  // clock, too. A question may name where its call goes. Rows and threads carry their seals. Threads move to their scopes.
  (db) => {
    db.exec(`ALTER TABLE threads RENAME COLUMN thread_id TO key;
   ALTER TABLE threads ADD COLUMN scope;
   ALTER TABLE threads ADD COLUMN holder_steady REAL;
   ALTER TABLE threads ADD COLUMN head TEXT;
   ALTER TABLE threads ADD COLUMN accepted TEXT;
   ALTER TABLE threads ADD COLUMN forgotten REAL;
   ALTER TABLE operations ADD COLUMN lease_steady REAL;
   ALTER TABLE operations ADD COLUMN acts_until REAL;
   ALTER TABLE operations ADD COLUMN asked TEXT;
   ALTER TABLE operations ADD COLUMN seal TEXT;
   ALTER TABLE questions ADD COLUMN destination TEXT;
   CREATE TABLE card (one INTEGER PRIMARY KEY CHECK (one = 1), id TEXT NOT NULL, seal TEXT, sends INTEGER NOT NULL);
   INSERT INTO card (one, id, sends) VALUES (1, lower(hex(randomblob(16))), 0);`);
    moveToScopes(db);
  },
];

/** The version this code reads and writes. */
export const SCHEMA_VERSION = MIGRATIONS.length;

/** Brings a database to this version. */
export function migrate(db: Database): void {
  if (versionOf(db) === SCHEMA_VERSION) return;
  db.transaction(() => {
    refuseLater(db); // again, under the write lock: another process may have been first
    for (const migration of MIGRATIONS.slice(versionOf(db))) {
      if (typeof migration === "string") db.exec(migration);
      else migration(db);
    }
    db.pragma(`user_version = ${SCHEMA_VERSION}`);
  }).immediate();
}

/** Throws `store_version` for a database that is ahead of this version. (sqlite-schema-1) */
export function refuseLater(db: Database): void {
  mustBeReadable(versionOf(db));
}

/** Throws `store_version` for a version that is later than this one. (sqlite-schema-1, sqlite-schema-2) */
export function mustBeReadable(version: number): void {
  if (version <= SCHEMA_VERSION) return;
  throw new ToolgateError(
    "store_version",
    `the store has version ${version}; this toolgate reads up to ${SCHEMA_VERSION}`,
    "use the toolgate that wrote it, or another store path",
    { data: { version, supported: SCHEMA_VERSION } },
  );
}

function versionOf(db: Database): number {
  return Number(db.pragma("user_version", { simple: true }));
}
