// A hostile MCP server over Streamable HTTP, raw JSON-RPC on node:http: the wrongs of hostile.ts and those only HTTP has.
//
// Env: HOSTILE (JSON), HOSTILE_FILE, HOSTILE_PROTOCOL, SERVER_LOG as in hostile-config.ts, and
//   END_WITH_STDIN   with any value the process ends when its stdin does (for tests; otherwise by a signal)
//
// Prints one line on stdout, `{"url":"http://127.0.0.1:…/mcp","otherUrl":"http://127.0.0.1:…/mcp"}`. `otherUrl` is the
// same server on another origin, for redirects. Every HTTP request is logged as `request` before anything else, so a
// second POST cannot hide; after that a call is logged like everywhere.

import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text as textOf } from "node:stream/consumers";
import { openLog, readLog } from "../../../servers/log.js";
import { hostileConfig } from "./hostile-config.js";
import { hostileCore, type Walk } from "./hostile-core.js";
import { httpWire } from "./hostile-http-wire.js";
import type { Wire } from "./hostile-wire.js";
import { endWithStdin, listen } from "./listen.js";

const config = hostileConfig(process.env, "http");
const log = openLog(process.env.SERVER_LOG);
log({ event: "started", pid: process.pid });
if (config.duringStart?.do === "exit" && config.duringStart.after === "spawn") process.exit(config.duringStart.code);

const { SERVER_LOG = "" } = process.env;
const core = hostileCore(config, log, () => readLog(SERVER_LOG, "effect"));
const modern = config.protocol === "2026-07-28";
const stateful = !modern && config.http.session === "stateful";
const sessions = new Map<string, Walk>();
const sharedWalk: Walk = { list: 0, page: 0 };
let forgotten = false;

async function answer(request: IncomingMessage, response: ServerResponse, origin: "own" | "other"): Promise<void> {
  const message = request.method === "POST" ? (JSON.parse(await textOf(request)) as Record<string, unknown>) : {};
  const { authorization } = request.headers;
  const method = typeof message.method === "string" ? { method: message.method } : {};
  const token = authorization === undefined ? {} : { authorization };
  log({ event: "request", http: request.method ?? "", ...method, origin, ...token });

  const places = { own, other, authorization: authorization ?? "" };
  const plain = httpWire(response, { format: config.http.format, headers: {}, places });
  if (config.http.authorization !== undefined && authorization !== config.http.authorization)
    return plain.status(401, { "www-authenticate": "Bearer" }, "");

  const starts = message.method === "initialize";
  const walk = starts || !stateful ? { list: 0, page: 0 } : session(request.headers["mcp-session-id"]);
  if (typeof walk === "number") return plain.status(walk, {}, noSession);
  if (request.method === "DELETE") return end(plain, request.headers["mcp-session-id"]);
  if (request.method === "GET") return stream(plain, response);
  if ((starts || message.method === "server/discover") && config.http.initializeStatus !== undefined)
    return plain.status(config.http.initializeStatus, {}, "");

  const headers = starts && stateful ? { "mcp-session-id": open(walk) } : {};
  const format = message.method === "subscriptions/listen" ? "sse" : config.http.format;
  const wire = httpWire(response, { format, headers, places });
  if (message.id === undefined || message.method === undefined) {
    await core.receive(message, walk, wire);
    return wire.status(202, {}, "");
  }
  response.on("close", () => {
    if (!response.writableFinished && !wire.cut()) core.calls.cancelled(message.id, "the client closed the response");
  });
  const received = await core.receive(message, stateful ? walk : sharedWalk, wire);
  if (received === "done") wire.end();
  forget();
}

const noSession = '{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}';

function session(id: string | string[] | undefined): Walk | 400 | 404 {
  if (typeof id !== "string") return 400;
  const walk = sessions.get(id);
  if (walk === undefined) log({ event: "session", reason: "unknown" });
  return walk ?? 404;
}

function open(walk: Walk): string {
  const id = randomUUID();
  sessions.set(id, walk);
  log({ event: "session", reason: "opened" });
  return id;
}

function forget(): void {
  const after = config.http.forgetSessionsAfterCalls;
  if (after === undefined || forgotten || core.calls.count < after) return;
  forgotten = true;
  sessions.clear();
  log({ event: "session", reason: "forgotten" });
}

async function end(wire: ReturnType<typeof httpWire>, id: string | string[] | undefined): Promise<void> {
  sessions.delete(String(id));
  log({ event: "session", reason: "deleted" });
  await wire.status(200, {}, "");
}

async function stream(wire: ReturnType<typeof httpWire>, response: ServerResponse): Promise<void> {
  if (modern || config.http.get === "405") return wire.status(405, { allow: "POST" }, "");
  const notifications: Wire = httpWire(response, { format: "sse", headers: {}, places: {} });
  response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
  core.listen(notifications);
}

const own = await listen(createServer((request, response) => void answer(request, response, "own")));
const other = await listen(createServer((request, response) => void answer(request, response, "other")));
process.stdout.write(`${JSON.stringify({ url: own, otherUrl: other })}\n`);
endWithStdin(process.env);
