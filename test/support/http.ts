// A tiny raw Streamable HTTP client, to look at a server's own words: one POST, every message of its answer.

import type { Message } from "./rpc.js";

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
  /** The JSON-RPC messages of the body, be it JSON or SSE. */
  readonly messages: readonly Message[];
}

/** Sends one JSON-RPC message. Follows no redirect; rejects when the connection breaks. */
export async function post(
  url: string,
  message: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const response = await fetch(url, {
    method: "POST",
    redirect: "manual",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers },
    body: JSON.stringify({ jsonrpc: "2.0", ...message }),
  });
  const body = await response.text();
  const sse = response.headers.get("content-type")?.startsWith("text/event-stream") ?? false;
  const texts = sse ? [...body.matchAll(/^data: ?(.+)$/gm)].map(([, data]) => data ?? "") : [body];
  const messages = texts.filter((text) => text.startsWith("{")).map((text) => JSON.parse(text) as Message);
  return { status: response.status, headers: response.headers, body, messages };
}

/** The 2025-11-25 handshake; resolves with the headers that belong to the session. */
export async function openSession(
  url: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Record<string, string>> {
  const clientInfo = { name: "rpc", version: "1.0.0" };
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
  const answer = await post(url, { id: 1, method: "initialize", params }, headers);
  const session = answer.headers.get("mcp-session-id");
  const kept = {
    ...headers,
    "mcp-protocol-version": "2025-11-25",
    ...(session === null ? {} : { "mcp-session-id": session }),
  };
  await post(url, { method: "notifications/initialized" }, kept);
  return kept;
}
