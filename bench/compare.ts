// What the gate costs: toolgate against a bare `callTool`, and against LangChain's `createAgent` with LangGraph's own saver
// around the same call. Same server, same script, same number of user turns. Prints; there is no bound.
//
//   npx tsx bench/compare.ts [--turns 400]

import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { tool } from "@langchain/core/tools";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import Database from "better-sqlite3";
import { createAgent } from "langchain";
import { z } from "zod";
import { ALIAS, FROM_SOURCE, prose, TimedModel, TOOL, writeServerFile } from "./agent.js";
import { measureTurns, median, question, turnSteps } from "./measure.js";
import { counts } from "./table.js";

const { turns } = counts();
const TOOLS = 20;

/** The last turns against those before them, and what is on disk at the end. */
interface Row {
  readonly early: readonly number[];
  readonly late: readonly number[];
  readonly bytes?: number;
}

const PAIRS = 20;
const windows = (times: readonly number[]) => ({ early: times.slice(5, 5 + PAIRS), late: times.slice(-PAIRS) });

async function toolgate(effect: "read" | "write"): Promise<Row> {
  const { bytes, early, late } = await measureTurns({ tools: TOOLS, effect }, turns, { pairs: PAIRS });
  return { bytes, early: early.map(({ ms }) => ms), late: late.map(({ ms }) => ms) };
}

/** Runs with a bare client on a server of its own, in a folder of its own. */
async function withClient(run: (client: Client, folder: string) => Promise<Row>): Promise<Row> {
  const folder = mkdtempSync(join(tmpdir(), "toolgate-bench-"));
  const client = new Client({ name: "bench", version: "1.0.0" });
  try {
    const env = { PATH: process.env.PATH ?? "", HOSTILE_FILE: writeServerFile(folder, TOOLS, turns) };
    await client.connect(new StdioClientTransport({ command: FROM_SOURCE.command, args: [...FROM_SOURCE.args], env }));
    return await run(client, folder);
  } finally {
    await client.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

const bare = () =>
  withClient(async (client) => {
    const times: number[] = [];
    for (let turn = 0; turn < turns; turn++) {
      const started = performance.now();
      await client.callTool({ name: TOOL, arguments: { query: prose(40, turn) } });
      times.push(performance.now() - started);
    }
    return windows(times);
  });

const agent = () =>
  withClient(async (client, folder) => {
    const path = join(folder, "checkpoints.sqlite");
    const db = new Database(path);
    const model = new TimedModel(turnSteps(turns));
    const call = tool(
      async ({ query }) => JSON.stringify(await client.callTool({ name: TOOL, arguments: { query } })),
      {
        name: ALIAS,
        description: "Finds documents.",
        schema: z.object({ query: z.string() }),
      },
    );
    const graph = createAgent({ model, tools: [call], checkpointer: new SqliteSaver(db) });
    const times: number[] = [];
    for (let turn = 0; turn < turns; turn++) {
      const started = performance.now();
      const modelMs = model.ms;
      await graph.invoke(question(turn), { configurable: { thread_id: "bench" }, durability: "sync" });
      times.push(performance.now() - started - (model.ms - modelMs));
    }
    db.pragma("wal_checkpoint(TRUNCATE)");
    db.close();
    return { ...windows(times), bytes: statSync(path).size };
  });

const rows: Record<string, Row> = {
  "bare callTool": await bare(),
  "createAgent, LangGraph's saver": await agent(),
  "toolgate, read": await toolgate("read"),
  "toolgate, write": await toolgate("write"),
};
console.log(`\n${turns} turns of one call, ${TOOLS} tools`);
console.table(
  Object.fromEntries(
    Object.entries(rows).map(([name, { early, late, bytes }]) => [
      name,
      {
        "early ms": median(early).toFixed(2),
        "late ms": median(late).toFixed(2),
        MB: bytes === undefined ? "" : (bytes / 1e6).toFixed(2),
      },
    ]),
  ),
);
