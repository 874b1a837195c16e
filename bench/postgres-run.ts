// One process of `postgres-pairs.ts`: many threads at once on one Postgres, by the public door alone, so that any checkout
// can be measured. Counts every statement that any client of this process sends, whoever sends it.
//
//   node postgres-run.js URL LOG THREADS WRITES
//
// It prints one line of JSON and ends by `process.exit`.

import { fileURLToPath } from "node:url";
import pg from "pg";
import { readLog } from "../servers/log.js";
import { createToolgate } from "../src/index.js";
import { scriptedModel } from "../src/testing.js";

export interface Load {
  readonly writesPerSecond: number;
  readonly cpuMsPerCall: number;
  /** Statements a call, by what they are about. */
  readonly statements: Readonly<Record<Kind, number>>;
}

export type Kind =
  | "ledger, reads"
  | "ledger, writes"
  | "checkpoints, reads"
  | "checkpoints, writes"
  | "results"
  | "other";

const TRIGGER = "mcp__deploy__trigger";
const [url, log, ...numbers] = process.argv.slice(2) as [string, string, ...string[]];
const [threads, writes] = numbers.map(Number) as [number, number];
const calls = threads * writes;

function kindOf(text: string): Kind {
  const stores = /\b(?:INSERT|UPDATE|DELETE)\b/i.test(text);
  if (/toolgate_(?:results|bodies)\b/.test(text)) return "results";
  if (/toolgate_/.test(text)) return stores ? "ledger, writes" : "ledger, reads";
  if (/checkpoint/.test(text)) return stores ? "checkpoints, writes" : "checkpoints, reads";
  return "other";
}

const counts = new Map<Kind, number>();
const query = pg.Client.prototype.query as (...args: unknown[]) => unknown;
pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
  const [first] = args;
  const text = typeof first === "string" ? first : String((first as { text?: unknown }).text);
  counts.set(kindOf(text), (counts.get(kindOf(text)) ?? 0) + 1);
  return query.apply(this, args);
} as typeof pg.Client.prototype.query;

const toolgate = await createToolgate({
  config: {
    mcpServers: {
      deploy: {
        command: process.execPath,
        args: [fileURLToPath(new URL("../servers/deploy.js", import.meta.url))],
        env: { SERVER_LOG: log },
      },
    },
    permissions: { allow: [TRIGGER] },
    approvals: { secret: "a-secret-for-measuring-that-is-long-enough" },
    limits: { calls: writes, writes, modelRequests: writes + 1, wallMs: 3_600_000 },
    store: { kind: "postgres", url },
  },
  model: scriptedModel([
    ...Array.from({ length: writes }, (_, n) => ({ calls: [{ name: TRIGGER, args: { environment: `e${n}` } }] })),
    { say: "Done." },
  ]),
});
const turn = (thread: string) =>
  toolgate.graph.invoke(
    { messages: [{ role: "user", content: "Deploy everywhere." }] },
    { configurable: { thread_id: thread }, durability: "sync" },
  );

for (const thread of ["first", "second", "third"]) await turn(thread); // starts the server, makes the tables, compiles
const before = readLog(log, "effect").length;
counts.clear();
const cpu = process.cpuUsage();
const started = performance.now();
await Promise.all(Array.from({ length: threads }, (_, n) => turn(`thread-${n}`)));
const seconds = (performance.now() - started) / 1_000;
const { user, system } = process.cpuUsage(cpu);
const counted = new Map(counts);
await toolgate.close();

const effects = readLog(log, "effect").slice(before);
const different = new Set(effects.map(({ operationId }) => operationId)).size;
if (effects.length !== calls || different !== calls) {
  console.error(`${effects.length} effects of ${different} operations, where ${calls} calls were made`);
  process.exit(1);
}
const load: Load = {
  writesPerSecond: calls / seconds,
  cpuMsPerCall: (user + system) / 1_000 / calls,
  statements: Object.fromEntries(
    (["ledger, reads", "ledger, writes", "checkpoints, reads", "checkpoints, writes", "results", "other"] as const).map(
      (kind) => [kind, (counted.get(kind) ?? 0) / calls],
    ),
  ) as Record<Kind, number>,
};
process.stdout.write(`${JSON.stringify(load)}\n`, () => process.exit(0));
