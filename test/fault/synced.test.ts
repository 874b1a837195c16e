// Which commits of a whole agent are synced before they return. Most checkpoints and bodies of results need not be, because
// a commit of the ledger to the same file follows before anything leaves the process. Where none follows, they must be.
//
// Promises: G4, G5, G6, G7 under a loss of power.

import { join } from "node:path";
import { type BaseCheckpointSaver, END, MessagesValue, START, StateGraph, StateSchema } from "@langchain/langgraph";
import Database from "better-sqlite3";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { steadyMs } from "../../src/adapters/process/clock.js";
import { openCheckpointer } from "../../src/adapters/sqlite/checkpointer.js";
import { createSqliteLedger } from "../../src/adapters/sqlite/ledger.js";
import type { Ledger } from "../../src/ledger/port.js";
import { type Agent, bench, type Steps, stdio } from "../support/agent.js";
import { type Commit, tapCommits } from "./matrix/commits.js";

const b = bench();
const CALL: Steps = [{ calls: [{ name: "mcp__faults__append", args: { text: "a" }, id: "c1" }] }, { say: "Done." }];
const CHECKPOINTS = ["checkpoints", "writes"];
const BODIES = ["bodies", "results"];

let commits: Commit[];
let untap: () => void;
const opened: Database.Database[] = [];
beforeEach(() => {
  commits = [];
  untap = tapCommits((commit) => commits.push(commit));
});
afterEach(() => {
  untap();
  for (const db of opened.splice(0)) db.close();
});

function start(options: object = {}): Promise<Agent> {
  const mcpServers = { faults: stdio("faults", { SERVER_LOG: b.logPath() }, { protocol: "2025-11-25" }) };
  const config = { mcpServers, permissions: { allow: ["mcp__faults__append"] } };
  return b.start({ config, steps: CALL, options });
}

/** Another file than the store's. */
function ownFile(name: string): Database.Database {
  const db = new Database(join(b.folder(), name));
  opened.push(db);
  return db;
}

/** A run that has ended is gone, whether or not it could say so. */
const liveness = () => "gone" as const;
const ownLedger = (db: Database.Database): Ledger =>
  createSqliteLedger(db, { now: Date.now, steady: steadyMs, liveness });

/** Commits to a file that wrote to any of some tables. What was there before the agent ran is not counted. */
const of = (tables: readonly string[], file = "toolgate.sqlite") =>
  commits.filter((commit) => commit.path.endsWith(file) && commit.tables.some((table) => tables.includes(table)));
const levels = (some: readonly Commit[]) => [...new Set(some.map(({ full }) => (full ? "FULL" : "NORMAL")))];

/** What of the ledger the state of a thread names. */
const NAMED = ["snapshots", "model_requests"];

/** Of some commits to one file, those that need not be on the disk when one of some others, to another file, is. */
function unsyncedAt(others: readonly Commit[], some: readonly Commit[]): Commit[] {
  const at = (commit: Commit) => commits.indexOf(commit);
  return some.filter((commit) => {
    const next = others.find((other) => at(other) > at(commit));
    const synced = commits.find((one) => one.path === commit.path && one.full && at(one) >= at(commit));
    return next !== undefined && (synced === undefined || at(synced) > at(next));
  });
}

/** One call, and what was committed for it. */
async function call(agent: Agent): Promise<void> {
  commits.length = 0;
  const turn = await agent.ask("go");
  expect(turn.lines.at(-1)).toBe("ai: Done.");
  expect(b.log("effect")).toHaveLength(1);
}

/** The same, where the agent is a part of another graph. */
async function callWithin(agent: Agent, checkpointer: BaseCheckpointSaver): Promise<void> {
  const outer = new StateGraph(new StateSchema({ messages: MessagesValue }))
    .addNode("agent", agent.toolgate.graph as never)
    .addEdge(START, "agent")
    .addEdge("agent", END)
    .compile({ checkpointer });
  commits.length = 0;
  await outer.invoke({ messages: [{ role: "user", content: "go" }] } as never, {
    configurable: { thread_id: "outer" },
  });
  expect(b.log("effect")).toHaveLength(1);
}

describe("what is synced at once", () => {
  test("a run of its own syncs what leaves the process, and its checkpoints with it (commit-1, ledger-7)", async () => {
    await call(await start());
    expect(of(CHECKPOINTS).length).toBeGreaterThan(5);
    expect(levels(of(CHECKPOINTS))).toEqual(["NORMAL"]);
    expect(levels(of(BODIES))).toEqual(["NORMAL"]);
    expect(commits.filter(({ full }) => full).length).toBeLessThanOrEqual(5);
    expect(of(["snapshots"]).map(({ full }) => full)).toEqual([false, false, true]); // first-list-4
    expect(commits.at(-1)).toMatchObject({ full: true, end: { frames: expect.any(Number) } }); // the run's end
  });

  test("a checkpointer of the host's own, on a file of its own, syncs every checkpoint (checkpointer-3)", async () => {
    const saver = openCheckpointer(ownFile("own.sqlite"));
    await call(await start({ checkpointer: saver }));
    expect(of(CHECKPOINTS)).toEqual([]);
    expect(of(CHECKPOINTS, "own.sqlite").length).toBeGreaterThan(5);
    expect(levels(of(CHECKPOINTS, "own.sqlite"))).toEqual(["FULL"]);
  });

  test("a checkpoint in another file names no snapshot and no proposal that a loss of power may take (ledger-7)", async () => {
    await call(await start({ checkpointer: openCheckpointer(ownFile("own.sqlite")) }));
    expect(of(NAMED).map(({ tables }) => NAMED.filter((name) => tables.includes(name)))).toEqual([
      ["snapshots"], // the server's first list, which no checkpoint names
      ["snapshots"], // and of which scope it is the first one
      ["snapshots"],
      ["model_requests"],
      ["model_requests"],
    ]);
    expect(unsyncedAt(of(CHECKPOINTS, "own.sqlite"), of(NAMED))).toEqual([]);
  });

  test("as a part of another graph it ends no run in the ledger, so every checkpoint is synced (checkpointer-3)", async () => {
    const agent = await start();
    await callWithin(agent, agent.toolgate.graph.checkpointer as BaseCheckpointSaver);
    expect(of(CHECKPOINTS).length).toBeGreaterThan(5);
    expect(levels(of(CHECKPOINTS))).toEqual(["FULL"]);
  });

  test("as a part of a graph whose checkpoints are in another file, these name nothing that can be lost (ledger-7)", async () => {
    await callWithin(await start(), openCheckpointer(ownFile("own.sqlite")));
    expect(levels(of(CHECKPOINTS, "own.sqlite"))).toEqual(["FULL"]);
    // The two of the first list wait for no sync of their own: the snapshot after them takes them along. (first-list-4)
    expect(of(NAMED).map(({ full }) => full)).toEqual([false, false, true, true, true]);
    expect(unsyncedAt(of(CHECKPOINTS, "own.sqlite"), of(NAMED))).toEqual([]);
  });

  test("with a ledger of the caller's own, results and checkpoints are synced at once (checkpointer-3)", async () => {
    await call(await start({ ledger: ownLedger(ownFile("ledger.sqlite")) }));
    expect(of(CHECKPOINTS).length).toBeGreaterThan(5);
    expect(levels(of(CHECKPOINTS))).toEqual(["FULL"]);
    expect(of(BODIES).length).toBeGreaterThan(0);
    expect(levels(of(BODIES))).toEqual(["FULL"]);
  });

  test("what is written to a thread from outside of a run is synced at once (checkpointer-3)", async () => {
    const agent = await start();
    await call(agent);
    commits.length = 0;
    const messages = [{ role: "user", content: "by hand" }];
    await agent.toolgate.graph.updateState({ configurable: { thread_id: "t1" } }, { messages } as never);
    expect(of(CHECKPOINTS).length).toBeGreaterThan(0);
    expect(levels(of(CHECKPOINTS))).toEqual(["FULL"]);
  });
});

describe("a run whose end cannot be stored", () => {
  /** An agent whose ledger's disk takes no writes while a run gives its thread back. */
  async function failing() {
    const db = ownFile("ledger.sqlite");
    const ledger = ownLedger(db);
    const disk = { fails: true };
    const leave: Ledger["leave"] = async (...args) => {
      if (disk.fails) db.pragma("query_only = ON");
      await ledger.leave(...args).finally(() => db.pragma("query_only = OFF"));
    };
    return { agent: await start({ ledger: { ...ledger, leave } }), disk };
  }

  test("fails with `store_failed`, and the thread can be run again (held-6)", async () => {
    const { agent, disk } = await failing();
    await expect(agent.ask("go")).rejects.toMatchObject({ code: "store_failed" });
    expect(b.log("effect")).toHaveLength(1);
    disk.fails = false;
    expect((await agent.ask(undefined)).lines.at(-1)).toBe("ai: Done.");
    expect(b.log("effect")).toHaveLength(1);
  });

  test("keeps the error that it had failed with before (held-6)", async () => {
    const { agent } = await failing();
    await expect(agent.resume({ decisions: {} })).rejects.toMatchObject({ code: "already_decided" });
    await expect(agent.ask(undefined)).rejects.toMatchObject({ code: "empty_question" });
  });
});
