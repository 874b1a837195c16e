// The `fetch` that HTTP transports are given: records what became of a call's own request, and bounds what comes back.
//
//   H1. Redirects are never followed: a 307 would send the request again, and headers would leave the origin.
//   H2. One call makes one POST (S2).
//   H3. A body is read up to the limit of the flights that wait for it, whether it is JSON or an event stream.
//   H4. Status and network failures belong to the flight whose POST this is, and to no other.

import { watchEvents } from "./events.js";
import { type Flight, RefusedResend } from "./flight.js";
import { networkFailure } from "./network.js";
import type { Observer } from "./observe.js";
import { messageOf } from "./problem.js";

/** Enough of an error page to find a JSON-RPC error in it. */
const ERROR_BODY_BYTES = 65_536;

export interface HttpHooks {
  /** A request without a flight failed: a handshake, a notification, a stream. Text for a problem; not redacted. */
  readonly onFailure: (text: string) => void;
  /** A stream for server notifications ended: whatever it would have told us was missed. */
  readonly onStreamEnd: () => void;
}

export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

export function observedFetch(observer: Observer, hooks: HttpHooks): Fetch {
  return async (url, init) => {
    const method = (init?.method ?? "GET").toUpperCase();
    const flight = method === "POST" ? observer.sending() : undefined;
    if (flight !== undefined && ++flight.posts > 1) throw new RefusedResend(); // H2
    const ours = () => init?.signal?.aborted === true;
    let response: Response;
    try {
      response = await fetch(url, { ...init, redirect: "manual" }); // H1
    } catch (error) {
      if (!ours()) failed(error, flight, hooks);
      throw error;
    }
    const headers = new Headers(init?.headers);
    if (!response.ok) return refusal(response, headers.has("mcp-session-id"), flight, observer, hooks);
    const kind = response.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();
    if (response.body === null || (kind !== "text/event-stream" && kind !== "application/json")) return response;
    if (kind === "application/json") return json(response, flight, observer, ours);
    const stays = method === "GET" || headers.get("mcp-method") === "subscriptions/listen";
    return stream(response, flight, observer, () => {
      if (stays && !ours()) hooks.onStreamEnd();
    });
  };
}

function failed(error: unknown, flight: Flight | undefined, hooks: HttpHooks): void {
  const { code, refused } = networkFailure(error);
  const text = refused
    ? `nobody was reached (${code ?? messageOf(error)})`
    : `the connection broke (${code ?? "no code"})`;
  if (flight === undefined) hooks.onFailure(text);
  else {
    flight.refused = refused; // H4
    flight.lose(refused ? "error" : "closed", text);
  }
}

async function refusal(
  response: Response,
  inSession: boolean,
  flight: Flight | undefined,
  observer: Observer,
  hooks: HttpHooks,
): Promise<Response> {
  const { status } = response;
  const redirect = status >= 300 && status < 400;
  const sessionGone = status === 404 && inSession;
  const text = (await read(response.body, ERROR_BODY_BYTES).catch(() => undefined))?.text ?? "";
  const told = redirect
    ? `HTTP ${status}: redirects are not followed`
    : sessionGone
      ? "HTTP 404: the session is gone"
      : `HTTP ${status}${status === 401 ? ": the server asks for authorization" : ""}`;
  if (flight === undefined) hooks.onFailure(told);
  else {
    flight.status(status, sessionGone); // H4
    // A JSON-RPC error in the body is an answer, unless the status alone says that nothing was run.
    if (!redirect && status !== 401 && !sessionGone) observer.take(parsed(text));
    flight.lose("error", told);
  }
  if (redirect) throw new Error(told);
  return new Response(bodiless(status) ? null : text, { status, headers: plain(response.headers) });
}

async function json(
  response: Response,
  flight: Flight | undefined,
  observer: Observer,
  ours: () => boolean,
): Promise<Response> {
  let body: Body;
  try {
    body = await read(response.body, observer.limitBytes());
  } catch (error) {
    if (!ours()) flight?.lose("closed", "the connection broke within the answer");
    throw error;
  }
  const { text, bytes } = body;
  if (text === undefined) {
    flight?.oversize(bytes); // H3
    throw new Error("an answer above the size limit");
  }
  const value = parsed(text);
  if (value === undefined) flight?.lose("error", "the answer is no JSON");
  const handed = observer.take(value);
  return new Response(handed === value ? text : JSON.stringify(handed), {
    status: response.status,
    headers: plain(response.headers),
  });
}

function stream(response: Response, flight: Flight | undefined, observer: Observer, onEnd: () => void): Response {
  let resumable = false;
  const body = watchEvents(response.body as ReadableStream<Uint8Array>, {
    limitBytes: () => observer.limitBytes(),
    onData: (value) => observer.take(value),
    onId: () => {
      resumable = true;
    },
    onOversize: (bytes) => flight?.oversize(bytes), // H3
    onEnd: () => {
      // With an event id the SDK asks for the rest of the stream; the answer may still come.
      if (!resumable) flight?.lose("closed", "the response stream ended without an answer");
      onEnd();
    },
  });
  return new Response(body, { status: response.status, headers: plain(response.headers) });
}

interface Body {
  /** Undefined when the body was above the limit. */
  readonly text: string | undefined;
  readonly bytes: number;
}

async function read(body: ReadableStream<Uint8Array> | null, limit: number): Promise<Body> {
  if (body === null) return { text: "", bytes: 0 };
  const parts: Uint8Array[] = [];
  let bytes = 0;
  const reader = body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return { text: new TextDecoder().decode(Buffer.concat(parts)), bytes };
    bytes += value.byteLength;
    parts.push(value);
    if (bytes <= limit) continue;
    await reader.cancel().catch(() => {});
    return { text: undefined, bytes };
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function bodiless(status: number): boolean {
  return status === 101 || status === 103 || status === 204 || status === 205 || status === 304;
}

/** Headers for a body that is decoded already and whose length may have changed. */
function plain(from: Headers): Headers {
  const headers = new Headers(from);
  for (const name of ["content-encoding", "content-length", "transfer-encoding"]) headers.delete(name);
  return headers;
}
