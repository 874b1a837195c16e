// Scopes: the threads of a store that was written before threads belonged to a scope move to that of their rows.
//
//   sqlite-scopes-1. A thread is of the scope of its first operation; without one, of its first proposal; without that, of the
//                    scope that everything in the store has which has one, if it is only one; otherwise of the default scope.
//   sqlite-scopes-2. A thread whose checkpoints are in this file is kept under its key from now on, with its results and
//                    checkpoints. One whose checkpoints are elsewhere, or those of a graph that toolgate is a part of, keeps
//                    its bare id, because its checkpointer asks for that.
//
// It is a part of a migration: all of it is done, or nothing.

import type { Database } from "better-sqlite3";
import { DEFAULT_SCOPE, threadKey } from "../../contracts/index.js";
import { type Cell, fromCell, toCell } from "./codec.js";

/** Records whose each thread is, and moves it there. `threads.scope` and `threads.key` are there already. */
export function moveToScopes(db: Database): void {
  const { scopes, sole } = scopesOf(db);
  const threads = db.prepare<[], { n: number; key: Cell }>("SELECT n, key FROM threads").all();
  const record = db.prepare("UPDATE threads SET scope = ? WHERE n = ?");
  const rename = db.prepare("UPDATE threads SET key = ? WHERE n = ?");
  const move = movesOf(db);
  const known = new Set<string>();
  for (const { n, key } of threads) {
    const threadId = fromCell(key);
    const scope = scopes.get(n) ?? sole; // sqlite-scopes-1
    known.add(threadId);
    record.run(toCell(scope), n);
    if (move.take(threadId, scope)) rename.run(toCell(threadKey(scope, threadId)), n);
  }
  for (const threadId of move.others(known)) move.take(threadId, sole);
  move.end();
}

/** The scope of each thread that has one by its rows or proposals; and that of every other thread. */
function scopesOf(db: Database): { readonly scopes: ReadonlyMap<number, string>; readonly sole: string } {
  const scopes = new Map<number, string>();
  const first = db.prepare<[], { thread: number; scope: Cell }>(
    "SELECT thread, scope, min(n) FROM operations GROUP BY thread",
  );
  for (const { thread, scope } of first.iterate()) scopes.set(thread, fromCell(scope));
  const all = db.prepare<[], Cell>("SELECT DISTINCT scope FROM operations").pluck().all();
  const proposed = db.prepare<[], { thread: number; proposal: string }>(
    `SELECT turns.thread, proposal FROM model_requests JOIN turns ON turns.n = model_requests.turn
     WHERE proposal IS NOT NULL AND turns.thread NOT IN (SELECT thread FROM operations) ORDER BY model_requests.n`,
  );
  for (const { thread, proposal } of proposed.iterate()) {
    const { scope } = JSON.parse(proposal) as { readonly scope?: unknown };
    if (typeof scope === "string" && !scopes.has(thread)) scopes.set(thread, scope);
  }
  const [sole = DEFAULT_SCOPE, ...others] = new Set([...all.map(fromCell), ...scopes.values()]);
  return { scopes, sole: others.length === 0 ? sole : DEFAULT_SCOPE };
}

/** Moves results and checkpoints; their names are plain text. The checkpointer's tables are made by it, so they may not be there. */
function movesOf(db: Database) {
  const there = (table: string) => db.prepare("SELECT 1 FROM sqlite_master WHERE name = ?").get(table) !== undefined;
  const saved = there("checkpoints");
  const place = saved
    ? db.prepare<[string], { here: number; outer: number }>(
        // A tool that is a graph itself keeps its state behind our node `execute`.
        `SELECT count(*) FILTER (WHERE checkpoint_ns = '') AS here,
         count(*) FILTER (WHERE checkpoint_ns <> '' AND checkpoint_ns NOT LIKE 'execute:%') AS outer
         FROM checkpoints WHERE thread_id = ?`,
      )
    : undefined;
  db.exec("CREATE TEMP TABLE moved_threads (was PRIMARY KEY, is_now NOT NULL) WITHOUT ROWID");
  const add = db.prepare("INSERT INTO temp.moved_threads (was, is_now) VALUES (?, ?)");
  return {
    /** Whether the thread is kept under another key from now on. (sqlite-scopes-2) */
    take: (threadId: string, scope: string): boolean => {
      if (scope === DEFAULT_SCOPE) return false;
      const found = place?.get(threadId);
      if (!found || found.here === 0 || found.outer > 0) return false;
      add.run(threadId, threadKey(scope, threadId));
      return true;
    },
    /** Threads that have checkpoints and nothing in the ledger. */
    others: (known: ReadonlySet<string>): string[] => {
      if (!saved) return [];
      const ids = db.prepare<[], string>("SELECT DISTINCT thread_id FROM checkpoints").pluck().all();
      return ids.filter((threadId) => !known.has(threadId));
    },
    end: (): void => {
      for (const table of ["results", "checkpoints", "writes"].filter(there)) {
        db.exec(`UPDATE ${table} SET thread_id = (SELECT is_now FROM temp.moved_threads WHERE was = thread_id)
          WHERE thread_id IN (SELECT was FROM temp.moved_threads)`);
      }
      db.exec("DROP TABLE temp.moved_threads");
    },
  };
}
