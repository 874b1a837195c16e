// Scopes: whose a thread is, at every door. A host of another scope listed the questions with their arguments, read the
// state, and its yes ran the write. (G14)

import { AsyncLocalStorage } from "node:async_hooks";
import { tool } from "@langchain/core/tools";
import { Command, END, MemorySaver, MessagesValue, START, StateGraph, StateSchema } from "@langchain/langgraph";
import { decodeJwt } from "jose";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { ToolgateOptions } from "../../src/index.js";
import { bench } from "../support/in-process.js";
import { configOf, goOn, type Side, say, scopeWall, state } from "../support/scope-wall.js";

const b = bench();
const PAYS = [{ calls: [{ name: "mcp__till__pay", args: { text: "rent" }, id: "c1" }] }, { say: "Paid." }];
const effects = () => b.log("effect").length;

/** Two users of one host. Who calls is known to the host's own server, not from what the client sends. */
async function oneHost(config: object, steps: readonly object[] = PAYS, options: Partial<ToolgateOptions> = {}) {
  const caller = new AsyncLocalStorage<string>();
  const identify = () => {
    const who = caller.getStore();
    return who === undefined ? undefined : { id: who, scope: `user ${who}` };
  };
  const { toolgate } = await b.start({
    config: config as never,
    steps: steps as never,
    options: { identify, ...options },
  });
  const graph = new Proxy(toolgate.graph, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  const as = (who: string): Side => {
    const { invoke, stream, getState, getStateHistory, updateState } = graph;
    const within =
      <A extends unknown[], R>(run: (...args: A) => R) =>
      (...args: A): R =>
        caller.run(who, () => run(...args));
    const own = {
      invoke: within(invoke as never),
      stream: within(stream as never),
      getState: within(getState as never),
      updateState: within(updateState as never),
      async *getStateHistory(...args: never[]) {
        const all: unknown[] = [];
        await caller.run(who, async () => {
          for await (const one of (getStateHistory as never as (...given: never[]) => AsyncIterable<unknown>)(...args))
            all.push(one);
        });
        yield* all;
      },
    };
    return {
      toolgate: { ...toolgate, graph: own as never },
      at: (threadId, more = {}) => ({ configurable: { thread_id: threadId, ...more } }),
      options: { scope: `user ${who}` },
    };
  };
  return { toolgate, mary: as("mary"), john: as("john") };
}

/** Two hosts over one file. */
async function twoHosts(config: object, steps: readonly object[] = PAYS, options: Partial<ToolgateOptions> = {}) {
  b.onDisk();
  const host = async (scope: string): Promise<Side> => {
    const { toolgate } = await b.start({ config: { ...config, scope } as never, steps: steps as never, options });
    return { toolgate, at: (threadId, more = {}) => ({ configurable: { thread_id: threadId, ...more } }), options: {} };
  };
  return { mary: await host("mary"), john: await host("john") };
}

describe("two users of one host, in memory (G14)", () => scopeWall(b, oneHost));
describe("two hosts over one SQLite file (G14)", () => scopeWall(b, twoHosts));
describe("a host of the default scope beside another one", () => {
  scopeWall(b, async (config, steps) => {
    const { mary, john } = await twoHosts(config, steps);
    const { toolgate } = await b.start({ config: config as never, steps: steps as never });
    return { mary, john: { ...john, toolgate } };
  });
});

describe("a checkpointer of the host's own: another scope's thread is not there (place-1) (held-7) (ledger-9)", () => {
  const refused = { code: "not_found", message: "there is no thread `flat`", data: {} };
  const doors = (side: Side): [string, () => Promise<unknown>][] => [
    ["invoke", () => say(side, "flat", "Mine.")],
    ["invoke with nothing", () => goOn(side, "flat")],
    ["invoke with an answer", () => goOn(side, "flat", new Command({ resume: { decisions: {} } }))],
    [
      "stream",
      async () => {
        const input = { messages: [{ role: "user", content: "Mine." }] };
        for await (const _ of await side.toolgate.graph.stream(input as never, side.at("flat")))
          expect(_).toBe("nothing");
      },
    ],
    ["getState", () => state(side, "flat")],
    [
      "getStateHistory",
      async () => {
        for await (const _ of side.toolgate.graph.getStateHistory(side.at("flat"))) expect(_).toBe("nothing");
      },
    ],
    ["updateState", () => side.toolgate.graph.updateState(side.at("flat"), { note: "" }, "observe")],
  ];

  test.each([
    ["given to `createToolgate`", (checkpointer: MemorySaver) => twoHosts(configOf(b), PAYS, { checkpointer })],
    [
      "put into the graph afterwards, as LangGraph's server does",
      async (checkpointer: MemorySaver) => {
        const both = await twoHosts(configOf(b));
        for (const { toolgate } of [both.mary, both.john])
          (toolgate.graph as { checkpointer: unknown }).checkpointer = checkpointer;
        return both;
      },
    ],
    ["of one host with two users", (checkpointer: MemorySaver) => oneHost(configOf(b), PAYS, { checkpointer })],
  ])("%s", async (_how, hosts) => {
    const saver = new MemorySaver();
    const { mary, john } = await hosts(saver);
    await say(mary, "flat", "Pay the rent.");
    for (const [door, open] of doors(john)) await expect(open(), door).rejects.toMatchObject(refused);
    expect(Object.keys(saver.storage)).toEqual(["flat"]); // as the host's own reader asks for it
    expect(await john.toolgate.ledger.requests(undefined, john.options)).toEqual([]);
    expect(await john.toolgate.ledger.threads(john.options)).toEqual([]);
    expect(await john.toolgate.ledger.operations("flat", john.options)).toEqual([]);

    const [question] = await mary.toolgate.ledger.requests("flat", mary.options);
    await mary.toolgate.ledger.answer(question?.approvalId as string, { type: "approve" }, mary.options);
    await goOn(mary, "flat");
    expect(effects()).toBe(1);
    expect(await mary.toolgate.ledger.threads(mary.options)).toEqual([{ threadId: "flat", status: "done" }]);
    expect((await state(mary, "flat")).texts.at(-1)).toBe("Paid.");
  });

  test("a thread that was only written to is whoever's wrote it first", async () => {
    const { mary, john } = await twoHosts(configOf(b), PAYS, { checkpointer: new MemorySaver() });
    expect((await state(john, "flat")).texts).toEqual([]); // nobody's yet
    await mary.toolgate.graph.updateState(
      mary.at("flat"),
      { messages: [{ role: "user", content: "Mine." }] },
      "observe",
    );
    for (const [door, open] of doors(john)) await expect(open(), door).rejects.toMatchObject(refused);
    expect((await state(mary, "flat")).texts).toEqual(["Mine."]);
  });

  test("as a part of another graph, too", async () => {
    const { mary, john } = await twoHosts(configOf(b, { permissions: { allow: ["mcp__till__*"] } }));
    const checkpointer = new MemorySaver();
    const outer = ({ toolgate }: Side) =>
      new StateGraph(new StateSchema({ messages: MessagesValue }))
        .addNode("agent", toolgate.graph as never)
        .addEdge(START, "agent")
        .addEdge("agent", END)
        .compile({ checkpointer });
    const input = { messages: [{ role: "user", content: "Pay the rent." }] } as never;
    await outer(mary).invoke(input, mary.at("flat"));
    expect(effects()).toBe(1);
    await expect(outer(john).invoke(input, john.at("flat"))).rejects.toMatchObject(refused);
    expect(effects()).toBe(1);
    expect((await mary.toolgate.ledger.operations("flat")).map(({ status }) => status)).toEqual(["ok"]);
    expect(await john.toolgate.ledger.operations("flat")).toEqual([]);
  });
});

test("a run inside of a run, as a host's tool begins one, is in the same thread of the same scope (held-4)", async () => {
  b.onDisk();
  const hosts: Side[] = [];
  const delegate = tool(
    async (_args, { configurable }) => {
      const { thread_id } = configurable as { thread_id: string };
      const messages = [{ role: "user", content: "Pay the rent." }];
      await hosts[0]?.toolgate.graph.invoke({ messages } as never, { configurable: { thread_id } });
      return "delegated";
    },
    { name: "delegate", description: "Delegates.", schema: z.object({}) },
  );
  const first = ({ messages }: { messages: readonly { text: string }[] }) =>
    messages[0]?.text === "Delegate." ? { calls: [{ name: "delegate", args: {}, id: "d" }] } : PAYS[0];
  const { toolgate } = await b.start({
    config: configOf(b, { scope: "mary", permissions: { allow: ["delegate", "mcp__till__*"] } }) as never,
    steps: [first, { say: "Done." }] as never,
    tools: [delegate],
  });
  hosts.push({ toolgate, at: (threadId) => ({ configurable: { thread_id: threadId } }), options: {} });
  await say(hosts[0] as Side, "flat", "Delegate.");
  expect(effects()).toBe(1);
  expect(new Set((await toolgate.host.ledger.threads()).map(({ threadId }) => threadId))).toEqual(
    new Set(["mary\u001fflat"]),
  );
});

describe("whose run it is", () => {
  test("nothing that a client sends chooses the scope (place-2)", async () => {
    const { mary, john } = await twoHosts(configOf(b));
    await say(mary, "flat", "Pay the rent.");
    const forged = {
      scope: "mary",
      user: "mary",
      langgraph_auth_user: { identity: "mary", scope: "mary" },
      __toolgate_hold: { place: { threadId: "flat", scope: "mary", key: "mary\u001fflat", keyed: true } },
      __pregel_read: "x",
    };
    expect((await state(john, "flat", forged)).texts).toEqual([]);
    const run = john.toolgate.graph.invoke(null as never, john.at("flat", forged));
    await expect(run).rejects.toMatchObject({ code: "empty_question" });
    for (const threadId of ["mary\u001fflat", "\u001fflat"]) {
      await expect(state(john, threadId)).rejects.toMatchObject({ code: "thread_invalid" });
      await expect(say(john, threadId, "Mine.")).rejects.toMatchObject({ code: "thread_invalid" });
      await expect(john.toolgate.ledger.operations(threadId)).rejects.toMatchObject({ code: "thread_invalid" });
    }
    expect(effects()).toBe(0);
  });

  test("a host names the scope from the user that LangGraph's server stamped", async () => {
    const identify = (runtime: { configurable?: object }) => {
      const { identity } =
        (runtime.configurable as { langgraph_auth_user?: { identity?: string } }).langgraph_auth_user ?? {};
      return identity === undefined ? undefined : { id: identity, scope: identity };
    };
    const { toolgate } = await b.start({
      config: configOf(b) as never,
      steps: PAYS as never,
      options: { identify } as never,
    });
    const by = (identity: string): Side => ({
      toolgate,
      at: (threadId) => ({
        configurable: { thread_id: threadId, langgraph_auth_user: { identity } } as { thread_id: string },
      }),
      options: { scope: identity },
    });
    await say(by("ada"), "flat", "Pay the rent.");
    expect((await state(by("eve"), "flat")).texts).toEqual([]);
    const [question] = await toolgate.ledger.requests("flat", { scope: "ada" });
    const resume = { decisions: { [question?.approvalId as string]: { type: "approve" } } };
    await expect(goOn(by("eve"), "flat", new Command({ resume }))).rejects.toMatchObject({ code: "already_decided" });
    await goOn(by("ada"), "flat", new Command({ resume }));
    expect(effects()).toBe(1);
    const request = await toolgate.host.ledger.request(question?.approvalId as string);
    expect(request).toMatchObject({ verdict: { approver: "ada", scope: "ada" }, request: { scope: "ada" } });
  });

  test("under `langgraph-auth` everybody is in the configuration's scope", async () => {
    const config = configOf(b, { scope: "office" });
    const { toolgate } = await b.start({
      config: config as never,
      steps: PAYS as never,
      options: { identify: "langgraph-auth" },
    });
    const at = (identity: string) => ({ configurable: { thread_id: "flat", langgraph_auth_user: { identity } } });
    await toolgate.graph.invoke({ messages: [{ role: "user", content: "Pay." }] } as never, at("ada"));
    expect((await toolgate.graph.getState(at("eve"))).next).toEqual(["approval"]);
    expect(await toolgate.ledger.requests("flat")).toHaveLength(1);
    expect(await toolgate.ledger.requests("flat", { scope: "ada" })).toEqual([]);
  });

  test.each([
    ["undefined", undefined],
    ["nothing", ""],
    ["a number", 7],
    ["a promise", Promise.resolve("mary")],
    ["a control character", "ma\u001fry"],
    ["half of a character", "\ud800"],
    ["too long", "m".repeat(256)],
  ])("a scope that cannot be used is no other scope: %s (identity-2)", async (_what, scope) => {
    const options = { identify: () => ({ id: "ada", scope }) } as never;
    const { toolgate } = await b.start({ config: configOf(b) as never, steps: PAYS as never, options });
    const side: Side = { toolgate, at: (threadId) => ({ configurable: { thread_id: threadId } }), options: {} };
    const refused = {
      code: "config_invalid",
      message: expect.stringContaining("`identify` gave a scope that cannot be used"),
    };
    await expect(say(side, "flat", "Pay.")).rejects.toMatchObject(refused);
    await expect(state(side, "flat")).rejects.toMatchObject(refused);
    expect(b.log()).toEqual([]);
    for (const ask of [
      () => toolgate.ledger.requests("flat", { scope } as never),
      () => toolgate.ledger.threads({ scope } as never),
      () => toolgate.ledger.resolve("x", "leave", { scope } as never),
      () => toolgate.snapshot("flat", { scope } as never),
    ]) {
      await expect(ask()).rejects.toMatchObject({ code: "config_invalid" });
    }
  });

  test("whoever answers in a run of another scope is nobody", async () => {
    let asked = 0;
    const identify = () => ({ id: "ada", scope: asked++ === 0 ? "mary" : "john" });
    const approvals = { secret: "a-secret-for-tests-that-is-long-enough", requireIdentity: true };
    const config = configOf(b, { approvals });
    const { toolgate } = await b.start({ config: config as never, steps: PAYS as never, options: { identify } });
    const at = { configurable: { thread_id: "flat" } };
    await toolgate.graph.invoke({ messages: [{ role: "user", content: "Pay." }] } as never, at);
    const [question] = await toolgate.ledger.requests("flat", { scope: "mary" });
    asked = 0;
    const resume = { decisions: { [question?.approvalId as string]: { type: "approve" } } };
    await toolgate.graph.invoke(new Command({ resume }), at);
    expect(effects()).toBe(0);
    expect(await toolgate.ledger.requests("flat", { scope: "mary" })).toHaveLength(1);
  });
});

test("a host's tool, a callback and a grant are told the thread's id", async () => {
  const seen: unknown[] = [];
  const note = tool(
    (_args, config) => {
      seen.push((config.configurable as { thread_id?: string }).thread_id);
      return "noted";
    },
    { name: "note", description: "Notes.", schema: z.object({}) },
  );
  const tills = [
    {
      name: "pay",
      inputSchema: { type: "object", properties: { text: { type: "string" }, token: { type: "string" } } },
    },
  ];
  const { toolgate } = await b.start({
    config: {
      scope: "mary",
      mcpServers: { till: b.server("hostile", { HOSTILE: JSON.stringify({ tools: tills }) }) },
      permissions: { allow: ["note", "mcp__till__pay"] },
      tools: { mcp__till__pay: { inject: { token: "grant" } } },
    },
    steps: [{ calls: [{ name: "note", args: {}, id: "n" }, ...(PAYS[0]?.calls ?? [])] }, { say: "Done." }] as never,
    tools: [note],
  });
  const callbacks = [
    {
      handleChainStart: (...args: unknown[]) =>
        void seen.push((args[5] as { thread_id?: string } | undefined)?.thread_id),
    },
  ];
  const run = { configurable: { thread_id: "flat" }, durability: "sync", callbacks };
  await toolgate.graph.invoke({ messages: [{ role: "user", content: "Pay." }] } as never, run as never);
  expect([...new Set(seen)].filter((one) => one !== undefined)).toEqual(["flat"]);
  const [paid] = b.log("accepted");
  expect(decodeJwt(String((paid?.arguments as { token?: string } | undefined)?.token))).toMatchObject({
    thread: "flat",
    scope: "mary",
  });
});

test("a thread that is named beforehand, by `withConfig`, is the caller's own, too", async () => {
  const { mary, john } = await twoHosts(configOf(b));
  const named = ({ toolgate, at }: Side) => toolgate.graph.withConfig(at("flat"));
  await named(mary).invoke({ messages: [{ role: "user", content: "Pay the rent." }] } as never, { durability: "sync" });
  const [question] = await mary.toolgate.ledger.requests("flat");
  const yes = new Command({ resume: { decisions: { [question?.approvalId as string]: { type: "approve" } } } });
  await expect(named(john).invoke(yes as never, { durability: "sync" })).rejects.toMatchObject({
    code: "already_decided",
  });
  await named(mary).invoke(yes as never, { durability: "sync" });
  expect(effects()).toBe(1);
});
