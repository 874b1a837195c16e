// A whole agent, by the public door, with a SQLite store in a folder of its own and one real server whose write a rule
// allows; and what one call and one user turn of it cost.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CallingModel } from "../../bench/floor-model.js";
import { createToolgate } from "../../src/index.js";
import { type Counts, startCounting } from "./count.js";

const TOOL = "mcp__deploy__trigger";

export interface Cost {
  /**
   * Of one call among many in one turn: the difference of two turns, by the number of calls between them. Each is run twice
   * and the lesser count taken: a heartbeat of the run's lease that falls into a turn on a slow machine is no cost of a call.
   */
  readonly call: Counts;
  /** Of a user turn with one call, in a thread that has some turns behind it. */
  readonly turn: Counts;
}

/** `command`: the deploy server. */
export async function measureCost(command: { readonly command: string; readonly args: string[] }): Promise<Cost> {
  const folder = mkdtempSync(join(tmpdir(), "toolgate-cost-"));
  const model = new CallingModel(TOOL);
  const toolgate = await createToolgate({
    config: {
      mcpServers: { deploy: command },
      permissions: { allow: [TOOL] },
      limits: { calls: 100, writes: 100, modelRequests: 101, wallMs: 3_600_000 },
      approvals: { secret: "a-secret-for-tests-that-is-long-enough" },
      store: { kind: "sqlite", path: join(folder, "store") },
    },
    model,
  });
  const counter = startCounting(folder);
  try {
    const turn = async (calls: number): Promise<Counts> => {
      model.left = calls;
      counter.take();
      const { messages } = await toolgate.graph.invoke(
        { messages: [{ role: "user", content: "Deploy everywhere." }] },
        { configurable: { thread_id: "cost" }, durability: "sync" },
      );
      const counts = counter.take();
      const ran = messages.slice(-2 * calls - 1).filter((message) => message.text.includes("Deployed to"));
      if (ran.length !== calls) throw new Error(`${ran.length} of ${calls} calls ran`);
      return counts;
    };
    await turn(1); // starts the server, makes the tables, compiles the schema
    const few = least(await turn(5), await turn(5));
    const many = least(await turn(25), await turn(25));
    return { call: each((key) => (many[key] - few[key]) / 20), turn: least(await turn(1), await turn(1)) };
  } finally {
    counter.restore();
    await toolgate.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

const KEYS = ["fsyncs", "ledgerReads", "workerTrips"] as const satisfies readonly (keyof Counts)[];
const each = (of: (key: keyof Counts) => number): Counts =>
  Object.fromEntries(KEYS.map((key) => [key, of(key)])) as unknown as Counts;
const least = (a: Counts, b: Counts) => each((key) => Math.min(a[key], b[key]));
