// What a thread costs as it grows: bytes on disk, and the time of late work against early work.
//
//   npx tsx bench/checkpointer.ts [--plain] [--turns 400] [--rounds 400] [--frequency 200]
//
// `--plain` measures LangGraph's own saver instead. Seven supersteps a turn or a round, tool messages of 200 bytes.

import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
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
import Database from "better-sqlite3";
import { z } from "zod";
import { openCheckpointer } from "../src/adapters/sqlite/checkpointer.js";

const SUMMARY = {
  id: "a".repeat(64),
  tools: Array.from({ length: 50 }, (_, index) => ({ alias: `mcp__documents__tool_number_${index}`, effect: "read" })),
};

/** Text that does not compress better than prose does. The seed makes runs equal. */
function prose(chars: number, seed: number): string {
  let state = seed + 1;
  let text = "";
  while (text.length < chars) {
    state = (state * 48271) % 2147483647;
    text += `${state.toString(36)} `;
  }
  return text.slice(0, chars);
}

function agent(saver: SqliteSaver, rounds: number, snapshotFrequency: number) {
  const messages = new DeltaValue(MessagesDeltaValue.valueSchema, {
    inputSchema: MessagesDeltaValue.inputSchema,
    reducer: messagesDeltaReducer,
    snapshotFrequency,
  });
  const State = new StateSchema({
    messages,
    snapshot: z.unknown().default(null),
    operations: z.array(z.unknown()).default([]),
    ledgerSeq: z.number().default(0),
    stateVersion: z.number().default(1),
  });
  const seen = (all: readonly BaseMessage[]): number => all.filter((message) => message.getType() === "ai").length;
  const calls = (all: readonly BaseMessage[]): number => {
    const turn = all.slice(all.findLastIndex((message) => message.getType() === "human"));
    return turn.filter((message) => message.getType() === "tool").length;
  };
  const operation = (n: number) => ({
    id: prose(64, n),
    callId: `c${n}`,
    alias: "mcp__documents__search",
    arguments: { query: prose(40, n) },
    argumentsDigest: prose(64, n + 7),
    decision: { kind: "allow", rules: ["mcp__documents"], reason: "allow by `mcp__documents`" },
  });
  return new StateGraph(State)
    .addNode("discover", (state) => (state.snapshot ? {} : { snapshot: SUMMARY }))
    .addNode("model", (state) => {
      const n = seen(state.messages);
      const response_metadata = { toolgate: { proposalId: prose(32, n), snapshotId: SUMMARY.id } };
      if (calls(state.messages) >= rounds) {
        return { messages: [new AIMessage({ id: `ai${n}`, content: "done", response_metadata })] };
      }
      const tool_calls = [{ id: `c${n}`, name: "mcp__documents__search", args: { query: prose(40, n) } }];
      return { messages: [new AIMessage({ id: `ai${n}`, content: "", tool_calls, response_metadata })] };
    })
    .addNode("gate", (state) => ({ operations: [operation(seen(state.messages) - 1)] }))
    .addNode("approval", () => ({}))
    .addNode("execute", (state) => ({ operations: state.operations }))
    .addNode("observe", (state) => {
      const n = seen(state.messages) - 1;
      const artifact = { operationId: prose(64, n), status: "ok", snapshotId: SUMMARY.id };
      const fields = { id: `tool:${n}`, tool_call_id: `c${n}`, name: "mcp__documents__search", artifact };
      return { ledgerSeq: n, messages: [new ToolMessage({ ...fields, content: prose(200, n), status: "success" })] };
    })
    .addNode("result_unknown", () => ({}))
    .addEdge(START, "discover")
    .addEdge("discover", "model")
    .addConditionalEdges("model", (state) => (calls(state.messages) < rounds ? "gate" : END), ["gate", END])
    .addEdge("gate", "approval")
    .addEdge("approval", "execute")
    .addEdge("execute", "observe")
    .addConditionalEdges("observe", () => (rounds > 1 ? "result_unknown" : "model"), ["result_unknown", "model"])
    .addEdge("result_unknown", "discover")
    .compile({ checkpointer: saver });
}

interface Cost {
  readonly megabytes: number;
  readonly checkpoints: number;
  readonly early: number;
  readonly late: number;
  readonly loadMs: number;
}

async function measure(options: { turns: number; rounds: number; frequency: number; plain: boolean }): Promise<Cost> {
  const folder = mkdtempSync(join(tmpdir(), "toolgate-bench-"));
  const path = join(folder, "checkpoints.sqlite");
  try {
    const saver = options.plain ? new SqliteSaver(new Database(path)) : openCheckpointer(path);
    const app = agent(saver, options.rounds, options.frequency);
    const config = { configurable: { thread_id: "bench" }, durability: "sync" as const, recursionLimit: 100_000 };
    const turns: number[] = [];
    const rounds: number[] = [];
    for (let turn = 0; turn < options.turns; turn++) {
      const started = performance.now();
      let roundStarted = started;
      const input = { messages: [new HumanMessage({ id: `h${turn}`, content: `question ${turn}` })] };
      for await (const update of await app.stream(input, { ...config, streamMode: "updates" })) {
        if (!("observe" in update)) continue;
        rounds.push(performance.now() - roundStarted);
        roundStarted = performance.now();
      }
      turns.push(performance.now() - started);
    }
    const loading = performance.now();
    await app.getState(config);
    const loadMs = performance.now() - loading;
    const checkpoints = saver.db.prepare("SELECT count(*) FROM checkpoints").pluck().get() as number;
    saver.db.pragma("wal_checkpoint(TRUNCATE)");
    saver.db.close();
    const [early, late] =
      options.turns > 1
        ? [median(turns.slice(5, 15)), median(turns.slice(-10))]
        : [median(rounds.slice(1, 51)), median(rounds.slice(-50))];
    return { megabytes: statSync(path).size / 1e6, checkpoints, early, late, loadMs };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] as number;
}

const { values } = parseArgs({
  options: {
    plain: { type: "boolean", default: false },
    turns: { type: "string", default: "400" },
    rounds: { type: "string", default: "400" },
    frequency: { type: "string", default: "200" },
  },
});
const frequency = Number(values.frequency);
const { plain } = values;
const cases = {
  [`${values.turns} turns`]: await measure({ turns: Number(values.turns), rounds: 1, frequency, plain }),
  [`${values.rounds} rounds in one turn`]: await measure({ turns: 1, rounds: Number(values.rounds), frequency, plain }),
};
console.log(`saver: ${plain ? "LangGraph's" : "toolgate's"}; 7 supersteps a turn; frequency ${frequency}`);
console.table(
  Object.fromEntries(
    Object.entries(cases).map(([name, cost]) => [
      name,
      {
        MB: cost.megabytes.toFixed(2),
        checkpoints: cost.checkpoints,
        "early ms": cost.early.toFixed(1),
        "late ms": cost.late.toFixed(1),
        "late/early": (cost.late / cost.early).toFixed(2),
        "load ms": cost.loadMs.toFixed(1),
      },
    ]),
  ),
);
