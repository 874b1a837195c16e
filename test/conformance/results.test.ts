import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { createMemoryResults } from "../../src/adapters/memory/results.js";
import { createSqliteResults } from "../../src/adapters/sqlite/results.js";
import { resultsSuite } from "./results.js";

resultsSuite("memory results", createMemoryResults);

let db: Database.Database;
resultsSuite(
  "SQLite results",
  () => {
    db = new Database(":memory:");
    return createSqliteResults(db);
  },
  (coding, body) => db.prepare("UPDATE bodies SET coding = ?, body = ?").run(coding, body),
);

describe("SQLite results on disk", () => {
  it("keeps equal bodies once, compressed, and gives them back after a restart (results-1)", async () => {
    const folder = mkdtempSync(join(tmpdir(), "toolgate-"));
    try {
      const path = join(folder, "store.db");
      const before = new Database(path);
      const results = createSqliteResults(before);
      const body = "a line of a very repetitive log\n".repeat(5_000);
      const { ref } = await results.put("t1", body);
      await results.put("t2", body);
      const stored = before.prepare("SELECT count(*) AS n, sum(length(body)) AS bytes FROM bodies").get();
      expect(stored).toMatchObject({ n: 1 });
      expect((stored as { bytes: number }).bytes).toBeLessThan(2_000);
      before.close();
      const after = new Database(path);
      expect(await createSqliteResults(after).read("t1", ref)).toBe(body);
      after.close();
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("fails in words when the database is closed (sqlite-failure-1)", async () => {
    const db = new Database(":memory:");
    const results = createSqliteResults(db);
    db.close();
    await expect(results.put("t1", "body")).rejects.toMatchObject({
      code: "store_failed",
      hint: "open the store again",
    });
  });
});
