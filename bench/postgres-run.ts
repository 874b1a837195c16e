// One process of `postgres-pairs.ts`: many threads at once on one Postgres, by the public door alone, so that any checkout
// can be measured. Counts every statement that any client of this process sends, whoever sends it.
//
//   node postgres-run.js URL LOG THREADS WRITES [prepared]
//
// `prepared` names statements (`store.prepared`), so that the server plans each once for a connection.
//
// It prints one line of JSON and ends by `process.exit`.

import { fileURLToPath } from "node:url";
import pg from "pg";
import { readLog } from "../servers/log.js";
import { createToolgate } from "../src/index.js";
import { type ScriptedRequest, type ScriptStep, scriptedModel } from "../src/testing.js";

export interface Load {
  readonly writesPerSecond: number;
  readonly cpuMsPerCall: number;
  /** Statements of one call among many in one turn, by what they are about: the difference of two turns. */
  readonly statements: Readonly<Record<Kind, number>>;
}

export type Kind =
  | "ledger, reads"
  | "ledger, writes"
  | "checkpoints, reads"
  | "checkpoints, writes"
  | "results"
  | "other";

/** Calls of the two turns whose statements are compared. */
const [FEW, MANY] = [5, 25];
const TRIGGER = "mcp__deploy__trigger";
const [url, log, ...rest] = process.argv.slice(2) as [string, string, ...string[]];
const [threads, writes] = rest.map(Number) as [number, number];
const prepared = rest.includes("prepared") ? { prepared: true } : {};
const calls = threads * writes;

function kindOf(text: string): Kind {
  const stores = /\b(?:INSERT|UPDATE|DELETE)\b/i.test(text);
  if (/checkpoint/.test(text)) return stores ? "checkpoints, writes" : "checkpoints, reads";
  if (/toolgate_(?:results|bodies)\b/.test(text)) return "results";
  if (/toolgate_/.test(text)) return stores ? "ledger, writes" : "ledger, reads";
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
    limits: { calls: MANY + writes, writes: MANY + writes, modelRequests: MANY + writes, wallMs: 3_600_000 },
    store: { kind: "postgres", url, ...prepared },
  },
  model: scriptedModel(Array.from({ length: MANY + writes }, () => nextStep)),
});

/** As many calls as the question names, one in each response. */
function nextStep({ messages }: ScriptedRequest): ScriptStep {
  const asked = Number(messages.find((message) => message.getType() === "human")?.text);
  const made = messages.filter((message) => message.getType() === "tool").length;
  return made < asked ? { calls: [{ name: TRIGGER, args: { environment: `e${made}` } }] } : { say: "Done." };
}

const turn = (thread: string, asked: number) =>
  toolgate.graph.invoke(
    { messages: [{ role: "user", content: String(asked) }] },
    { configurable: { thread_id: thread }, durability: "sync" },
  );
const statementsOf = async (thread: string, asked: number) => {
  counts.clear();
  await turn(thread, asked);
  return new Map(counts);
};

for (const thread of ["first", "second"]) await turn(thread, writes); // starts the server, makes the tables, compiles
const few = await statementsOf("few", FEW);
const many = await statementsOf("many", MANY);
const before = readLog(log, "effect").length;
const cpu = process.cpuUsage();
const started = performance.now();
await Promise.all(Array.from({ length: threads }, (_, n) => turn(`thread-${n}`, writes)));
const seconds = (performance.now() - started) / 1_000;
const { user, system } = process.cpuUsage(cpu);
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
      (kind) => [kind, ((many.get(kind) ?? 0) - (few.get(kind) ?? 0)) / (MANY - FEW)],
    ),
  ) as Record<Kind, number>,
};
process.stdout.write(`${JSON.stringify(load)}\n`, () => process.exit(0));
