// HTTP servers that refuse, redirect, forget sessions, drop connections and flood: what the evidence of a call says.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import { CallToolRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { HttpServer } from "../../src/contracts/index.js";
import { asks, connected, World } from "../support/mcp.js";

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.end());

const posts = (method: string) => world.log("request").filter((event) => event.method === method);
const at = (url: string, more: Partial<HttpServer> = {}) => HttpServer.parse({ type: "http", url, ...more });

describe("nobody there", () => {
  test("at the start, is a problem", async () => {
    const server = await world.startHttp({});
    await server.kill();
    expect(await world.hub({ one: at(server.url) }).connect("one")).toEqual({
      ok: false,
      problem: "nobody was reached (ECONNREFUSED)",
    });
  });

  test("at a call, is an attempt that reached nobody, and the connection is opened anew", async () => {
    const server = await world.startHttp({});
    const servers = world.hub({ one: at(server.url) });
    const connection = await connected(servers, "one");
    await server.kill();
    expect(await connection.call(asks()).evidence).toEqual({
      attempted: true,
      refused: true,
      how: "error",
      detail: "nobody was reached (ECONNREFUSED)",
    });
    expect(servers.connection("one")).toBeUndefined();
    expect(await connection.call(asks()).evidence).toMatchObject({ attempted: false, how: "closed" });
  });

  test("TLS against a server that speaks none reached nobody", async () => {
    const server = await world.startHttp({});
    const result = await world.hub({ one: at(server.url.replace("http:", "https:")) }).connect("one");
    expect(result).toEqual({ ok: false, problem: "nobody was reached (ERR_SSL_WRONG_VERSION_NUMBER)" });
    expect(world.log("request")).toEqual([]);
  });
});

describe("a status instead of an answer", () => {
  const error = { jsonrpc: "2.0", id: null, error: { code: -32001, message: "Session not found" } };
  test.each([
    [401, "HTTP 401: the server asks for authorization"],
    [403, "HTTP 403"],
    [404, "HTTP 404"],
    [500, "HTTP 500"],
    [503, "HTTP 503"],
  ])("%i is seen on this very call and nothing is sent again (http-4)", async (status, detail) => {
    const calls = { act: [{ do: "status", status, body: JSON.stringify(error) }, { do: "answer" }] };
    const config = await world.http({ protocol: "2026-07-28", calls });
    const connection = await connected(world.hub({ one: config }), "one");
    expect(await connection.call(asks()).evidence).toEqual({
      attempted: true,
      refused: false,
      how: "error",
      httpStatus: status,
      detail,
    });
    expect(posts("tools/call")).toHaveLength(1);
    expect((await connection.call(asks()).evidence).how).toBe("response");
  });

  // A client followed a 307, sent the body again, and sent the headers to another origin.
  test.each([
    [307, "{{own}}"],
    [308, "{{other}}"],
    [301, "{{own}}"],
    [303, "{{other}}"],
  ])("%i to %s is not followed, and Authorization is sent to no other origin (http-1)", async (status, location) => {
    const calls = { act: { do: "status", status, location } };
    const headers = { Authorization: "Bearer hunter2" };
    const config = await world.http({ calls, http: { authorization: "Bearer hunter2" } }, { headers });
    const connection = await connected(world.hub({ one: config }), "one");
    expect(await connection.call(asks()).evidence).toEqual({
      attempted: true,
      refused: false,
      how: "error",
      httpStatus: status,
      detail: `HTTP ${status}: redirects are not followed`,
    });
    expect(posts("tools/call")).toHaveLength(1);
    expect(world.log("request").filter(({ origin }) => origin === "other")).toEqual([]);
  });

  test("a JSON-RPC error in the body of a 400 is the answer", async () => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, error: { code: -32602, message: "no such tool" } });
    const config = await world.http({ calls: { act: { do: "status", status: 400, body } } });
    const connection = await connected(world.hub({ one: config }), "one");
    expect(await connection.call(asks()).evidence).toMatchObject({
      how: "response",
      httpStatus: 400,
      response: { error: { code: -32602, message: "no such tool" } },
    });
  });

  test.each([
    [401, "HTTP 401: the server asks for authorization"],
    [404, "HTTP 404"],
    [500, "HTTP 500"],
    [307, "HTTP 307: redirects are not followed"],
  ])("%i at the start is a problem of its own", async (initializeStatus, problem) => {
    const config = await world.http({ http: { initializeStatus } });
    expect(await world.hub({ one: config }).connect("one")).toEqual({ ok: false, problem });
  });
});

test("a server that declares no tools has no list, whatever it would answer", async () => {
  const config = await world.http({ capabilities: { prompts: {} } });
  const connection = await connected(world.hub({ one: config }), "one");
  expect(await connection.listPage(undefined, 5_000, 100_000)).toEqual({
    ok: false,
    problem: "the server does not declare the `tools` capability",
  });
});

// Clients stayed broken after a 404 for an old session, or sent the call again.
test("a session that is gone is said, and the next connect opens another one", async () => {
  const config = await world.http({ http: { forgetSessionsAfterCalls: 1 } });
  const servers = world.hub({ one: config });
  const connection = await connected(servers, "one");
  expect((await connection.call(asks()).evidence).how).toBe("response");
  expect(await connection.call(asks()).evidence).toEqual({
    attempted: true,
    refused: false,
    how: "error",
    httpStatus: 404,
    sessionGone: true,
    detail: "HTTP 404: the session is gone",
  });
  expect(connection.closed).toBe(true);
  const next = await connected(servers, "one");
  expect(next).not.toBe(connection);
  expect((await next.call(asks()).evidence).how).toBe("response");
  expect(world.log("accepted")).toHaveLength(2);
  await servers.close();
  // The end of the old session is sent in the background, so it may arrive before or after the start of the new one.
  expect(
    world
      .log("session")
      .map(({ reason }) => reason)
      .sort(),
  ).toEqual(["deleted", "forgotten", "opened", "opened", "unknown", "unknown"]);
});

test("a session that is gone does not take the other calls in flight with it (connection-2)", async () => {
  const calls = { slow: { do: "slow", ms: 1_000 } };
  const config = await world.http({ calls, http: { forgetSessionsAfterCalls: 1 } });
  const servers = world.hub({ one: config });
  const connection = await connected(servers, "one");
  const slow = connection.call(asks({ tool: "slow" })).evidence;
  await vi.waitFor(() => expect(world.log("effect")).toHaveLength(1));
  expect((await connection.listPage(undefined, 5_000, 100_000)).ok).toBe(true); // the server forgets the session after this request
  expect((await connection.call(asks()).evidence).sessionGone).toBe(true);
  expect(servers.connection("one")).toBeUndefined();
  expect((await slow).how).toBe("response");
});

describe("a connection that breaks", () => {
  // A dropped response stream was logged, and the call stayed open for the rest of the session.
  test.each(["before-headers", "after-headers", "half-body"])("%s, is lost at once", async (when) => {
    const calls = { act: [{ do: "drop", when }, { do: "answer" }] };
    for (const [protocol, format] of [
      ["2025-11-25", "json"],
      ["2025-11-25", "sse"],
      ["2026-07-28", "sse"],
    ]) {
      const config = await world.http({ protocol, calls, http: { format } });
      const servers = world.hub({ one: config });
      const connection = await connected(servers, "one");
      const { evidence, late } = connection.call(asks({ keepListeningMs: 1_000 }));
      expect(await evidence).toMatchObject({ attempted: true, refused: false, how: "closed" });
      expect(await late).toBeUndefined();
      expect(servers.connection("one")).toBe(connection);
      expect((await connection.call(asks()).evidence).how).toBe("response");
    }
    expect(world.log("accepted")).toHaveLength(6);
  });

  test("a server that dies in the call is a lost connection, not a refused one", async () => {
    const config = await world.http({ calls: { act: { do: "dieAfter" } } });
    const connection = await connected(world.hub({ one: config }), "one");
    expect(await connection.call(asks()).evidence).toMatchObject({ attempted: true, refused: false, how: "closed" });
    expect(world.log("effect")).toHaveLength(1);
  });
});

test("an answer above the limit is cut off while it comes in, as JSON and as an event (http-3)", async () => {
  for (const format of ["json", "sse"]) {
    const config = await world.http({
      calls: { act: [{ do: "huge", bytes: 30_000_000 }, { do: "answer" }] },
      http: { format },
    });
    const connection = await connected(world.hub({ one: config }), "one");
    const { bytes, ...facts } = await connection.call(asks()).evidence;
    expect(facts).toEqual({ attempted: true, refused: false, how: "response", tooLarge: true });
    expect(bytes).toBeGreaterThan(4_194_304);
    expect(bytes).toBeLessThan(10_000_000);
    expect((await connection.call(asks()).evidence).how).toBe("response");
  }
});

test("a body that is no JSON is an error at once, and a second answer in a stream changes nothing", async () => {
  const calls = { act: { do: "twice", second: { content: [] } } };
  const json = await connected(world.hub({ one: await world.http({ calls }) }), "one");
  expect(await json.call(asks()).evidence).toMatchObject({ how: "error", detail: "the answer is no JSON" });
  const sse = await connected(world.hub({ one: await world.http({ calls, http: { format: "sse" } }) }), "one");
  expect((await sse.call(asks()).evidence).response).toEqual({ result: { content: [{ type: "text", text: "done" }] } });
});

test("secrets do not stand in problems and details (servers-5)", async () => {
  const body = "not with hunter2";
  const config = await world.http(
    {
      calls: { act: { do: "answer", error: { code: 1, message: "x" } } },
      pages: [{ error: { code: 5, message: body } }],
    },
    { headers: { Authorization: "Bearer hunter2" } },
  );
  const redact = (text: string) => text.replaceAll("hunter2", "[secret]");
  const connection = await connected(world.hub({ one: config }, { redact }), "one");
  expect(await connection.listPage(undefined, 5_000, 100_000)).toEqual({
    ok: false,
    problem: "it answered tools/list with error 5: not with [secret]",
  });
});

test("a list that comes too late is a problem, and is cancelled", async () => {
  const config = await world.http({ pages: [{ silent: true }] });
  const connection = await connected(world.hub({ one: config }), "one");
  expect(await connection.listPage(undefined, 200, 100_000)).toEqual({
    ok: false,
    problem: "its tools were not listed within 200 ms",
  });
  await vi.waitFor(() => expect(posts("notifications/cancelled")).toHaveLength(1));
});

test("one dead server does not stand in the way of a living one", async () => {
  const dead = await world.startHttp({});
  await dead.kill();
  const servers = world.hub({ dead: at(dead.url), living: await world.http({}) });
  const [first, second] = await Promise.all([servers.connect("dead"), servers.connect("living")]);
  expect([first.ok, second.ok]).toEqual([false, true]);
});

describe("a call whose time is over before its first byte", () => {
  // The connection took its time, and a call went out after others had been told that it could not any more.
  test("is asked for again when there is a connection for it, and not sent (http-5) (observe-3)", async () => {
    const server = await world.startHttp({});
    const connection = await connected(world.hub({ one: at(server.url) }), "one");
    let asked = 0;
    const { evidence } = connection.call(asks({ maySend: () => ++asked === 1 }));
    const detail = "not permitted at the moment of sending";
    expect(await evidence).toMatchObject({ attempted: false, refused: false, how: "error", detail });
    expect(asked).toBe(2);
    expect(posts("tools/call")).toEqual([]);
    expect((await connection.call(asks()).evidence).how).toBe("response");
    expect(posts("tools/call")).toHaveLength(1);
  });
});

describe("the old `sse` transport", () => {
  const closing: (() => void)[] = [];
  afterEach(() => {
    for (const close of closing.splice(0)) close();
  });

  async function oldServer(): Promise<HttpServer> {
    const open = new Map<string, SSEServerTransport>();
    const http = createServer(async (request, response) => {
      const url = new URL(request.url ?? "/", "http://127.0.0.1");
      if (request.method === "POST")
        return open.get(url.searchParams.get("sessionId") ?? "")?.handlePostMessage(request, response);
      const transport = new SSEServerTransport("/messages", response);
      open.set(transport.sessionId, transport);
      const server = new Server({ name: "old", version: "1" }, { capabilities: { tools: {} } });
      server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
        if (params.name === "drop") response.destroy();
        return { content: [{ type: "text", text: "done" }] };
      });
      await server.connect(transport);
    });
    await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
    closing.push(() => http.close().closeAllConnections());
    return HttpServer.parse({ type: "sse", url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/sse` });
  }

  test("works, and a dropped stream is a lost connection", async () => {
    const servers = world.hub({ one: await oldServer() });
    const connection = await connected(servers, "one");
    expect(connection.protocol).toBe("2025-11-25");
    expect((await connection.call(asks()).evidence).response).toEqual({
      result: { content: [{ type: "text", text: "done" }] },
    });
    expect(await connection.call(asks({ tool: "drop" })).evidence).toMatchObject({ attempted: true, how: "closed" });
    expect(servers.connection("one")).toBeUndefined();
    expect((await (await connected(servers, "one")).call(asks()).evidence).how).toBe("response");
  });

  test("does not carry the new protocol, and says so", async () => {
    const config = HttpServer.parse({ type: "sse", url: "http://127.0.0.1:1/sse", protocol: "2026-07-28" });
    expect(await world.hub({ one: config }).connect("one")).toEqual({
      ok: false,
      problem: "the `sse` transport does not carry protocol 2026-07-28; use `http`",
    });
  });
});
