// Connection: the pool of connections, and what is done when one fails.
//
//   postgres-connection-1. Each statement stands alone: it needs no session state and takes no lock that outlives it, and it
//                          has no name unless the host sets `store.prepared`. A pooler that gives each transaction another
//                          connection changes nothing.
//   postgres-connection-2. When a connection dies, idle or in use, only what was under way on it ends. A connection that does
//                          not answer is given up as if it had died.
//   postgres-connection-3. Nothing connects before it is needed. The first use migrates; where that fails, the next use tries
//                          again.
//   postgres-connection-4. What may succeed in a moment is tried again for at most `patienceMs` after its first failure,
//                          however long that failure took to be told.

import pg from "pg";
import { sha256, ToolgateError } from "../../contracts/index.js";
import { isSound, kindOf, storeFailed } from "./failure.js";
import { migrate, type Session } from "./schema.js";

const ANSWER_MS = 5_000;
const PATIENCE_MS = 5_000;
const CONNECTIONS = 10;

/** A row as it comes from Postgres. */
export type Cells = Readonly<Record<string, unknown>>;

/** An error of a statement with whether it had been sent. */
export class StatementError extends Error {
  constructor(
    readonly error: unknown,
    readonly sent: boolean,
  ) {
    super("a statement failed");
  }
  get kind() {
    return kindOf(this.error, this.sent);
  }
}

export interface Connection {
  readonly pool: pg.Pool;
  /** Runs a statement once, on any connection. Throws `StatementError`. */
  once(text: string, values?: readonly unknown[]): Promise<Cells[]>;
  /** Runs a statement that may run twice, until it succeeds. Throws `store_failed`. */
  query(text: string, values?: readonly unknown[]): Promise<Cells[]>;
  /** Runs what may run twice, until it succeeds. Throws `store_failed`. */
  again<T>(run: () => Promise<T>): Promise<T>;
  /** Waits before something is tried again after an error; throws `store_failed` when there is no more point in it. (postgres-connection-4) */
  patience(): (error: unknown) => Promise<void>;
  /** Migrates, once. (postgres-connection-3) */
  ready(): Promise<void>;
  /** A statement as the driver is given it: with a name where statements are prepared. */
  statement(text: string, values: readonly unknown[]): NamedStatement;
  /** Runs several statements on one connection, which is given up when one fails. */
  session<T>(run: (session: Session) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** A statement for the driver. The same text has the same name. */
export interface NamedStatement {
  readonly text: string;
  readonly values: unknown[];
  readonly name?: string;
}

function naming(prepared: boolean): Connection["statement"] {
  const names = new Map<string, string>();
  return (text, values) => {
    if (!prepared) return { text, values: [...values] };
    const name = names.get(text) ?? `toolgate_${sha256(text).slice(0, 32)}`;
    names.set(text, name);
    return { text, values: [...values], name };
  };
}

/** Told each statement of ledger and results, for those who count. **Contract:** must not throw. */
export type Heard = (text: string, values: readonly unknown[]) => void;

export interface ConnectionOptions {
  /** Connections at most. @default 10 */
  readonly max?: number;
  /** Transactions after which a connection is given up. @default as many as it lives for */
  readonly maxUses?: number;
  /** Milliseconds to wait for a connection, or for a statement's answer. @default 5000 */
  readonly answerMs?: number;
  /** Milliseconds from its first failure on within which what fails is tried again. @default 5000 */
  readonly patienceMs?: number;
  /**
   * Names each statement, so that a connection plans it once. Only where no pooler in transaction mode stands between, which
   * would give the next statement another connection. @default false
   */
  readonly prepared?: boolean;
  readonly heard?: Heard;
}

export function connect(url: string, options: ConnectionOptions = {}): Connection {
  const { max = CONNECTIONS, maxUses, answerMs = ANSWER_MS, patienceMs = PATIENCE_MS, prepared = false } = options;
  const { heard } = options;
  const statement = naming(prepared);
  const secrets = secretsOf(url);
  const pool = new pg.Pool({
    connectionString: url,
    max,
    ...(maxUses === undefined ? {} : { maxUses }),
    connectionTimeoutMillis: answerMs,
    query_timeout: 2 * answerMs, // for whoever sets none: a connection that went silent answers nobody, ever
    keepAlive: true,
    application_name: "toolgate",
  });
  pool.on("error", () => undefined); // postgres-connection-2: idle
  pool.on("connect", (client) => client.on("error", () => undefined)); // postgres-connection-2: between two statements
  let migrated: Promise<void> | undefined;
  let closed: Promise<void> | undefined;

  const patience = () => {
    let failedAt: number | undefined;
    let wait = 10;
    return async (error: unknown) => {
      const cause = error instanceof StatementError ? error.error : error;
      const kind = error instanceof StatementError ? error.kind : kindOf(error, true);
      failedAt ??= performance.now();
      if (kind === "fault" || closed || performance.now() - failedAt + wait > patienceMs) {
        throw closed && kind !== "fault" ? isClosed() : storeFailed(cause, secrets);
      }
      await pause(wait * (0.5 + Math.random()));
      wait = Math.min(500, wait * 2);
    };
  };
  const again = async <T>(run: () => Promise<T>): Promise<T> => {
    const failed = patience();
    for (;;) {
      try {
        return await run();
      } catch (error) {
        await failed(error);
      }
    }
  };
  const taken = async (): Promise<pg.PoolClient> => {
    if (closed) throw isClosed();
    try {
      return await pool.connect(); // throws, too: where the connection string is none, or names a file that is none
    } catch (error) {
      throw new StatementError(error, false);
    }
  };
  const session = async <T>(run: (session: Session) => Promise<T>): Promise<T> => {
    const client = await taken();
    let broken = true;
    try {
      const result = await run(client as unknown as Session);
      broken = false;
      return result;
    } finally {
      client.release(broken);
    }
  };
  const once = async (text: string, values: readonly unknown[] = []): Promise<Cells[]> => {
    const client = await taken();
    heard?.(text, values);
    let sound = true;
    try {
      const asked = { ...statement(text, values), query_timeout: answerMs };
      return (await client.query(asked)).rows as Cells[];
    } catch (error) {
      sound = isSound(error);
      throw new StatementError(error, true);
    } finally {
      client.release(!sound);
    }
  };
  const ready = (): Promise<void> => {
    migrated ??= again(() => session(migrate)).catch((error: unknown) => {
      migrated = undefined;
      throw error;
    });
    return migrated;
  };
  return {
    pool,
    once,
    again,
    patience,
    ready,
    session,
    statement,
    query: (text, values) => again(() => once(text, values)),
    close: () => {
      closed ??= pool.end();
      return closed;
    },
  };
}

function isClosed(): ToolgateError {
  return new ToolgateError("store_failed", "the Postgres store failed: it is closed", "open the store again");
}

/** What must not be read in an error: the connection string, and its password as it is written and as it is meant. */
function secretsOf(url: string): string[] {
  const written = /^[^/]*\/\/[^/@]*:([^/]*)@/.exec(url)?.[1] ?? "";
  return [url, written, decoded(written)].filter((secret) => secret.length > 0);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
