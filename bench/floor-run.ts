// One process of `floor.ts`: a turn of many calls, then many turns of one call, by one of two agents on one server.
//
//   node floor-run.js floor|toolgate CALLS TURNS
//
// `floor` is what an agent cannot do without: a bare graph of four nodes, a messages channel that stores what each step
// added, the MCP SDK's `callTool` over stdio and LangGraph's own SQLite saver. It prints one line of JSON.

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

export interface Times {
  /** Milliseconds of each call within the long turn, from one model request to the next. */
  readonly calls: readonly number[];
  /** Milliseconds of each turn of one call. */
  readonly turns: readonly number[];
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

async function measure(agent: Agent): Promise<Times> {
  const { model } = agent;
  model.left = calls;
  expectDone(await agent.ask("calls"), 2 + 2 * calls);
  const times = model.times.slice(1).map((at, n) => at - (model.times[n] as number));
  const each: number[] = [];
  for (let turn = 1; turn <= turns; turn++) {
    model.left = 1;
    const since = performance.now();
    const messages = await agent.ask("turns");
    each.push(performance.now() - since);
    expectDone(messages, 4 * turn);
  }
  return { calls: times, turns: each };
}

const folder = mkdtempSync(join(tmpdir(), "toolgate-bench-"));
const agent = kind === "floor" ? await floor(folder) : await toolgate(folder);
try {
  console.log(JSON.stringify(await measure(agent)));
} finally {
  await agent.close();
  rmSync(folder, { recursive: true, force: true });
}
