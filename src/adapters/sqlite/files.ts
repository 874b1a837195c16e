// Files: whether the files that a connection writes to are still the ones at their paths. SQLite goes on in a file that was
// deleted or replaced, and whatever is stored there is lost.
//
//   sqlite-files-1. Nothing is stored, and so nothing is sent, once the store's file or one of the two beside it is not there any
//                   more, or is another one. A file that was written over in its place is the same file.

import { type BigIntStats, statSync } from "node:fs";
import { resolve } from "node:path";
import type Database from "better-sqlite3";
import { ToolgateError } from "../../contracts/index.js";

/** The database, its log, and the index of that. */
const ENDINGS = ["", "-wal", "-shm"] as const;

export interface StoreFiles {
  /** Throws `store_failed`. Returns the bytes of the log. (sqlite-files-1) */
  mustBeThere(): number;
}

const known = new WeakMap<Database.Database, StoreFiles>();

/** The files of an open database. Each is remembered when it is first seen. */
export function filesOf(db: Database.Database): StoreFiles {
  const files = known.get(db) ?? (db.memory ? { mustBeThere: () => 0 } : watched(resolve(db.name)));
  known.set(db, files);
  return files;
}

function watched(path: string): StoreFiles {
  const seen = new Map<string, BigIntStats>();
  const look = (): number => {
    let logBytes = 0;
    for (const ending of ENDINGS) {
      const before = seen.get(ending);
      const now = statSync(path + ending, { bigint: true, throwIfNoEntry: false });
      if (now !== undefined && before === undefined) seen.set(ending, now);
      else if (now?.ino !== before?.ino || now?.dev !== before?.dev) throw moved(path + ending, now !== undefined);
      if (now !== undefined && ending === "-wal") logBytes = Number(now.size);
    }
    return logBytes;
  };
  look();
  return { mustBeThere: look };
}

function moved(path: string, replaced: boolean): ToolgateError {
  return new ToolgateError(
    "store_failed",
    `the store's file \`${path}\` was ${replaced ? "replaced" : "deleted"} while it was in use; nothing more is sent`,
    "stop this host, put the store back as it was, then start it again; what it did since is in no store",
    { data: { path } },
  );
}
