// The `fetch` that HTTP transports are given: it records what became of a call's own request and bounds the answer's size.
//
//   http-1. Redirects are never followed: a 307 would send the request again, and headers would reach another origin.
//   http-2. One call makes one POST. A second one is refused.
//   http-3. A body is read up to the limit of the requests that wait for it, whether it is JSON or an event stream. The SDK is
//           handed no body that it would read to its end only to drop it.
//   http-4. Status and network failures are recorded for the pending request whose POST this is, and for no other.
//   http-5. Whether the request may be sent is asked when there is a connection for it, just before its first byte.

import { isObject } from "../../contracts/index.js";
import { refusesToken } from "./challenge.js";
import { watchEvents } from "./event-stream.js";
import { Gathered } from "./gathered.js";
import { networkFailure } from "./network.js";
import type { Observer } from "./observed-transport.js";
import { DROPPED, NOT_PERMITTED, NothingSent, type PendingRequest, RefusedResend } from "./pending-request.js";
import { messageOf } from "./problem.js";

/** How much is read of an error page, to find a JSON-RPC error in it, and of a body that answers nothing. */
const ERROR_BODY_BYTES = 65_536;

export interface HttpHooks {
  /** A request that belongs to no call failed: a handshake, a notification, a stream. Text for a problem, not redacted. */
  readonly onFailure: (text: string) => void;
  /** Every answer comes by one stream, as on the older `sse` transport. No other stream holds any. */
  readonly oneStream: boolean;
  /** A stream for server notifications ended: later notifications were missed. */
  readonly onStreamEnd: () => void;
}

export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

export function observedFetch(observer: Observer, hooks: HttpHooks): Fetch {
  return async (url, init) => {
    const method = (init?.method ?? "GET").toUpperCase();
    const pending = method === "POST" ? observer.sending() : undefined;
    if (pending !== undefined && ++pending.posts > 1) throw new RefusedResend(); // http-2
    const weAborted = () => init?.signal?.aborted === true;
    let response: Response;
    try {
      const own = pending === undefined ? init : once(init, pending);
      response = await fetch(url, { ...own, redirect: "manual" }); // http-1, http-2
    } catch (error) {
      if (pending?.withheld) throw new NothingSent(NOT_PERMITTED);
      if (!weAborted()) failed(error, pending, hooks);
      throw error;
    }
    const headers = new Headers(init?.headers);
    if (!response.ok) return failedAnswer(response, headers.has("mcp-session-id"), pending, observer, hooks);
    const kind = response.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();
    if (response.body === null) return response;
    if (method !== "GET" && !mayAnswer(kind, pending, init, hooks)) return withoutBody(response);
    if (kind === "application/json") return jsonAnswer(response, pending, observer, weAborted);
    const isNotificationStream = method === "GET" || headers.get("mcp-method") === "subscriptions/listen";
    return streamedAnswer(response, pending, observer, () => {
      if (isNotificationStream && !weAborted()) hooks.onStreamEnd();
    });
  };
}

/**
 * The same request with a body that cannot be sent a second time: the fetch standard sends a request again by itself after
 * 421, where its body can be read again (Fetch, "HTTP-network-or-cache fetch"). The body begins with an empty part, which
 * `fetch` takes ahead of the connection; it asks for the next one when it writes, and writes the headers with it. (http-5)
 */
function once(init: RequestInit | undefined, pending: PendingRequest): RequestInit {
  if (typeof init?.body !== "string") return init ?? {};
  const bytes = new TextEncoder().encode(init.body);
  const headers = new Headers(init.headers);
  headers.set("content-length", String(bytes.byteLength));
  const parts = [new Uint8Array(0), bytes];
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const part = parts.shift();
        if (part === bytes && !pending.mayStillSend()) controller.error(new NothingSent(NOT_PERMITTED));
        else if (part !== undefined) controller.enqueue(part);
        if (part === bytes && !pending.withheld) controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  return { ...init, headers, body, duplex: "half" } as RequestInit;
}

/** Whether the body of this response can hold an answer: to a call, or to a request that the SDK makes by itself. */
function mayAnswer(
  kind: string | undefined,
  pending: PendingRequest | undefined,
  init: RequestInit | undefined,
  hooks: HttpHooks,
): boolean {
  if (kind !== "application/json" && (kind !== "text/event-stream" || hooks.oneStream)) return false;
  if (pending !== undefined) return true;
  const sent = typeof init?.body === "string" ? parsed(init.body) : undefined;
  return isObject(sent) && sent["method"] !== undefined && sent["id"] !== undefined;
}

/** http-3 */
async function withoutBody(response: Response): Promise<Response> {
  await readBody(response.body, ERROR_BODY_BYTES).catch(() => {}); // so that the next request can use the connection
  return new Response(null, { status: response.status, headers: withoutEncoding(response.headers) });
}

function failed(error: unknown, pending: PendingRequest | undefined, hooks: HttpHooks): void {
  const { code, refused } = networkFailure(error);
  const text = refused
    ? `nobody was reached (${code ?? messageOf(error)})`
    : `the connection broke (${code ?? "no code"})`;
  if (pending === undefined) hooks.onFailure(text);
  else {
    pending.refused = refused; // http-4
    pending.lose(refused ? "error" : "closed", text);
  }
}

async function failedAnswer(
  response: Response,
  inSession: boolean,
  pending: PendingRequest | undefined,
  observer: Observer,
  hooks: HttpHooks,
): Promise<Response> {
  const { status } = response;
  const redirect = status >= 300 && status < 400;
  const text = (await readBody(response.body, ERROR_BODY_BYTES).catch(() => undefined))?.text ?? "";
  const body = parsed(text);
  const answers = pending !== undefined && observer.answers(pending, body);
  const sessionGone = status === 404 && inSession && !answers; // an answer to the request is one within its session
  const tokenRefused = status === 401 && refusesToken(response.headers.get("www-authenticate"));
  const problem = redirect
    ? `HTTP ${status}: redirects are not followed`
    : sessionGone
      ? "HTTP 404: the session is gone"
      : `HTTP ${status}${status === 401 ? ": the server asks for authorization" : ""}`;
  if (pending === undefined) hooks.onFailure(problem);
  else {
    pending.status(status, { ...(sessionGone ? { sessionGone } : {}), ...(tokenRefused ? { tokenRefused } : {}) }); // http-4
    // A JSON-RPC error in the body is the server's answer, unless the status alone says more. A result is none: it and the
    // status cannot both be true.
    if (!redirect && status !== 401 && isObject(body) && (body["result"] ?? null) === null) observer.take(body);
    pending.lose("error", problem);
  }
  if (redirect) throw new Error(problem);
  return new Response(hasNoBody(status) ? null : text, { status, headers: withoutEncoding(response.headers) });
}

async function jsonAnswer(
  response: Response,
  pending: PendingRequest | undefined,
  observer: Observer,
  weAborted: () => boolean,
): Promise<Response> {
  let body: Body;
  try {
    body = await readBody(response.body, observer.limitBytes());
  } catch (error) {
    if (!weAborted()) pending?.lose("closed", "the connection broke within the answer");
    throw error;
  }
  const { text, bytes } = body;
  if (text === undefined) {
    pending?.oversize(bytes); // http-3
    throw new Error("an answer above the size limit");
  }
  const value = parsed(text);
  if (value === undefined) pending?.lose("error", "the answer is no JSON");
  const handed = observer.take(value);
  if (!Array.isArray(value)) pending?.lose("error", "the answer is not to this request"); // where it is, it has ended
  if (handed === DROPPED) throw new Error("an answer to no request");
  return new Response(handed === value ? text : JSON.stringify(handed), {
    status: 200, // the SDK takes no answer from a 202
    headers: withoutEncoding(response.headers),
  });
}

function streamedAnswer(
  response: Response,
  pending: PendingRequest | undefined,
  observer: Observer,
  onEnd: () => void,
): Response {
  let resumable = false;
  const body = watchEvents(response.body as ReadableStream<Uint8Array>, {
    limitBytes: () => observer.limitBytes(),
    onData: (value) => observer.take(value),
    onId: () => {
      resumable = true;
    },
    onOversize: (bytes) => pending?.oversize(bytes), // http-3
    onEnd: () => {
      // With an event id the SDK asks for the rest of the stream; the answer may still come.
      if (!resumable) pending?.lose("closed", "the response stream ended without an answer");
      onEnd();
    },
  });
  return new Response(body, { status: 200, headers: withoutEncoding(response.headers) });
}

interface Body {
  /** Undefined when the body was above the limit. */
  readonly text: string | undefined;
  readonly bytes: number;
}

async function readBody(body: ReadableStream<Uint8Array> | null, limit: number): Promise<Body> {
  if (body === null) return { text: "", bytes: 0 };
  const read = new Gathered();
  const reader = body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return { text: new TextDecoder().decode(read.whole()), bytes: read.bytes };
    read.add(value);
    if (read.bytes <= limit) continue;
    await reader.cancel().catch(() => {});
    return { text: undefined, bytes: read.bytes };
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function hasNoBody(status: number): boolean {
  return status === 101 || status === 103 || status === 204 || status === 205 || status === 304;
}

/** The headers for a body that is decoded already and may have another length. */
function withoutEncoding(from: Headers): Headers {
  const headers = new Headers(from);
  for (const name of ["content-encoding", "content-length", "transfer-encoding"]) headers.delete(name);
  return headers;
}
