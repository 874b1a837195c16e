// A SQLite file that another connection holds: it is waited for off the event loop, in order, and for a bounded time.

import { join } from "node:path";
import { HumanMessage } from "@langchain/core/messages";
import { emptyCheckpoint } from "@langchain/langgraph-checkpoint";
import Database from "better-sqlite3";
import { describe, expect, test } from "vitest";
import { openCheckpointer } from "../../src/adapters/sqlite/checkpointer.js";
import { createSqliteLedger } from "../../src/adapters/sqlite/ledger.js";
import { openPatiently } from "../../src/adapters/sqlite/open.js";
import { createPatience, patienceWith, type Waiting } from "../../src/adapters/sqlite/patience.js";
import { createSqliteResults } from "../../src/adapters/sqlite/results.js";
import { createToolgate } from "../../src/index.js";
import { scriptedModel } from "../../src/testing.js";
import { storeFolder } from "../support/store-folder.js";

const { path: folder, keep } = storeFolder();

const file = () => join(folder(), "toolgate.sqlite");
function connection(): Database.Database {
  const db = new Database(file());
  keep(db);
  return db;
}

/** A clock that moves when it is waited on. After `tries` waits `then` is called. */
function clock(tries: number, then: () => void) {
  const waits: number[] = [];
  let now = 0;
  const waiting: Waiting = {
    steady: () => now,
    pause: async (ms) => {
      waits.push(ms);
      now += ms;
      if (waits.length === tries) then();
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
  return { waits, waiting };
}

const deps = { now: () => 1_000_000, steady: () => 0, liveness: () => "alive" as const };
const AT = { configurable: { thread_id: "t1", checkpoint_ns: "" } };
const METADATA = { source: "update", step: 0, parents: {} } as const;

/** Every way in which a run writes, on one connection. */
const WRITES: Record<string, (db: Database.Database) => Promise<unknown>> = {
  "the ledger": (db) => createSqliteLedger(db, deps).adopt("t1", "local"),
  results: (db) => createSqliteResults(db).put("t1", "x"),
  "a checkpoint": (db) => openCheckpointer(db).put(AT, emptyCheckpoint(), METADATA),
  "writes of a checkpoint": (db) =>
    openCheckpointer(db).putWrites({ configurable: { ...AT.configurable, checkpoint_id: "c" } }, [["a", 1]], "task"),
  "the end of a thread's checkpoints": (db) => openCheckpointer(db).deleteThread("t1"),
};

/** An open store whose file another connection holds until `free`. */
async function held(waiting: Waiting) {
  const db = connection();
  patienceWith(db, waiting);
  await openPatiently(db);
  await openCheckpointer(db).getTuple(AT); // makes its tables
  const holder = connection();
  holder.exec("BEGIN IMMEDIATE");
  return { db, free: () => holder.exec("COMMIT") };
}

// A database client with an open transaction stopped a whole host, its timers and its signals, for 5 s at each try.
describe("a file that another connection holds", () => {
  test.each(Object.keys(WRITES))(
    "is waited for by %s in steps between which the event loop runs (sqlite-patience-1)",
    async (name) => {
      let free = () => {};
      const { waits, waiting } = clock(6, () => free());
      const store = await held(waiting);
      free = store.free;
      let turns = 0;
      const turning = setInterval(() => turns++, 0);
      const before = performance.now();
      const work = (WRITES[name] as (typeof WRITES)[string])(store.db);
      const kept = performance.now() - before;
      await work;
      clearInterval(turning);
      expect(waits).toEqual([1, 2, 5, 10, 15, 20]);
      expect(kept).toBeLessThan(1_000); // SQLite's own waiting keeps it for 5,000
      expect(turns).toBeGreaterThan(0);
    },
  );

  test.each(Object.keys(WRITES))("is given up by %s after 5 s, in words (sqlite-patience-1)", async (name) => {
    const { waits, waiting } = clock(Number.POSITIVE_INFINITY, () => {});
    const { db } = await held(waiting);
    await expect((WRITES[name] as (typeof WRITES)[string])(db)).rejects.toMatchObject({
      code: "store_failed",
      hint: "another process holds the store; try again when it is done",
    });
    const waited = waits.reduce((sum, ms) => sum + ms, 0);
    expect([waited >= 5_000, waited <= 5_100]).toEqual([true, true]);
  });

  test("keeps what is written in the order in which it was asked for, reads beside it (sqlite-patience-2)", async () => {
    let free = () => {};
    const { waiting } = clock(3, () => free());
    const store = await held(waiting);
    free = store.free;
    const { writing, reading } = patienceWith(store.db);
    store.db.exec("CREATE TEMP TABLE said (word TEXT)");
    const say = (word: string) =>
      writing(() => {
        store.db.exec("BEGIN IMMEDIATE; COMMIT");
        store.db.prepare("INSERT INTO said VALUES (?)").run(word);
      });
    const all = ["a", "b", "c", "d"].map(say);
    expect(await reading(() => store.db.prepare("SELECT count(*) FROM said").pluck().get())).toBe(0);
    await Promise.all(all);
    await say("e");
    expect(store.db.prepare("SELECT word FROM said").pluck().all()).toEqual(["a", "b", "c", "d", "e"]);
  });

  test("fails each in the line when its own time is over, and what comes later is done", async () => {
    const { waits, waiting } = clock(Number.POSITIVE_INFINITY, () => {});
    const store = await held(waiting);
    const { writing } = patienceWith(store.db);
    const write = () => writing(() => store.db.exec("BEGIN IMMEDIATE; COMMIT"));
    const ended = await Promise.allSettled([write(), write(), write()]);
    expect(ended.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
    expect(waits.reduce((sum, ms) => sum + ms, 0)).toBeLessThan(5_100); // together, not one after the other
    store.free();
    await write();
  });

  test("is waited for when it is opened for the first time", async () => {
    const holder = connection();
    holder.exec("CREATE TABLE other (a); BEGIN EXCLUSIVE");
    const { waits, waiting } = clock(4, () => holder.exec("COMMIT"));
    const db = connection();
    patienceWith(db, waiting);
    await openPatiently(db);
    expect(waits).toEqual([1, 2, 5, 10]);
    expect(db.pragma("journal_mode", { simple: true })).toBe("wal");
  });

  test("an error that is none of waiting is told at once", async () => {
    const { waits, waiting } = clock(1, () => {});
    const { writing, reading } = createPatience(waiting);
    const broken = () => {
      throw Object.assign(new Error("disk I/O error"), { code: "SQLITE_IOERR" });
    };
    await expect(writing(broken)).rejects.toThrow("disk I/O error");
    await expect(reading(broken)).rejects.toThrow("disk I/O error");
    expect(waits).toEqual([]);
  });
});

describe("a whole run", () => {
  test("goes on once the file is free, and timers of its process ran meanwhile", async () => {
    const config = { mcpServers: {}, store: { kind: "sqlite", path: folder() } };
    const toolgate = await createToolgate({ config, model: scriptedModel([{ say: "hello" }]) });
    const holder = connection();
    holder.exec("BEGIN IMMEDIATE");
    let turns = 0;
    const turning = setInterval(() => {
      if (++turns === 20) holder.exec("COMMIT");
    }, 5);
    const input = { messages: [new HumanMessage("hi")] };
    const result = await toolgate.graph.invoke(input, { configurable: { thread_id: "t" } });
    clearInterval(turning);
    expect(result.messages.at(-1)?.text).toBe("hello");
    expect(turns).toBeGreaterThanOrEqual(20); // with the loop blocked it would have failed before the twentieth
    await toolgate.close();
  });
});
