// What went wrong with stores elsewhere: a file locked by another process, a clock set back, histories that grow with
// the square of their turns, ids and filters that come from outside.

import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { tool } from "@langchain/core/tools";
import type { BaseCheckpointSaver, CheckpointMetadata } from "@langchain/langgraph";
import { MemorySaver } from "@langchain/langgraph";
import Database from "better-sqlite3";
import { afterEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { steadyMs } from "../../src/adapters/process/clock.js";
import { createOwner } from "../../src/adapters/process/owner.js";
import { openCheckpointer } from "../../src/adapters/sqlite/checkpointer.js";
import { createSqliteLedger } from "../../src/adapters/sqlite/ledger.js";
import { outcomeOf } from "../../src/contracts/index.js";
import type { Ledger } from "../../src/ledger/port.js";
import { inProcessJson } from "../cli/in-process.js";
import type { Plan } from "../fault/run-plan.js";
import { killer, logged } from "../fault/run-processes.js";
import { checkpoints, effects, outcomes, server, start, thread } from "../graph/branches.js";
import { bench, type Steps } from "../support/agent.js";
import { formatProblems } from "../support/provider-format.js";

const LONG = Boolean(process.env.LONG_TESTS);
const b = bench();
const k = killer();
const file = () => join(b.folder(), "store", "toolgate.sqlite");

afterEach(() => {
  vi.restoreAllMocks();
});

// Two processes used one SQLite file, and one of them failed because it was locked.
describe("a file that another process holds", () => {
  const [MESSAGES, CALLS] = LONG ? [10, 50] : [3, 10];

  const config = (): Plan["config"] => {
    const store = { kind: "sqlite", path: join(b.folder(), "store") };
    return {
      store,
      approvals: { secret: "a-secret-for-tests-that-is-long-enough" },
      mcpServers: { hostile: server(b) },
      permissions: { allow: ["mcp__hostile__act"] },
      limits: { calls: 1_000, writes: 1_000 },
    };
  };

  /** A process that makes its writes in one thread of the shared file. */
  const plan = (threadId: string): Plan => ({
    config: config(),
    steps: [
      ...Array.from({ length: MESSAGES }, (_, m) => ({
        calls: Array.from({ length: CALLS }, (_, n) => ({
          name: "mcp__hostile__act",
          args: { text: `${threadId}-${m}-${n}` },
          id: `c${m}.${n}`,
        })),
      })),
      { say: "Done." },
    ],
    threadId,
    runs: ["go"],
    durability: "sync",
  });

  /** Holds the file's write lock, from after the first effect, for so many milliseconds. */
  async function hold(ms: number): Promise<void> {
    await logged(b.logPath(), "effect");
    const db = new Database(file(), { timeout: 30_000 });
    db.exec("BEGIN IMMEDIATE");
    await new Promise((resolve) => setTimeout(resolve, ms)); // how long it is held, nothing waits for it
    db.exec("COMMIT");
    db.close();
  }

  /** Effects by what they were told to do; each is to stand once. */
  const times = () => {
    const count = new Map<string, number>();
    for (const one of effects(b)) count.set(one, (count.get(one) ?? 0) + 1);
    return count;
  };

  test("two processes write while a third holds it for a while: no write is lost, none is made twice", {
    timeout: LONG ? 600_000 : 60_000,
  }, async () => {
    await Promise.all([k.killedAt("done", plan("t1")), k.killedAt("done", plan("t2")), hold(LONG ? 3_000 : 1_500)]);
    const made = times();
    expect([made.size, Math.max(...made.values())]).toEqual([2 * MESSAGES * CALLS, 1]);
    const agent = await start(b);
    for (const threadId of ["t1", "t2"]) {
      const rows = await agent.toolgate.host.ledger.operations(threadId);
      expect(new Set(rows.map((row) => outcomeOf(row)?.status))).toEqual(new Set(["ok"]));
      expect(rows.map((row) => row.seq)).toEqual(Array.from({ length: MESSAGES * CALLS }, (_, n) => n + 1));
    }
  });

  test.runIf(LONG)(
    "a third holds it for 8 s, longer than anybody waits: what each write came to is told as it was, and none is made twice",
    {
      timeout: 600_000,
    },
    async () => {
      const ends = await Promise.allSettled([
        k.killedAt("done", plan("t1")),
        k.killedAt("done", plan("t2")),
        hold(8_000),
      ]);
      // A run may sit it out between two writes; one that cannot says what is the matter.
      for (const end of ends) {
        if (end.status === "rejected") expect(String(end.reason)).toMatch(/store_failed|database is locked/);
      }
      const agent = await b.start({ config: config(), steps: plan("t1").steps as Steps });
      for (const threadId of ["t1", "t2"]) {
        await agent.ask(undefined, threadId);
        const rows = await agent.toolgate.host.ledger.operations(threadId);
        expect(rows.filter((row) => row.state !== "settled")).toEqual([]);
        for (const row of rows) {
          const { operation } = row;
          const outcome = outcomeOf(row);
          const count = times().get(`act:${(operation.arguments as { text: string }).text}`) ?? 0;
          const told =
            { ok: [1], unavailable: [0], rejected: [0], result_unknown: [0, 1] }[String(outcome?.status)] ?? [];
          expect([operation.callId, outcome?.status, told.includes(count)]).toEqual([
            operation.callId,
            outcome?.status,
            true,
          ]);
        }
        expect(rows.filter((row) => outcomeOf(row)?.status === "result_unknown").length).toBeLessThan(2); // in flight then
      }
    },
  );

  test("held before the send: nothing is sent, and the call says so", async () => {
    const holder: { db?: Database.Database } = {};
    const real = createSqliteLedger(file(), { now: Date.now, steady: steadyMs, liveness: createOwner().liveness });
    const quick = new Database(file());
    quick.pragma("busy_timeout = 50");
    const busy = createSqliteLedger(quick, { now: Date.now, steady: steadyMs, liveness: createOwner().liveness });
    quick.pragma("busy_timeout = 50");
    const begin: Ledger["begin"] = async (...args) => {
      if (holder.db) return real.begin(...args);
      holder.db = new Database(file());
      holder.db.exec("BEGIN IMMEDIATE");
      try {
        return await busy.begin(...args);
      } finally {
        holder.db.exec("COMMIT");
        holder.db.close();
      }
    };
    const agent = await start(b, {}, { ledger: { ...real, begin } });
    const turn = await agent.ask("do act:a");
    expect(outcomes(turn)).toEqual(["c1.1 unavailable not_sent"]);
    expect(turn.lines.at(-2)).toContain("the ledger could not be written before the send; nothing was sent");
    expect(b.log("accepted")).toEqual([]);
    quick.close();
  });
});

// The clock was set back, an older checkpoint became the latest, and finished nodes ran again.
describe("checkpoints whose order a clock has turned round", () => {
  const names = ["propose", "claim", "settle"] as const;

  test.each(names.flatMap((at) => [500, 60_000].map((ms) => [at, ms] as const)))(
    "set back at %s by %i ms, the newest checkpoint is not the last: the write is not sent again",
    async (at, ms) => {
      const now = Date.now.bind(Date);
      let clock = now();
      vi.spyOn(Date, "now").mockImplementation(() => ++clock);
      const real = createSqliteLedger(file(), { now, steady: steadyMs, liveness: createOwner().liveness });
      let first = true;
      const late = async (...args: never[]) => {
        const result = await (real[at] as (...args: never[]) => Promise<unknown>)(...args);
        if (first) clock -= ms;
        first = false;
        return result;
      };
      const agent = await start(b, {}, { ledger: { ...real, [at]: late } });
      await agent.ask("do act:a");
      expect(effects(b)).toEqual(["act:a"]);
      const head = (await checkpoints(agent)).at(-1);
      expect(head?.next).toEqual([{ propose: "model", claim: "execute", settle: "execute" }[at]]); // that is the thread's state now

      const again = await agent.ask(undefined);
      expect(effects(b)).toEqual(["act:a"]);
      expect([again.report.status, outcomes(again)]).toEqual(["done", ["c1.1 ok success"]]);
      const next = await agent.ask("hello");
      expect(formatProblems([...next.messages])).toEqual([]);
      expect(effects(b)).toEqual(["act:a"]);
    },
  );
});

// Results were copied into every checkpoint, and once more as raw details.
describe("a history that grows", () => {
  test("results of 50 KB each: the store grows with what is new, not with the turns before it", {
    timeout: 300_000,
  }, async () => {
    const turns = LONG ? 200 : 30;
    const bytes = 50_000;
    const read = tool(async () => randomBytes((bytes * 3) / 4).toString("base64"), {
      name: "read",
      description: "Reads something long.",
      schema: z.object({}),
    });
    const steps = Array.from({ length: 2 * turns }, (_, n) =>
      n % 2 === 0 ? { calls: [{ name: "read", args: {}, id: `c${n}` }] } : { say: "Read." },
    );
    const agent = await b.start({
      config: { permissions: { allow: ["read"] }, tools: { read: { effect: "read" } } },
      tools: [read],
      steps,
    });
    const size = () => {
      const folder = join(b.folder(), "store");
      return readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
    };
    const sizes: number[] = [];
    for (let n = 0; n < turns; n++) {
      await agent.ask(`turn ${n}`);
      if (n === Math.floor(turns / 3) || n === Math.floor((2 * turns) / 3) || n === turns - 1) {
        new Database(file()).pragma("wal_checkpoint(TRUNCATE)");
        sizes.push(size());
      }
    }
    const [first = 0, second = 0, last = 0] = sizes;
    expect((last - second) / (second - first)).toBeLessThan(1.15);
    // Of each result the store holds the body, once, and what the model was shown of it (at most 32,000 bytes), once.
    expect(last / (turns * (bytes + 32_000))).toBeLessThan(1.2);
  });
});

// A thread id that was an object, or a pattern, read another tenant's state.
describe("thread ids from outside", () => {
  const LONGEST = "x".repeat(255);
  const refused: readonly [string, unknown][] = [
    ["an operator", { $gt: "" }],
    ["a list", ["t1"]],
    ["a number", 7],
    ["true", true],
    ["null", null],
    ["nothing", undefined],
    ["an empty string", ""],
    ["256 characters", `${LONGEST}x`],
    ["300 characters", "x".repeat(300)],
    ["a NUL", "a\u0000b"],
    ["a line break", "a\nb"],
    ["a C1 control", "a\u0085b"],
    ["half a character", "a\ud83d"],
    ["an object that reads as a string", { toString: () => "t1" }],
  ];
  const literal = [
    "*",
    "t%",
    "t_",
    "a' OR 1=1--",
    "../x",
    "..",
    "/etc/passwd",
    "__proto__",
    "constructor",
    "t1 ",
    "T1",
    LONGEST,
    "线程\u{1F600}",
  ];
  const config = (threadId: unknown) => ({ configurable: { thread_id: threadId } }) as never;
  const input = { messages: [{ role: "user", content: "do act:a" }] } as never;

  test.each(refused)(
    "%s is refused wherever a thread is named, before anything is looked up or started",
    async (_, threadId) => {
      const agent = await start(b);
      const { graph, ledger } = agent.toolgate;
      const history = async () => {
        for await (const state of graph.getStateHistory(config(threadId))) expect(state).toBe("never read");
      };
      const ways: Record<string, () => Promise<unknown>> = {
        invoke: () => graph.invoke(input, config(threadId)),
        stream: async () => {
          for await (const chunk of await graph.stream(input, config(threadId))) expect(chunk).toBe("never begun");
        },
        "as if it were part of another graph": () =>
          graph.invoke(input, { configurable: { thread_id: threadId, checkpoint_ns: "x" } } as never),
        getState: () => graph.getState(config(threadId)),
        getStateHistory: history,
        updateState: () => graph.updateState(config(threadId), { note: "" } as never),
        snapshot: () =>
          threadId === undefined ? graph.getState(config(threadId)) : agent.toolgate.snapshot(threadId as never),
        operations: () => ledger.operations(threadId as never),
        ...(threadId === undefined // every thread is meant
          ? {}
          : {
              requests: () => ledger.requests(threadId as never),
              unknowns: () => ledger.unknowns(threadId as never),
            }),
      };
      const codes: Record<string, unknown> = {};
      for (const [way, go] of Object.entries(ways))
        codes[way] = await go().then(
          () => "taken",
          (error) => error.code ?? String(error),
        );
      expect(codes).toEqual(Object.fromEntries(Object.keys(ways).map((way) => [way, "thread_invalid"])));
      expect(b.log()).toEqual([]);
      expect(await ledger.threads()).toEqual([]);
    },
  );

  test("what only looks dangerous is a name like any other: it names its own thread and reads no other one", async () => {
    const agent = await start(b, { limits: { modelRequests: 4 } });
    await agent.ask("do act:a", "t1");
    for (const threadId of literal) {
      expect([threadId, (await agent.state(threadId)).values]).toEqual([threadId, {}]);
      expect([threadId, await agent.toolgate.ledger.operations(threadId)]).toEqual([threadId, []]);
      const turn = await agent.ask("hello", threadId);
      expect(turn.lines).toEqual(["human: hello", "ai: Done."]);
    }
    const names = (await agent.toolgate.ledger.threads()).map((one) => one.threadId);
    expect(names.sort()).toEqual(["t1", ...literal].sort());
    expect(readdirSync(b.folder()).sort()).toEqual(["server.jsonl", "store"]);
    expect(effects(b)).toEqual(["act:a"]);
  });

  test("the command says it, too, with the exit code of a wrong command line", async () => {
    const config = { mcpServers: { hostile: server(b) }, store: { kind: "sqlite", path: join(b.folder(), "store") } };
    const path = join(b.folder(), "toolgate.json");
    writeFileSync(path, JSON.stringify({ model: "scripted:script.json", ...config }));
    writeFileSync(join(b.folder(), "script.json"), "[]");
    for (const threadId of ["", "a\nb", "x".repeat(256)]) {
      const { code, value } = await inProcessJson(["run", "--config", path, "--thread", threadId, "hello"]);
      expect([threadId.length, code, (value as unknown as { error: { code: string } }).error.code]).toEqual([
        threadId.length,
        2,
        "usage",
      ]);
    }
    expect(b.log()).toEqual([]);
  });
});

// A filter's key was put into SQL as it was.
describe("what a saver does with a filter", () => {
  const SAVERS: readonly [string, () => BaseCheckpointSaver][] = [
    ["SQLite", () => openCheckpointer(file())],
    ["memory", () => new MemorySaver()],
  ];
  const KEYS = [
    "a') OR 1=1--",
    "source' OR '1'='1",
    "source) = 1 OR (1",
    "$.source",
    'source"].x',
    "*",
    "[*]",
    "#",
    "__proto__",
    "constructor",
    "",
    "source.x",
    "a\u0000",
  ];
  const VALUES = [{ $ne: null }, { $gt: "" }, "input' OR '1'='1", ["input"], true, null];

  const list = async (saver: BaseCheckpointSaver, filter: object, threadId?: string): Promise<unknown[]> => {
    const found = [];
    try {
      for await (const one of saver.list(threadId === undefined ? {} : thread(threadId), {
        filter: filter as CheckpointMetadata,
      }))
        found.push(one);
    } catch (error) {
      expect((error as { code?: string }).code).toBe("store_failed"); // no path at all
    }
    return found;
  };

  test.each(SAVERS)("%s: neither key nor value of a filter reads a row that does not match it", async (_, open) => {
    mkdirSync(join(b.folder(), "store"));
    const agent = await start(b, {}, { checkpointer: open() });
    await agent.ask("do look:a", "t1");
    await agent.ask("do look:a", "t2");
    const saver = agent.toolgate.graph.checkpointer as BaseCheckpointSaver;
    const all = (await checkpoints(agent, "t1")).length;
    expect(await list(saver, { source: "loop" }, "t1")).toHaveLength(all - 1); // it does filter
    for (const key of KEYS)
      for (const value of [1, "loop", "input"])
        expect([key, value, await list(saver, { [key]: value }, "t1")]).toEqual([key, value, []]);
    for (const value of VALUES) expect([value, await list(saver, { source: value }, "t1")]).toEqual([value, []]);
    const other = (await list(saver, { source: "loop" }, "t1")) as {
      config: { configurable: { thread_id: string } };
    }[];
    expect(new Set(other.map((one) => one.config.configurable.thread_id))).toEqual(new Set(["t1"]));
    expect((await checkpoints(agent, "t2")).length).toBe(all);
  });

  test("SQLite: what stands in a row is data, never an object of a class, whatever it says of itself", async () => {
    const agent = await start(b);
    await agent.ask("do look:a", "t1");
    const shape = {
      lc: 1,
      type: "constructor",
      id: ["langchain_core", "messages", "HumanMessage"],
      kwargs: { content: "x" },
    };
    const { config } = (await checkpoints(agent)).at(-1) as { config: { configurable: { checkpoint_id: string } } };
    const db = new Database(file());
    const planted = JSON.stringify({
      source: "loop",
      step: 9,
      parents: {},
      planted: shape,
      evil: { ...shape, id: ["child_process", "spawn"] },
    });
    db.prepare("UPDATE checkpoints SET metadata = ? WHERE checkpoint_id = ?").run(
      Buffer.from(planted),
      config.configurable.checkpoint_id,
    );
    db.close();
    const saver = agent.toolgate.graph.checkpointer as BaseCheckpointSaver;
    const tuple = await saver.getTuple(config as never);
    const { planted: one, evil } = (tuple?.metadata ?? {}) as unknown as Record<string, object>;
    expect(Object.getPrototypeOf(evil)).toBe(Object.prototype);
    expect(one).not.toHaveProperty("_call");
    expect((await agent.ask("hello")).report.answer).toBe("Done.");
  });
});
