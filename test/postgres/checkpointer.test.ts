// The Postgres checkpointer against LangGraph's own saver: the same rows, the same history, in fewer statements.

import { AIMessage } from "@langchain/core/messages";
import {
  DeltaValue,
  END,
  MessagesDeltaValue,
  messagesDeltaReducer,
  START,
  StateGraph,
  StateSchema,
} from "@langchain/langgraph";
import { BaseCheckpointSaver, ERROR, INTERRUPT, uuid6 } from "@langchain/langgraph-checkpoint";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import pg from "pg";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { CheckpointSerializer } from "../../src/langgraph/serde.js";
import { hosts } from "./hosts.js";

const at = hosts();
const LONG = process.env.LONG_TESTS === "1";
const CHANNELS = ["messages", "notes", "rare", "never"];
const thread = { configurable: { thread_id: "t", checkpoint_ns: "" } };

const pools: pg.Pool[] = [];
afterEach(async () => {
  for (const pool of pools.splice(0)) await pool.end();
});

async function place() {
  const url = await at.server().freshSchema();
  const pool = new pg.Pool({ connectionString: url });
  pools.push(pool);
  const schema = /search_path=(\w+)/.exec(decodeURIComponent(url))?.[1] ?? "";
  return { url, pool, plain: new PostgresSaver(pool, new CheckpointSerializer(), { schema }) };
}

/** Delta channels with cadences of their own; `rare` is written once. */
function echo(saver: BaseCheckpointSaver) {
  const messages = new DeltaValue(MessagesDeltaValue.valueSchema, {
    inputSchema: MessagesDeltaValue.inputSchema,
    reducer: messagesDeltaReducer,
    snapshotFrequency: 4,
  });
  const list = z.array(z.string()).default([]);
  const append = (before: string[], writes: (string | string[])[]): string[] => [...before, ...writes.flat()];
  const State = new StateSchema({
    messages,
    notes: new DeltaValue(list, { inputSchema: z.any(), reducer: append, snapshotFrequency: 7 }),
    rare: new DeltaValue(list, { inputSchema: z.any(), reducer: append }),
    never: new DeltaValue(list, { inputSchema: z.any(), reducer: append }),
    turns: z.number().default(0),
  });
  return new StateGraph(State)
    .addNode("ask", ({ messages: all, turns }) => ({
      turns: turns + 1,
      ...(turns === 0 ? { rare: ["once"] } : {}),
      messages: [new AIMessage({ id: `ai-${all.length}`, content: `said ${turns}` })],
    }))
    .addNode("answer", ({ turns }) => ({ notes: [`note ${turns}`] }))
    .addEdge(START, "ask")
    .addEdge("ask", "answer")
    .addEdge("answer", END)
    .compile({ checkpointer: saver });
}

describe("Postgres checkpointer", () => {
  it("every checkpoint's delta channels are what LangGraph's walk makes of them", async () => {
    const { url, plain } = await place();
    const { checkpointer } = at.open(url);
    const graph = echo(checkpointer);
    for (let turn = 0; turn < (LONG ? 40 : 6); turn++) {
      await graph.invoke(
        { messages: [{ role: "user", content: `question ${turn}` }] },
        { ...thread, durability: "sync" },
      );
    }
    let compared = 0;
    const walk = (config: object) =>
      BaseCheckpointSaver.prototype.getDeltaChannelHistory.call(plain, { config, channels: CHANNELS });
    for await (const { config } of plain.list(thread)) {
      expect(await checkpointer.getDeltaChannelHistory({ config, channels: CHANNELS })).toEqual(await walk(config));
      compared += 1;
    }
    expect(await checkpointer.getDeltaChannelHistory({ config: thread, channels: CHANNELS })).toEqual(
      await walk(thread),
    );
    expect(compared).toBeGreaterThan(20);
    const values = (await graph.getState(thread)).values as { messages: { text: string }[]; notes: string[] };
    expect(values.messages).toHaveLength(LONG ? 80 : 12);
    expect(values.notes.slice(0, 3)).toEqual(["note 1", "note 2", "note 3"]);
    expect((await echo(plain).getState(thread)).values).toEqual(values);
  });

  it("what is put and written, and put and written again, is stored as LangGraph's saver stores it", async () => {
    const dumps: unknown[] = [];
    const ids = [uuid6(0), uuid6(1)];
    for (const ours of [false, true]) {
      const { url, pool, plain } = await place();
      await plain.setup();
      const saver = ours ? at.open(url).checkpointer : plain;
      const checkpoint = (id: string, said: unknown) => ({
        ...{ v: 4, id, ts: "2026-01-01T00:00:00Z", versions_seen: { node: { said: 1 } } },
        ...{
          channel_values: { said, bytes: new Uint8Array([0, 1, 255]) },
          channel_versions: { said: 1, bytes: 2, gone: 3 },
        },
      });
      const metadata = { source: "loop" as const, step: 1, parents: {}, odd: "a\nb" };
      const versions = { said: 1, bytes: 2, gone: 3 };
      const first = await saver.put(thread, checkpoint(ids[0] as string, "yes"), metadata, versions);
      const second = await saver.put(first, checkpoint(ids[1] as string, "no"), metadata, { said: 2 });
      await saver.put(first, checkpoint(ids[1] as string, "other"), { ...metadata, step: 2 }, { said: 2 });
      await saver.put(second, checkpoint(ids[1] as string, "other"), metadata, {});
      await saver.putWrites(
        second,
        [
          ["said", { a: "\ud800" }],
          ["bytes", null],
          ["said", [1]],
        ],
        "task",
      );
      await saver.putWrites(
        second,
        [
          ["said", "again"],
          ["more", "x"],
        ],
        "task",
      );
      await saver.putWrites(
        second,
        [
          [INTERRUPT, "one"],
          [INTERRUPT, "two"],
        ],
        "task",
      );
      await saver.putWrites(second, [[ERROR, "broken"]], "task");
      await saver.putWrites(second, [], "task");
      const dump = async (table: string) => (await pool.query(`SELECT * FROM ${table} t ORDER BY t::text`)).rows;
      dumps.push([await dump("checkpoints"), await dump("checkpoint_blobs"), await dump("checkpoint_writes")]);
    }
    expect(dumps[1]).toEqual(dumps[0]);
    expect((dumps[0] as unknown[][]).map((rows) => rows.length)).toEqual([2, 4, 5]);
  });

  it("two branches of one checkpoint read their own values of a channel (postgres-checkpointer-1)", async () => {
    const { url } = await place();
    const State = new StateSchema({ said: z.object({ by: z.string() }).optional() });
    const graph = new StateGraph(State)
      .addNode("say", () => ({ said: { by: "the trunk" } }))
      .addEdge(START, "say")
      .addEdge("say", END)
      .compile({ checkpointer: at.open(url).checkpointer });
    await graph.invoke({}, { ...thread, durability: "sync" });
    const { config } = await graph.getState(thread);
    const names = ["the left", "the right", "the third"];
    const branches = [];
    for (const by of names) branches.push(await graph.updateState(config, { said: { by } }));
    const read = [];
    for (const branch of branches) read.push((await graph.getState(branch)).values.said.by);
    expect(read).toEqual(names);
  });
});
