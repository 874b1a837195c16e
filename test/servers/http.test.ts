// The hostile HTTP server and the well-behaved servers over real HTTP.

import { expect, test } from "vitest";
import { openSession, post } from "../support/http.js";
import { servers } from "./started.js";

const { startHttp, hostileHttp, log } = servers();

const call = {
  id: 5,
  method: "tools/call",
  params: { name: "act", arguments: {}, _meta: { "toolgate/operationId": "op" } },
};
const done = { content: [{ type: "text", text: "done" }] };

test.each(["json", "sse"])(
  "hostile-http answers by %s, one effect a call, and logs each request first",
  async (format) => {
    const { url, end } = await hostileHttp({ http: { format } });
    const session = await openSession(url);
    const answer = await post(url, call, session);
    expect(answer.headers.get("content-type")).toBe(format === "sse" ? "text/event-stream" : "application/json");
    expect(answer.messages).toEqual([{ jsonrpc: "2.0", id: 5, result: done }]);
    expect((await post(url, { id: 6, method: "tools/list" }, session)).messages[0].result.tools[0].name).toBe("act");
    expect(await end()).toEqual({ code: 0, signal: null });
    expect(log().map(({ event, method, reason }) => [event, method ?? reason].join(" "))).toEqual([
      "started ",
      "request initialize",
      "session opened",
      "request notifications/initialized",
      "request tools/call",
      "accepted ",
      "effect ",
      "finished ",
      "request tools/list",
      "listed ",
    ]);
  },
);

test("a session is required, can be forgotten after a call, and can be deleted", async () => {
  const { url } = await hostileHttp({ http: { forgetSessionsAfterCalls: 1 } });
  const session = await openSession(url);
  expect((await post(url, call)).status).toBe(400);
  expect((await post(url, call, session)).status).toBe(200);
  const gone = await post(url, call, session);
  expect([gone.status, gone.messages[0].error.message]).toEqual([404, "Session not found"]);
  const again = await openSession(url);
  expect((await post(url, call, again)).status).toBe(200);
  expect((await fetch(url, { method: "DELETE", headers: again })).status).toBe(200);
  expect((await post(url, call, again)).status).toBe(404);
  expect(log("session").map(({ reason }) => reason)).toEqual([
    "opened",
    "forgotten",
    "unknown",
    "opened",
    "deleted",
    "unknown",
  ]);
  expect(log("effect")).toHaveLength(2);
});

test("statuses before or after the effect, with headers and the token said back", async () => {
  const { url, otherUrl } = await hostileHttp({
    calls: {
      act: [
        { do: "status", status: 503 },
        { do: "status", status: 500, effect: true, body: "no: {{authorization}}" },
        { do: "status", status: 307, location: "{{other}}" },
        { do: "status", status: 401, headers: { "www-authenticate": "Bearer" } },
      ],
    },
    http: { authorization: "Bearer t" },
  });
  expect((await post(url, { id: 1, method: "initialize" })).status).toBe(401);
  const session = await openSession(url, { authorization: "Bearer t" });
  expect((await post(url, call, session)).status).toBe(503);
  expect(log("effect")).toHaveLength(0);
  const broken = await post(url, call, session);
  expect([broken.status, broken.body]).toEqual([500, "no: Bearer t"]);
  expect(log("effect")).toHaveLength(1);
  const moved = await post(url, call, session);
  expect([moved.status, moved.headers.get("location")]).toEqual([307, otherUrl]);
  expect(new URL(otherUrl).origin).not.toBe(new URL(url).origin);
  expect((await post(otherUrl, call, session)).status).toBe(401);
  expect(log("request").map(({ method, origin }) => `${origin} ${method}`)).toEqual([
    "own initialize",
    "own initialize",
    "own notifications/initialized",
    "own tools/call",
    "own tools/call",
    "own tools/call",
    "other tools/call",
  ]);
});

test("the connection is cut before the headers, after them, and inside the body; the server lives on", async () => {
  const { url } = await hostileHttp({
    calls: {
      act: [
        { do: "drop", when: "before-headers" },
        { do: "drop", when: "after-headers" },
        { do: "drop", when: "half-body", effect: false },
        { do: "answer" },
      ],
    },
  });
  const session = await openSession(url);
  await expect(post(url, call, session)).rejects.toThrow("fetch failed");
  await expect(post(url, call, session)).rejects.toThrow("terminated");
  await expect(post(url, call, session)).rejects.toThrow("terminated");
  expect((await post(url, call, session)).messages[0].result).toEqual(done);
  expect(log("accepted").map(({ n }) => n)).toEqual([1, 2, 3, 4]);
  expect(log("effect").map(({ n }) => n)).toEqual([1, 2, 4]);
});

test("a client that lets go of the response is logged, and nothing else comes of it", async () => {
  const { url } = await hostileHttp({ calls: { act: { do: "progress", everyMs: 5 } }, http: { format: "sse" } });
  const session = await openSession(url);
  const body = JSON.stringify({ jsonrpc: "2.0", ...call });
  const response = await fetch(url, { method: "POST", headers: session, body });
  const reader = response.body?.getReader();
  await reader?.read();
  await reader?.cancel();
  await expect
    .poll(() => log("cancelled"))
    .toEqual([{ event: "cancelled", n: 1, tool: "act", reason: "the client closed the response" }]);
  expect(log("effect", "finished").map(({ event }) => event)).toEqual(["effect"]);
});

test("a changed list is told to the open stream", async () => {
  const { url } = await hostileHttp({
    lists: [{ pages: [{ tools: [] }] }, { pages: [{ tools: [{ name: "new" }] }], afterCalls: 1, notify: true }],
  });
  const session = await openSession(url);
  const stream = await fetch(url, { headers: { ...session, accept: "text/event-stream" } });
  await post(url, call, session);
  const first = await stream.body?.getReader().read();
  expect(new TextDecoder().decode(first?.value)).toBe(
    'event: message\ndata: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n',
  );
});

test("speaks 2026-07-28 without sessions, and keeps subscriptions/listen open for a changed list", async () => {
  const { url } = await hostileHttp({
    protocol: "2026-07-28",
    lists: [{ pages: [{ tools: [] }] }, { pages: [{ tools: [] }], afterCalls: 1, notify: true }],
  });
  const discovered = await post(url, { id: 1, method: "server/discover" });
  expect(discovered.messages[0].result.supportedVersions).toEqual(["2026-07-28"]);
  expect(discovered.headers.get("mcp-session-id")).toBeNull();
  const body = {
    jsonrpc: "2.0",
    id: 2,
    method: "subscriptions/listen",
    params: { notifications: { toolsListChanged: true } },
  };
  const stream = await fetch(url, { method: "POST", body: JSON.stringify(body) });
  const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
  expect((await reader?.read())?.value).toContain("notifications/subscriptions/acknowledged");
  expect((await post(url, call)).messages[0].result).toEqual({ resultType: "complete", ...done });
  expect((await reader?.read())?.value).toBe(
    'event: message\ndata: {"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":2}}}\n\n',
  );
});

test("docs over HTTP needs a session of its own and the right host (http-sample-1) (http-sample-2)", async () => {
  const { url, end } = await startHttp("http", { HTTP_TOKEN: "t" });
  expect((await post(url, { id: 1, method: "initialize" })).status).toBe(401);
  const authorization = "Bearer t";
  const session = await openSession(url, { authorization });
  const search = { id: 2, method: "tools/call", params: { name: "search.docs", arguments: { query: "x" } } };
  expect((await post(url, search, session)).messages[0].result.content[0].text).toBe(
    "Running main.py needs a permission that is granted for that one run.",
  );
  expect((await post(url, search, { ...session, "mcp-session-id": "1" })).status).toBe(404);
  expect((await post(url, search, { authorization })).status).toBe(400);
  const evil = new URL(url);
  evil.hostname = "localhost";
  expect((await post(evil.href, search, { authorization })).status).toBe(403);
  expect(await end()).toEqual({ code: 0, signal: null });
  expect(log("accepted", "finished").map(({ event }) => event)).toEqual(["accepted", "finished"]);
});

test("deploy over HTTP counts the calls of all sessions together", async () => {
  const { url } = await startHttp("http", { HTTP_SERVES: "deploy", HTTP_FORMAT: "json" });
  const trigger = { id: 2, method: "tools/call", params: { name: "trigger", arguments: { environment: "staging" } } };
  for (const session of [await openSession(url), await openSession(url)]) await post(url, trigger, session);
  expect(log("effect").map(({ n, tool }) => [n, tool])).toEqual([
    [1, "trigger"],
    [2, "trigger"],
  ]);
});
