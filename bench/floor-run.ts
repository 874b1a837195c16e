// One process of `floor.ts`: a turn of many calls and then turns of one call, by one of two agents, in blocks that the
// process that started it asks for.
//
//   floor-run.js floor|toolgate CALLS TURNS, started with a channel for messages
//
// `floor` is what an agent cannot do without: a bare graph of four nodes, a messages channel that stores what each step
// added, the MCP SDK's `callTool` over stdio and LangGraph's own SQLite saver. Between two blocks the long turn stands
// still before an answer of its model.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { AIMessage, type BaseMessage, ToolMessage } from "@langchain/core/messages";
import {
  DeltaValue,
  END,
  MessagesDeltaValue,
  messagesDeltaReducer,
  START,
  StateGraph,
  StateSchema,
} from "@langchain/langgraph";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import Database from "better-sqlite3";
import { z } from "zod";
import { createToolgate } from "../src/index.js";
import { CallingModel } from "./floor-model.js";

/** What is asked of this process: so many of the long turn's calls, or so many turns of one call. */
export interface Ask {
  readonly what: "calls" | "turns";
  readonly count: number;
}

/** Milliseconds. */
export interface Block {
  readonly each: readonly number[];
  /** Processor time of the whole process, for each of them. */
  readonly cpu: number;
}

const SERVER = fileURLToPath(new URL("../servers/deploy.js", import.meta.url));
const [kind, ...numbers] = process.argv.slice(2);
const [calls, turns] = numbers.map(Number) as [number, number];

interface Agent {
  readonly model: CallingModel;
  /** Answers one user message in a thread. Resolves with all messages of the thread. */
  ask(thread: string): Promise<readonly BaseMessage[]>;
  close(): Promise<void>;
}

async function floor(folder: string): Promise<Agent> {
  const model = new CallingModel("trigger");
  const client = new Client({ name: "bench", version: "1.0.0" });
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [SERVER] }));
  await client.listTools();
  const db = new Database(join(folder, "checkpoints.sqlite"));
  const messages = new DeltaValue(MessagesDeltaValue.valueSchema, {
    inputSchema: MessagesDeltaValue.inputSchema,
    reducer: messagesDeltaReducer,
    snapshotFrequency: 193,
  });
  const Call = z.object({ id: z.string(), name: z.string(), args: z.record(z.string(), z.unknown()) });
  const State = new StateSchema({
    messages,
    open: z.array(Call).default([]),
    results: z.array(z.unknown()).default([]),
  });
  const openCalls = (all: readonly BaseMessage[]) => {
    const last = all.at(-1);
    return AIMessage.isInstance(last) ? (last.tool_calls ?? []) : [];
  };
  const graph = new StateGraph(State)
    .addNode("model", async (state) => ({ messages: [await model.invoke(state.messages)] }))
    .addNode("gate", (state) => ({
      open: openCalls(state.messages).map(({ id = "", name, args }) => ({ id, name, args })),
    }))
    .addNode("execute", async (state) => ({
      results: await Promise.all(state.open.map(({ name, args }) => client.callTool({ name, arguments: args }))),
    }))
    .addNode("observe", (state) => ({
      messages: state.open.map(
        ({ id, name }, index) =>
          new ToolMessage({
            tool_call_id: id,
            name,
            content: JSON.stringify((state.results[index] as { content: unknown }).content),
          }),
      ),
    }))
    .addEdge(START, "model")
    .addConditionalEdges("model", (state) => (openCalls(state.messages).length > 0 ? "gate" : END), ["gate", END])
    .addEdge("gate", "execute")
    .addEdge("execute", "observe")
    .addEdge("observe", "model")
    .compile({ checkpointer: new SqliteSaver(db) });
  return {
    model,
    ask: async (thread) => (await graph.invoke(question(), configOf(thread))).messages,
    async close() {
      await client.close();
      db.close();
    },
  };
}

async function toolgate(folder: string): Promise<Agent> {
  const model = new CallingModel("mcp__deploy__trigger");
  const most = calls + turns;
  const agent = await createToolgate({
    config: {
      mcpServers: { deploy: { command: process.execPath, args: [SERVER] } },
      permissions: { allow: ["mcp__deploy__trigger"] },
      limits: { calls: most, writes: most, modelRequests: most + 1, wallMs: 3_600_000 },
      approvals: { secret: "a-secret-for-measuring-that-is-long-enough" },
      store: { kind: "sqlite", path: join(folder, "store") },
    },
    model,
  });
  return {
    model,
    ask: async (thread) => (await agent.graph.invoke(question(), configOf(thread))).messages,
    close: () => agent.close(),
  };
}

const question = () => ({ messages: [{ role: "user", content: "Deploy everywhere." }] });
const configOf = (thread: string) => ({
  configurable: { thread_id: thread },
  durability: "sync" as const,
  recursionLimit: 10 * (calls + 10),
});

/** A run that was cut short or refused must not pass for a cheap one. */
function expectDone(messages: readonly BaseMessage[], expected: number): void {
  const result = messages.at(-2);
  if (messages.length === expected && ToolMessage.isInstance(result) && result.text.includes("Deployed to")) return;
  throw new Error(`${kind}: ${messages.length} of ${expected} messages, the last result: ${result?.text}`);
}

/** Lets the long turn's model answer one request at a time. */
function hold(model: CallingModel) {
  let arrived = deferred();
  let permit = deferred();
  model.before = async () => {
    arrived.resolve();
    await permit.promise;
  };
  return {
    arrived: () => arrived.promise,
    goOn() {
      const old = permit;
      arrived = deferred();
      permit = deferred();
      old.resolve();
    },
  };
}

function deferred() {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

async function block(count: number, step: () => Promise<void>): Promise<Block> {
  const before = process.cpuUsage();
  const each: number[] = [];
  for (let n = 0; n < count; n++) {
    const since = performance.now();
    await step();
    each.push(performance.now() - since);
  }
  const { user, system } = process.cpuUsage(before);
  return { each, cpu: (user + system) / 1_000 / count };
}

const folder = mkdtempSync(join(tmpdir(), "toolgate-bench-"));
const agent = kind === "floor" ? await floor(folder) : await toolgate(folder);
const { model } = agent;
const asks: Ask[] = [];
let wake = deferred();
process.on("message", (ask: Ask) => {
  asks.push(ask);
  wake.resolve();
});
async function nextAsk(): Promise<Ask> {
  for (;;) {
    const ask = asks.shift();
    if (ask) return ask;
    wake = deferred();
    await wake.promise;
  }
}

try {
  const held = hold(model);
  model.left = calls;
  const long = agent.ask("calls");
  const over = long.then(() => Promise.reject(new Error("the turn is over")));
  over.catch(() => undefined);
  const reached = () => Promise.race([held.arrived(), over]);
  await reached();
  for (let made = 0; made < calls; ) {
    const { count } = await nextAsk();
    const step = async () => {
      held.goOn();
      await reached();
    };
    process.send?.(await block(count, step));
    made += count;
  }
  model.before = async () => undefined;
  held.goOn();
  expectDone(await long, 2 + 2 * calls);
  for (let made = 0; made < turns; ) {
    const { count } = await nextAsk();
    const step = async () => {
      model.left = 1;
      made += 1;
      expectDone(await agent.ask("turns"), 4 * made);
    };
    process.send?.(await block(count, step));
  }
} finally {
  await agent.close();
  rmSync(folder, { recursive: true, force: true });
  process.disconnect?.();
}
