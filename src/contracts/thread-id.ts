// What a thread may be called, and whose run it is.

import { ToolgateError } from "./errors.js";
import type { Owner } from "./row.js";

/** 1 to 255 characters, without control characters and lone surrogates: a name that can be shown, kept and compared. */
export function isThreadId(value: unknown): value is string {
  return typeof value === "string" && /^[^\p{Cc}\p{Cs}]{1,255}$/u.test(value);
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
export function takenOver(threadId: string): ToolgateError {
  return new ToolgateError(
    "already_running",
    `thread \`${threadId}\` was taken over by another run`,
    "wait for that run to end, then run the thread again",
    { data: { threadId } },
  );
}
