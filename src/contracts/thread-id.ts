// What a thread may be called, whose it is, and whose run it is.
//
//   thread-key-1. The same thread id in two scopes is two threads. Ledger, results and our own checkpointers know a thread
//                 by its key, which is made of both; in the scope `local` it is the id alone. Two pairs never have one key,
//                 because neither part may hold the character that stands between them.
//
// Where the checkpointer is the host's own, a thread has its bare id as its key, and the ledger's record says whose it is.

import { ToolgateError } from "./errors.js";
import type { Owner } from "./row.js";

const NAME = /^[^\p{Cc}\p{Cs}]{1,255}$/u;

/** 1 to 255 characters, without control characters and lone surrogates: a name that can be shown, kept and compared. */
export function isThreadId(value: unknown): value is string {
  return typeof value === "string" && NAME.test(value);
}

/** A scope is named by the same rule as a thread. */
export function isScope(value: unknown): value is string {
  return typeof value === "string" && NAME.test(value);
}

/** What a scope may be, for messages. */
export const SCOPE_RULE = "a string of 1 to 255 characters, without control characters";

/** The scope, if it is one. `by` says whose word it is. Throws `config_invalid`. */
export function checkedScope(scope: unknown, by: string): string {
  if (isScope(scope)) return scope;
  throw new ToolgateError(
    "config_invalid",
    `${by} gave a scope that cannot be used: ${typeof scope === "string" ? "it has no characters, too many, or such as cannot be shown" : `it is ${scope === null ? "null" : typeof scope}`}`,
    `give ${SCOPE_RULE}`,
  );
}

/** The scope of whoever says nothing of scopes. */
export const DEFAULT_SCOPE = "local";

/** Stands between scope and thread in a key. No name may hold it. */
const BETWEEN = "\u001f";

/** Under which the thread of a scope is kept. (thread-key-1) */
export function threadKey(scope: string, threadId: string): string {
  return scope === DEFAULT_SCOPE ? threadId : `${scope}${BETWEEN}${threadId}`;
}

/** The thread id of a key: what hosts, models and people are told. */
export function threadOfKey(key: string): string {
  return key.slice(key.lastIndexOf(BETWEEN) + 1);
}

/** The scope of a key. A bare id says nothing of its own: it is of the default scope unless the ledger's record says otherwise. */
export function scopeOfKey(key: string): string {
  const at = key.lastIndexOf(BETWEEN);
  return at < 0 ? DEFAULT_SCOPE : key.slice(0, at);
}

/** Whether a record is of a scope: by its own word, and not by its thread's key another's. */
export function isRecordOf(scope: string): (record: { readonly scope: string; readonly threadId: string }) => boolean {
  return (record) => record.scope === scope && [DEFAULT_SCOPE, scope].includes(scopeOfKey(record.threadId));
}

/** Where the ledger may hold a thread of a scope: under its key, and bare where its checkpointer was the host's own. */
export function placesOf(scope: string, threadId: string): string[] {
  return [...new Set([threadKey(scope, threadId), threadId])];
}

/** A thread of another scope does not exist. */
export function noThread(threadId: string): ToolgateError {
  return new ToolgateError(
    "not_found",
    `there is no thread \`${threadId}\``,
    "give the id of a thread of this scope, or a new one to begin it",
  );
}

/** The thread id, if it is one. Throws `thread_invalid`. */
export function checkedThreadId(threadId: unknown): string {
  if (isThreadId(threadId)) return threadId;
  const what =
    typeof threadId === "string" ? "has no characters, too many, or such as cannot be shown" : "is no string";
  throw new ToolgateError(
    "thread_invalid",
    threadId === undefined ? "no thread is named" : `the thread id ${what}`,
    "give `configurable.thread_id` a string of 1 to 255 characters, without control characters",
  );
}

/** Where a run's owner stands among a configuration's values. A symbol: no client can send one. */
const RUN = Symbol("the run that saves");

/** A configuration for a checkpointer that says whose run saves, so that it can ask whose the thread is. */
export function underRun<Config extends { configurable?: object }>(config: Config, owner: Owner): Config {
  return { ...config, configurable: { ...config.configurable, [RUN]: owner } };
}

/** Whose run saves; undefined where it is none of ours. */
export function savingRun({ configurable }: { readonly configurable?: object }): Owner | undefined {
  return (configurable as { readonly [RUN]?: Owner } | undefined)?.[RUN];
}

/** Another run has the thread now: nothing more is written for this one. */
export function takenOver(key: string): ToolgateError {
  const threadId = threadOfKey(key);
  return new ToolgateError(
    "already_running",
    `thread \`${threadId}\` was taken over by another run`,
    "wait for that run to end, then run the thread again",
    { data: { threadId } },
  );
}
