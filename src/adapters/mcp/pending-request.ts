// One request that was sent or is about to be: what the transport has seen of it so far.
//
// It collects facts and draws no conclusions. The code that classifies the call reads the facts as `CallEvidence`. A
// pending request ends once, by an answer or by a loss of the connection. Our deadline does not end it, so that a late
// answer is still seen. When nobody listens for the answer any more, its body is not kept.
//
//   pending-request-1. The first end counts: a second answer, or a close after the answer, changes nothing.
//   pending-request-2. A body above `maxBytes` is measured and dropped, never kept. However deep a body is nested, it is kept
//                      as it came: whoever reads it goes no deeper than its own bounds.

import { isObject } from "../../contracts/index.js";
import type { CallEvidence, RawResponse } from "../../contracts/mcp-port.js";
import { jsonBytes } from "./measure.js";

export type PendingEnd = "response" | "closed" | "error";

/** What stands for a message that is not handed on to the SDK. */
export const DROPPED = Symbol("a message that is not handed on");

/** Thrown at a second send under one call (observe-1). The first send goes on. */
export class RefusedResend extends Error {
  constructor() {
    super("a second send of this request was refused");
    this.name = "RefusedResend";
  }
}

/** Why nothing was sent where `maySend` said no. */
export const NOT_PERMITTED = "not permitted at the moment of sending";

/** Thrown by a sender that is certain that no byte was sent. */
export class NothingSent extends Error {
  constructor(message: string) {
    super(message);
    this.name = "NothingSent";
  }
}

export class PendingRequest {
  readonly maxBytes: number;
  readonly #maySend: () => boolean;
  /** The id under which it was sent. */
  id: unknown;
  /** Resolves when the request has ended. */
  readonly ended: Promise<void>;
  /** Sends asked of the transport, and HTTP requests made of them. */
  sends = 0;
  posts = 0;
  attempted = false;
  refused = false;
  /** It was not permitted any more when its first byte was to leave. */
  withheld = false;
  listening = true;
  end: PendingEnd | undefined;
  #httpStatus: number | undefined;
  #turnedAway: Pick<CallEvidence, "sessionGone" | "tokenRefused"> = {};
  #response: RawResponse | undefined;
  #bytes: number | undefined;
  #tooLarge = false;
  #details: string[] = [];
  #resolveEnded: () => void = () => {};

  constructor(maxBytes: number, maySend: () => boolean) {
    this.maxBytes = maxBytes;
    this.#maySend = maySend;
    this.ended = new Promise((resolve) => {
      this.#resolveEnded = resolve;
    });
  }

  /** Asked just before the first byte. A callback that throws has not permitted anything. */
  mayStillSend(): boolean {
    try {
      if (this.#maySend() === true) return true;
    } catch {}
    this.withheld = true;
    return false;
  }

  /** The answer, as it came. */
  answer(message: Readonly<Record<string, unknown>>): void {
    if (this.end !== undefined) return; // pending-request-1
    const response = rawResponse(message);
    const bytes = jsonBytes("error" in response ? response.error : response.result);
    if (bytes > this.maxBytes)
      this.#tooLarge = true; // pending-request-2
    else if (this.listening) this.#response = response;
    this.#bytes = bytes;
    this.#finish("response");
  }

  /** An answer that was dropped while it came in. `bytes` is at least what was seen. */
  oversize(bytes: number): void {
    if (this.end !== undefined) return; // pending-request-1
    this.#tooLarge = true;
    this.#bytes = bytes;
    this.#finish("response");
  }

  /** The HTTP response to this very request was not a success. The request has not ended by it: the body may hold the answer. */
  status(httpStatus: number, turnedAway: Pick<CallEvidence, "sessionGone" | "tokenRefused">): void {
    this.#httpStatus = httpStatus;
    this.#turnedAway = turnedAway;
  }

  /** No answer can come any more. */
  lose(how: "closed" | "error", detail?: string): void {
    if (this.end !== undefined) return; // pending-request-1
    if (detail !== undefined) this.note(detail);
    this.#finish(how);
  }

  note(detail: string): void {
    if (detail !== "" && !this.#details.includes(detail) && this.#details.length < 4) this.#details.push(detail);
  }

  get sessionGone(): boolean {
    return this.#turnedAway.sessionGone === true;
  }

  /** The facts so far. `scrub` makes text fit to be shown. */
  evidence(how: CallEvidence["how"], scrub: (text: string) => string): CallEvidence {
    return {
      attempted: this.attempted,
      refused: this.refused,
      how,
      ...(this.#httpStatus === undefined ? {} : { httpStatus: this.#httpStatus }),
      ...this.#turnedAway,
      ...(this.#response === undefined ? {} : { response: this.#response }),
      ...(this.#bytes === undefined ? {} : { bytes: this.#bytes }),
      ...(this.#tooLarge ? { tooLarge: true } : {}),
      ...(this.#details.length === 0 ? {} : { detail: scrub(this.#details.join("; ")) }),
    };
  }

  #finish(end: PendingEnd): void {
    this.end = end;
    this.#resolveEnded();
  }
}

/**
 * An answer as evidence (JSON-RPC 2.0, section 5). One that is neither a result nor an error, or both, comes out as the
 * result `undefined`. A `null` beside the other is taken for a member that is not there.
 */
function rawResponse({ result, error }: Readonly<Record<string, unknown>>): RawResponse {
  if (error === undefined || error === null) return { result };
  if (result !== undefined && result !== null) return { result: undefined };
  if (!isObject(error)) return { result: undefined };
  const { code, message, data } = error;
  if (typeof code !== "number" || typeof message !== "string") return { result: undefined };
  return { error: { code, message, ...(data === undefined ? {} : { data }) } };
}
