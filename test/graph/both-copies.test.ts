// A sample of test/whole/both-copies.test.ts: whatever an adapter puts into a message, the thread stays loadable.

import { MemorySaver } from "@langchain/langgraph";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import Database from "better-sqlite3";
import fc from "fast-check";
import { test } from "vitest";
import { bench } from "../support/in-process.js";
import { oddAgent, oddMessage } from "../support/odd-messages.js";

const SEED = 20_261_201;
const b = bench();

// A model's block with a key `lc` was stored. From then on the thread could not be loaded by the host's own checkpointer.
test.each([
  ["LangGraph's memory", () => ({ checkpointer: new MemorySaver() })],
  ["LangGraph's SQLite", () => ({ checkpointer: new SqliteSaver(new Database(":memory:")) })],
])(
  `any message of a model can be loaded, gone on with and forked: %s (seed ${SEED}) (response-3) (G8)`,
  async (_name, options) => {
    const outlives = await oddAgent(b, options());
    await fc.assert(fc.asyncProperty(oddMessage, outlives), { seed: SEED, numRuns: 12 });
  },
);
