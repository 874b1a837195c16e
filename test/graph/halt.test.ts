// The halt: while the outcome of a write is unknown no further write runs, whatever became of the state. It is the
// ledger
// that says so; what the state shows of it decides nothing.

import { join } from "node:path";
import { HumanMessage, RemoveMessage } from "@langchain/core/messages";
import { Command, MemorySaver } from "@langchain/langgraph";
import { describe, expect, test } from "vitest";
import { steadyMs } from "../../src/adapters/process/clock.js";
import { createOwner } from "../../src/adapters/process/owner.js";
import { createSqliteLedger } from "../../src/adapters/sqlite/ledger.js";
import type { Ledger } from "../../src/ledger/port.js";
import type { Agent } from "../support/agent.js";
import { bench } from "../support/in-process.js";
import { formatProblems } from "../support/provider-format.js";
import { asked, checkpoints, effects, latch, outcomes, server, start, stateBefore, thread, yes } from "./branches.js";

const b = bench();

/** `pay` is asked about: a halted one must not be. */
const permissions = { allow: ["mcp__hostile__lost", "mcp__hostile__act", "mcp__hostile__look"] };
const ask = (words: string) => ({ messages: [new HumanMessage(words)] });
const tools = (agent: Agent, threadId = "t1") => agent.toolgate.ledger.operations(threadId);
const said = (rows: readonly { alias: string; status: string; reason: string | null }[]) =>
  rows.map(({ alias, status, reason }) => `${alias.split("__")[2]} ${status} ${reason}`);
const UNKNOWN = "lost result_unknown server_error";
const HALTED = "pay rejected halted";

/** A thread one of whose writes is unknown, and the question what became of it is open. */
async function inDoubt(config: object = {}, options: object = {}): Promise<Agent> {
  const agent = await start(b, { permissions, ...config }, options);
  const turn = await agent.ask("do lost");
  expect(turn.interrupt).toMatchObject({ kind: "result_unknown" });
  expect(effects(b)).toEqual(["lost:"]);
  return agent;
}

async function leave(agent: Agent): Promise<void> {
  const [unknown] = await agent.toolgate.ledger.unknowns("t1");
  await agent.resume({ resolutions: { [unknown?.operationId as string]: { type: "leave" } } });
}

/** Ways on from there to a model that proposes `pay` and `look`. Each returns the agent that goes on. */
const ways: readonly [name: string, go: (agent: Agent) => Promise<Agent>][] = [
  [
    "a new message",
    async (agent) => {
      await agent.ask("do pay look");
      return agent;
    },
  ],
  [
    "leave, then a new message",
    async (agent) => {
      await leave(agent);
      await agent.ask("do pay look");
      return agent;
    },
  ],
  [
    "halt and operations edited away",
    async (agent) => {
      const { graph } = agent.toolgate;
      const edited = { operations: [], halt: { halted: false, operations: [] }, ledgerSeq: 99, note: "" };
      await graph.updateState(thread(), edited as never, "observe");
      await graph.updateState(thread(), ask("do pay look") as never, "discover");
      await agent.ask(undefined);
      return agent;
    },
  ],
  [
    "the operation forged as settled",
    async (agent) => {
      const { values } = await agent.state();
      const [view] = values["operations"] as object[];
      const operations = [{ ...view, status: "ok", reason: "success" }];
      await agent.toolgate.graph.updateState(
        thread(),
        { operations, ...ask("do pay look") } as never,
        "result_unknown",
      );
      await agent.ask(undefined);
      return agent;
    },
  ],
  [
    "every message taken out of the conversation",
    async (agent) => {
      const { values } = await agent.state();
      const messages = (values["messages"] as { id: string }[]).map(({ id }) => new RemoveMessage({ id }));
      await agent.toolgate.graph.updateState(thread(), { messages, operations: [] } as never, "result_unknown");
      await agent.ask("do pay look");
      return agent;
    },
  ],
  [
    "leave, then a jump to the model with other words",
    async (agent) => {
      await leave(agent);
      const jump = new Command({ goto: "model", update: { ...ask("do pay look"), operations: [] } });
      await agent.toolgate.graph.invoke(jump as never, thread());
      return agent;
    },
  ],
  [
    "a fork from before the write, with other words",
    async (agent) => {
      const { config } = await stateBefore(agent, "discover");
      const forked = await agent.toolgate.graph.updateState(config as never, ask("do pay look") as never);
      await agent.toolgate.graph.invoke(null as never, forked as never);
      return agent;
    },
  ],
  [
    "another process on the same store",
    async (agent) => {
      await agent.toolgate.close();
      const other = await start(b, { permissions });
      await other.ask("do pay look");
      return other;
    },
  ],
  [
    "another process that does not know the thread's checkpoints",
    async (agent) => {
      await agent.toolgate.close();
      const other = await start(b, { permissions }, { checkpointer: new MemorySaver() });
      await other.ask("do pay look");
      return other;
    },
  ],
];

describe("the halt comes from the ledger (G7) (G9)", () => {
  test.each(ways)(
    "after %s: a write is refused without a question, a read runs; settling lifts it",
    async (name, go) => {
      if (name.startsWith("another process")) b.onDisk();
      const agent = await go(await inDoubt());
      expect(said(await tools(agent))).toEqual([UNKNOWN, "look ok success", HALTED]);
      expect(await agent.toolgate.ledger.requests()).toEqual([]);
      expect(effects(b)).toEqual(["lost:"]);
      expect((await agent.state()).values["halt"]).toMatchObject({ halted: true });
      expect(formatProblems((await agent.state()).values["messages"] as never)).toEqual([]);

      const [unknown] = await agent.toolgate.ledger.unknowns("t1");
      await agent.toolgate.ledger.resolve(unknown?.operationId as string, "did_not_happen");
      const question = await agent.ask("do pay");
      expect(asked(question)).toHaveLength(1);
      const turn = await agent.resume(yes(question));
      expect(turn.report.status).toBe("done");
      expect(turn.interrupt).toBeUndefined();
      expect(effects(b)).toEqual(["lost:", "pay:"]);
      expect((await agent.state()).values["halt"]).toEqual({ halted: false, operations: [] });
    },
  );

  test("it is the same from every checkpoint: no write is asked about or sent", async () => {
    const agent = await inDoubt();
    const states = await checkpoints(agent);
    for (const { config } of states) {
      const forked = await agent.toolgate.graph.updateState(config as never, ask("do pay") as never, "__start__");
      await agent.toolgate.graph.invoke(null as never, forked as never);
    }
    expect(states.length).toBeGreaterThan(5);
    expect(said(await tools(agent))).toEqual([UNKNOWN, ...states.map(() => HALTED)]);
    expect(await agent.toolgate.ledger.requests()).toEqual([]);
    expect(effects(b)).toEqual(["lost:"]);
  });
});

describe("a yes given before the halt", () => {
  test("is refused when its run is resumed, and is not asked for again", async () => {
    const agent = await start(b, { permissions });
    const question = await agent.ask("do pay");
    const waiting = await agent.toolgate.graph.getState(thread());
    const fork = await stateBefore(agent, "model");
    const forked = await agent.toolgate.graph.updateState(fork.config as never, ask("do lost") as never, "discover");
    await agent.toolgate.graph.invoke(null as never, forked as never);
    const resumed = await agent.toolgate.graph.invoke(
      new Command({ resume: yes(question) }) as never,
      waiting.config as never,
    );
    expect((resumed as { __interrupt__?: unknown }).__interrupt__).toBeUndefined();
    expect(said(await tools(agent)).sort()).toEqual([UNKNOWN, HALTED].sort());
    expect(effects(b)).toEqual(["lost:"]);
  });

  test("is refused at the claim when the halt comes between the judgement and the claim", async () => {
    b.onDisk();
    const judged = latch();
    const other = latch();
    const file = join(b.folder(), "store", "toolgate.sqlite");
    const real = createSqliteLedger(file, { now: Date.now, steady: steadyMs, liveness: createOwner().liveness });
    let claims = 0;
    const claim: Ledger["claim"] = async (batch) => {
      claims += 1;
      if (claims > 1) return real.claim(batch);
      judged.open();
      await other.opened;
      const result = await real.claim(batch);
      expect(result).toMatchObject({
        kind: "claims",
        claims: [{ kind: "settled", row: { outcome: { reason: "halted" } } }],
      });
      return result;
    };
    const agent = await start(b, { permissions, haltScope: "server" }, { ledger: { ...real, claim } });
    const question = await agent.ask("do pay");
    const resumed = agent.resume(yes(question));
    await judged.opened;
    await agent.ask("do lost", "t2");
    other.open();
    expect(outcomes(await resumed)).toEqual(["c1.1 rejected halted"]);
    expect(claims).toBe(2);
    expect(effects(b)).toEqual(["lost:"]);
  });
});

describe("haltScope", () => {
  const two = (haltScope: "thread" | "server", more: object = {}) =>
    start(b, {
      mcpServers: { one: server(b), two: server(b) },
      haltScope,
      ...more,
    });
  const calls = async (agent: Agent, words: string, threadId: string) => {
    const { report } = await agent.ask(`do ${words}`, threadId);
    return report.operations.map(({ server, alias, status, reason }) =>
      [server, alias.split("__")[2], status === "ok" ? status : `${status} ${reason}`].join(" "),
    );
  };

  test("server: an unknown write halts other threads' writes to its server, no other server's, and no read", async () => {
    const agent = await two("server");
    await agent.ask("do one.lost", "a");
    expect(await calls(agent, "one.pay two.pay one.look", "b")).toEqual([
      "one pay rejected halted",
      "two pay ok",
      "one look ok",
    ]);
    expect(effects(b)).toEqual(["lost:", "pay:"]);
    expect(await agent.toolgate.ledger.requests()).toEqual([]);

    const [unknown] = await agent.toolgate.ledger.unknowns();
    await agent.toolgate.ledger.resolve(unknown?.operationId as string, "happened");
    expect(await calls(agent, "one.act", "b")).toEqual(["one act ok"]);
  });

  test.each(["thread", "server"] as const)(
    "%s: a thread's own unknown write halts its further writes to whatever server",
    async (haltScope) => {
      const agent = await two(haltScope);
      const turn = await agent.ask("do one.lost two.act", "a");
      expect(outcomes(turn)).toEqual(["c1.1 result_unknown server_error", "c1.2 rejected halted"]);
      expect(await calls(agent, "two.pay one.look", "a")).toEqual(["two pay rejected halted", "one look ok"]);
      expect(effects(b)).toEqual(["lost:"]);
    },
  );

  test("thread: another thread's writes go on, to that server too", async () => {
    const agent = await two("thread");
    await agent.ask("do one.lost", "a");
    expect(await calls(agent, "one.pay two.pay", "b")).toEqual(["one pay ok", "two pay ok"]);
  });

  test("server: what another scope of the store left unknown halts nothing here", async () => {
    b.onDisk();
    const other = await two("server", { scope: "elsewhere" });
    await other.ask("do one.lost", "a");
    await other.toolgate.close();
    const agent = await two("server");
    expect(await calls(agent, "one.pay", "b")).toEqual(["one pay ok"]);
  });
});
