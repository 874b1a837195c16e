// One run a thread at a time, and what a thread may be called. Real servers; the second run comes from the same process
// or from another host on the same store.

import { tool } from "@langchain/core/tools";
import {
  Command,
  END,
  emptyCheckpoint,
  MemorySaver,
  MessagesValue,
  START,
  StateGraph,
  StateSchema,
} from "@langchain/langgraph";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { savingRun } from "../../src/contracts/index.js";
import { savesOf } from "../../src/langgraph/fenced-saver.js";
import type { Lease } from "../../src/langgraph/thread-lease.js";
import type { Agent, Steps } from "../support/agent.js";
import { bench } from "../support/in-process.js";

const b = bench();
const act = (text: string, id: string) => ({ name: "mcp__hostile__act", args: { text }, id });
const ASKED: Steps = [{ calls: [act("a", "c1")] }, { say: "Done." }];

function start(permissions: object, hostile: object = {}, options: object = {}): Promise<Agent> {
  const mcpServers = { hostile: b.server("hostile", { HOSTILE: JSON.stringify(hostile) }) };
  return b.start({ config: { mcpServers, permissions }, steps: ASKED, options });
}
const asking = (options: object = {}) => start({ ask: ["mcp__hostile__*"] }, {}, options);
const codes = (settled: PromiseSettledResult<unknown>[]) =>
  settled.map((one) => (one.status === "fulfilled" ? "done" : one.reason.code)).sort();
async function yes(agent: Agent) {
  const open = await agent.toolgate.ledger.requests("t1");
  return { decisions: Object.fromEntries(open.map((one) => [one.approvalId, { type: "approve" }])) };
}

describe("one run a thread at a time (G6) (ledger-8)", () => {
  test("a double click: one runs, the other is told at once, one effect (held-1)", async () => {
    const agent = await asking();
    await agent.ask("go");
    const answer = await yes(agent);
    const both = await Promise.allSettled([agent.resume(answer), agent.resume(answer)]);
    expect(codes(both)).toEqual(["already_running", "done"]);
    await expect(agent.resume(answer)).rejects.toMatchObject({ code: "already_decided" });
    expect(b.log("effect")).toHaveLength(1);
    expect((await agent.state()).next).toEqual([]);
  });

  test("two hosts on one store, a new message each: one runs, the other is told; then it may", async () => {
    b.onDisk();
    const [one, two] = [await asking({ machine: "a" }), await asking({ machine: "b" })];
    const both = await Promise.allSettled([one.ask("first"), two.ask("second")]);
    expect(codes(both)).toEqual(["already_running", "done"]);
    const loser = both[0]?.status === "rejected" ? one : two;
    const turn = await loser.ask("again");
    expect(turn.messages.filter((message) => message.getType() === "human")).toHaveLength(2);
  });

  test("a stream that nobody reads to its end gives the thread back (held-1)", async () => {
    const agent = await asking();
    const config = { configurable: { thread_id: "t1" } };
    const stream = await agent.toolgate.graph.stream({ messages: [{ role: "user", content: "go" }] }, config);
    const reader = stream[Symbol.asyncIterator]();
    await reader.next(); // and never again
    const asked = async () => (await agent.state()).interrupts.length > 0;
    await expect.poll(asked, { timeout: 20_000 }).toBe(true);
    await expect
      .poll(() =>
        agent.resume({ nonsense: true }).then(
          () => "taken",
          (error) => error.code,
        ),
      )
      .toBe("taken");
  });

  test("an answer to a thread that asks nothing is told so, and leaves nothing behind for the next question (held-2)", async () => {
    const agent = await asking();
    await expect(agent.resume({ decisions: {} })).rejects.toMatchObject({
      code: "already_decided",
      message: "thread `t1` asks nothing: it was answered already, or went on",
    });
    const turn = await agent.ask("go");
    expect(turn.interrupt).toMatchObject({ kind: "approval" });
    expect(b.log("effect")).toEqual([]);
  });

  // A clock that was corrected by more than the lease ended a healthy run: it could neither send nor save any more.
  test.each([3_600_000, -3_600_000])(
    "a wall clock that is set by %i ms ends no run, and no turn for its budget (G6) (lease-5)",
    async (ms) => {
      let offMs = 0;
      const set = tool(
        async () => {
          offMs += ms;
          return "set";
        },
        { name: "set", description: "Sets the clock.", schema: z.object({}) },
      );
      const mcpServers = { hostile: b.server("hostile", {}) };
      const agent = await b.start({
        config: { mcpServers, permissions: { allow: ["set", "mcp__hostile__*"] } },
        steps: [{ calls: [{ name: "set", args: {}, id: "c1" }] }, { calls: [act("a", "c2")] }, { say: "Done." }],
        tools: [set],
        options: { now: () => Date.now() + offMs },
      } as never);
      const turn = await agent.ask("go");
      expect(turn.messages.at(-1)?.text).toBe("Done.");
      expect(b.log("effect")).toHaveLength(1);
    },
  );

  test("as a part of another graph it takes no thread, and the claim still holds (held-4)", async () => {
    const agent = await start({ allow: ["mcp__hostile__*"] });
    const State = new StateSchema({ messages: MessagesValue });
    const outer = new StateGraph(State)
      .addNode("agent", agent.toolgate.graph as never)
      .addEdge(START, "agent")
      .addEdge("agent", END)
      .compile({ checkpointer: agent.toolgate.graph.checkpointer as never });
    const result = await outer.invoke({ messages: [{ role: "user", content: "go" }] } as never, {
      configurable: { thread_id: "outer" },
    });
    expect((result as unknown as { messages: { text: string }[] }).messages.at(-1)?.text).toBe("Done.");
    expect(b.log("effect")).toHaveLength(1);
  });

  test("a caller cannot pretend to be another graph", async () => {
    const agent = await asking();
    await agent.ask("go");
    const answer = await yes(agent);
    const inner = {
      configurable: { thread_id: "t1", checkpoint_ns: "", __pregel_read: "x", __toolgate_lease: { owner: {} } },
    };
    const run = () => agent.toolgate.graph.invoke(new Command({ resume: answer }) as never, inner as never);
    expect(codes(await Promise.allSettled([run(), run()]))).toEqual(["already_running", "done"]);
    expect(b.log("effect")).toHaveLength(1);
  });
});

describe("a write in flight whose run has ended (G6) (G7)", () => {
  /** A tool of the host that writes, and ends when the test says so. */
  function slow() {
    let begun = () => {};
    let end = () => {};
    const started = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const ending = new Promise<void>((resolve) => {
      end = resolve;
    });
    let effects = 0;
    const put = tool(
      async () => {
        begun();
        await ending;
        effects += 1;
        return "put";
      },
      { name: "put", description: "Puts.", schema: z.object({}) },
    );
    return { put, started, end: () => end(), effects: () => effects };
  }
  const PUT: Steps = [{ calls: [{ name: "put", args: {}, id: "c1" }] }, { say: "Done." }];
  /** Milliseconds that a loaded machine can keep, and a test can wait for. */
  const LEASE_MS = 1_000;
  const host = (tools: never[], options: object) =>
    b.start({ config: { permissions: { allow: ["put"] }, leaseMs: LEASE_MS }, steps: PUT, tools, options });

  test("it keeps its lease after an abort: another machine neither takes it for lost nor sends it (lease-4)", async () => {
    b.onDisk();
    const work = slow();
    const one = await host([work.put] as never[], { machine: "a" });
    const two = await host([work.put] as never[], { machine: "b" });
    const stop = new AbortController();
    const run = one.ask("go", "t1", { signal: stop.signal }).catch((error) => error);
    await Promise.race([work.started, run]);
    stop.abort();
    await run;
    const until = performance.now() + 3 * LEASE_MS;
    await expect.poll(() => performance.now(), { interval: 50, timeout: 5_000 }).toBeGreaterThan(until);
    await expect(two.ask(undefined)).rejects.toMatchObject({ code: "already_running" });
    work.end();
    const settled = async () => (await two.toolgate.ledger.operations("t1"))[0]?.status;
    await expect.poll(settled, { timeout: 10_000 }).toBe("ok");
    const turn = await two.ask(undefined);
    expect([turn.report.answer, work.effects()]).toEqual(["Done.", 1]);
  });

  test("closing waits for it: what it came to is known afterwards", async () => {
    b.onDisk();
    const work = slow();
    const one = await host([work.put] as never[], { machine: "a" });
    const run = one.ask("go").catch((error) => error);
    await Promise.race([work.started, run]);
    const closed = one.toolgate.close();
    work.end();
    await Promise.all([closed, run]);
    const two = await host([work.put] as never[], { machine: "a" });
    expect(await two.toolgate.ledger.operations("t1")).toMatchObject([{ callId: "c1", status: "ok" }]);
    expect(work.effects()).toBe(1);
  });
});

describe("what a run saves (ledger-8)", () => {
  class Keeping extends MemorySaver {
    #puts = 0; // as a saver of a host's own may have
    override async put(...args: Parameters<MemorySaver["put"]>) {
      this.#puts += 1;
      return super.put(...args);
    }
    puts() {
      return this.#puts;
    }
  }

  test("through a checkpointer of the host's own, until its lease has passed (fenced-1)", async () => {
    const saver = new Keeping();
    let good = true;
    const mine = { machine: "m", pid: 1, started: "", instance: "i" };
    const saves = savesOf("t1", { owner: mine, valid: () => good } as Lease, async () => {});
    const run = saves.through(saver) as Keeping;
    const config = { configurable: { thread_id: "t1", checkpoint_ns: "" } };
    const put = () => run.put(config, emptyCheckpoint(), { source: "loop", step: 0, parents: {} });
    const saved = await put();
    await run.putWrites(saved, [["messages", "one"]], "task");
    good = false;
    await expect(put()).rejects.toMatchObject({ code: "already_running" });
    await expect(run.putWrites(saved, [["messages", "two"]], "late")).rejects.toMatchObject({
      code: "already_running",
    });
    expect((await run.getTuple(config))?.pendingWrites).toEqual([["task", "messages", "one"]]);
    expect([run.puts(), run instanceof MemorySaver]).toEqual([1, true]);
    good = true;
    await saves.end();
    await expect(put()).rejects.toMatchObject({ code: "already_running" }); // its run is over
  });

  test("before its thread is free again, also where one save failed and LangGraph waits for no other (fenced-3)", async () => {
    const order: string[] = [];
    let until = 2; // some are queued by then
    class Failing extends MemorySaver {
      override async put(...args: Parameters<MemorySaver["put"]>) {
        await new Promise((resolve) => setTimeout(resolve, 50)); // slow, as a store across a network
        const saved = await super.put(...args);
        const run = savingRun(args[0]);
        order.push(`${run?.instance} saved`);
        return saved;
      }
      override async putWrites(...args: Parameters<MemorySaver["putWrites"]>) {
        if (--until === 0) throw new Error("disk full");
        return super.putWrites(...args);
      }
    }
    const agent = await asking({ checkpointer: new Failing() });
    const { ledger } = agent.toolgate.host;
    const leave = ledger.leave.bind(ledger);
    ledger.leave = async (threadId, owner) => {
      order.push(`${owner.instance} left`);
      return leave(threadId, owner);
    };
    await expect(agent.ask("go", "t1", { durability: "async" })).rejects.toThrow("disk full");
    const [first = ""] = (order.at(-1) ?? "").split(" ");
    await agent.ask("once more");
    expect(order.filter((one) => one.startsWith(first)).slice(-2)).toEqual([`${first} saved`, `${first} left`]);
  });

  test("a configuration out of a run's stream is one to look and to write by, when the run is over", async () => {
    const agent = await asking();
    const { graph } = agent.toolgate;
    const config = { configurable: { thread_id: "t1" }, streamMode: "checkpoints" };
    const chunks: { config: { configurable: Record<string, unknown> } }[] = [];
    for await (const chunk of await graph.stream({ messages: [{ role: "user", content: "go" }] }, config as never))
      chunks.push(chunk as never);
    const last = chunks.at(-1)?.config as never;
    expect((await graph.getState(last)).next).toEqual(["approval"]);
    await graph.updateState(last, { note: "seen" } as never);
    expect(Object.keys(chunks.at(-1)?.config.configurable ?? {})).not.toContain("__pregel_checkpointer");
  });

  test("a whole agent runs on one, and asks and answers as on its own (held-5)", async () => {
    const saver = new Keeping();
    const agent = await asking({ checkpointer: saver });
    await agent.ask("go");
    const turn = await agent.resume(await yes(agent));
    expect([turn.report.answer, b.log("effect").length, saver.puts() > 5]).toEqual(["Done.", 1, true]);
  });
});

describe("a run that is given nothing to do", () => {
  test("is told so in our words: a new thread, and an answer that is null", async () => {
    const agent = await asking();
    const nothing = { code: "empty_question", hint: expect.stringContaining("send one human message") };
    await expect(agent.ask(undefined)).rejects.toMatchObject(nothing);
    await agent.ask("go");
    await expect(agent.resume(null)).rejects.toMatchObject(nothing);
    expect((await agent.resume(await yes(agent))).report.answer).toBe("Done.");
  });
});

// A thread id that was an object, or a pattern, read another tenant's state.
describe("what a thread may be called", () => {
  const BAD: readonly unknown[] = [
    undefined,
    null,
    7,
    { $gt: "" },
    ["t1"],
    "",
    "a\u0000b",
    "a\nb",
    "\ud800",
    "x".repeat(256),
  ];
  const GOOD = ["*", "a' OR 1=1--", "../x", "x".repeat(255), "ナ 7"];

  test("anything else is refused, at every door, before a server is started (held-3)", async () => {
    const agent = await asking();
    const { graph } = agent.toolgate;
    for (const thread_id of BAD) {
      const config = { configurable: { thread_id } } as never;
      const told = { code: "thread_invalid" };
      await expect(graph.invoke({ messages: [] }, config), String(thread_id)).rejects.toMatchObject(told);
      await expect(graph.getState(config)).rejects.toMatchObject(told);
      await expect(graph.updateState(config, {} as never)).rejects.toMatchObject(told);
      const steps = [{ updates: [{ values: {} as never, asNode: "model" as const }] }];
      await expect(graph.bulkUpdateState(config, steps)).rejects.toMatchObject(told);
      await expect(graph.getStateHistory(config).next()).rejects.toMatchObject(told);
    }
    expect(b.log("started")).toEqual([]);
  });

  test("a name is only a name", async () => {
    const agent = await asking();
    await agent.ask("go", "t1");
    for (const threadId of GOOD) expect((await agent.state(threadId)).values).toEqual({});
    await agent.ask("go", "a' OR 1=1--");
    expect((await agent.toolgate.ledger.requests("a' OR 1=1--")).map((one) => one.threadId)).toEqual(["a' OR 1=1--"]);
  });
});
