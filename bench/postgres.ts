// Many threads at once on Postgres: writes a second, the time of a call, and what a call asks of the database. Every write
// is counted in the server's own log.
//
//   npx tsx bench/postgres.ts [--threads 50 --writes 5]
//
//   B4. One process, one host, one server over stdio, and a Postgres that this starts (or the one DATABASE_URL names). Each
//       thread is one turn; each of its writes is a response of the model of its own, which takes no time.
//   B5. A statement belongs to the method of the ledger that asked for it. Checkpoints and results are not the ledger's.

import { AsyncLocalStorage } from "node:async_hooks";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { readLog } from "../servers/log.js";
import { createOwner } from "../src/adapters/ledger/owner.js";
import { openPostgres } from "../src/adapters/postgres/open.js";
import type { Ledger } from "../src/execution/ledger.js";
import { createToolgate } from "../src/index.js";
import { scriptedModel } from "../src/testing.js";
import { startPostgres } from "../test/support/postgres.js";
import { FROM_SOURCE } from "./agent.js";

const { values } = parseArgs({
  options: { threads: { type: "string", default: "50" }, writes: { type: "string", default: "5" } },
});
const [threads, writes] = [Number(values.threads), Number(values.writes)];
/** Methods of the ledger whose transactions carry a call from its proposal to its outcome. */
const OF_A_CALL = ["propose", "claim", "begin", "settle"] as const;
const BOUND = 4;

const method = new AsyncLocalStorage<string>();
const asked = new Map<string, number>();
const written = new Map<string, number>();
const readings = new Map<string, number>();
const claimedAt = new Map<string, number>();
const callMs: number[] = [];
const add = (to: Map<string, number>, name: string) => to.set(name, (to.get(name) ?? 0) + 1);

function heard(text: string): void {
  const name = method.getStore() ?? "other";
  add(/^\s*WITH/.test(text) ? written : readings, name);
}

/** The ledger, with each of its statements put down to the method that asked for it. (B5) */
function counted(ledger: Ledger): Ledger {
  return new Proxy(ledger, {
    get(target, name, receiver) {
      const real = Reflect.get(target, name, receiver) as (...args: unknown[]) => Promise<unknown>;
      return (...args: unknown[]) => {
        add(asked, String(name));
        return method.run(String(name), async () => {
          if (name === "claim") started(args[0] as Parameters<Ledger["claim"]>[0]);
          const result = await real.apply(target, args);
          if (name === "settle") ended(args[0] as Parameters<Ledger["settle"]>[0]);
          return result;
        });
      };
    },
  });
}

function started({ operations }: Parameters<Ledger["claim"]>[0]): void {
  for (const { operation } of operations) claimedAt.set(operation.id, performance.now());
}

function ended({ operationId }: Parameters<Ledger["settle"]>[0]): void {
  callMs.push(performance.now() - (claimedAt.get(operationId) ?? Number.NaN));
}

function percentile(of: readonly number[], part: number): string {
  const sorted = [...of].sort((a, b) => a - b);
  return `${Math.round(sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? Number.NaN)} ms`;
}

const folder = mkdtempSync(join(tmpdir(), "toolgate-bench-"));
const logPath = join(folder, "server.jsonl");
const server = await startPostgres();
try {
  const url = await server.freshDatabase();
  const stores = openPostgres(url, { now: Date.now, liveness: createOwner().liveness }, { heard });
  const steps = Array.from({ length: writes }, (_, n) => ({
    calls: [{ name: "mcp__hostile__act", args: { text: `write ${n}` }, id: `c${n}` }],
  }));
  const { command, args } = FROM_SOURCE;
  const toolgate = await createToolgate({
    config: {
      mcpServers: { hostile: { command, args, env: { SERVER_LOG: logPath, HOSTILE: "{}" } } },
      permissions: { allow: ["mcp__hostile__act"] },
      approvals: { secret: "a-secret-for-measuring-that-is-long-enough" },
      store: { kind: "postgres", url },
      limits: { writes: writes + 1 },
    },
    model: scriptedModel([...steps, { say: "Done." }]),
    ledger: counted(stores.ledger),
    checkpointer: stores.checkpointer,
  });
  const turn = async (threadId: string) => {
    const from = performance.now();
    await toolgate.graph.invoke(
      { messages: [{ role: "user", content: "go" }] } as never,
      { configurable: { thread_id: threadId }, durability: "sync" } as never,
    );
    return performance.now() - from;
  };
  await turn("before"); // connects, migrates, lists
  for (const counts of [asked, written, readings]) counts.clear();
  callMs.length = 0;

  const from = performance.now();
  const turnMs = await Promise.all(Array.from({ length: threads }, (_, n) => turn(`t${n}`)));
  const seconds = (performance.now() - from) / 1_000;
  await toolgate.close();
  await stores.close();

  const effects = readLog(logPath, "effect").map(({ operationId }) => operationId);
  const total = threads * writes;
  const per = (count: number) => (count / total).toFixed(2);
  const sum = (of: Map<string, number>, names: Iterable<string>) =>
    [...names].reduce((all, name) => all + (of.get(name) ?? 0), 0);
  const first = sum(asked, OF_A_CALL) - threads; // the last response of each turn proposes nothing, and is recorded, too
  const tries = sum(written, OF_A_CALL) - threads;
  console.log(`${threads} threads at once, ${writes} writes each, one host, Postgres\n`);
  console.log(`  writes a second                        ${(total / seconds).toFixed(0)}`);
  console.log(
    `  a call, claim to settled               p50 ${percentile(callMs, 0.5)}, p95 ${percentile(callMs, 0.95)}`,
  );
  console.log(
    `  a turn                                 p50 ${percentile(turnMs, 0.5)}, p95 ${percentile(turnMs, 0.95)}`,
  );
  console.log(
    `  transactions a call (${OF_A_CALL.join(", ")})  ${per(first)}, each one statement; tried again ${tries - first}`,
  );
  console.log(`  ledger reads a call                    ${per(sum(readings, readings.keys()))}`);
  console.log(`  a turn's own (enter, leave)            ${(sum(written, ["enter", "leave"]) / threads).toFixed(2)}`);
  console.log(`  heartbeats                             ${asked.get("renew") ?? 0}`);
  console.log(
    `  effects in the server's log            ${effects.length - writes}, ${new Set(effects).size - writes} different\n`,
  );
  const broken = [
    first / total > BOUND && `more than ${BOUND} transactions a call`,
    effects.length - writes !== total && `${effects.length - writes} effects, not ${total}`,
    new Set(effects).size !== effects.length && "an effect came twice",
  ].filter((text) => text !== false);
  for (const text of broken) console.log(`BROKEN: ${text}`);
  process.exitCode = broken.length > 0 ? 1 : 0;
} finally {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}
