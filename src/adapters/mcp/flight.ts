// One request on its way: what the transport has seen of it so far.
//
// A flight collects facts; it draws no conclusions. Whoever classifies the call reads them as `CallEvidence`.
// It ends once, by an answer or a loss; our deadline does not end it, so that a late answer is still seen.
//
//   F1. The first end stands: a second answer, or a close after the answer, changes nothing.
//   F2. A body above `maxBytes` is measured and dropped, never kept.
//   F3. A flight that nobody listens to any more keeps no body.

import type { CallEvidence, RawResponse } from "../../contracts/servers.js";
import { jsonBytes } from "./measure.js";

export type FlightEnd = "response" | "closed" | "error";

/** A second send under one call, refused (S2). The first one goes on. */
export class RefusedResend extends Error {
  constructor() {
    super("a second send of this request was refused");
    this.name = "RefusedResend";
  }
}

/** Thrown by a sender that is certain that no byte left. */
export class NothingSent extends Error {
  constructor(message: string) {
    super(message);
    this.name = "NothingSent";
  }
}

export class Flight {
  readonly maxBytes: number;
  readonly maySend: () => boolean;
  /** Resolves when the flight ends. */
  readonly over: Promise<void>;
  /** Sends asked of the transport, and HTTP requests made of them. */
  sends = 0;
  posts = 0;
  attempted = false;
  refused = false;
  listening = true;
  end: FlightEnd | undefined;
  #httpStatus: number | undefined;
  #sessionGone = false;
  #response: RawResponse | undefined;
  #bytes: number | undefined;
  #tooLarge = false;
  #details: string[] = [];
  #land: () => void = () => {};

  constructor(maxBytes: number, maySend: () => boolean) {
    this.maxBytes = maxBytes;
    this.maySend = maySend;
    this.over = new Promise((resolve) => {
      this.#land = resolve;
    });
  }

  /** The answer, as it came. */
  answer(message: Readonly<Record<string, unknown>>): void {
    if (this.end !== undefined) return; // F1
    const response = rawResponse(message);
    const bytes = jsonBytes("error" in response ? response.error : response.result);
    if (bytes > this.maxBytes)
      this.#tooLarge = true; // F2
    else if (this.listening) this.#response = response; // F3
    this.#bytes = bytes;
    this.#finish("response");
  }

  /** An answer that was dropped while it came in. `bytes` is at least what was seen. */
  oversize(bytes: number): void {
    if (this.end !== undefined) return; // F1
    this.#tooLarge = true;
    this.#bytes = bytes;
    this.#finish("response");
  }

  /** The HTTP response to this very request was not a success. Does not end the flight: its body may hold the answer. */
  status(httpStatus: number, sessionGone: boolean): void {
    this.#httpStatus = httpStatus;
    this.#sessionGone = sessionGone;
  }

  /** Nothing more will come. */
  lose(how: "closed" | "error", detail?: string): void {
    if (this.end !== undefined) return; // F1
    if (detail !== undefined) this.note(detail);
    this.#finish(how);
  }

  note(detail: string): void {
    if (detail !== "" && !this.#details.includes(detail) && this.#details.length < 4) this.#details.push(detail);
  }

  get sessionGone(): boolean {
    return this.#sessionGone;
  }

  /** The facts so far. `say` makes text fit to be shown (S5). */
  evidence(how: CallEvidence["how"], say: (text: string) => string): CallEvidence {
    return {
      attempted: this.attempted,
      refused: this.refused,
      how,
      ...(this.#httpStatus === undefined ? {} : { httpStatus: this.#httpStatus }),
      ...(this.#sessionGone ? { sessionGone: true } : {}),
      ...(this.#response === undefined ? {} : { response: this.#response }),
      ...(this.#bytes === undefined ? {} : { bytes: this.#bytes }),
      ...(this.#tooLarge ? { tooLarge: true } : {}),
      ...(this.#details.length === 0 ? {} : { detail: say(this.#details.join("; ")) }),
    };
  }

  #finish(end: FlightEnd): void {
    this.end = end;
    this.#land();
  }
}

/** An answer as evidence. One that is neither a result nor an error comes out as the result `undefined`. */
function rawResponse(message: Readonly<Record<string, unknown>>): RawResponse {
  const error = message.error;
  if (error === undefined || error === null) return { result: message.result };
  if (typeof error !== "object") return { error: { code: 0, message: String(error) } };
  const { code, message: text, data } = error as Readonly<Record<string, unknown>>;
  return {
    error: {
      code: typeof code === "number" ? code : 0,
      message: typeof text === "string" ? text : "",
      ...(data === undefined ? {} : { data }),
    },
  };
}
