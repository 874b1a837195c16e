// 50 threads at once on one Postgres, five allowed writes each, through a whole agent with a real server: writes a second,
// the time of a call and of a turn, and the ledger's statements for each call.
//
//   npx tsx bench/postgres.ts [--threads 50] [--calls 5]
//
//   P1. Every statement of the ledger is counted where it is sent, by the method that sends it. Heartbeats are told apart.
//   P2. Effects are counted in the server's own log: each call one, or the run fails.
//   P3. A call's time is what lies between two requests of the model: gate, claim, send, answer, record, checkpoints.

import { AsyncLocalStorage } from "node:async_hooks";
import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { readLog } from "../servers/log.js";
import { createOwner } from "../src/adapters/ledger/owner.js";
import { openPostgres } from "../src/adapters/postgres/open.js";
import type { Ledger, ModelRequestRecord } from "../src/execution/ledger.js";
import { createToolgate } from "../src/index.js";
import { scriptedModel } from "../src/testing.js";
import { startPostgres } from "../test/support/postgres.js";

/** Statements of the ledger that write, for each call. */
const MOST_WRITES = 4;
/** The methods that a call's life consists of. */
const OF_A_CALL = ["propose", "claim", "begin", "settle"];

const { values } = parseArgs({
  options: { threads: { type: "string", default: "50" }, calls: { type: "string", default: "5" } },
});
const [threads, calls] = [Number(values.threads), Number(values.calls)];
if (!(threads >= 1) || !(calls >= 1)) throw new Error("give at least one thread and one call");

interface Count {
  times: number;
  writes: number;
  reads: number;
}
const counts = new Map<string, Count>();
const method = new AsyncLocalStorage<string>();
const countOf = (name: string): Count => {
  const count = counts.get(name) ?? { times: 0, writes: 0, reads: 0 };
  counts.set(name, count);
  return count;
};

/** The ledger with its methods named to whoever counts. (P1) */
function named(ledger: Ledger): Ledger {
  const methods = Object.entries(ledger).map(([name, call]: [string, (...args: never[]) => unknown]) => {
    const counted = (...args: never[]) => {
      const last = name === "propose" && (args[0] as ModelRequestRecord).proposal === undefined;
      const label = last ? "propose, the turn's last answer" : name;
      countOf(label).times += 1;
      return method.run(label, () => call(...args));
    };
    return [name, counted];
  });
  return Object.fromEntries(methods) as Ledger;
}

const folder = mkdtempSync(join(tmpdir(), "toolgate-bench-"));
const log = join(folder, "server.jsonl");
const server = await startPostgres();
try {
  const stores = openPostgres(
    await server.freshDatabase(),
    { now: Date.now, liveness: createOwner().liveness },
    {
      heard: (text) => {
        countOf(method.getStore() ?? "results")[/INSERT|UPDATE/.test(text) ? "writes" : "reads"] += 1;
      },
    },
  );
  const ledger = named(stores.ledger);
  const toolgate = await createToolgate({
    config: {
      mcpServers: {
        deploy: {
          command: process.execPath,
          args: ["--import", "tsx", fileURLToPath(new URL("../servers/deploy.ts", import.meta.url))],
          env: { SERVER_LOG: log },
        },
      },
      permissions: { allow: ["mcp__deploy__trigger"] },
      approvals: { secret: "a-secret-for-measuring-that-is-long-enough" },
      store: { kind: "memory" },
    },
    model: scriptedModel([
      ...Array.from({ length: calls }, (_, n) => ({
        calls: [{ name: "mcp__deploy__trigger", args: { environment: `environment-${n}` } }],
      })),
      { say: "Done." },
    ]),
    ledger,
    checkpointer: stores.checkpointer,
  });
  const turn = (threadId: string) =>
    toolgate.graph.invoke(
      { messages: [{ role: "user", content: "Deploy everywhere." }] },
      { configurable: { thread_id: threadId }, durability: "sync", recursionLimit: 20 * (calls + 1) },
    );
  await turn("first"); // starts the server and makes the tables
  const before = readLog(log, "effect").length;
  counts.clear();

  const turns: number[] = [];
  const started = performance.now();
  await Promise.all(
    Array.from({ length: threads }, async (_, n) => {
      const since = performance.now();
      await turn(`thread-${n}`);
      turns.push(performance.now() - since);
    }),
  );
  const seconds = (performance.now() - started) / 1_000;
  const effects = readLog(log, "effect").length - before;
  const measured = new Map([...counts].map(([name, count]) => [name, { ...count }]));
  const times: number[] = [];
  let ok = 0;
  for (let n = 0; n < threads; n++) {
    const rows = await stores.ledger.operations(`thread-${n}`);
    ok += rows.filter((row) => row.outcome?.status === "ok").length;
    const requests = await stores.ledger.modelRequests(`thread-${n}`, rows[0]?.turnId ?? "");
    for (const [index, { startedAt }] of requests.entries()) {
      const previous = requests[index - 1];
      if (previous) times.push(startedAt - previous.endedAt); // P3
    }
  }
  await toolgate.close();
  await stores.close();
  report({ seconds, turns, times, effects, ok, measured });
} finally {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}

function report(run: {
  readonly seconds: number;
  readonly turns: readonly number[];
  readonly times: readonly number[];
  readonly effects: number;
  readonly ok: number;
  readonly measured: ReadonlyMap<string, Count>;
}): void {
  const all = threads * calls;
  const load = loadavg().map((one) => one.toFixed(1));
  console.log(
    `${threads} threads, ${calls} writes each (load average ${load.join(" ")} on ${availableParallelism()} cores)`,
  );
  console.table({
    "writes a second": { value: (all / run.seconds).toFixed(1) },
    "a call, p50 ms": { value: quantile(run.times, 0.5).toFixed(0) },
    "a call, p95 ms": { value: quantile(run.times, 0.95).toFixed(0) },
    "a turn, p50 ms": { value: quantile(run.turns, 0.5).toFixed(0) },
    "a turn, p95 ms": { value: quantile(run.turns, 0.95).toFixed(0) },
  });
  console.table(
    Object.fromEntries(
      [...run.measured]
        .sort(([, a], [, b]) => b.writes - a.writes)
        .map(([name, { times, writes, reads }]) => [
          name,
          {
            times,
            "statements that write": writes,
            "statements that read": reads,
            "writing, for each call": (writes / all).toFixed(2),
          },
        ]),
    ),
  );
  const writes = OF_A_CALL.reduce((sum, name) => sum + (run.measured.get(name)?.writes ?? 0), 0) / all;
  const bounds: [string, boolean][] = [
    [`${run.effects} effects of ${all} calls, ${run.ok} recorded as ok`, run.effects === all && run.ok === all],
    [
      `${writes.toFixed(2)} statements that write for each call (${OF_A_CALL.join(", ")}), at most ${MOST_WRITES}`,
      writes <= MOST_WRITES,
    ],
  ];
  for (const [what, holds] of bounds) console.log(`${holds ? "PASS" : "FAIL"} ${what}`);
  if (bounds.some(([, holds]) => !holds)) process.exitCode = 1;
}

function quantile(of: readonly number[], share: number): number {
  return [...of].sort((a, b) => a - b)[Math.min(of.length - 1, Math.floor(of.length * share))] ?? Number.NaN;
}
