// A transport observed in place: what leaves, what comes back, for which call.
//
// Works on any MCP transport object, before or after a client took it, because it replaces `send` and turns `onmessage`
// and `onclose` into accessors. Calls are found by async context, not by ids or `_meta`, so that nothing a server says can
// be mistaken for something that happened to the transport.
//
//   S1. Evidence says what was seen on the transport.
//   S2. One call sends at most one request: a second send under one flight is refused.
//   S3. The raw response is ours. The SDK is handed an empty one under the same id: it has nothing to validate, lose,
//       mutate or resend.
//   O1. `maySend` is asked in the same tick in which the transport is told to send.

import { AsyncLocalStorage } from "node:async_hooks";
import type { Transport } from "@modelcontextprotocol/client";
import { isObject } from "../../contracts/index.js";
import { type Flight, NothingSent, RefusedResend } from "./flight.js";
import { rawLimit } from "./measure.js";

type Message = Readonly<Record<string, unknown>>;

/** The flight on whose behalf code runs: from the call to the transport, and from there to the HTTP request. */
const calling = new AsyncLocalStorage<Flight | undefined>();
const sending = new AsyncLocalStorage<Flight | undefined>();

const TRACKED: ReadonlySet<unknown> = new Set(["tools/call", "tools/list"]);
/** Raw bytes always taken: handshakes and notifications come without a call that sets a bound. */
const FLOOR_BYTES = 4_194_304;

export interface ObserverHooks {
  /** `notifications/tools/list_changed` came in. */
  readonly onListChanged: () => void;
  /** The transport closed; runs before the flights are told. The text says why. */
  readonly onClose: () => string;
}

export class Observer {
  readonly #hooks: ObserverHooks;
  readonly #flights = new Map<string, Flight>();
  /** The method of the last message sent. */
  lastMethod: string | undefined;

  constructor(hooks: ObserverHooks) {
    this.#hooks = hooks;
  }

  /** Runs `start` so that the request it makes belongs to `flight`. */
  run<T>(flight: Flight, start: () => T): T {
    return calling.run(flight, start);
  }

  /** The flight whose HTTP request is being made right now. */
  sending(): Flight | undefined {
    return sending.getStore();
  }

  /** The raw size above which nothing that comes in is kept: as much as the largest bound among open flights needs. */
  limitBytes(): number {
    let limit = FLOOR_BYTES;
    for (const flight of this.#flights.values())
      if (flight.listening) limit = Math.max(limit, rawLimit(flight.maxBytes));
    return limit;
  }

  /** Observes a transport. `posts`: the transport makes an HTTP request of every send. */
  attach(transport: Transport, options: { readonly posts: boolean }): void {
    const send = transport.send.bind(transport);
    transport.send = async (message, sendOptions) => {
      const { method, id } = message as Message;
      if (typeof method === "string") this.lastMethod = method;
      const flight = calling.getStore();
      if (flight === undefined || id === undefined || !TRACKED.has(method))
        return sending.run(undefined, () => send(message, sendOptions));
      flight.sends += 1;
      if (flight.sends > 1) {
        const refusal = new RefusedResend(); // S2
        flight.note(refusal.message);
        throw refusal;
      }
      if (!asked(flight.maySend)) throw new NothingSent("not permitted at the moment of sending"); // O1
      flight.attempted = true;
      this.#flights.set(String(id), flight);
      try {
        await sending.run(flight, () => send(message, sendOptions));
      } catch (error) {
        if (error instanceof NothingSent || (options.posts && flight.posts === 0)) flight.attempted = false;
        throw error;
      }
    };
    accessor(transport, "onmessage", (handler) =>
      handler === undefined
        ? undefined
        : (message: never, extra: never) => handler(this.take(message) as never, extra as never),
    );
    accessor(transport, "onclose", (handler) => () => {
      this.loseAll(this.#hooks.onClose());
      handler?.();
    });
  }

  /** A parsed message: keeps an answer to a flight and returns what may be handed on to the SDK. */
  take(message: unknown): unknown {
    if (!isObject(message)) return message;
    const { id, method } = message;
    if (method === "notifications/tools/list_changed") this.#hooks.onListChanged();
    if (method !== undefined || id === undefined) return message;
    const flight = this.#claim(id);
    if (flight === undefined) return message;
    flight.answer(message);
    return { jsonrpc: "2.0", id, result: { resultType: "complete", content: [], tools: [] } }; // S3
  }

  /** An answer that was dropped for its size. */
  oversize(id: string | number, bytes: number): void {
    this.#claim(id)?.oversize(bytes);
  }

  /** Nothing more will come on this transport. */
  loseAll(detail: string): void {
    const lost = [...this.#flights.values()];
    this.#flights.clear();
    for (const flight of lost) flight.lose("closed", detail);
  }

  #claim(id: unknown): Flight | undefined {
    const key = String(id);
    const flight = this.#flights.get(key);
    this.#flights.delete(key); // F1: a second answer to the id finds nothing here
    return flight;
  }
}

/** A callback that throws has not permitted anything. */
function asked(maySend: () => boolean): boolean {
  try {
    return maySend() === true;
  } catch {
    return false;
  }
}

function accessor<K extends "onmessage" | "onclose">(
  transport: Transport,
  key: K,
  wrap: (handler: Transport[K]) => unknown,
): void {
  let wrapped = wrap(transport[key]);
  Object.defineProperty(transport, key, {
    configurable: true,
    enumerable: true,
    get: () => wrapped,
    set: (handler: Transport[K]) => {
      // What a client read from here and puts back is wrapped already.
      if (handler !== wrapped) wrapped = wrap(handler);
    },
  });
}
