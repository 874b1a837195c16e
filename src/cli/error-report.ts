// Failures: whatever was thrown becomes one line, what to do about it, and a stable code.
//
// Control characters from a server or a model are made visible, so that they cannot steer the terminal. Secrets were taken
// out before (`redacted`).

import { ToolgateError } from "../contracts/errors.js";
import { escapeHidden, oneLine } from "../contracts/text.js";
import type { Context, Output } from "./io.js";

export interface Failure {
  /** An `ErrorCode`, or one of the command's own: `internal` (an error that toolgate does not know), `stopped` (by a signal). */
  readonly code: string;
  readonly message: string;
  readonly hint: string;
}

/** A command line that cannot be carried out: exit code 2. */
export class UsageError extends ToolgateError {
  constructor(message: string, hint: string, code: "usage" | "empty_question" = "usage") {
    super(code, message, hint);
    this.name = "UsageError";
  }
}

/** Thrown when a signal stopped the run. The thread can go on. */
export class Stopped extends Error {
  constructor(readonly threadId?: string) {
    super("stopped");
    this.name = "Stopped";
  }
}

const MESSAGE_CHARS = 1_000;

export function failureOf(error: unknown): Failure {
  const clean = (text: string) => oneLine(text, MESSAGE_CHARS);
  if (error instanceof ToolgateError)
    return { code: error.code, message: clean(error.message), hint: clean(error.hint) };
  const message = clean(error instanceof Error ? error.message || error.name : String(error));
  if (isStoreError(error))
    return {
      code: "store_failed",
      message: `the store failed: ${message}`,
      hint: "check the folder that `store.path` names, then run it again",
    };
  return { code: "internal", message, hint: "run it again with --verbose to see where it comes from" };
}

/** The failure of a run. `next` names the nodes that the thread runs next: they show which part failed. */
export function runFailure(error: unknown, next: readonly string[], goOn: string): Failure {
  const failure = failureOf(error);
  if (failure.code !== "internal") return failure;
  if (next.includes("model"))
    return {
      code: "model_failed",
      message: `the model failed: ${failure.message}`,
      hint: `nothing is lost: \`${goOn}\` asks it again`,
    };
  if (next.includes("discover")) return { ...failure, code: "server_failed", hint: `mend that, then \`${goOn}\`` };
  return { ...failure, hint: `nothing is lost: \`${goOn}\` goes on; --verbose shows where it comes from` };
}

function isStoreError(error: unknown): boolean {
  const { name, code } = (error ?? {}) as { name?: unknown; code?: unknown };
  return name === "SqliteError" || (typeof code === "string" && /^(SQLITE_|ENOSPC|EROFS|EDQUOT)/.test(code));
}

/** Reports a failure on stderr: one line, what to do about it, and with `--verbose` the stack. */
export function tellFailure(
  context: Context,
  { message, hint }: Pick<Failure, "message" | "hint">,
  cause: unknown,
): void {
  context.note(`toolgate: ${message}\n  ${hint}`);
  if (context.options.verbose && cause instanceof Error) context.note(escapeHidden(cause.stack ?? ""));
}

/** Says that stdout did not take what was written. */
export function tellOutputFailure(stderr: Output, error: Error): void {
  const { code } = error as NodeJS.ErrnoException;
  const why =
    code === "EPIPE" ? "nobody reads it any more" : code === "ENOSPC" ? "there is no room left" : error.message;
  const hint = "what was done is stored; `toolgate threads` and `toolgate approvals` show it";
  stderr.write(`toolgate: the output could not be written: ${oneLine(why, MESSAGE_CHARS)}\n  ${hint}\n`);
}
