import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach } from "vitest";
import { openCheckpointer } from "../../src/adapters/sqlite/checkpointer.js";
import { createSqliteLedger, sqliteHolds } from "../../src/adapters/sqlite/ledger.js";
import { fenceSuite } from "./fence.js";
import { START } from "./ledger-world.js";

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

fenceSuite("SQLite", async () => {
  const folder = mkdtempSync(join(tmpdir(), "toolgate-fence-"));
  const db = new Database(join(folder, "toolgate.sqlite"));
  ends.push(() => {
    db.close();
    rmSync(folder, { recursive: true });
  });
  const clock = { now: START };
  const ledger = createSqliteLedger(db, { now: () => clock.now, steady: () => 0, liveness: () => "unknown" });
  return { clock, ledger, checkpointer: openCheckpointer(db, sqliteHolds(db)) };
});
