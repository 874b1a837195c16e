// Store: optimistic transactions of the ledger's rules. A rule runs over what one SELECT loaded; one statement stores
// what it changed, if the threads it touches are still as they were loaded. Otherwise the rule runs again.
//
//   postgres-store-1. An answer that changes no thread is given only from an image just loaded: nothing would find out that
//                     the kept one is stale.
//   postgres-store-2. After a lost answer the database is asked whether the write is in.
//   postgres-store-3. Time is the database's.

import { randomUUID } from "node:crypto";
import { type Owner, ToolgateError } from "../../contracts/index.js";
import type { ReadSet, Rule, Store } from "../../ledger/tables.js";
import type { Connection } from "./connection.js";
import { StatementError } from "./connection.js";
import { type Header, type Image, imageOf } from "./image.js";
import { KeyedMutex } from "./keyed-mutex.js";
import { key, keys, ownerKey } from "./keys.js";
import { loading, NOW, type Part, type Statement } from "./loading.js";
import { Memo } from "./memo.js";
import { saving } from "./save.js";

/** How often a transaction's steps run before it is given up. */
const TRIES = 50;

const RENEW = `WITH until AS (SELECT coalesce($3::float8, ${NOW}) + $2::float8 AS at),
  mine AS (SELECT thread FROM toolgate_operations WHERE owner = $1 AND state IN ('claimed', 'dispatching')
    UNION SELECT thread FROM toolgate_threads WHERE holder_key = $1),
  locked AS MATERIALIZED (SELECT thread FROM toolgate_threads WHERE thread = ANY(ARRAY(SELECT thread FROM mine))
    ORDER BY thread FOR UPDATE),
  rows AS (UPDATE toolgate_operations operations SET lease_until = until.at, lease_steady = $4::float8
    FROM until, locked
    WHERE operations.owner = $1 AND operations.state IN ('claimed', 'dispatching')
    AND operations.thread = locked.thread RETURNING 1),
  threads AS (UPDATE toolgate_threads threads SET version = threads.version + 1,
    holder_until = CASE WHEN threads.holder_key = $1 THEN until.at ELSE threads.holder_until END,
    holder_steady = CASE WHEN threads.holder_key = $1 THEN $4::float8 ELSE threads.holder_steady END
    FROM until, locked
    WHERE threads.thread = locked.thread AND threads.thread = ANY(ARRAY(SELECT thread FROM locked))
    RETURNING threads.thread, threads.version, coalesce(threads.holder_key = $1, FALSE) AS held)
  SELECT thread, version, held, (SELECT count(*) FROM rows)::int AS renewed, (SELECT at FROM until) AS until FROM threads`;

/** What is taken out for good when a thread is forgotten; each may be done twice. */
const ERASING = [
  "DELETE FROM toolgate_questions WHERE operation IN (SELECT id FROM toolgate_operations WHERE thread = $1)",
  "UPDATE toolgate_operations SET arguments = '{}' WHERE thread = $1",
  "UPDATE toolgate_requests SET proposal_body = NULL WHERE thread = $1",
  `DELETE FROM toolgate_snapshots WHERE id IN (SELECT snapshot FROM toolgate_requests WHERE thread = $1)
     AND NOT EXISTS (SELECT FROM toolgate_requests WHERE thread <> $1 AND snapshot = toolgate_snapshots.id)`,
];

const WAS_KEPT = "SELECT FROM toolgate_threads WHERE thread = ANY($1::text[]) AND $2::text = ANY(recent)";

export interface StoreOptions {
  /** Whose time counts. @default "database" */
  readonly clock?: "database" | "host";
  /** The host's clock, where that counts. */
  readonly now?: () => number;
}

export function postgresStore(connection: Connection, options: StoreOptions = {}): Store {
  const hostClock = options.clock === "host";
  const memo = new Memo();
  const mutex = new KeyedMutex();

  const load = async (readSet: ReadSet): Promise<Image> => {
    const { text, values } = loading(readSet);
    return imageOf(readSet, (await connection.query(text, values)) as unknown as Part[], hostClock);
  };

  /** Stores a statement, once. False: another was first, and nothing was stored. */
  const store = async ({ text, values }: Statement, id: string, threads: readonly string[]): Promise<boolean> => {
    const failed = connection.patience();
    const wasKept = async () => (await connection.query(WAS_KEPT, [keys(threads), id])).length > 0;
    let doubt = false; // postgres-store-2
    for (;;) {
      try {
        if ((await connection.once(text, values)).length > 0) return true;
        return doubt && (await wasKept());
      } catch (error) {
        if (!(error instanceof StatementError)) throw error;
        if (error.kind === "conflict") return doubt && (await wasKept());
        if (error.kind === "lost") doubt = true;
        await failed(error); // then the same again: if it is in, its threads are in another version now
      }
    }
  };

  const ruled = <T>(image: Image, readSet: ReadSet, rule: Rule<T>) => {
    const { tables, changes } = image.record(readSet);
    const result = rule(tables);
    const id = randomUUID();
    return { image, changes, result, id, statement: saving(image, changes, id, hostClock) };
  };
  type Ruled = Omit<ReturnType<typeof ruled>, "result">;

  /** Stores what a ruling changed. False: it was made on an image that is stale. */
  const stored = async ({ image, changes, id, statement }: Ruled): Promise<boolean> => {
    if (statement === undefined) return true;
    if (!(await store(statement, id, [...changes.threads]))) return false;
    for (const threadId of changes.threads) (image.headers.get(threadId) as Header).version += 1;
    memo.keep(image, changes.rows.keys());
    return true;
  };

  const transact = async <T>(readSet: ReadSet, rule: Rule<T>): Promise<T> => {
    const kept = memo.take(readSet);
    const first = kept && attempted(() => ruled(kept, readSet, rule));
    if (first && first.changes.threads.size > 0 && (await stored(first))) return first.result; // postgres-store-1
    for (let tries = 1; tries <= TRIES; tries++) {
      const ruling = ruled(await load(readSet), readSet, rule);
      if (await stored(ruling)) return ruling.result;
      await new Promise((resolve) => setTimeout(resolve, Math.random() * Math.min(100, 2 * tries)));
    }
    throw new ToolgateError(
      "store_failed",
      "the Postgres store failed: it is too busy; other hosts were first each time",
      "try again",
    );
  };

  return {
    write: async (readSetOf, rule) => {
      await connection.ready();
      const readSet = readSetOf();
      const { threads = [], operations = [] } = readSet;
      const touched = new Set([...threads, ...operations.flatMap((id) => memo.threadOf(id) ?? [])]);
      return mutex.take([...touched], () => transact(readSet, rule));
    },
    read: async (readSetOf, rule) => {
      await connection.ready();
      const readSet = readSetOf();
      const image = await load(readSet);
      const answer = rule(image.record(readSet).tables);
      memo.keep(image, readSet.operations ?? []);
      return answer;
    },
    renew: async (owner: Owner, leaseMs: number, leaseSteady: number) => {
      await connection.ready();
      const now = hostClock ? (options.now?.() ?? null) : null;
      const renewing = () => connection.query(RENEW, [ownerKey(owner), leaseMs, now, leaseSteady]);
      const found = await mutex.take(memo.heldBy(owner), renewing); // beside a write it would make that one stale
      const versions = new Map(found.map(({ thread, version }) => [String(thread), Number(version)]));
      memo.renewed(owner, { leaseUntil: Number(found[0]?.until), leaseSteady }, versions);
      return found.some(({ held, renewed }) => held === true || Number(renewed) > 0);
    },
    erase: async (threadId) => {
      await connection.ready();
      for (const text of ERASING) await connection.query(text, [key(threadId)]);
      memo.drop(threadId);
    },
    close: async () => undefined,
  };
}

/** What was ruled on a kept image; undefined where that threw, for then it is loaded and ruled on again. */
function attempted<T>(rule: () => T): T | undefined {
  try {
    return rule();
  } catch {
    return undefined;
  }
}
