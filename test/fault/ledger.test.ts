// The SQLite ledger between processes and across their deaths, and what it says when its file cannot be used.

import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { steadyMs } from "../../src/adapters/process/clock.js";
import { createOwner } from "../../src/adapters/process/owner.js";
import { createSqliteLedger } from "../../src/adapters/sqlite/ledger.js";
import { ToolgateError } from "../../src/contracts/index.js";
import type { LedgerDeps } from "../../src/ledger/port.js";
import {
  approve,
  batch,
  claimOne,
  OK,
  operation,
  owner,
  propose,
  query,
  read,
  run,
  stands,
  UNKNOWN,
  type World,
  world,
} from "../conformance/ledger-world.js";
import { type Child, startChild } from "./ledger-processes.js";

let folder = "";
let path = "";
const children: Child[] = [];
const start = (...args: string[]): Child => {
  const child = startChild(...args);
  children.push(child);
  return child;
};

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "toolgate-"));
  path = join(folder, "state", "store.db");
});
afterEach(async () => {
  for (const child of children.splice(0)) await child.end("SIGKILL");
  rmSync(folder, { recursive: true });
});

/** What version 3 asks before it stores anything: where a thread, a row, a turn and a proposal are. */
const BEFORE_4 = [
  "SELECT n FROM threads WHERE thread_id = ?",
  "SELECT operations.*, threads.thread_id FROM operations JOIN threads ON threads.n = operations.thread WHERE operations.id = ?",
  "SELECT turns.* FROM turns JOIN threads ON threads.n = turns.thread WHERE thread_id = ? AND turn_id = ?",
  "SELECT model_requests.*, threads.thread_id FROM model_requests JOIN turns ON turns.n = model_requests.turn JOIN threads ON threads.n = turns.thread WHERE proposal_id = ?",
];

describe("SQLite ledger between processes", () => {
  it("of two processes racing for 200 operations exactly one gets each (ledger-2)", async () => {
    const racers = [start("race", path, "200"), start("race", path, "200")];
    expect(await Promise.all(racers.map((racer) => racer.said()))).toEqual(["ready", "ready"]);
    for (const racer of racers) racer.go();
    const [first, second] = (await Promise.all(racers.map((racer) => racer.said()))) as [number[], number[]];
    for (const racer of racers) await racer.end();
    expect([...first, ...second].sort((a, b) => a - b)).toEqual(Array.from({ length: 200 }, (_, index) => index));
  });

  it("a write that was begun is on disk when its process is killed at once, and is never sent again (ledger-7)", async () => {
    const child = start("begin", path);
    expect(await child.said()).toBe("begun");
    await child.end("SIGKILL");
    const save = operation();
    const { liveness, owner: here } = createOwner();
    const ledger = createSqliteLedger(path, { now: () => Date.now(), steady: steadyMs, liveness });
    expect(await ledger.row(save.id)).toMatchObject({ state: "dispatching", sent: true, fence: 1 });
    const claims = await ledger.claim(batch([save], { owner: here }));
    expect(claims).toMatchObject({
      claims: [
        { kind: "settled", replayed: false, row: { outcome: { status: "result_unknown", reason: "host_gone" } } },
      ],
    });
    await ledger.close();
  });

  it("a living process keeps what it is sending from another (ledger-2)", async () => {
    const child = start("begin", path);
    expect(await child.said()).toBe("begun");
    const { liveness, owner: here } = createOwner();
    const ledger = createSqliteLedger(path, { now: () => Date.now(), steady: steadyMs, liveness });
    const result = await ledger.claim(batch([operation()], { owner: here }));
    expect(result).toMatchObject({ claims: [{ kind: "busy", owner: { pid: child.process.pid } }] });
    await child.end();
    await ledger.close();
  });

  it("everything is there after it is opened again (ledger-7)", async () => {
    const at = await world((deps) => createSqliteLedger(path, deps));
    await fill(at);
    const before = await everything(at);
    await at.ledger.close();
    const again: World = { ...at, ledger: createSqliteLedger(path, at.deps) };
    expect(await everything(again)).toEqual(before);
    expect(await claimOne(again, operation({ proposalId: "p9" }), { threadId: "t9" })).toMatchObject({ seq: 1 });
    expect(await stands(again, operation({ index: 2 }))).toBe("result_unknown (deadline) by host");
    await again.ledger.close();
  });

  // The wall clock was set back, and what depended on its order or on a lifetime went wrong.
  it("what one process saw of the time, the next one knows", async () => {
    const asked = operation({ decision: "ask" });
    const at = await world((deps) => createSqliteLedger(path, deps));
    const yes = await approve(at, asked);
    at.clock.now += 60_001;
    await at.ledger.renew(owner("a"), 1);
    await at.ledger.close();
    at.clock.now -= 60_001;
    const next: World = { ...at, ledger: createSqliteLedger(path, at.deps) };
    await claimOne(next, asked, { verdicts: [yes] });
    expect(await stands(next, asked)).toBe("rejected (expired) by expiry");
    await next.ledger.close();
  });
});

describe("SQLite ledger and its file", () => {
  const deps: LedgerDeps = { now: () => 0, steady: steadyMs, liveness: () => "alive" };
  const failure = (open: () => unknown): ToolgateError => {
    try {
      open();
    } catch (error) {
      if (error instanceof ToolgateError) return error;
      throw error;
    }
    throw new Error("expected a ToolgateError");
  };

  it("is made with its folder, for its user alone, in WAL mode with full synchronisation", async () => {
    await createSqliteLedger(path, deps).close();
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, "state")).mode & 0o777).toBe(0o700);
    const handle = new Database(path);
    await createSqliteLedger(handle, deps).close();
    expect(handle.open).toBe(true); // whoever opened it closes it
    expect(handle.pragma("journal_mode", { simple: true })).toBe("wal");
    expect(handle.pragma("synchronous", { simple: true })).toBe(2);
    expect(handle.pragma("busy_timeout", { simple: true })).toBe(5);
    handle.close();
  });

  it("waits for the disk where something leaves the process, and not where the next such commit makes it durable (commit-1)", async () => {
    await createSqliteLedger(path, deps).close();
    const handle = new Database(path);
    const ledger = createSqliteLedger(handle, deps, "same file");
    const { owner } = createOwner();
    const synchronous = () => handle.pragma("synchronous", { simple: true });
    await ledger.enter("t1", owner, 1_000);
    expect(synchronous()).toBe(1);
    await ledger.leave("t1", owner);
    expect(synchronous()).toBe(2);
    handle.close();
  });

  // State saved by an earlier version could not prove whose it was and still ran tools.
  it("refuses a store of a later version and leaves it as it is", () => {
    mkdirSync(join(folder, "state"));
    const later = new Database(path);
    later.pragma("user_version = 99");
    later.close();
    const error = failure(() => createSqliteLedger(path, deps));
    expect(error.code).toBe("store_version");
    expect(error.message).toBe("the store has version 99; this toolgate reads up to 4");
    const after = new Database(path);
    expect(after.pragma("user_version", { simple: true })).toBe(99);
    expect(after.prepare("SELECT count(*) AS n FROM sqlite_schema").get()).toEqual({ n: 0 });
    expect(after.pragma("journal_mode", { simple: true })).toBe("delete");
    after.close();
  });

  // During an upgrade a process of the version before went on with the file and wrote what the next one does not write.
  it("a process that has the file open while a later version migrates it stores nothing more in it (sqlite-schema-2)", async () => {
    const ledger = createSqliteLedger(path, deps);
    const { owner } = createOwner();
    await ledger.enter("t1", owner, 1_000);
    const later = new Database(path);
    later.pragma("user_version = 5");
    const refused = { code: "store_version", data: { version: 5, supported: 4 } };
    await expect(ledger.enter("t2", owner, 1_000)).rejects.toMatchObject(refused);
    await expect(ledger.leave("t1", owner)).rejects.toMatchObject(refused);
    expect(later.prepare("SELECT key FROM threads WHERE holder IS NOT NULL").pluck().all()).toEqual(["t1"]);
    later.pragma("user_version = 4");
    for (const asked of BEFORE_4) expect(() => later.prepare(asked)).toThrow("no such column: thread");
    later.close();
    await ledger.close();
  });

  it.each([
    ["under a file", () => join(folder, "file", "store.db")],
    ["that is a folder", () => folder],
    ["that is no database", () => join(folder, "file")],
  ])("says in words that a path %s cannot be used", (_, bad) => {
    writeFileSync(join(folder, "file"), "this is not a database, whatever its name may say".repeat(20));
    const error = failure(() => createSqliteLedger(bad(), deps));
    expect(error.code).toBe("store_failed");
    expect(error.message).toContain(bad());
    expect(error.hint).toMatch(/^(check that the path|the file is no store)/);
  });

  it("says in words that a file is read-only", async () => {
    await createSqliteLedger(path, deps).close();
    const handle = new Database(path, { readonly: true });
    const ledger = createSqliteLedger(handle, deps);
    await expect(ledger.claim(batch([operation()]))).rejects.toMatchObject({ code: "store_failed" });
    handle.close();
    await expect(ledger.threads()).rejects.toMatchObject({ code: "store_failed", hint: "open the store again" });
  });

  // Two processes used one SQLite file, and one of them failed because it was locked.
  it("says in words that another process holds the file, and nothing was changed", async () => {
    const holder = new Database(path.replace("state", "."));
    const handle = new Database(path.replace("state", "."));
    const ledger = createSqliteLedger(handle, deps);
    handle.pragma("busy_timeout = 1");
    holder.exec("BEGIN IMMEDIATE");
    await expect(ledger.claim(batch([operation()]))).rejects.toMatchObject({
      code: "store_failed",
      hint: "another process holds the store; try again when it is done",
    });
    holder.exec("ROLLBACK");
    expect(await ledger.row(operation().id)).toBeUndefined();
    for (const db of [holder, handle]) db.close();
  });
});

async function fill(at: World): Promise<void> {
  const [one, two, three] = [operation(), read({ index: 1 }), operation({ index: 2 })] as const;
  await propose(at, [one, two, three]);
  await run(at, one, OK);
  await claimOne(at, two);
  await approve(at, operation({ index: 3, decision: "ask" }));
  await run(at, three, UNKNOWN);
  await at.ledger.resolve(three.id, "leave", { by: "someone", note: "later" });
}

async function everything({ ledger }: World): Promise<unknown> {
  return {
    threads: await ledger.threads(),
    operations: await ledger.operations("t1"),
    proposal: await ledger.proposal("p1"),
    requests: await ledger.modelRequests("t1", "turn-1"),
    asked: await ledger.asked([operation({ index: 3 }).id]),
    unknowns: await ledger.unknowns(),
    standing: await ledger.standing(query([])),
  };
}
