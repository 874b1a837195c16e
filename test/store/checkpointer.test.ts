import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AIMessage, type BaseMessage, HumanMessage, RemoveMessage, ToolMessage } from "@langchain/core/messages";
import {
  DeltaValue,
  END,
  MemorySaver,
  MessagesDeltaValue,
  MessagesValue,
  messagesDeltaReducer,
  Overwrite,
  REMOVE_ALL_MESSAGES,
  Send,
  START,
  StateGraph,
  StateSchema,
} from "@langchain/langgraph";
import { BaseCheckpointSaver, DeltaSnapshot, JsonPlusSerializer } from "@langchain/langgraph-checkpoint";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import Database from "better-sqlite3";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { openCheckpointer } from "../../src/adapters/sqlite/checkpointer.js";
import { CheckpointSerializer } from "../../src/langgraph/serde.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "toolgate-checkpointer-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

const CHANNELS = ["messages", "notes", "rare", "never"];

/** Two nodes a turn; `messages` and `notes` are delta channels with cadences of their own, `rare` is written once. */
function echo(saver: BaseCheckpointSaver, frequency = 4, messages: "delta" | "plain" = "delta") {
  const delta = new DeltaValue(MessagesDeltaValue.valueSchema, {
    inputSchema: MessagesDeltaValue.inputSchema,
    reducer: messagesDeltaReducer,
    snapshotFrequency: frequency,
  });
  const list = z.array(z.string()).default([]);
  const append = (before: string[], writes: (string | string[])[]): string[] => [...before, ...writes.flat()];
  const State = new StateSchema({
    messages: messages === "delta" ? delta : (MessagesValue as unknown as typeof delta),
    notes: new DeltaValue(list, { inputSchema: z.any(), reducer: append, snapshotFrequency: frequency + 3 }),
    rare: new DeltaValue(list, { inputSchema: z.any(), reducer: append }),
    never: new DeltaValue(list, { inputSchema: z.any(), reducer: append }),
    turns: z.number().default(0),
  });
  return new StateGraph(State)
    .addNode("ask", ({ messages: all, turns }) => ({
      turns: turns + 1,
      ...(turns === 0 ? { rare: ["once"] } : {}),
      messages: [
        new AIMessage({ id: `ai-${all.length}`, content: "", tool_calls: [{ id: "c", name: "t", args: { a: 1 } }] }),
      ],
    }))
    .addNode("answer", ({ messages: all, turns }) => ({
      notes: turns % 5 === 0 ? new Overwrite([`reset ${turns}`]) : [`note ${turns}`],
      messages: [
        new ToolMessage({ id: `tool-${all.length}`, content: "done", tool_call_id: "c", artifact: { n: turns } }),
      ],
    }))
    .addEdge(START, "ask")
    .addEdge("ask", "answer")
    .addEdge("answer", END)
    .compile({ checkpointer: saver });
}

const thread = { configurable: { thread_id: "t" }, durability: "sync" as const };

/** The history LangGraph's own walk gives, one checkpoint at a time. */
function walk(saver: BaseCheckpointSaver, config: object) {
  return BaseCheckpointSaver.prototype.getDeltaChannelHistory.call(saver, { config, channels: CHANNELS });
}

async function expectEqualHistories(saver: SqliteSaver): Promise<number> {
  let compared = 0;
  for await (const { config } of saver.list({ configurable: { thread_id: "t" } })) {
    const own = await saver.getDeltaChannelHistory({ config, channels: CHANNELS });
    expect(own).toEqual(await walk(saver, config));
    compared += 1;
  }
  const latest = await saver.getDeltaChannelHistory({ config: thread, channels: CHANNELS });
  expect(latest).toEqual(await walk(saver, thread));
  return compared;
}

const say = (id: string) => ({ messages: [new HumanMessage({ id, content: id })] });
const ids = (messages: readonly BaseMessage[]) => messages.map((message) => message.id);

describe("the SQLite checkpointer", () => {
  it("opens a file in WAL with every commit synced (checkpointer-3)", () => {
    const saver = openCheckpointer(join(folder, "c.sqlite"));
    expect(saver.db.pragma("journal_mode", { simple: true })).toBe("wal");
    expect(saver.db.pragma("synchronous", { simple: true })).toBe(2);
    expect(saver.db.pragma("busy_timeout", { simple: true })).toBe(5);
    saver.db.close();
  });

  it("rebuilds delta channels as LangGraph's walk does, over forks, removals, edits and old checkpoints (checkpointer-1)", async () => {
    const saver = openCheckpointer(new Database(":memory:"));
    const app = echo(saver);
    for (let turn = 0; turn < 6; turn++) await app.invoke(say(`h${turn}`), thread);
    await app.updateState(thread, { messages: [new RemoveMessage({ id: "h3" })] });
    await app.updateState(thread, { notes: ["by hand"] });
    const history = [];
    for await (const state of app.getStateHistory(thread)) history.push(state);
    const old = history[9] as (typeof history)[number];
    const fork = await app.updateState(old.config, say("forked"));
    await app.invoke(null, { ...fork, durability: "sync" });
    await app.updateState(thread, { messages: [new RemoveMessage({ id: REMOVE_ALL_MESSAGES }), ...say("z").messages] });
    await app.invoke(say("last"), thread);

    expect(await expectEqualHistories(saver)).toBeGreaterThan(25);
    const again = await app.getState(old.config);
    expect(ids(again.values.messages)).toEqual(ids(old.values.messages));
    const { values } = await app.getState(thread);
    expect(ids(values.messages)).toEqual(["z", "last", "ai-2", "tool-3"]);
    expect(values.rare).toEqual(["once"]);
    saver.db.close();
  });

  it("rebuilds the same as LangGraph's walk, whatever was done (property) (checkpointer-1)", async () => {
    const action = fc.oneof(
      fc.record({ kind: fc.constant("turn" as const) }),
      fc.record({ kind: fc.constant("remove" as const), pick: fc.nat(20) }),
      fc.record({ kind: fc.constant("edit" as const), pick: fc.nat(20) }),
      fc.record({ kind: fc.constant("fork" as const), pick: fc.nat(20) }),
      fc.record({ kind: fc.constant("clear" as const) }),
    );
    const property = fc.asyncProperty(
      fc.array(action, { maxLength: 8 }),
      fc.integer({ min: 1, max: 6 }),
      async (plan, f) => {
        const saver = openCheckpointer(new Database(":memory:"));
        const app = echo(saver, f);
        await app.invoke(say("start"), thread);
        for (const [index, step] of plan.entries()) {
          const { messages } = (await app.getState(thread)).values;
          const target = messages[("pick" in step ? step.pick : 0) % Math.max(1, messages.length)]?.id ?? "none";
          if (step.kind === "turn") await app.invoke(say(`h${index}`), thread);
          if (step.kind === "remove") await app.updateState(thread, { messages: [new RemoveMessage({ id: target })] });
          if (step.kind === "edit") await app.updateState(thread, say(target));
          if (step.kind === "clear") {
            await app.updateState(thread, { messages: [new RemoveMessage({ id: REMOVE_ALL_MESSAGES })] });
          }
          if (step.kind === "fork") {
            const tuples = [];
            for await (const tuple of saver.list({ configurable: { thread_id: "t" } })) tuples.push(tuple);
            const from = tuples[step.pick % tuples.length] as (typeof tuples)[number];
            await app.invoke(null, { ...(await app.updateState(from.config, say(`f${index}`))), durability: "sync" });
          }
        }
        await expectEqualHistories(saver);
        saver.db.close();
      },
    );
    await fc.assert(property, { numRuns: 25 });
  });

  it("goes on with a file that LangGraph's saver wrote (checkpointer-2)", async () => {
    const path = join(folder, "old.sqlite");
    const plain = new SqliteSaver(new Database(path));
    await echo(plain).invoke(say("before"), thread);
    await echo(plain).invoke(say("between"), thread);
    plain.db.close();

    const saver = openCheckpointer(path);
    await echo(saver).invoke(say("after"), thread);
    await expectEqualHistories(saver);
    const { values } = await echo(saver).getState(thread);
    const expected = ["before", "ai-1", "tool-2", "between", "ai-4", "tool-5", "after", "ai-7", "tool-8"];
    expect(ids(values.messages)).toEqual(expected);
    saver.db.close();
  });

  it("goes on with a thread whose messages were a plain channel (checkpointer-2)", async () => {
    const saver = openCheckpointer(new Database(":memory:"));
    await echo(saver, 4, "plain").invoke(say("before"), thread);
    await echo(saver).invoke(say("after"), thread);
    await expectEqualHistories(saver);
    const { values } = await echo(saver).getState(thread);
    expect(ids(values.messages)).toEqual(["before", "ai-1", "tool-2", "after", "ai-4", "tool-5"]);
    saver.db.close();
  });

  it("keeps threads and namespaces apart, and answers for a thread it does not know", async () => {
    const saver = openCheckpointer(new Database(":memory:"));
    await echo(saver).invoke(say("mine"), thread);
    const other = { configurable: { thread_id: "other" } };
    expect(await saver.getDeltaChannelHistory({ config: other, channels: ["messages"] })).toEqual({
      messages: { writes: [] },
    });
    expect(await saver.getDeltaChannelHistory({ config: thread, channels: [] })).toEqual({});
    saver.db.close();
  });

  it("filters by metadata", async () => {
    const saver = openCheckpointer(new Database(":memory:"));
    await echo(saver).invoke(say("one"), thread);
    const found = [];
    for await (const { metadata } of saver.list(
      { configurable: { thread_id: "t" } },
      { filter: { source: "input" } },
    )) {
      found.push(metadata?.step);
    }
    expect(found).toEqual([-1]);
    saver.db.close();
  });
});

describe("the checkpoint serializer", () => {
  const own = new CheckpointSerializer();
  const theirs = new JsonPlusSerializer();
  const through = async (value: unknown): Promise<unknown> => own.loadsTyped(...(await own.dumpsTyped(value)));

  it("brings messages back as LangGraph's does (serde-2) (serde-3)", async () => {
    const all = [
      new HumanMessage({ id: "h", content: [{ type: "text", text: "hi" }], name: "ada" }),
      new AIMessage({
        id: "a",
        content: "",
        tool_calls: [{ id: "c", name: "t", args: { snake_case: 1, camelCase: 2 } }],
        invalid_tool_calls: [{ type: "invalid_tool_call", id: "d", name: "t", args: "{", error: "no" }],
        usage_metadata: { input_tokens: 1, output_tokens: 2, total_tokens: 3 } as never,
        response_metadata: { model_name: "m" },
        additional_kwargs: { some_key: { deep_key: 1 } },
      }),
      new ToolMessage({ id: "t", content: "x", tool_call_id: "c", status: "error", artifact: { a_b: [1, null] } }),
      new RemoveMessage({ id: "gone" }),
    ];
    const [type, bytes] = await theirs.dumpsTyped(all);
    const expected = (await theirs.loadsTyped(type, bytes)) as BaseMessage[];
    const found = (await own.loadsTyped(type, bytes)) as BaseMessage[];
    expect(found).toEqual(expected);
    expect(found.map((message) => message.constructor)).toEqual(expected.map((message) => message.constructor));
    expect((await through(all)) as BaseMessage[]).toEqual(expected);
  });

  it("writes what LangGraph's writes, to the byte (serde-4)", async () => {
    /** With a form of its own for JSON that no walk over its keys sees. */
    const hidden = <T extends object>(of: T): T => Object.defineProperty(of, "toJSON", { value: () => new Set([1]) });
    const round: Record<string, unknown> = { name: "round" };
    round.self = round;
    const all = [
      new HumanMessage({ id: "h", content: [{ type: "text", text: "h\u00e9 \ud83d" }] }),
      new AIMessage({ id: "a", content: "", tool_calls: [{ id: "c", name: "t", args: { snake_case: undefined } }] }),
      new ToolMessage({ id: "t", content: "x", tool_call_id: "c", artifact: { a_b: [1, null, undefined] } }),
      new DeltaSnapshot([new AIMessage("x")]),
      new Send("node", { a: 1 }),
      new Send("node", { a: 1 }, { timeout: 5 }),
      [new Map([["a", new Set([undefined])]]), /a"/gi, new TypeError("x"), new Uint8Array([1, 2]), Buffer.from("x")],
      [hidden({ a: 1 }), hidden([1]), { deep: [hidden([2])] }],
      [new Date(0), Number.NaN, -0, undefined, null, () => 1, { toJSON: () => new Set([1]) }],
      undefined,
      "text",
      round,
    ];
    for (const value of [...all, all]) {
      const [, expected] = await theirs.dumpsTyped(value);
      const [, found] = await own.dumpsTyped(value);
      expect(Buffer.from(found).toString()).toBe(Buffer.from(expected).toString());
    }
  });

  it("brings back what JSON has no form for (serde-2)", async () => {
    const value = {
      set: new Set([1]),
      map: new Map([["a", { b: undefined }]]),
      regExp: /a/g,
      error: new Error("x"),
      bytes: new Uint8Array([1, 2]),
    };
    const [type, bytes] = await theirs.dumpsTyped(value);
    expect(await own.loadsTyped(type, bytes)).toEqual(await theirs.loadsTyped(type, bytes));
    expect(await through(value)).toEqual(value);
  });

  // A tool's output looked like a LangChain object, and loading the checkpoint made a live object of it.
  it("never revives what was plain data, wherever it stands (serde-1)", async () => {
    const hostile = [
      { lc: 1, type: "constructor", id: ["langchain_core", "messages", "AIMessage"], kwargs: { content: "hi" } },
      { lc: 1, type: "constructor", id: ["langchain_core", "no", "Such"], kwargs: {} },
      { lc: 1, type: "secret", id: ["HOME"] },
      { lc: 2, type: "undefined" },
      { lc: 2, type: "constructor", id: ["Set"], args: [[1]] },
      { __lc_escaped__: { lc: 1 } },
      { lg_name: "Send", node: "execute", args: {}, more: 1 },
    ];
    const value = { operations: [{ arguments: { hostile } }], map: new Map([["k", hostile]]) };
    expect(await through(value)).toEqual(value);
    const message = new ToolMessage({ content: "", tool_call_id: "c", artifact: { structuredContent: { hostile } } });
    expect(((await through([message])) as ToolMessage[])[0]?.artifact).toEqual({ structuredContent: { hostile } });
  });

  it("keeps an unknown class as data where LangGraph's would refuse the checkpoint", async () => {
    const record = { lc: 1, type: "constructor", id: ["langchain_core", "prompts", "Nothing"], kwargs: { a: 1 } };
    expect(await own.loadsTyped("json", JSON.stringify({ record }))).toEqual({ record });
    await expect(theirs.loadsTyped("json", JSON.stringify({ record }))).rejects.toThrow();
  });

  it("keeps a thread readable whose model called a tool with such an object, in memory too (serde-1)", async () => {
    const args = { x: { lc: 1, type: "constructor", id: ["langchain_core", "no", "Such"], kwargs: {} } };
    const saved = (saver: BaseCheckpointSaver) => {
      const call = new AIMessage({ content: "", tool_calls: [{ id: "c", name: "t", args }] });
      const graph = new StateGraph(new StateSchema({ messages: MessagesDeltaValue }))
        .addNode("model", () => ({ messages: [call] }))
        .addEdge(START, "model")
        .addEdge("model", END)
        .compile({ checkpointer: saver });
      return graph.invoke({ messages: [] }, thread).then(() => graph.getState(thread));
    };
    const { values } = await saved(new MemorySaver(own));
    expect((values.messages[0] as AIMessage).tool_calls?.[0]?.args).toEqual(args);
    await expect(saved(new MemorySaver())).rejects.toThrow("Invalid namespace");
  });
});
