// Many threads at once on one Postgres, five allowed writes each, through a whole agent with one real server over stdio:
// writes a second, the time of a call and of a turn, and the ledger's statements for each call.
//
//   npx tsx bench/postgres.ts [--threads 50] [--writes 5] [--rounds 5] [--old DIR]
//
// Then the same load by the public door alone, in processes of their own: all statements of a call, and with `--old` the
// writes a second of this checkout against those of another one, in turns (postgres-pairs.ts). The default is five rounds
// with `--old` and one without.
//
// A thread is one turn, and each of its writes is a response of the model of its own; the scripted model takes no time.
// Effects are counted in the server's own log: the run fails where an operation has none or two. Statements stand beside
// the method of the ledger that sent them (statements.ts); how many of them were stored is asked of the database.

import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import pg from "pg";
import { readLog } from "../servers/log.js";
import { openPostgres } from "../src/adapters/postgres/open.js";
import { steadyMs } from "../src/adapters/process/clock.js";
import { createOwner } from "../src/adapters/process/owner.js";
import { outcomeOf } from "../src/contracts/index.js";
import { createToolgate } from "../src/index.js";
import { scriptedModel } from "../src/testing.js";
import { startPostgres } from "../test/support/postgres.js";
import { measurePairs } from "./postgres-pairs.js";
import { type Count, counter, LAST_ANSWER, OF_A_CALL } from "./statements.js";

/** Statements of the ledger that are stored, for each call. */
const MOST_STORED = 4;
const TRIGGER = "mcp__deploy__trigger";

const { values } = parseArgs({
  options: {
    threads: { type: "string", default: "50" },
    writes: { type: "string", default: "5" },
    rounds: { type: "string" },
    old: { type: "string" },
  },
});
const [threads, writes, rounds] = [
  Number(values.threads),
  Number(values.writes),
  Number(values.rounds ?? (values.old === undefined ? 1 : 5)),
];
if (!(threads >= 1) || !(writes >= 1) || !(rounds >= 1)) throw new Error("give at least one thread, write and round");
const ids = Array.from({ length: threads }, (_, n) => `thread-${n}`);

interface Run {
  readonly seconds: number;
  readonly turnMs: readonly number[];
  readonly callMs: readonly number[];
  readonly counts: ReadonlyMap<string, Count>;
  /** New versions of the threads that neither a heartbeat nor the turn itself made. */
  readonly stored: number;
  /** Operation ids, one for each line in the server's log. */
  readonly effects: readonly (string | undefined)[];
  /** Operations that the ledger says went well. */
  readonly ok: readonly string[];
}

async function measure(url: string, log: string): Promise<Run> {
  const counting = counter();
  const stores = openPostgres(
    url,
    { now: Date.now, steady: steadyMs, liveness: createOwner().liveness },
    { heard: counting.heard },
  );
  const entry = fileURLToPath(new URL("../servers/deploy.ts", import.meta.url));
  const toolgate = await createToolgate({
    config: {
      mcpServers: {
        deploy: { command: process.execPath, args: ["--import", "tsx", entry], env: { SERVER_LOG: log } },
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
    ledger: counting.counted(stores.ledger),
    checkpointer: stores.checkpointer,
  });
  const turn = async (threadId: string) => {
    const since = performance.now();
    await toolgate.graph.invoke(
      { messages: [{ role: "user", content: "Deploy everywhere." }] },
      { configurable: { thread_id: threadId }, durability: "sync", recursionLimit: 20 * (writes + 1) },
    );
    return performance.now() - since;
  };
  try {
    await turn("first"); // starts the server and makes the tables
    await counting.quiet();
    counting.clear();
    const before = readLog(log, "effect").length;

    const started = performance.now();
    const turnMs = await Promise.all(ids.map(turn));
    const seconds = (performance.now() - started) / 1_000;
    await counting.quiet();
    const counts = new Map(counting.counts);
    const rows = (await Promise.all(ids.map((id) => stores.ledger.operations(id)))).flat();
    const ok = rows.filter((row) => outcomeOf(row)?.status === "ok").map(({ operation }) => operation.id);
    const own = ["enter", "leave", LAST_ANSWER].reduce((sum, name) => sum + (counts.get(name)?.writes ?? 0), 0);
    const stored = (await versionsOf(url, ids)) - own - counting.renewed();
    const effects = readLog(log, "effect").slice(before);
    return {
      seconds,
      turnMs,
      callMs: [...counting.callMs],
      counts,
      stored,
      effects: effects.map(({ operationId }) => operationId),
      ok,
    };
  } finally {
    await toolgate.close();
    await stores.close();
  }
}

async function versionsOf(url: string, names: readonly string[]): Promise<number> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const text = "SELECT sum(version)::int AS made FROM toolgate_threads WHERE thread = ANY($1::text[])";
    return (await client.query<{ made: number }>(text, [names])).rows[0]?.made ?? Number.NaN;
  } finally {
    await client.end();
  }
}

/** Prints, and says whether every bound was kept. */
function report({ seconds, turnMs, callMs, counts, stored, effects, ok }: Run): boolean {
  const all = threads * writes;
  const load = loadavg().map((one) => one.toFixed(1));
  const cores = availableParallelism();
  console.log(`${threads} threads, ${writes} writes each (load average ${load.join(" ")} on ${cores} cores)`);
  console.table({
    "writes a second": { value: (all / seconds).toFixed(1) },
    "a call from claim to settled, p50 ms": { value: quantile(callMs, 0.5).toFixed(0) },
    "a call from claim to settled, p95 ms": { value: quantile(callMs, 0.95).toFixed(0) },
    [`a turn of ${writes} calls, p50 ms`]: { value: quantile(turnMs, 0.5).toFixed(0) },
    [`a turn of ${writes} calls, p95 ms`]: { value: quantile(turnMs, 0.95).toFixed(0) },
  });
  const names = [...counts.keys()].sort((a, b) => place(a) - place(b));
  const sum = (of: readonly string[], what: keyof Count) =>
    of.reduce((n, name) => n + (counts.get(name)?.[what] ?? 0), 0);
  console.table(
    Object.fromEntries(
      names.map((name) => {
        const { times, ...sent } = counts.get(name) as Count;
        return [name, { times, ...sent, "writes a call": (sent.writes / all).toFixed(2) }];
      }),
    ),
  );
  const others = names.filter((name) => place(name) === OTHER);
  console.log(`tried again: ${sum(OF_A_CALL, "again")} of the calls, ${sum(names, "again")} in all`);
  console.log(`reads: ${(sum(names, "reads") / all).toFixed(2)} a call`);
  const bounds: [string, boolean][] = [
    [`${effects.length} effects of ${all} calls`, effects.length === all],
    [
      `${new Set(effects).size} operations had an effect, ${ok.length} are recorded as ok, the same ones`,
      new Set(effects).size === all && ok.length === all && ok.every((id) => effects.includes(id)),
    ],
    [
      `${(stored / all).toFixed(2)} statements stored a call (${OF_A_CALL.join(", ")}), at most ${MOST_STORED}`,
      stored <= MOST_STORED * all && sum(others, "writes") === 0,
    ],
    [
      `${(sum(OF_A_CALL, "writes") / all).toFixed(2)} sent a call, those tried again aside`,
      sum(OF_A_CALL, "writes") === stored,
    ],
  ];
  for (const [what, holds] of bounds) console.log(`${holds ? "PASS" : "FAIL"} ${what}`);
  return bounds.every(([, holds]) => holds);
}

const ROWS = [...OF_A_CALL, "enter", LAST_ANSWER, "leave", "renew"];
const OTHER = ROWS.length;
const place = (name: string) => (ROWS.includes(name) ? ROWS.indexOf(name) : OTHER);

function quantile(of: readonly number[], share: number): number {
  return [...of].sort((a, b) => a - b)[Math.min(of.length - 1, Math.floor(of.length * share))] ?? Number.NaN;
}

const folder = mkdtempSync(join(tmpdir(), "toolgate-bench-"));
const server = await startPostgres();
let kept = false;
try {
  const detailed = report(await measure(await server.freshDatabase(), join(folder, "server.jsonl")));
  const old = values.old === undefined ? undefined : resolve(values.old);
  kept = (await measurePairs(server, folder, { threads, writes, rounds, old })) && detailed;
} catch (error) {
  console.error(error);
} finally {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}
process.exit(kept ? 0 : 1); // embedded Postgres ends a process that ends by itself, with 0
