// A hostile MCP server over stdio, raw JSON-RPC: whatever a test needs a server to do wrong, done by a real process.
//
// Env: HOSTILE (JSON), HOSTILE_FILE, HOSTILE_PROTOCOL, SERVER_LOG. The keys are documented in hostile-config.ts.
//
//   HOSTILE='{"calls":{"act":{"do":"dieAfter"}}}' SERVER_LOG=log.jsonl node --import tsx test/servers/programs/hostile.ts
//
// It ends when stdin ends and nothing is running any more, unless it is `stubborn`.

import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { openLog, readLog } from "../../../servers/log.js";
import { startGrandchild } from "./grandchild.js";
import { hostileConfig } from "./hostile-config.js";
import { hostileCore, type Walk } from "./hostile-core.js";
import { endProcess, noise, type Wire } from "./hostile-wire.js";

const config = hostileConfig(process.env, "stdio");
const log = openLog(process.env.SERVER_LOG);
log({ event: "started", pid: process.pid });

if (config.duringStart?.do === "exit" && config.duringStart.after === "spawn") process.exit(config.duringStart.code);

if (config.stubborn) {
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => {});
  setTimeout(() => process.exit(0), config.lifeMs);
}
process.stdout.on("error", () => {}); // a client that is gone

function out(bytes: string | Buffer): Promise<void> {
  return new Promise((resolve) => process.stdout.write(bytes, () => resolve()));
}

const wire: Wire = {
  write: async (message) => {
    await out(typeof message === "string" ? `${message}\n` : Buffer.concat([message, Buffer.from("\n")]));
  },
  writeSplit: async (message, at, ms) => {
    await out(message.subarray(0, at));
    await delay(ms);
    await out(Buffer.concat([message.subarray(at), Buffer.from("\n")]));
  },
  writeHalf: (message) => out(message.slice(0, message.length / 2)),
  noise: (text) => out(`${text}\n`),
  die: endProcess,
};

if (config.grandchild !== undefined) await startGrandchild(config.grandchild, config.lifeMs, log);
if (config.duringStart?.do === "noise") await noise(config.duringStart, wire);

const { SERVER_LOG = "" } = process.env;
const core = hostileCore(config, log, () => readLog(SERVER_LOG, "effect"));
const walk: Walk = { list: 0, page: 0 };
if (config.protocol === "2025-11-25") core.listen(wire);

createInterface({ input: process.stdin }).on("line", (line) => {
  void core.receive(JSON.parse(line), walk, wire);
});
