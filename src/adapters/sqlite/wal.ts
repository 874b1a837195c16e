// The log of a SQLite file (`-wal`). Commits are appended to it, and a checkpoint moves them into the file, which makes room.
// While another process keeps a read open, nothing that was committed since can be moved, and the log grows.
//
//   sqlite-wal-1. A log that grew past `LOG_BYTES` is checkpointed and cut, at most once in `TRY_MS`. Where a reader keeps that
//                 from being done, the host is told, once until the log was short again.

import { statSync } from "node:fs";
import { join } from "node:path";
import type Database from "better-sqlite3";
import type { Finding } from "../../contracts/index.js";
import { steadyMs } from "../process/clock.js";
import { PATIENCE_MS } from "./patience.js";

/** Bytes of a log that is too long. SQLite begins it anew at about 4 MB where nobody reads. */
export const LOG_BYTES = 64 * 1_048_576;
/** Bytes that are left of a log that is begun anew. */
const KEPT_BYTES = 8 * 1_048_576;
/** Milliseconds between two tries to cut a log that is too long. */
const TRY_MS = 10_000;

/** Is told what a person should know of the store. **Contract:** must not throw. */
export type OnFinding = (finding: Finding) => void;

export interface Log {
  /** Told before each commit how long the log is. (sqlite-wal-1) */
  grewTo(bytes: number): void;
  /** Moves everything into the file, as soon as nobody reads what was before, within the usual time. */
  empty(): Promise<void>;
  onFinding: OnFinding | undefined;
}

const known = new WeakMap<Database.Database, Log>();

/** The log of an open database. */
export function logOf(db: Database.Database): Log {
  const log = known.get(db) ?? createLog(db, steadyMs);
  known.set(db, log);
  return log;
}

export function createLog(db: Database.Database, steady: () => number): Log {
  if (!db.memory) db.pragma(`journal_size_limit = ${KEPT_BYTES}`);
  let [tried, told] = [Number.NEGATIVE_INFINITY, false];
  /** Whether all of the log was moved, and the log cut. */
  const cut = () => {
    try {
      return (db.pragma("wal_checkpoint(TRUNCATE)") as { busy: number }[])[0]?.busy === 0;
    } catch {
      return false; // what was committed stands in the log all the same
    }
  };
  const log: Log = {
    onFinding: undefined,
    grewTo: (bytes) => {
      if (bytes <= LOG_BYTES || steady() - tried < TRY_MS) {
        if (bytes <= LOG_BYTES) told = false;
        return;
      }
      tried = steady();
      if (cut() || told) return;
      told = true;
      log.onFinding?.(tooLong(`${db.name}-wal`, bytes));
    },
    empty: async () => {
      const until = steady() + PATIENCE_MS;
      while (!cut() && steady() < until) await new Promise((resolve) => setTimeout(resolve, 20));
    },
  };
  return log;
}

/** What `toolgate check` and the start of a host find of the log of the store in a folder. */
export function logFindings(folder: string): Finding[] {
  const path = join(folder, "toolgate.sqlite-wal");
  const bytes = bytesOf(path);
  return bytes > LOG_BYTES ? [tooLong(path, bytes)] : [];
}

/** 0 where there is no such file, or where the system refuses to look: what is wrong with the path is another finding. */
function bytesOf(path: string): number {
  try {
    return statSync(path).size;
  } catch {
    return 0;
  }
}

function tooLong(path: string, bytes: number): Finding {
  const why = "a process that keeps a read of the store open lets it grow without end";
  const message = `the store's log \`${path}\` has ${Math.round(bytes / 1_048_576)} MB: ${why}; end that process`;
  return { level: "warning", code: "store_log", message };
}
