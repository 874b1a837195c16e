// A folder for a store of SQLite's, with the connections that a test opens to it: all are closed and removed after each test.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type Database from "better-sqlite3";
import { afterEach, beforeEach } from "vitest";

export interface StoreFolder {
  readonly path: () => string;
  /** Is closed after the test, unless the test closed it. */
  readonly keep: (db: Database.Database) => Database.Database;
}

/** Call it once at the top of a test file. */
export function storeFolder(): StoreFolder {
  let folder: string;
  let open: Database.Database[];
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "toolgate-store-"));
    open = [];
  });
  afterEach(() => {
    for (const db of open) db.close();
    rmSync(folder, { recursive: true });
  });
  return {
    path: () => folder,
    keep(db) {
      open.push(db);
      return db;
    },
  };
}
