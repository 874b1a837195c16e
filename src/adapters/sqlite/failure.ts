// Failures of SQLite in words.
//
//   sqlite-failure-1. Whatever SQLite or the file system says arrives as `store_failed` with a hint, never as a bare stack.

import { ToolgateError } from "../../contracts/index.js";

/** Runs what may fail in the store. (sqlite-failure-1) */
export function guarded<T>(path: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw storeError(path, error);
  }
}

/** An error as a host reads it; what is none of SQLite or the file system stays as it is. (sqlite-failure-1) */
export function storeError(path: string, error: unknown): unknown {
  if (error instanceof ToolgateError || !(error instanceof Error)) return error;
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  const closed = error instanceof TypeError && /database connection is not open/.test(error.message);
  const broken = error instanceof SyntaxError; // a body that is no longer JSON
  if (!code && !closed && !broken) return error;
  const said = closed ? "it is closed" : broken ? "a stored record cannot be read" : error.message;
  return new ToolgateError("store_failed", `the store at \`${path}\` failed: ${said}`, hint(code, closed), {
    data: { path, code },
    cause: error,
  });
}

function hint(code: string, closed: boolean): string {
  if (closed) return "open the store again";
  if (isBusy({ code })) return "another process holds the store; try again when it is done";
  if (/FULL|ENOSPC/.test(code)) return "make room on the disk, then try again";
  if (/CORRUPT|NOTADB/.test(code)) return "the file is no store or is damaged; restore it or choose another store path";
  return "check that the path names a file in a folder that exists and that this user may write to";
}

export function isBusy(error: unknown): boolean {
  const code = (error as { code?: unknown }).code;
  return typeof code === "string" && /^SQLITE_(BUSY|LOCKED)/.test(code);
}
