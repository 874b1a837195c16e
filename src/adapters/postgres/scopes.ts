// Scopes: the threads of a store that was written before threads belonged to a scope move to that of their rows.
//
//   postgres-scopes-1. A thread is of the scope of its first operation; without one, of its first proposal; without that, of
//                      the scope that everything in the store has which has one, if it is only one; otherwise of the default
//                      scope.
//   postgres-scopes-2. A thread whose checkpoints are in this database is kept under its key from now on, with all that names
//                      it: columns, bodies, results and checkpoints. One whose checkpoints are elsewhere, or those of a graph
//                      that toolgate is a part of, keeps its bare id, because its checkpointer asks for that.
//
// Bodies are read and written as text: Postgres could not hold as `jsonb` what they may say. It is a part of a migration: all
// of it is done, or nothing.

import { DEFAULT_SCOPE, threadKey } from "../../contracts/index.js";
import { key } from "./keys.js";
import type { Session } from "./schema.js";

/** Threads, and rows of a thread, that are read at once. */
const PAGE = 500;

interface Thread {
  /** The key column. */
  readonly thread: string;
  readonly threadId: string;
  /** By its rows or proposals. */
  readonly scope: string | undefined;
}

/** Records whose each thread is, and moves it there. `toolgate_threads.scope` and `.key` are there already. */
export async function moveToScopes(session: Session): Promise<void> {
  const threads = await threadsOf(session);
  const scopes = new Set(threads.flatMap(({ scope }) => scope ?? []));
  const [sole = DEFAULT_SCOPE] = scopes.size === 1 && (await oneScope(session)) ? scopes : [];
  await session.query("UPDATE toolgate_threads SET scope = $1", [JSON.stringify(DEFAULT_SCOPE)]);
  const saved = await there(session, "checkpoints");
  for (const { thread, threadId, scope = sole } of threads) {
    if (scope === DEFAULT_SCOPE) continue;
    await session.query("UPDATE toolgate_threads SET scope = $2 WHERE thread = $1", [thread, JSON.stringify(scope)]);
    if (saved && (await isHere(session, threadId))) await move(session, thread, threadId, threadKey(scope, threadId));
  }
  if (saved && sole !== DEFAULT_SCOPE) await moveUnknown(session, threads, sole);
}

/** Every thread with its scope. (postgres-scopes-1) */
async function threadsOf(session: Session): Promise<Thread[]> {
  const found: Thread[] = [];
  for (let after = ""; ; after = found.at(-1)?.thread ?? "") {
    const { rows } = await session.query(
      `SELECT thread, key,
         (SELECT body FROM toolgate_operations o WHERE o.thread = t.thread ORDER BY n LIMIT 1) AS operation,
         (SELECT proposal_body FROM toolgate_requests r WHERE r.thread = t.thread AND proposal_body IS NOT NULL
           ORDER BY n LIMIT 1) AS proposal
       FROM toolgate_threads t WHERE thread > $1 ORDER BY thread LIMIT ${PAGE}`,
      [after],
    );
    const page = rows as { thread: string; key: string; operation: string | null; proposal: string | null }[];
    for (const { thread, key: named, operation, proposal } of page) {
      const scope = scopeIn(operation) ?? scopeIn(proposal);
      found.push({ thread, threadId: JSON.parse(named) as string, scope });
    }
    if (page.length < PAGE) return found;
  }
}

function scopeIn(body: string | null): string | undefined {
  if (body === null) return undefined;
  const { scope } = JSON.parse(body) as { readonly scope?: unknown };
  return typeof scope === "string" ? scope : undefined;
}

/** Whether every operation has one scope: a thread may hold operations of two. */
async function oneScope(session: Session): Promise<boolean> {
  const seen = new Set<string | undefined>();
  for (let after = 0; ; ) {
    const { rows } = await session.query(
      `SELECT n::float8, body FROM toolgate_operations WHERE n > $1 ORDER BY n LIMIT ${PAGE}`,
      [after],
    );
    const page = rows as { n: number; body: string }[];
    for (const { body } of page) seen.add(scopeIn(body));
    const last = page.at(-1);
    if (last === undefined || seen.size > 1) return seen.size <= 1;
    after = last.n;
  }
}

async function there(session: Session, table: string): Promise<boolean> {
  const known = "SELECT FROM pg_tables WHERE schemaname = current_schema() AND tablename = $1";
  return (await session.query(known, [table])).rows.length > 0;
}

/** Whether a thread's own checkpoints are in this database. (postgres-scopes-2) */
async function isHere(session: Session, threadId: string): Promise<boolean> {
  const { rows } = await session.query(
    // A tool that is a graph itself keeps its state behind our node `execute`.
    `SELECT coalesce(bool_or(checkpoint_ns = ''), FALSE) AS here,
       coalesce(bool_or(checkpoint_ns <> '' AND checkpoint_ns NOT LIKE 'execute:%'), FALSE) AS outside
     FROM checkpoints WHERE thread_id = $1`,
    [held(threadId)],
  );
  const [found] = rows as { here: boolean; outside: boolean }[];
  return found?.here === true && !found.outside;
}

/** Text that Postgres can hold. A thread whose id it cannot hold has no checkpoints in it. */
function held(text: string): string {
  return text.replaceAll("\0", "\u{fffd}");
}

/** Gives everything of a thread its new name. */
async function move(session: Session, was: string, threadId: string, is: string): Promise<void> {
  const columns = { threads: "thread", turns: "thread", requests: "thread", operations: "thread", results: "thread" };
  await questions(session, was, is); // found by the operations, under their old name
  for (const [table, column] of [
    ["requests", "body"],
    ["requests", "proposal_body"],
    ["operations", "body"],
  ] as const) {
    await bodies(
      session,
      `SELECT n::float8, ${column} AS body FROM toolgate_${table}
      WHERE thread = $1 AND n > $2 AND ${column} IS NOT NULL ORDER BY n LIMIT ${PAGE}`,
      was,
      is,
      (n, body) => session.query(`UPDATE toolgate_${table} SET ${column} = $2 WHERE n = $1`, [n, body]),
    );
  }
  await session.query("UPDATE toolgate_threads SET key = $2 WHERE thread = $1", [was, JSON.stringify(is)]);
  for (const [table, column] of Object.entries(columns)) {
    await session.query(`UPDATE toolgate_${table} SET ${column} = $2 WHERE ${column} = $1`, [was, key(is)]);
  }
  await moveSaved(session, threadId, is);
}

function questions(session: Session, was: string, is: string): Promise<void> {
  const select = `SELECT q.n::float8, q.body FROM toolgate_questions q
    WHERE q.operation IN (SELECT id FROM toolgate_operations WHERE thread = $1) AND q.n > $2 ORDER BY q.n LIMIT ${PAGE}`;
  return bodies(session, select, was, is, (n, body) =>
    session.query("UPDATE toolgate_questions SET body = $2 WHERE n = $1", [n, body]),
  );
}

/** Rewrites the bodies that a statement finds page by page. */
async function bodies(
  session: Session,
  select: string,
  was: string,
  is: string,
  store: (n: number, body: string) => Promise<unknown>,
): Promise<void> {
  for (let after = 0; ; ) {
    const page = (await session.query(select, [was, after])).rows as { n: number; body: string }[];
    for (const { n, body } of page) await store(n, renamed(body, is));
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
    after = last.n;
  }
}

/** A noun under the new name of its thread; a question with its request and its verdict. */
function renamed(body: string, threadId: string): string {
  const noun = JSON.parse(body) as Record<string, unknown>;
  for (const part of ["request", "verdict"]) {
    const inner = noun[part];
    if (typeof inner === "object" && inner !== null) noun[part] = { ...inner, threadId };
  }
  return JSON.stringify("threadId" in noun ? { ...noun, threadId } : noun);
}

async function moveSaved(session: Session, threadId: string, is: string): Promise<void> {
  for (const table of ["checkpoints", "checkpoint_blobs", "checkpoint_writes"]) {
    if (!(await there(session, table))) continue;
    await session.query(`UPDATE ${table} SET thread_id = $2 WHERE thread_id = $1`, [threadId, is]);
  }
}

/** Threads that have checkpoints and nothing in the ledger. */
async function moveUnknown(session: Session, threads: readonly Thread[], scope: string): Promise<void> {
  const known = new Set(threads.map(({ threadId }) => threadId));
  const moved = new Set(threads.map(({ threadId, scope: own = scope }) => threadKey(own, threadId)));
  const { rows } = await session.query("SELECT DISTINCT thread_id FROM checkpoints");
  for (const { thread_id: threadId } of rows as { thread_id: string }[]) {
    if (known.has(threadId) || moved.has(threadId) || !(await isHere(session, threadId))) continue;
    await moveSaved(session, threadId, threadKey(scope, threadId));
  }
}
