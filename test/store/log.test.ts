// The log of a SQLite store, which grows while somebody reads.

import { statSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { describe, expect, test } from "vitest";
import { examine } from "../../src/adapters/config/findings.js";
import { resolveConfig } from "../../src/adapters/config/load.js";
import { committing } from "../../src/adapters/sqlite/commit.js";
import { openStore } from "../../src/adapters/sqlite/open.js";
import { createLog, LOG_BYTES, logOf } from "../../src/adapters/sqlite/wal.js";
import type { Finding } from "../../src/contracts/index.js";
import { start } from "../graph/branches.js";
import { bench } from "../support/in-process.js";
import { storeFolder } from "../support/store-folder.js";

const { path: folder, keep } = storeFolder();

const b = bench();
const store = () => join(folder(), "store");
const file = (ending = "") => join(store(), `toolgate.sqlite${ending}`);

// A forgotten shell with an open transaction let the log of a store grow until the disk was full, and nobody was told why.
describe("the log of a store", () => {
  const MB = 1_048_576;
  const size = () => statSync(file("-wal")).size;
  const opened = () => {
    const db = openStore(file());
    keep(db);
    db.exec("CREATE TABLE bulk (body BLOB)");
    return db;
  };
  /** Commits some megabytes, one commit each. */
  const grow = async (db: Database.Database, megabytes: number) => {
    const commit = committing(db);
    const add = db.prepare("INSERT INTO bulk VALUES (randomblob(?))");
    for (let done = 0; done < megabytes; done++) await commit("kill", () => add.run(MB));
  };
  const reader = () => {
    const db = new Database(file());
    keep(db);
    db.exec("BEGIN");
    db.prepare("SELECT count(*) FROM bulk").get();
    return db;
  };

  test("that a reader lets grow is told of once, with what to do; it is cut once the reader has gone (sqlite-wal-1)", async () => {
    const db = opened();
    const told: Finding[] = [];
    let now = 0;
    const log = createLog(db, () => now);
    log.onFinding = (finding) => void told.push(finding);
    const holding = reader();
    await grow(db, 70);
    expect(size()).toBeGreaterThan(LOG_BYTES);
    for (const at of [0, 5_000, 10_000, 20_000]) {
      now = at;
      log.grewTo(size());
    }
    expect(told).toEqual([
      {
        level: "warning",
        code: "store_log",
        message: expect.stringMatching(
          /^the store's log `.*toolgate\.sqlite-wal` has 7\d MB: a process that keeps a read of the store open lets it grow without end; end that process$/,
        ),
      },
    ]);
    holding.exec("COMMIT");
    now = 30_000;
    log.grewTo(size());
    expect(size()).toBe(0);
    log.grewTo(size());
    expect(told).toHaveLength(1);
  });

  test("is looked at by every commit, and stays short where nobody reads", async () => {
    const db = opened();
    const told: Finding[] = [];
    logOf(db).onFinding = (finding) => void told.push(finding);
    await grow(db, 80);
    expect([size() < 16 * MB, told]).toEqual([true, []]);
    reader();
    await grow(db, 70);
    expect(told.map(({ code }) => code)).toEqual(["store_log"]);
  });

  test("is among the findings of a start and of `check`, as long as it is too long", async () => {
    const db = opened();
    const config = resolveConfig(
      { mcpServers: {}, store: { kind: "sqlite", path: store() } },
      { folder: folder(), env: {} },
    ).config;
    const codes = () => examine({ config, findings: [] }, { env: {} }).findings.map(({ code }) => code);
    expect(codes()).not.toContain("store_log");
    reader();
    await grow(db, 70);
    expect(codes()).toContain("store_log");
    const agent = await start(b, { store: { kind: "sqlite", path: store() } });
    expect(agent.toolgate.findings.map(({ code }) => code)).toContain("store_log");
  });

  test("is told of to a host that runs, in its findings", async () => {
    const agent = await start(b, { store: { kind: "sqlite", path: store() } });
    await agent.ask("hello");
    expect(agent.toolgate.findings.map(({ code }) => code)).not.toContain("store_log");
    const other = new Database(file());
    keep(other);
    other.exec("CREATE TABLE bulk (body BLOB)");
    reader();
    const add = other.prepare("INSERT INTO bulk VALUES (randomblob(?))");
    for (let done = 0; done < 70; done++) add.run(MB);
    await agent.ask("hello again");
    expect(agent.toolgate.findings.filter(({ code }) => code === "store_log")).toHaveLength(1);
  });
});
