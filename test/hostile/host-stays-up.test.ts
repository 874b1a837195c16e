// The host stays up (G13): servers that send what no client expects, at every moment of a connection, and servers that ask or
// write without end. The host is a process of its own where its life is at stake.

import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { StdioTransport } from "../../src/adapters/mcp/stdio.js";
import { Workspace } from "../cli/support.js";
import { asks, connected, World } from "../support/mcp.js";

const nested = (levels: number) => `${"[".repeat(levels)}${"]".repeat(levels)}`;
const keys = (count: number) => `{${Array.from({ length: count }, (_, n) => `"k${n}":${n}`).join(",")}}`;
const ODD = ["null", "1e999", "-0", '"x"', "true", "[]", "{}", '{"__proto__":{"x":1},"constructor":1}', keys(5_000)];
const odd = fc.constantFrom(...ODD, nested(20_000), `{"a":${nested(9_000)}}`, `"${"y".repeat(5_000)}"`);
const method = fc
  .constantFrom("ping", "sampling/createMessage", "roots/list", "notifications/x")
  .map((name) => `"${name}"`);
const known = fc
  .constantFrom("notifications/progress", "notifications/cancelled", "__proto__")
  .map((name) => `"${name}"`);
const id = fc.constantFrom("987654", '"987654"', "-1", "1.5", "null", '"0"', "[0]", "{}", '"__proto__"');
/** A message that is wrong in one way or more. Only the ids of toolgate's own requests do not occur in it. */
const hostile = fc
  .record(
    {
      id,
      method: fc.oneof(method, known, odd),
      params: odd,
      result: odd,
      error: fc.oneof(odd, fc.constant('{"code":1,"message":"no"}')),
    },
    { requiredKeys: [] },
  )
  .map(
    (parts) =>
      `{"jsonrpc":"2.0"${Object.entries(parts)
        .map(([name, text]) => `,"${name}":${text}`)
        .join("")}}`,
  );

/** The moments of a connection, and what is sent at each of them: over 200 messages. */
const PHASES = ["initialize", "initialized", "list", "call", "called"] as const;
const generated = fc.sample(hostile, { numRuns: 41 * PHASES.length, seed: 20_261_201 });
const messages = Object.fromEntries(PHASES.map((phase, n) => [phase, generated.slice(41 * n, 41 * n + 41)]));
const ANSWERS = {
  initialize: '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}',
  "tools/list": '{"tools":[{"name":"look","inputSchema":{"type":"object"}}]}',
  "tools/call": '{"content":[{"type":"text","text":"fine"}]}',
};

/** A stdio server that sends the messages of a moment before its answer, and a deep second answer after each. */
const STDIO = `import { createInterface } from "node:readline";
import { readFileSync } from "node:fs";
const { messages, answers } = JSON.parse(readFileSync(process.argv[2], "utf8"));
const out = (text) => process.stdout.write(text + "\\n");
const send = (phase) => { for (const text of messages[phase] ?? []) out(text); };
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  if (method === "notifications/initialized") return send("initialized");
  if (id === undefined || method === undefined) return;
  send({ initialize: "initialize", "tools/list": "list", "tools/call": "call" }[method]);
  const answer = answers[method];
  out('{"jsonrpc":"2.0","id":' + JSON.stringify(id) + (answer ? ',"result":' + answer : ',"error":{"code":-32601,"message":"no"}') + "}");
  if (method === "tools/call") send("called");
  if (answer) out('{"jsonrpc":"2.0","id":' + JSON.stringify(id) + ',"result":{"x":${nested(20_000)}}}');
});`;

/** The same over HTTP, as events of the streams that POST is answered with. */
async function httpServer() {
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (part) => {
      body += part;
    });
    request.on("end", () => {
      if (request.method !== "POST") return void response.writeHead(405).end();
      const { id: asked, method: name } = JSON.parse(body);
      if (asked === undefined || name === undefined) return void response.writeHead(202).end();
      const answer = ANSWERS[name as keyof typeof ANSWERS];
      const phase = { initialize: "initialize", "tools/list": "list", "tools/call": "call" }[name as string] ?? "";
      response.writeHead(200, { "content-type": "text/event-stream" });
      const event = (text: string) => response.write(`data: ${text}\n\n`);
      for (const text of messages[phase] ?? []) event(text);
      const rest = answer === undefined ? '"error":{"code":-32601,"message":"no"}' : `"result":${answer}`;
      event(`{"jsonrpc":"2.0","id":${JSON.stringify(asked)},${rest}}`);
      event(`{"jsonrpc":"2.0","id":${JSON.stringify(asked)},"result":{"x":${nested(20_000)}}}`);
      response.end();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp` };
}

describe("205 hostile messages, at every moment of a connection", () => {
  let place: Workspace;
  beforeEach(() => {
    place = new Workspace();
  });
  afterEach(() => place.end());

  /** `tools`, `check --connect` and a run that calls the hostile server and then writes on another one. */
  async function commands(bad: object) {
    const say = [{ calls: [{ name: "mcp__bad__look", args: {} }] }];
    const write = [
      { calls: [{ name: "mcp__deploy__trigger", args: { environment: "staging" } }] },
      { say: "It is done." },
    ];
    place.configure([...say, ...write], {
      mcpServers: { bad, deploy: place.server("deploy") },
      permissions: { allow: ["mcp__bad__look", "mcp__deploy__trigger"] },
      tools: { mcp__bad__look: { effect: "read" } },
      store: { kind: "memory" },
    });
    const told = [];
    for (const args of [["tools"], ["check", "--connect"], ["run", "look", "--thread", "t"]]) {
      const { code, signal, stdout } = await place.run(...args, "--json");
      told.push({
        code,
        signal,
        lines: stdout.split("\n").length,
        value: JSON.parse(stdout) as Record<string, unknown>,
      });
    }
    return told;
  }

  // One line of 20 KB ended `run`, `tools` and `check --connect` with nothing on stdout.
  test.each(["stdio", "http"] as const)(
    "over %s: each command prints its object, and the other server works (G13)",
    { timeout: 240_000 },
    async (how) => {
      const http = how === "http" ? await httpServer() : undefined;
      const code = place.write("bad.mjs", STDIO);
      const data = place.write("messages.json", { messages, answers: ANSWERS });
      const told = await commands(http ? { url: http.url } : { command: process.execPath, args: [code, data] });
      http?.server.closeAllConnections();
      http?.server.close();
      expect(told).toMatchObject([
        { code: 0, signal: null, lines: 2 },
        { code: 0, signal: null, lines: 2 },
        { code: 0, signal: null, lines: 2, value: { status: "done" } },
      ]);
      expect(JSON.stringify(told[2]?.value)).toContain("It is done.");
      expect(place.log("effect")).toHaveLength(1);
    },
  );
});

/** A stdio server that answers, and from then on does what `more` says. */
const serving = (more: string) => `const raw = (text) => process.stdout.write(text + "\\n");
  const { createInterface } = require("node:readline");
  const answers = ${JSON.stringify(ANSWERS)};
  const lines = createInterface({ input: process.stdin }).on("line", (line) => {
    const { id, method } = JSON.parse(line);
    if (id === undefined || method === undefined) return;
    raw('{"jsonrpc":"2.0","id":' + JSON.stringify(id) + (answers[method] ? ',"result":' + answers[method] : ',"error":{"code":-32601,"message":"no"}') + "}");
    if (method === "initialize") { ${more} }
  });`;

describe("a server without end", () => {
  let world: World;
  beforeEach(() => {
    world = new World();
  });
  afterEach(() => world.end());

  /** The other server's answers until the connection to this one has ended, with what was said of that. */
  async function beside(code: string) {
    const servers = world.hub({ bad: world.script(code, { protocol: "2025-11-25" }), good: world.stdio({}) });
    const closed = new Promise<string | undefined>((resolve) => {
      servers.onEvent(({ server, kind, detail }) => server === "bad" && kind === "closed" && resolve(detail));
    });
    const good = await connected(servers, "good");
    await connected(servers, "bad");
    const reason = await closed;
    const { response } = await good.call(asks()).evidence;
    return { reason, response };
  }
  const done = { result: { content: [{ type: "text", text: "done" }] } };

  // A server that asked for ever and read nothing filled the heap of its host in 40 seconds.
  test.each(["ping", "sampling/createMessage", "elicitation/create", "roots/list", "no/such"])(
    "of `%s` requests loses its connection, in words (G13) (flood-1)",
    async (name) => {
      const line = `{"jsonrpc":"2.0","id":1,"method":"${name}","params":{}}`;
      const code = serving(
        `const go = () => { while (raw('${line}')); process.stdout.once("drain", go); }; setTimeout(go, 50);`,
      );
      expect(await beside(code)).toEqual({ reason: "it sent more than 100 requests within a second", response: done });
    },
  );

  test("of slow requests whose answers it does not read loses its connection, in words (G13) (flood-2)", async () => {
    const line = `{"jsonrpc":"2.0","id":"${"i".repeat(1_000)}","method":"ping"}`;
    const code = serving(`process.stdin.pause(); lines.pause(); setInterval(() => raw('${line}'), 15);`);
    const { reason, response } = await beside(code);
    expect([reason, response]).toEqual(["it does not take the answers to its requests: 100 are waiting", done]);
  });

  // Short lines kept every timer and every other server of a host waiting for three seconds at a time.
  test.each([
    ["notifications", '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}'],
    ["noise", "{x"],
    ["empty lines", ""],
  ])("of %s does not keep another one waiting (G13) (turns-1)", { timeout: 60_000 }, async (_name, line) => {
    const go = `const text = (${JSON.stringify(line)} + "\\n").repeat(2_000);
      const go = () => { while (process.stdout.write(text)); process.stdout.once("drain", go); }; setTimeout(go, 50);`;
    const servers = world.hub({ bad: world.script(serving(go), { protocol: "2025-11-25" }), good: world.stdio({}) });
    const good = await connected(servers, "good");
    await connected(servers, "bad");
    const waits: number[] = [];
    for (let count = 0; count < 40; count++) {
      const before = performance.now();
      expect((await good.call(asks()).evidence).response).toEqual(done);
      waits.push(performance.now() - before);
    }
    expect(Math.max(...waits)).toBeLessThan(1_000);
  });
});

// Each word that a list has changed became an event in the stream of a run that was listing meanwhile.
test("a server that says without end that its list has changed is told of ten times a second, and each time counts (pool-5)", async () => {
  const world = new World();
  const text = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\\n';
  const servers = world.hub(
    {
      bad: world.script(serving(`process.stdout.write("${text.replaceAll('"', '\\"')}".repeat(300));`), {
        protocol: "2025-11-25",
      }),
    },
    { now: () => 5 },
  );
  const told: string[] = [];
  servers.onEvent(({ kind }) => told.push(kind));
  const bad = await connected(servers, "bad");
  await bad.call(asks({ tool: "look" })).evidence; // answered after all of them
  expect(told.filter((kind) => kind === "list_changed")).toHaveLength(10);
  expect(servers.generation("bad")).toBe(301);
  await world.end();
});

test("what waits for a server that reads nothing is bounded; one more ends the connection, and is not sent (stdio-9)", async () => {
  const world = new World();
  const transport = new StdioTransport(world.script("setInterval(() => {}, 1_000);"), {
    limitBytes: () => 1_000_000,
    onOversize: () => {},
    maySend: () => true,
  });
  let closed = false;
  transport.onclose = () => {
    closed = true;
  };
  await transport.start();
  const message = (n: number, text = "") => ({ jsonrpc: "2.0" as const, id: n, method: "m", params: { text } });
  const sent = [transport.send(message(0, "x".repeat(1_000_000)))];
  for (let n = 1; n < 1_000; n++) sent.push(transport.send(message(n)));
  const outcomes = Promise.all(sent.map((one) => one.catch((error: Error) => error.name)));
  expect(closed).toBe(false);
  await expect(transport.send(message(1_000))).rejects.toThrow("what waits for it to read is too much");
  expect([closed, transport.account()]).toEqual([true, "it reads nothing: 1000 messages wait for it"]);
  await transport.close();
  expect((await outcomes).slice(1)).toEqual(Array(999).fill("NothingSent"));
  await world.end();
});

// `retry: 0` and a stream that ended at once made the client ask again thousands of times a second.
test("a stream that ends at once is opened again after a second, whatever its server says (G13)", async () => {
  const world = new World();
  const opened: number[] = [];
  let third = () => {};
  const thrice = new Promise<void>((resolve) => {
    third = resolve;
  });
  const json = (response: ServerResponse, value: string) =>
    response.writeHead(200, { "content-type": "application/json" }).end(value);
  const server = createServer((request, response) => {
    if (request.method === "GET") {
      opened.push(performance.now());
      if (opened.length === 3) third();
      return void response.writeHead(200, { "content-type": "text/event-stream" }).end("retry: 0\nid: 1\ndata:\n\n");
    }
    let body = "";
    request.on("data", (part) => {
      body += part;
    });
    request.on("end", () => {
      const { id: asked, method: name } = JSON.parse(body || "{}");
      if (asked === undefined) return void response.writeHead(202).end();
      const answer = ANSWERS[name as keyof typeof ANSWERS];
      json(
        response,
        `{"jsonrpc":"2.0","id":${JSON.stringify(asked)},${answer ? `"result":${answer}` : '"error":{"code":-32601,"message":"no"}'}}`,
      );
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
    const servers = world.hub({ one: { type: "http", url, headers: {}, protocol: "2025-11-25" } as never });
    await connected(servers, "one");
    await thrice;
    expect(Math.min(...opened.slice(1).map((at, n) => at - (opened[n] as number)))).toBeGreaterThan(900);
  } finally {
    await world.end();
    server.closeAllConnections();
    server.close();
  }
});
