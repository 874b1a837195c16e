// What is left of a thread that is forgotten, and what is not forgotten: one suite for every store.

import type { BaseMessage } from "@langchain/core/messages";
import { type BaseCheckpointSaver, MemorySaver } from "@langchain/langgraph";
import { expect, test } from "vitest";
import type { Agent, Bench, Steps } from "./agent.js";

const DAY_MS = 24 * 3_600_000;
const send = (text: string, id: string, tool = "act") => ({ name: `mcp__hostile__${tool}`, args: { text }, id });
const LONG = "of ann only. ".repeat(4_000);
const calls = {
  look: { do: "answer", effect: false, result: { content: [{ type: "text", text: LONG }] } },
  lose: { do: "dieAfter", by: "exit" },
};
const tools = ["act", "look", "lose"].map((name) => ({ name, inputSchema: { type: "object" } }));

/** `store`: what the configuration says of it. `raw`: all text that the store holds, as another program finds it. */
export function forgetting(
  b: Bench,
  store: () => object,
  raw: () => Promise<string>,
  /** Where the store has a clock of its own: makes all that stands in it older. */
  older?: (ms: number) => Promise<void>,
): void {
  let clock = 1_800_000_000_000;
  const pass = async (ms: number) => {
    if (older) await older(ms);
    else clock += ms;
  };
  const start = (steps: Steps, config: object = {}): Promise<Agent> =>
    b.start({
      config: {
        store: store(),
        mcpServers: { hostile: b.server("hostile", { HOSTILE: JSON.stringify({ calls, tools }) }) },
        permissions: { allow: ["mcp__hostile__act", "mcp__hostile__look", "mcp__hostile__lose"] },
        tools: { mcp__hostile__look: { effect: "read" } },
        ...config,
      },
      steps,
      options: { now: () => ++clock },
    });
  const messages = async ({ toolgate }: Agent, threadId = "t1") => {
    const { values } = await toolgate.graph.getState({ configurable: { thread_id: threadId } });
    return (values as { messages?: BaseMessage[] }).messages ?? [];
  };
  const threads = async ({ toolgate }: Agent) => (await toolgate.ledger.threads()).map(({ threadId }) => threadId);
  const effects = () => b.log("effect").length;
  const whole: Steps = [
    { calls: [send("ann@example.org", "c1"), send("ann@example.org", "c2", "look")] },
    { say: "Done for ann@example.org." },
  ];

  test("nothing of what it was about is left, and digests of its calls are (forget-1) (forget-thread-1)", async () => {
    const agent = await start(whole);
    await agent.ask("write to ann@example.org");
    await agent.ask("write to ann@example.org", "t2");
    const before = await agent.toolgate.ledger.operations("t1");
    expect(await raw()).toContain("ann@example.org");
    await agent.toolgate.forget("t1");
    await agent.toolgate.forget("t2");
    expect(await messages(agent)).toEqual([]);
    expect(await threads(agent)).toEqual([]);
    const left = await agent.toolgate.ledger.operations("t1");
    expect(left.map(({ operationId, status }) => [operationId, status])).toEqual(
      before.map(({ operationId, status }) => [operationId, status]),
    );
    const text = await raw();
    expect(["ann@example.org", "of ann only"].filter((words) => text.includes(words))).toEqual([]);
    await expect(agent.toolgate.forget("nothing")).rejects.toMatchObject({ code: "not_found" });
  });

  test("a thread of that id begins anew, and a write like one of before is asked about", async () => {
    const agent = await start(whole);
    await agent.ask("write to ann");
    await agent.toolgate.forget("t1");
    const turn = await agent.ask("write to ann");
    expect(turn.report).toMatchObject({ status: "awaiting_approval", approvals: [{ callId: "c1" }] });
    expect(effects()).toBe(1);
    expect(await threads(agent)).toEqual(["t1"]);
  });

  test("a name that the model made up goes with its call", async () => {
    const agent = await start([{ calls: [{ name: "ask_ann_zebra", args: {}, id: "c1" }] }, { say: "Done." }]);
    await agent.ask("go");
    expect(await raw()).toContain("ask_ann_zebra");
    await agent.toolgate.forget("t1");
    expect(await raw()).not.toContain("ask_ann_zebra");
  });

  // Another scope's thread was deleted in the checkpointer that the host had brought.
  test("under a checkpointer of the host's own nobody forgets what another scope has", async () => {
    const saver = new MemorySaver();
    const config = { store: store(), scope: "alice", mcpServers: {}, permissions: {} };
    const agent = await b.start({ config, steps: [{ say: "Hello." }], options: { checkpointer: saver } });
    await agent.ask("hello", "of alice");
    const { forget } = agent.toolgate;
    for (const scope of ["bob", "local"])
      await expect(forget("of alice", { scope })).rejects.toMatchObject({ code: "not_found" });
    expect(await messages(agent, "of alice")).toHaveLength(2);
    await forget("of alice");
    expect(await messages(agent, "of alice")).toEqual([]);
  });

  test("what waits is withdrawn; what is unknown is kept until it is settled (forget-1)", async () => {
    const asking = await start([{ calls: [send("a", "c1")] }, { say: "x" }], { permissions: {} });
    await asking.ask("go");
    await asking.toolgate.forget("t1");
    expect(await asking.toolgate.ledger.operations("t1")).toMatchObject([{ status: "rejected", reason: "withdrawn" }]);
    expect(await asking.toolgate.ledger.requests()).toEqual([]);

    const losing = await start([{ calls: [send("a", "c1", "lose")] }, { say: "x" }]);
    await losing.ask("go", "t3");
    await expect(losing.toolgate.forget("t3")).rejects.toMatchObject({ code: "unsettled", data: { threadId: "t3" } });
    expect((await messages(losing, "t3")).length).toBeGreaterThan(0);
    const [unknown] = await losing.toolgate.ledger.unknowns("t3");
    await losing.toolgate.ledger.resolve(unknown?.operationId as string, "happened", { by: "ann" });
    await losing.toolgate.forget("t3");
    expect(await messages(losing, "t3")).toEqual([]);
  });

  test("deleting a thread in the checkpointer forgets all of it (forget-thread-2)", async () => {
    const agent = await start(whole, { scope: "acme" });
    await agent.ask("write to ann@example.org");
    const saver = agent.toolgate.graph.checkpointer as BaseCheckpointSaver;
    await saver.deleteThread("t1");
    expect([await messages(agent), await threads(agent)]).toEqual([[], []]);
    expect(await raw()).not.toContain("ann@example.org");
  });

  test("threads are forgotten some days after their last use, but none that waits or is unknown (retention-1)", async () => {
    const first = await start(whole);
    await first.ask("go", "over");
    const losing = await start([{ calls: [send("a", "c1", "lose")] }, { say: "x" }]);
    await losing.ask("go", "unknown");
    const asking = await start([{ calls: [send("b", "c1")] }, { say: "x" }], { permissions: {} });
    await asking.ask("go", "waits");
    const other = await start(whole, { scope: "acme" });
    await other.ask("go", "of acme");
    for (const agent of [first, losing, asking, other]) await agent.toolgate.close();
    await pass(3 * DAY_MS);
    const fresh = await start(whole);
    await fresh.ask("go", "fresh");
    await fresh.toolgate.close();
    await pass(2 * DAY_MS);

    const keeps = await start([], { retention: { days: 6 } });
    await keeps.toolgate.close(); // waits for the pass that is under way
    const all = await start([]);
    expect((await threads(all)).sort()).toEqual(["fresh", "over", "unknown", "waits"]);
    const drops = await start([], { retention: { days: 4 } });
    await drops.toolgate.host.quiet("nothing");
    while ((await threads(all)).includes("over")) await new Promise((resolve) => setImmediate(resolve));
    await drops.toolgate.close();
    expect((await threads(all)).sort()).toEqual(["fresh", "unknown", "waits"]);
    expect(await messages(all, "over")).toEqual([]);
    const acme = await start([], { scope: "acme" });
    expect(await threads(acme)).toEqual(["of acme"]); // a host forgets nothing of a scope that it does not speak for
  });
}
