// What the first turn costs with a large catalog: a server lists 344 tools of 2 MB, and the host connects, lists, assesses,
// assembles, stores and binds them. Exits with 1 where a bound is broken.
//
//   npx tsx bench/catalog.ts
//
// The server is this file itself, started with `serve` over stdio, so that its work is not counted. CPU time is that of the
// whole measuring process. A stall is the longest time for which the event loop ran nothing else. Each of three processes
// measures once, and the least counts: what else the machine does can only add to it.

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay, performance } from "node:perf_hooks";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { createToolgate, type Toolgate } from "../src/index.js";
import { scriptedModel } from "../src/testing.js";

const TOOLS = 344;
const RUNS = 3;
/** Bounds of one first turn. */
const CPU_MS = 700;
const STALL_MS = 200;

function compare(): number {
  console.log(`catalog: ${TOOLS} tools, ${Math.round(Buffer.byteLength(JSON.stringify(tools())) / 1024)} KB`);
  const runs = Array.from({ length: RUNS }, () => {
    const args = ["--import", "tsx", fileURLToPath(import.meta.url), "measure"];
    const { status, stdout } = spawnSync(process.execPath, args, {
      stdio: ["ignore", "pipe", "inherit"],
      encoding: "utf8",
    });
    if (status !== 0) throw new Error(`a measurement ended with ${status}`);
    return JSON.parse(stdout) as Measured;
  });
  for (const { first, next, second } of runs) {
    console.log(`first turn                              ${show(first)}`);
    console.log(`first turn of another thread            ${show(next)}`);
    console.log(`second host, snapshot from the store    ${show(second)}`);
  }
  const least = (ms: (run: Measured) => number) => Math.min(...runs.map(ms));
  const passed = [
    verdict(
      "first turn, CPU",
      least(({ first }) => first.cpuMs),
      CPU_MS,
    ),
    verdict(
      "first turn, longest stall",
      least(({ first }) => first.stallMs),
      STALL_MS,
    ),
    verdict(
      "second host, longest stall",
      least(({ second }) => second.stallMs),
      STALL_MS,
    ),
  ];
  return passed.every(Boolean) ? 0 : 1;
}

interface Measured {
  readonly first: Cost;
  readonly next: Cost;
  /** The first turn of a second host on the same thread: it lists as well, and loads the snapshot that the first one stored. */
  readonly second: Cost;
}

async function measure(): Promise<Measured> {
  const folder = mkdtempSync(join(tmpdir(), "toolgate-bench-"));
  const hosts = [await start(folder), await start(folder)] as const;
  try {
    const first = await timed(() => turn(hosts[0], "first"));
    const next = await timed(() => turn(hosts[0], "next"));
    const second = await timed(() => turn(hosts[1], "first"));
    const snapshot = await hosts[0].snapshot();
    if (snapshot?.tools.filter((tool) => tool.server === "large").length !== TOOLS)
      throw new Error(`the catalog was not taken whole: ${JSON.stringify(snapshot?.withheld.slice(0, 3))}`);
    return { first, next, second };
  } finally {
    for (const host of hosts) await host.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function start(folder: string): Promise<Toolgate> {
  return createToolgate({
    config: {
      mcpServers: {
        large: { command: process.execPath, args: ["--import", "tsx", fileURLToPath(import.meta.url), "serve"] },
      },
      approvals: { secret: "a-secret-for-measuring-that-is-long-enough" },
      store: { kind: "sqlite", path: folder },
    },
    model: scriptedModel([{ say: "Hello." }, { say: "Hello again." }]),
  });
}

function turn(toolgate: Toolgate, threadId: string): Promise<unknown> {
  return toolgate.graph.invoke({ messages: [{ role: "user", content: "hello" }] } as never, {
    configurable: { thread_id: threadId },
    durability: "sync" as const,
  });
}

interface Cost {
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly stallMs: number;
}

async function timed(work: () => Promise<unknown>): Promise<Cost> {
  const resolution = 2;
  const loop = monitorEventLoopDelay({ resolution });
  loop.enable();
  await new Promise((resolve) => setTimeout(resolve, 20)); // the monitor counts from its first tick
  loop.reset();
  const started = performance.now();
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  const wallMs = performance.now() - started;
  await new Promise((resolve) => setTimeout(resolve, 20)); // a stall at the very end is seen by the tick after it
  loop.disable();
  return { wallMs, cpuMs: (user + system) / 1_000, stallMs: Math.max(0, loop.max / 1e6 - resolution) };
}

function show({ wallMs, cpuMs, stallMs }: Cost): string {
  return `${wallMs.toFixed(0)} ms, ${cpuMs.toFixed(0)} ms of CPU, longest stall ${stallMs.toFixed(0)} ms`;
}

function verdict(what: string, ms: number, bound: number): boolean {
  const passed = ms <= bound;
  console.log(`${passed ? "PASS" : "FAIL"}  ${what}: ${ms.toFixed(0)} ms, at most ${bound} ms`);
  return passed;
}

/** Answers `initialize` and `tools/list` over stdio. */
function serve(): void {
  const page = tools();
  createInterface({ input: process.stdin }).on("line", (line) => {
    const { id, method, params } = JSON.parse(line) as {
      id?: number;
      method?: string;
      params?: { protocolVersion?: string };
    };
    if (id === undefined) return;
    const answers: Record<string, unknown> = {
      initialize: {
        protocolVersion: params?.protocolVersion ?? "2025-11-25",
        capabilities: { tools: {} },
        serverInfo: { name: "large", version: "1.0.0" },
      },
      "tools/list": { tools: page },
      ping: {},
    };
    const result = answers[method ?? ""];
    const error = { code: -32601, message: "there is no such method" };
    process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...(result ? { result } : { error }) })}\n`);
  });
}

/** The catalog: an office API as generated from its description, with nested bodies, enums, unions and local references. */
function tools(): unknown[] {
  return Array.from({ length: TOOLS }, (_, n) => {
    const say = words(n);
    return {
      name: `${["get", "list", "create", "update", "delete"][n % 5]}-resource-${n}`,
      title: say(4),
      description: `${say(30)}\n\n${say(20)}`,
      inputSchema: {
        $schema: "http://json-schema.org/draft-07/schema#",
        type: "object",
        properties: {
          id: { type: "string", minLength: 1, description: say(8) },
          filter: { type: "string", pattern: "^[a-z]+( eq .*)?$", description: say(12) },
          top: { type: "integer", minimum: 1, maximum: 999, description: say(6) },
          ...(n % 8 === 0 ? {} : { body: bodyOf(say, n % 40 === 1 ? 4 : n % 4 === 0 || n % 7 === 0 ? 2 : 1) }),
        },
        required: ["id"],
        additionalProperties: false,
      },
      annotations: { title: say(3), readOnlyHint: n % 5 < 2, destructiveHint: n % 5 === 4, openWorldHint: true },
    };
  });
}

function bodyOf(say: (count: number) => string, depth: number): unknown {
  const leaf = (k: number) => {
    if (k % 4 === 0)
      return { type: "string", enum: ["low", "normal", "high", "unknownFutureValue"], description: say(7) };
    if (k % 4 === 1) return { anyOf: [{ type: "string", format: "date-time" }, { type: "null" }], description: say(9) };
    if (k % 4 === 2) return { type: ["number", "null"], minimum: 0, default: 0, description: say(5) };
    return { type: "array", items: { $ref: "#/properties/id" }, maxItems: 20, description: say(6) };
  };
  const fields = Array.from({ length: depth === 0 ? 6 : 10 }, (_, k) => [`field${k}`, leaf(k)]);
  const nested = depth === 0 ? [] : ["sender", "details"].map((name) => [name, bodyOf(say, depth - 1)]);
  return {
    type: "object",
    properties: Object.fromEntries([...fields, ...nested]),
    description: say(14),
    additionalProperties: {},
  };
}

const WORDS = [
  ..."the of a resource list event message calendar folder returns when set value property identifier user group".split(
    " ",
  ),
  ..."read-only nullable default supports filter select and or for which request response collection änderung “quoted”".split(
    " ",
  ),
];

/** Sentences by a seed: so many words, the same in every run. */
function words(seed: number): (count: number) => string {
  let state = seed + 1;
  return (count) =>
    Array.from({ length: count }, () => {
      state = (state * 48_271) % 2_147_483_647;
      return WORDS[state % WORDS.length];
    }).join(" ");
}

if (process.argv[2] === "serve") serve();
else if (process.argv[2] === "measure") console.log(JSON.stringify(await measure()));
else process.exitCode = compare();
