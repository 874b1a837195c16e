// Failures of Postgres: what each says about the statement it ended, and the words that a host reads.
//
//   postgres-failure-1. A statement whose answer was lost may have been stored. Only the database can tell.
//   postgres-failure-2. No message names the password or the connection string, and none carries an error that does.
//   postgres-failure-3. An error that every connection will meet again is a fault at once, with what to do in `store.url`.

import { ToolgateError } from "../../contracts/index.js";

/**
 * `lost`: sent, and nobody knows. `busy`: certainly not stored, may succeed in a moment. `conflict`: another was first.
 * `fault`: certainly not stored, and would not be again.
 */
export type Kind = "lost" | "busy" | "conflict" | "fault";

const BUSY = new Set(["25P03", "40001", "40P01", "53300", "57P03", "55P03"]);
const UNREACHABLE = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOENT",
  "EAI_AGAIN",
]);
/** Of a file that cannot be read; of a socket, too, where it was connected to. */
const UNREADABLE = new Set(["ENOENT", "ENOTDIR", "EISDIR", "EACCES", "EPERM"]);

/** What an error of a statement says, given whether the statement was sent. (postgres-failure-1) */
export function kindOf(error: unknown, sent: boolean): Kind {
  const code = codeOf(error);
  if (error instanceof ToolgateError) return "fault";
  if (code === "23505") return "conflict";
  if (BUSY.has(code)) return "busy";
  if (isSqlState(code) && !/^(08|57P0)/.test(code)) return "fault";
  if (sent) return "lost";
  if (mistake(error) !== undefined) return "fault";
  return isSqlState(code) || UNREACHABLE.has(code) || code === "" ? "busy" : "fault";
}

export function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : "";
}

/** What to do about an error that every connection will meet again; undefined for another. (postgres-failure-3) */
function mistake(error: unknown): string | undefined {
  const code = codeOf(error);
  const { message = "", syscall } = (error ?? {}) as { readonly message?: string; readonly syscall?: string };
  const said = (words: RegExp) => code === "" && words.test(message);
  if (/^ERR_OSSL_/.test(code) || (UNREADABLE.has(code) && syscall !== "connect")) {
    return "check the files that `store.url` names (sslrootcert, sslcert, sslkey)";
  }
  if (/CERT|^UNABLE_TO_/.test(code)) {
    return "check the database's certificate, and the `sslrootcert` in `store.url` that it is checked against";
  }
  if (said(/server does not support SSL/))
    return "leave `sslmode` out of `store.url`, or switch SSL on in the database";
  if (said(/sslmode|uselibpqcompat/i)) return "change `sslmode` in `store.url` as the message says, or leave it out";
  if (said(/^SASL/)) return "check the user and the password in `store.url`";
  if (code === "ERR_INVALID_URL" || error instanceof URIError) {
    return "write `store.url` as postgresql://user:password@host:port/database";
  }
  return undefined;
}

/** Whether a code is Postgres's own word, not Node's (`EPIPE`). */
function isSqlState(code: string): boolean {
  return /^[0-9A-DF-Z][0-9A-Z]{4}$/.test(code);
}

/** Whether the connection is still good after an error of a statement on it. */
export function isSound(error: unknown): boolean {
  const code = codeOf(error);
  return isSqlState(code) && !/^(08|57P0)/.test(code);
}

/** An error as a host reads it. `secrets` are taken out of whatever the driver says. (postgres-failure-2) */
export function storeFailed(error: unknown, secrets: readonly string[]): unknown {
  if (error instanceof ToolgateError) return error;
  if (!(error instanceof Error)) return error;
  const code = codeOf(error);
  const broken = error instanceof SyntaxError; // a body that is no longer JSON
  if (error instanceof TypeError && code === "") return error; // a mistake of ours
  const readOnly = code === "25006";
  const said = readOnly
    ? "the database is read-only"
    : broken
      ? "a stored record cannot be read"
      : without(error.message || code, secrets);
  return new ToolgateError("store_failed", `the Postgres store failed: ${said}`, mistake(error) ?? hint(code, said), {
    data: { code },
  });
}

function without(text: string, secrets: readonly string[]): string {
  return secrets.reduce((left, secret) => left.replaceAll(secret, "[removed]"), text);
}

function hint(code: string, said: string): string {
  if (/^28/.test(code)) return "check the user and the password in `store.url`";
  if (code === "3D000") return "make the database that `store.url` names, or name another";
  if (code === "42501" || code === "3F000") return "let the user of `store.url` make and change tables in its schema";
  if (/^53[12]/.test(code)) return "make room on the database's disk, then try again";
  if (code === "25006") return "the database takes no writes now: name one that does, or wait until it does again";
  if (code === "55P03") return "wait until the other is done, or end it, then try again";
  if (code === "53300") return "let the database take more connections, or run fewer hosts";
  if (
    UNREACHABLE.has(code) ||
    code === "ENOTFOUND" ||
    /^(08|57P)/.test(code) ||
    /timeout|terminated|not queryable/i.test(said)
  ) {
    return "check that the database runs and can be reached, then try again; what was stored stays";
  }
  return "see what the database's log says of it";
}
