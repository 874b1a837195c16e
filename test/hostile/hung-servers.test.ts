// Optional servers that hang, die and dribble, as real processes under a whole agent: what a turn waits, and how often a
// server is started. The servers' own log says how often.

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createServers } from "../../src/adapters/mcp/pool.js";
import type { ServerConfig } from "../../src/contracts/index.js";
import { assembleToolgate } from "../../src/create/toolgate.js";
import type { Toolgate } from "../../src/index.js";
import { scriptedModel } from "../../src/testing.js";
import { World } from "../support/mcp.js";

const WITHIN_MS = 2_000;
/** Far below the time limit of a server, far above what a turn takes on a busy machine. */
const NO_WAIT_MS = 1_500;

let world: World;
let toolgate: Toolgate | undefined;
beforeEach(() => {
  world = new World();
});
afterEach(async () => {
  await toolgate?.close();
  toolgate = undefined;
  await world.end();
});

const healthy = () => world.stdio({ tools: [{ name: "read", inputSchema: { type: "object" } }] });
const read = { calls: [{ name: "mcp__good__read", args: {} }] };

/** An agent over `good` and `bad`, whose turns are one call to `good` and an answer, and what each turn took. */
async function agent(bad: ServerConfig, steps: Parameters<typeof scriptedModel>[0] = [], withinMs = WITHIN_MS) {
  const model = scriptedModel([...steps, ...Array.from({ length: 12 }, () => [read, { say: "done" }]).flat()]);
  toolgate = await assembleToolgate(
    {
      config: {
        store: { kind: "memory" },
        mcpServers: { good: healthy(), bad },
        permissions: { allow: ["mcp__good__*", "mcp__bad__*"] },
        tools: { "mcp__good__*": { effect: "read" }, "mcp__bad__*": { effect: "read" } },
      },
      model,
    },
    (config, deps) => createServers(config.mcpServers, { ...deps, connectTimeoutMs: withinMs }),
  );
  const { graph } = toolgate;
  return {
    model,
    async turn() {
      const began = performance.now();
      const input = { messages: [{ role: "user", content: "go" }] };
      const { messages } = await graph.invoke(input as never, { configurable: { thread_id: "t" } });
      return { ms: performance.now() - began, texts: messages.map((message) => message.text) };
    },
    async status() {
      const snapshot = await toolgate?.snapshot("t");
      return snapshot?.servers.find(({ name }) => name === "bad")?.status;
    },
  };
}

/** Starts of the server `bad`; `good` has one. */
const startsOfBad = () => world.log("started").length - 1;

const silentStart = { duringStart: { do: "silent" } };
const silentList = { pages: [{ silent: true }] };
/** Sends pages for ever, each of them within any deadline of a page. */
const endless = { pages: Array.from({ length: 60 }, (_, at) => ({ tools: [], nextCursor: `c${at}`, ms: 300 })) };
const dying = { duringStart: { do: "exit", after: "spawn" } };

describe("an optional server is paid for once", () => {
  // Three batches waited 121 s for a server that hangs; a slow list had 32 minutes.
  it.each([
    ["hangs in its start, over stdio", () => world.stdio(silentStart)],
    ["hangs in its start, over HTTP", () => world.http(silentStart)],
    ["hangs in its list, over stdio", () => world.stdio(silentList)],
    ["hangs in its list, over HTTP", () => world.http(silentList)],
    ["sends pages for ever, slowly, over stdio", () => world.stdio(endless)],
    ["sends pages for ever, slowly, over HTTP", () => world.http(endless)],
  ])("that %s", async (_what, bad) => {
    const at = await agent(await bad());
    const first = await at.turn();
    expect(first.ms).toBeGreaterThan(WITHIN_MS - 100);
    expect(first.ms).toBeLessThan(2 * WITHIN_MS + NO_WAIT_MS);
    expect(first.texts.at(-1)).toBe("done");
    const starts = startsOfBad();
    for (let turns = 0; turns < 3; turns++) {
      const { ms, texts } = await at.turn();
      expect(texts.at(-1)).toBe("done");
      expect(ms).toBeLessThan(NO_WAIT_MS);
    }
    expect(await at.status()).toBe("failed");
    expect(startsOfBad() - starts).toBeLessThanOrEqual(2);
  });

  it("that dies at once at each start, whose starts do not follow the batches", async () => {
    const at = await agent(world.stdio(dying));
    await at.turn();
    const first = startsOfBad(); // where it reads a question before it dies, it is started once more and greeted otherwise
    expect([1, 2]).toContain(first);
    const began = performance.now();
    for (let turns = 0; turns < 6; turns++) expect((await at.turn()).ms).toBeLessThan(NO_WAIT_MS);
    const seconds = (performance.now() - began) / 1_000;
    const most = Math.floor(Math.log2(seconds + 1)) + 1; // after 1, 3, 7 … seconds
    expect(startsOfBad()).toBeLessThanOrEqual(first + 2 * most);
  });

  it.each([
    ["stdio", () => world.stdio({ ...works(), lists: hangsAfterwards() })],
    ["HTTP", () => world.http({ ...works(), lists: hangsAfterwards() })],
  ])(
    "that works, then hangs in its list, over %s: its tools stay, and a call waits once for the verification",
    async (_what, bad) => {
      const callBad = { calls: [{ name: "mcp__bad__act", args: {} }] };
      const at = await agent(await bad(), [callBad, { say: "done" }]);
      await at.turn(); // the call makes the server say that its list has changed, and the list hangs from then on
      expect(world.log("effect")).toHaveLength(1);
      const second = await at.turn();
      expect(second.ms).toBeLessThan(NO_WAIT_MS);
      expect(await at.status()).toBe("stale");
      expect(at.model.requests.at(-1)?.tools.map(({ name }) => name)).toContain("mcp__bad__act");
    },
  );
});

const works = () => ({ calls: { act: { do: "answer" } } });
const hangsAfterwards = () => [
  { pages: [{ tools: [{ name: "act", inputSchema: { type: "object" } }] }] },
  { pages: [{ silent: true }], afterCalls: 1, notify: true },
];

describe("a server that comes back", () => {
  it("is in a later turn's snapshot, although no turn waited for it", async () => {
    // It dies before its first answers, and serves from its third start on.
    const marker = JSON.stringify(`${world.folder}/starts`);
    const tools = [{ name: "late", inputSchema: { type: "object" } }];
    const program = `
      const fs = require("node:fs");
      fs.appendFileSync(${marker}, "x");
      if (fs.readFileSync(${marker}, "utf8").length < 3) process.exit(3);
      require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
        const { id, method } = JSON.parse(line);
        if (id === undefined) return;
        const result = method === "initialize"
          ? { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "late", version: "1" } }
          : method === "tools/list" ? { tools: ${JSON.stringify(tools)} } : undefined;
        const error = { code: -32601, message: "unknown" };
        console.log(JSON.stringify({ jsonrpc: "2.0", id, ...(result === undefined ? { error } : { result }) }));
      });`;
    const at = await agent(world.script(program, { protocol: "2025-11-25" }), [], 20_000);
    await at.turn();
    expect(await at.status()).toBe("failed");
    const turnsGoOn = async () => {
      expect((await at.turn()).ms).toBeLessThan(NO_WAIT_MS);
      expect(await at.status()).toBe("connected");
    };
    await vi.waitFor(turnsGoOn, { timeout: 25_000, interval: 100 });
    expect(at.model.requests.at(-1)?.tools.map(({ name }) => name)).toContain("mcp__bad__late");
  });
});
