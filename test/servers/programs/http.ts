// The well-behaved servers over real Streamable HTTP, by the SDK: docs, library or deploy, with stateful sessions.
//
// Env:
//   HTTP_SERVES     `docs` (default), `library` or `deploy`; their own variables and SERVER_LOG apply
//   HTTP_FORMAT     `sse` (default) or `json`: how answers to POST come
//   HTTP_TOKEN      requires `Authorization: Bearer <token>`, otherwise 401
//   END_WITH_STDIN  with any value the process ends when its stdin does (for tests; otherwise by a signal)
//
// Prints one line on stdout, `{"url":"http://127.0.0.1:…/mcp"}`.
//
//   http-sample-1. A session is known by the id it was given, and by nothing else; an unknown one is 404.
//   http-sample-2. Only requests that name this very host are served (no DNS rebinding).

import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { deployServer } from "../../../servers/deploy-server.js";
import { docsServer } from "../../../servers/docs-server.js";
import { type ServedTools, sdkServer } from "../../../servers/sdk.js";
import { libraryServer } from "./library-server.js";
import { endWithStdin, listen } from "./listen.js";

const { HTTP_SERVES = "docs", HTTP_FORMAT = "sse", HTTP_TOKEN } = process.env;
const served = servedBy(HTTP_SERVES);
const sessions = new Map<string, StreamableHTTPServerTransport>();

function servedBy(name: string): ServedTools {
  switch (name) {
    case "docs":
      return docsServer(process.env);
    case "library":
      return libraryServer(process.env);
    case "deploy":
      return deployServer(process.env);
  }
  throw new Error(`HTTP_SERVES is \`${name}\`, expected docs, library or deploy`);
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (HTTP_TOKEN !== undefined && request.headers.authorization !== `Bearer ${HTTP_TOKEN}`) {
    response.writeHead(401, { "www-authenticate": "Bearer" }).end();
    return;
  }
  const id = request.headers["mcp-session-id"];
  const known = typeof id === "string" ? sessions.get(id) : undefined;
  if (id !== undefined && known === undefined) {
    response.writeHead(404).end(); // http-sample-1
    return;
  }
  await (known ?? (await newSession())).handleRequest(request, response);
}

/** A transport that becomes a session when the request turns out to be an initialize; otherwise the SDK answers 400. */
async function newSession(): Promise<StreamableHTTPServerTransport> {
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    enableJsonResponse: HTTP_FORMAT === "json",
    enableDnsRebindingProtection: true, // http-sample-2
    allowedHosts: [new URL(url).host],
    onsessioninitialized: (id) => {
      sessions.set(id, transport);
    },
    onsessionclosed: (id) => {
      sessions.delete(id);
    },
  });
  // The SDK declares the transport's handlers as possibly undefined, which exactOptionalPropertyTypes tells apart.
  await sdkServer(served).connect(transport as Transport);
  return transport;
}

const url = await listen(createServer((request, response) => void answer(request, response)));
served.log({ event: "started", pid: process.pid });
process.stdout.write(`${JSON.stringify({ url })}\n`);
endWithStdin(process.env);
