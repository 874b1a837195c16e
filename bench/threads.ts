// Many threads at once in one process on one SQLite store, through a whole agent with one real server over stdio: how long
// the event loop stands still while they run, and how many writes a second they make.
//
//   npm run bench:threads [-- --threads 32 --writes 10]
//
// A thread is one turn, and each of its writes is a response of the model of its own; the scripted model takes no time.
// Effects are counted in the server's own log: the run fails where an operation has none or two.

import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { readLog } from "../servers/log.js";
import { createToolgate } from "../src/index.js";
import { type ScriptedRequest, type ScriptStep, scriptedModel } from "../src/testing.js";

/** Milliseconds that the event loop may stand still. */
const MOST_STALL_MS = 1_300;
const TRIGGER = "mcp__deploy__trigger";

const { values } = parseArgs({
  options: { threads: { type: "string", default: "32" }, writes: { type: "string", default: "10" } },
});
const [threads, writes] = [Number(values.threads), Number(values.writes)];
if (!(threads >= 1) || !(writes >= 1)) throw new Error("give at least one thread and one write");

const folder = mkdtempSync(join(tmpdir(), "toolgate-threads-"));
const log = join(folder, "log.jsonl");
const entry = fileURLToPath(new URL("../servers/deploy.ts", import.meta.url));
const toolgate = await createToolgate({
  config: {
    mcpServers: { deploy: { command: process.execPath, args: ["--import", "tsx", entry], env: { SERVER_LOG: log } } },
    permissions: { allow: [TRIGGER] },
    approvals: { secret: "a-secret-for-measuring-that-is-long-enough" },
    limits: { calls: writes, writes, modelRequests: writes + 1, wallMs: 3_600_000 },
    store: { kind: "sqlite", path: join(folder, "store") },
  },
  model: scriptedModel(Array.from({ length: writes + 1 }, () => nextStep)),
});

/** Another call until there are as many as the turn has writes. */
function nextStep({ messages }: ScriptedRequest): ScriptStep {
  const made = messages.filter((message) => message.getType() === "tool").length;
  return made < writes ? { calls: [{ name: TRIGGER, args: { environment: `e${made}` } }] } : { say: "Done." };
}

const turn = (thread: string) =>
  toolgate.graph.invoke(
    { messages: [{ role: "user", content: "Deploy." }] },
    { configurable: { thread_id: thread }, durability: "sync" },
  );

try {
  await turn("first"); // starts the server, makes the tables, compiles
  const before = readLog(log, "effect").length;
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  const cpu = process.cpuUsage();
  const started = performance.now();
  await Promise.all(Array.from({ length: threads }, (_, n) => turn(`thread-${n}`)));
  const seconds = (performance.now() - started) / 1_000;
  delay.disable();
  const { user, system } = process.cpuUsage(cpu);
  const effects = readLog(log, "effect").slice(before);
  const calls = threads * writes;
  const different = new Set(effects.map(({ operationId }) => operationId)).size;
  const load = loadavg().map((one) => one.toFixed(1));
  console.log(
    `${threads} threads, ${writes} writes each (load average ${load.join(" ")} on ${availableParallelism()} cores)`,
  );
  console.table({
    "writes a second": (calls / seconds).toFixed(1),
    "cpu ms a call": ((user + system) / 1_000 / calls).toFixed(1),
    "longest stall of the event loop, ms": (delay.max / 1e6).toFixed(0),
    "stall, p99 ms": (delay.percentile(99) / 1e6).toFixed(0),
  });
  const checks = [
    [effects.length === calls && different === calls, `${different} effects of ${calls} calls`],
    [delay.max / 1e6 <= MOST_STALL_MS, `the event loop stands still for at most ${MOST_STALL_MS} ms`],
  ] as const;
  for (const [holds, what] of checks) console.log(`${holds ? "PASS" : "FAIL"} ${what}`);
  process.exitCode = checks.every(([holds]) => holds) ? 0 : 1;
} finally {
  await toolgate.close();
  rmSync(folder, { recursive: true, force: true });
}
