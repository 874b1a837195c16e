// Whatever an adapter puts into a message, the thread stays loadable in every store,
// and each call gets its tool message.

import { join } from "node:path";
import { MemorySaver } from "@langchain/langgraph";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import Database from "better-sqlite3";
import fc from "fast-check";
import { test } from "vitest";
import { bench } from "../support/in-process.js";
import { oddAgent, oddMessage } from "../support/odd-messages.js";

const SEED = 20_261_201;
const TIME = 400_000;
const b = bench();

// A model's block with a key `lc` was stored. From then on the thread could not be loaded by the host's own checkpointer.
test.each([
  ["our store on disk", () => ({ store: { kind: "sqlite", path: join(b.folder(), "store") } })],
  ["LangGraph's memory", () => ({ checkpointer: new MemorySaver() })],
  ["LangGraph's SQLite", () => ({ checkpointer: new SqliteSaver(new Database(":memory:")) })],
])(
  `any message of a model can be loaded, gone on with and forked: %s (seed ${SEED}) (response-3) (G8)`,
  { timeout: TIME },
  async (_name, options) => {
    const outlives = await oddAgent(b, options());
    await fc.assert(fc.asyncProperty(oddMessage, outlives), { seed: SEED, numRuns: process.env.LONG_TESTS ? 300 : 80 });
  },
);
