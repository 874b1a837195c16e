// The hostile server over real stdio: each fault it can show, seen from outside, and what its log says of it.

import { writeFileSync } from "node:fs";
import { expect, test, vi } from "vitest";
import { hostileConfig } from "./programs/hostile-config.js";
import { servers } from "./started.js";

const { start, hostile, log, logPath } = servers();

const call = (name = "act", args: object = { text: "a" }) => ({
  name,
  arguments: args,
  _meta: { "toolgate/operationId": "op" },
});
const events = (): string[] => log("accepted", "effect", "finished", "cancelled").map(({ event }) => event);
const done = { content: [{ type: "text", text: "done" }] };

test("by default it serves one tool that acts once, and ends with its stdin", async () => {
  const server = hostile({});
  expect(await server.initialize()).toEqual({
    protocolVersion: "2025-11-25",
    capabilities: { tools: { listChanged: true } },
    serverInfo: { name: "hostile", version: "1.0.0" },
  });
  expect((await server.request("tools/list")).result.tools.map(({ name }: never) => name)).toEqual(["act"]);
  expect((await server.request("tools/call", call())).result).toEqual(done);
  expect((await server.request("resources/list")).error.code).toBe(-32601);
  expect(await server.end()).toEqual({ code: 0, signal: null });
  expect(log()).toEqual([
    { event: "started", pid: server.pid },
    { event: "listed", cursor: null },
    { event: "accepted", n: 1, tool: "act", arguments: { text: "a" }, operationId: "op" },
    { event: "effect", n: 1, tool: "act", arguments: { text: "a" }, operationId: "op" },
    { event: "finished", n: 1, tool: "act" },
  ]);
});

test("an unknown key, and a wrong that the transport cannot do, are refused (hostile-config-2)", () => {
  const read = (config: object, transport: "stdio" | "http") => () =>
    hostileConfig({ HOSTILE: JSON.stringify(config) }, transport);
  expect(read({ cals: {} }, "stdio")).toThrow("cals");
  expect(read({ tools: [], pages: [{}] }, "stdio")).toThrow("give one of `tools`, `pages` and `lists`");
  expect(read({ calls: { act: { do: "status", status: 500 } } }, "stdio")).toThrow("not over stdio: call status");
  expect(read({ stubborn: true, duringStart: { do: "noise" } }, "http")).toThrow(
    "not over http: start noise, stubborn",
  );
  expect(read({ calls: { act: [{ do: "noise" }] } }, "http")()).toMatchObject({ protocol: "2025-11-25" });
});

test("speaks 2026-07-28 when told to", async () => {
  const server = hostile({ pages: [{ tools: [] }] }, { HOSTILE_PROTOCOL: "2026-07-28" });
  expect((await server.request("server/discover")).result).toEqual({
    resultType: "complete",
    ttlMs: 0,
    cacheScope: "private",
    supportedVersions: ["2026-07-28"],
    capabilities: { tools: { listChanged: true } },
    _meta: { "io.modelcontextprotocol/serverInfo": { name: "hostile", version: "1.0.0" } },
  });
  expect((await server.request("tools/list")).result).toEqual({
    resultType: "complete",
    ttlMs: 0,
    cacheScope: "private",
    tools: [],
  });
  expect((await server.request("tools/call", call())).result).toEqual({ resultType: "complete", ...done });
  expect((await server.request("initialize")).error.code).toBe(-32601);
});

test("pages go out as they are, cursor types included, and `{{n}}` is the page's number (hostile-config-1)", async () => {
  const server = hostile({
    pages: [
      { tools: "none", nextCursor: 0 },
      { tools: [{ name: "t{{n}}" }], nextCursor: "" },
      { error: { code: -32603, message: "no page {{n}}" } },
      { tools: [{ name: "t{{n}}" }], nextCursor: "c{{n}}" },
    ],
  });
  await server.initialize();
  expect((await server.request("tools/list")).result).toEqual({ tools: "none", nextCursor: 0 });
  expect((await server.request("tools/list", { cursor: "0" })).result).toEqual({
    tools: [{ name: "t2" }],
    nextCursor: "",
  });
  expect((await server.request("tools/list", { cursor: "" })).error).toEqual({ code: -32603, message: "no page 3" });
  const fourth = await server.request("tools/list", { cursor: "x" });
  const fifth = await server.request("tools/list", { cursor: "c4" });
  expect([fourth.result.nextCursor, fifth.result.nextCursor]).toEqual(["c4", "c5"]);
  expect((await server.request("tools/list")).result.nextCursor).toBe(0);
  expect(log("listed").map(({ cursor }) => cursor)).toEqual([null, "0", "", "x", "c4", null]);
});

test("a list changes after a call, with a notification, and after a walk, without", async () => {
  const server = hostile({
    lists: [
      { pages: [{ tools: [{ name: "one" }] }] },
      { pages: [{ tools: [{ name: "two" }] }], afterCalls: 1, notify: true },
      { pages: [{ tools: [{ name: "three" }] }], afterCalls: 1, afterListings: 2 },
    ],
  });
  await server.initialize();
  const names = async (): Promise<string> => (await server.request("tools/list")).result.tools[0].name;
  expect(await names()).toBe("one");
  await server.request("tools/call", call());
  await server.message(({ method }) => method === "notifications/tools/list_changed");
  expect([await names(), await names()]).toEqual(["two", "three"]);
  expect(server.lines.filter((line) => line.includes("list_changed"))).toHaveLength(1);
});

test("answers by behaviour, one after the other, the last one from then on", async () => {
  const server = hostile({
    calls: {
      act: [
        { do: "answer", result: { isError: true, content: [] }, effect: false },
        { do: "answer", error: { code: -32001, message: "timed out, says the server" } },
        { do: "answer", resultText: '{"content":[],"n":1e999,"n":2}' },
        { do: "noise", bytes: 3_000_000 },
        { do: "huge", bytes: 1_000_000 },
        { do: "stderrFlood", text: "token", bytes: 100_000 },
        { do: "split" },
        { do: "progress", everyMs: 5, ms: 10 },
        { do: "env" },
      ],
    },
  });
  await server.initialize();
  const next = async () => server.request("tools/call", { ...call(), _meta: { progressToken: "p" } });
  expect((await next()).result).toEqual({ isError: true, content: [] });
  expect(events()).toEqual(["accepted", "finished"]);
  expect((await next()).error).toEqual({ code: -32001, message: "timed out, says the server" });
  expect((await next()).result).toEqual({ content: [], n: 2 });
  expect((await next()).result).toEqual(done);
  expect(server.lines.filter((line) => line.length === 3_000_000)).toHaveLength(1);
  expect(server.lines).toContain("[1,2]");
  expect((await next()).result.content[0].text).toHaveLength(1_000_000);
  expect((await next()).result).toEqual(done);
  // stdout and stderr are two pipes: the answer may be read before the last of stderr.
  await vi.waitFor(() => expect(server.stderr()).toMatch(/^tokenx{100000}$/));
  expect((await next()).result.content[0].text).toBe("café");
  expect((await next()).result).toEqual(done);
  expect(server.lines.filter((line) => line.includes("notifications/progress"))).toHaveLength(2);
  const seen = JSON.parse((await next()).result.content[0].text);
  expect([Object.keys(seen.env).includes("HOSTILE"), seen.env.HOME]).toEqual([true, undefined]);
});

test("answers twice, under another id, with bytes that are no text, and asks back", async () => {
  const server = hostile({
    calls: {
      twice: { do: "twice", second: { content: [] } },
      wrong: { do: "wrongId" },
      bytes: { do: "badUtf8" },
      ask: { do: "ask", method: "elicitation/create", params: { message: "yes?" } },
    },
  });
  await server.initialize();
  await server.request("tools/call", call("twice"));
  server.send({ id: "w", method: "tools/call", params: call("wrong") });
  await server.message(({ id }) => id === "nobody");
  await server.request("tools/call", call("bytes"));
  const asked = server.request("tools/call", call("ask"));
  const question = await server.message(({ method }) => method === "elicitation/create");
  server.send({ id: question.id, result: { action: "decline" } });
  expect((await asked).result).toEqual(done);
  expect(server.lines.filter((line) => line.startsWith('{"jsonrpc":"2.0","id":2,'))).toHaveLength(2);
  expect(server.lines.filter((line) => line.includes("\ufffd\ufffd"))).toHaveLength(1);
  expect(server.lines.filter((line) => line.includes('"id":"w"'))).toEqual([]);
  expect(log("reply")).toEqual([{ event: "reply", n: 4, tool: "ask", answer: { result: { action: "decline" } } }]);
  expect(log("effect").map(({ tool }) => tool)).toEqual(["twice", "wrong", "bytes", "ask"]);
});

test("late ignores a cancel and acts after it, slow has acted before; silent never answers (hostile-calls-1)", async () => {
  const server = hostile({
    calls: { late: { do: "late", ms: 150 }, slow: { do: "slow", ms: 150 }, silent: { do: "silent" } },
  });
  await server.initialize();
  for (const name of ["late", "slow", "silent"]) server.send({ id: name, method: "tools/call", params: call(name) });
  server.send({ method: "notifications/cancelled", params: { requestId: "late", reason: "tired" } });
  await server.message(({ id }) => id === "late");
  await server.message(({ id }) => id === "slow");
  await server.end();
  expect(server.lines.filter((line) => line.includes("silent"))).toEqual([]);
  const of = (tool: string): string[] =>
    log()
      .filter((e) => e.tool === tool)
      .map(({ event }) => event);
  expect(of("late")).toEqual(["accepted", "cancelled", "effect", "finished"]);
  expect(of("slow")).toEqual(["accepted", "effect", "finished"]);
  expect(of("silent")).toEqual(["accepted", "effect"]);
  expect(log("effect").map(({ tool }) => tool)).toEqual(["slow", "silent", "late"]);
});

test.each([
  [{ do: "dieBefore" }, ["accepted"], { code: null, signal: "SIGKILL" }, 1],
  [{ do: "dieAfter", by: "exit" }, ["accepted", "effect"], { code: 1, signal: null }, 1],
  [{ do: "halfLine" }, ["accepted", "effect"], { code: null, signal: "SIGKILL" }, 2],
])("dies inside a call: %j", async (behaviour, logged, end, lines) => {
  const server = hostile({ calls: { "*": behaviour } });
  await server.initialize();
  await expect(server.request("tools/call", call())).rejects.toThrow("the server ended without that message");
  expect(await server.ended).toEqual(end);
  expect(events()).toEqual(logged);
  expect(server.lines).toHaveLength(lines);
  expect(server.lines[1] ?? '{"jsonrpc"').toMatch(/^\{"jsonrpc"(?!.*\}$)/);
});

test("idempotent: an operation id acts once, also after a restart; lookup tells whether it did", async () => {
  const config = {
    idempotent: true,
    calls: { look: { do: "lookup", happened: { content: [], found: true }, absent: { content: [], found: false } } },
  };
  const first = hostile(config);
  await first.initialize();
  const look = { name: "look", arguments: { operation_id: "op" } };
  expect((await first.request("tools/call", look)).result.found).toBe(false);
  await first.request("tools/call", call());
  await first.end();
  const second = hostile(config);
  await second.initialize();
  await second.request("tools/call", call());
  expect((await second.request("tools/call", look)).result.found).toBe(true);
  expect(log("effect")).toHaveLength(1);
  expect(log("accepted")).toHaveLength(4);
});

test("goes away before, just after and a little after the handshake", async () => {
  const starts = [
    { do: "exit", code: 3 },
    { do: "exit", code: 0, after: "initialize" },
    { do: "exit", code: 4, after: "list" },
  ].map((duringStart) => hostile({ duringStart }));
  for (const server of starts) {
    server.send({ id: 1, method: "initialize", params: {} });
    server.send({ id: 2, method: "tools/list" });
  }
  const ends = await Promise.all(starts.map(async ({ ended, lines }) => [(await ended).code, lines.length]));
  expect(ends).toEqual([
    [3, 0],
    [0, 1],
    [4, 2],
  ]);
});

test("starts late, with an error, or with a result of its own", async () => {
  const slow = hostile({ duringStart: { do: "slow", ms: 100 } });
  const refused = hostile({ duringStart: { do: "error", error: { code: -32602, message: "not you" } } });
  const odd = hostile({ duringStart: { do: "result", result: { protocolVersion: "1999-01-01" } } });
  expect((await slow.initialize()).protocolVersion).toBe("2025-11-25");
  expect((await refused.request("initialize")).error).toEqual({ code: -32602, message: "not you" });
  expect(await odd.initialize()).toEqual({ protocolVersion: "1999-01-01" });
});

test("a page may be silent, late, deep as text, or the end of the server", async () => {
  const deep = `{"tools":${"[".repeat(10_000)}${"]".repeat(10_000)}}`;
  const server = hostile({ pages: [{ silent: true }, { tools: [], ms: 20 }, { resultText: deep }, { die: "exit" }] });
  await server.initialize();
  server.send({ id: "first", method: "tools/list" });
  expect((await server.request("tools/list", { cursor: "a" })).result).toEqual({ tools: [] });
  await server.request("tools/list", { cursor: "b" });
  expect(server.lines.at(-1)).toContain(deep);
  await expect(server.request("tools/list", { cursor: "c" })).rejects.toThrow("ended");
  expect((await server.ended).code).toBe(1);
  expect(server.lines).toHaveLength(3);
});

test("starts with noise, or never", async () => {
  const noisy = hostile({ duringStart: { do: "noise", bytes: 3_000_000 } });
  expect((await noisy.initialize()).protocolVersion).toBe("2025-11-25");
  expect(noisy.lines.slice(0, 4)).toEqual(["Starting...", "[1,2]", "null", '{"level":"info"}']);
  const silent = hostile({ duringStart: { do: "silent" } });
  silent.send({ id: 1, method: "initialize", params: {} });
  await silent.request("ping");
  await silent.end();
  expect(silent.lines).toEqual(['{"jsonrpc":"2.0","id":1,"result":{}}']);
});

test("stubborn stays after the end of stdin and on SIGTERM; its child outlives it and is in the log", async () => {
  const server = hostile({ stubborn: true, lifeMs: 20_000, grandchild: { ignoresSigterm: true, holdsStdout: true } });
  await server.initialize();
  const grandchild = log("grandchild")[0]?.pid ?? 0;
  try {
    process.kill(server.pid, "SIGTERM");
    expect((await server.request("ping")).result).toEqual({});
    process.kill(server.pid, "SIGKILL");
    expect((await server.exited).signal).toBe("SIGKILL");
    process.kill(grandchild, "SIGTERM");
    process.kill(grandchild, 0); // throws when there is no such process
  } finally {
    process.kill(grandchild, "SIGKILL");
  }
  await server.ended; // stdout is closed only now
});

test("reads a config that is above the size of an env value from HOSTILE_FILE", async () => {
  const file = `${logPath()}.json`;
  writeFileSync(file, JSON.stringify({ tools: [{ name: "long", description: "x".repeat(200_000) }] }));
  const server = start("hostile", { HOSTILE_FILE: file });
  await server.initialize();
  expect((await server.request("tools/list")).result.tools[0].description).toHaveLength(200_000);
});
