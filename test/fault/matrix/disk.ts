// A disk that fails under an open SQLite store. What SQLite answers is what it answers to such a disk; nothing is faked
// above it.

import type Database from "better-sqlite3";

/** From now on the handles' file takes no writes, has no room, or is as it was. */
export function failDisk(handles: Iterable<Database.Database>, how: "readonly" | "full" | "well"): void {
  for (const db of handles) {
    switch (how) {
      case "readonly":
        db.pragma("query_only = ON"); // SQLITE_READONLY, also for root, whom no file mode stops
        break;
      case "full": {
        // Whatever the next transaction writes first is made to need a page more than there may be: SQLITE_FULL.
        const pages = Number(db.pragma("page_count", { simple: true }));
        db.exec(`CREATE TEMP TRIGGER full BEFORE INSERT ON clock BEGIN
          INSERT INTO snapshots (id, body) VALUES ('full', zeroblob(1000000)); END`);
        db.pragma(`max_page_count = ${pages}`);
        break;
      }
      case "well":
        db.pragma("query_only = OFF");
        db.exec("DROP TRIGGER IF EXISTS temp.full");
        db.pragma("max_page_count = 1073741823");
    }
  }
}
