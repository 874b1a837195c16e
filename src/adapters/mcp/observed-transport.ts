// Observes a transport: which request leaves it, what comes back, and to which call it belongs.
//
// It works on any MCP transport object, before or after a client took it, because it replaces `send` and turns `onmessage`
// and `onclose` into accessors. The call behind a request is found by async context, not by ids or `_meta`, so that nothing
// a server says can be taken for something that happened on the transport. Evidence says what was seen there.
//
//   observe-1. One call sends at most one request: a second send under one pending request is refused.
//   observe-2. toolgate keeps the raw response. The SDK is handed an empty one under the same id, so that it has nothing to
//              validate, lose, change or send again.
//   observe-3. `maySend` is asked in the same tick in which the transport is told to send. A transport that must wait before it
//              can send (for a connection, or for what was written before) asks once more, just before the first byte.
//   observe-4. An answer belongs to a request by the type and the value of its id (JSON-RPC 2.0, section 5). One whose id only
//              looks like that of a request goes nowhere: the SDK would take it for an answer to it.
//   observe-5. The SDK is handed an answer only to a request that it waits for, each request one answer, and no message that
//              is nested deeper than `MAX_LEVELS`. What it throws in its handlers is dropped with the message.
//   observe-6. A request that nobody waits for any more is released: neither the SDK nor this file keeps anything of it.

import { AsyncLocalStorage } from "node:async_hooks";
import type { Transport } from "@modelcontextprotocol/client";
import { isObject } from "../../contracts/index.js";
import { contain } from "../process/contain.js";
import { Flood } from "./flood.js";
import { deeperThan, MAX_LEVELS, rawLimit } from "./measure.js";
import { DROPPED, NOT_PERMITTED, NothingSent, type PendingRequest, RefusedResend } from "./pending-request.js";

type Message = Readonly<Record<string, unknown>>;

/** The pending request that code runs for: from the call to the transport, and from there to the HTTP request. */
const calling = new AsyncLocalStorage<PendingRequest | undefined>();
const sending = new AsyncLocalStorage<PendingRequest | undefined>();

const TRACKED: ReadonlySet<unknown> = new Set(["tools/call", "tools/list"]);
/** Raw bytes that are always accepted: handshakes and notifications come without a call that sets a bound. */
const FLOOR_BYTES = 4_194_304;
/** The longest id that a server's own request may have: its answer repeats the id. */
const MAX_ID_CHARS = 1_024;

export interface ObserverHooks {
  /** `notifications/tools/list_changed` came in. */
  readonly onListChanged: () => void;
  /** The transport closed. Runs before the pending requests end. The text says why. */
  readonly onClose: () => string;
  /** The server floods this process: the connection must be ended. The text says with what. */
  readonly onFlood: (reason: string) => void;
  /** Milliseconds that never go back. @default `performance.now` */
  readonly steady?: () => number;
}

/** A request that was sent and not answered to the SDK: one of toolgate's, one of the SDK's own, or an answer that is on its way. */
type Open = PendingRequest | "own" | "answered";

export class Observer {
  readonly #hooks: ObserverHooks;
  readonly #flood: Flood;
  readonly #open = new Map<unknown, Open>(); // observe-4
  /** Hands a message to the SDK. */
  #toSdk: (message: unknown) => void = () => {};
  /** The method of the last message sent. */
  lastMethod: string | undefined;

  constructor(hooks: ObserverHooks) {
    this.#hooks = hooks;
    this.#flood = new Flood(hooks.steady ?? (() => performance.now()), hooks.onFlood);
  }

  /** Runs `start` so that the request it makes belongs to `pending`. */
  run<T>(pending: PendingRequest, start: () => T): T {
    return calling.run(pending, start);
  }

  /** The pending request whose HTTP request is being made right now. */
  sending(): PendingRequest | undefined {
    return sending.getStore();
  }

  /** The raw size above which nothing that comes in is kept. The largest bound among the pending requests decides. */
  limitBytes(): number {
    let limit = FLOOR_BYTES;
    for (const pending of this.#open.values())
      if (typeof pending === "object" && pending.listening) limit = Math.max(limit, rawLimit(pending.maxBytes));
    return limit;
  }

  /** Observes a transport. `posts`: the transport makes an HTTP request of every send. */
  attach(transport: Transport, options: { readonly posts: boolean }): void {
    const send = transport.send.bind(transport);
    transport.send = async (message, sendOptions) => {
      const { method, id } = message as Message;
      if (typeof method === "string") this.lastMethod = method;
      const pending = calling.getStore();
      if (pending === undefined || id === undefined || !TRACKED.has(method)) {
        if (id !== undefined && method !== undefined) this.#open.set(id, "own");
        const sent = sending.run(undefined, () => send(message, sendOptions));
        if (method === undefined) this.#flood.answering(sent);
        return sent;
      }
      pending.sends += 1;
      if (pending.sends > 1) {
        const refusal = new RefusedResend(); // observe-1
        pending.note(refusal.message);
        throw refusal;
      }
      if (!pending.mayStillSend()) throw new NothingSent(NOT_PERMITTED); // observe-3
      pending.attempted = true;
      pending.id = id;
      this.#open.set(id, pending);
      try {
        await sending.run(pending, () => send(message, sendOptions));
      } catch (error) {
        if (error instanceof NothingSent || pending.withheld || (options.posts && pending.posts === 0))
          pending.attempted = false;
        throw error;
      }
    };
    intercept(transport, "onmessage", (handler) => {
      if (handler === undefined) return undefined;
      const told = contain(handler as (...args: unknown[]) => unknown, (error) => transport.onerror?.(error as Error));
      this.#toSdk = told;
      return contain((message: unknown, extra: unknown) => {
        const handed = this.#admit(message);
        if (handed !== DROPPED) told(handed, extra);
      });
    });
    intercept(transport, "onclose", (handler) =>
      contain(() => {
        try {
          this.loseAll(this.#hooks.onClose());
        } finally {
          handler?.();
        }
      }),
    );
  }

  /**
   * Takes a parsed message. Keeps the answer to a pending request and returns what may be handed on to the SDK, or `DROPPED`.
   * Over HTTP a message is taken twice: where its bytes come in, and where the SDK has parsed them once more.
   */
  take(message: unknown): unknown {
    if (!isObject(message)) return message;
    if (this.#flood.over) return DROPPED; // flood-3
    const { id, method } = message;
    const deep = deeperThan(MAX_LEVELS, message);
    if (method !== undefined) {
      if (deep || (typeof id === "string" && id.length > MAX_ID_CHARS)) return DROPPED; // observe-5
      if (method === "notifications/tools/list_changed") this.#hooks.onListChanged();
      return message;
    }
    const open = this.#open.get(id);
    if (open === undefined) return DROPPED; // observe-5
    if (open === "own") return deep ? refused(id, `nested deeper than ${MAX_LEVELS} levels`) : message;
    if (open !== "answered") this.#claim(id, open).answer(message);
    return emptyAnswer(id); // observe-2
  }

  /** An answer that was dropped for its size. */
  oversize(id: string | number, bytes: number): void {
    const open = this.#open.get(id);
    if (open === "own") this.#answerSdk(id, refused(id, "above the size limit"));
    else if (open !== undefined && open !== "answered") this.#claim(id, open).oversize(bytes);
  }

  /** Nobody waits for the answer to this request any more. (observe-6) */
  release(pending: PendingRequest): void {
    const id = pending.id;
    const open = this.#open.get(id);
    if (open === pending || open === "answered") this.#answerSdk(id, emptyAnswer(id));
  }

  /** Ends every pending request: no answer can come on this transport any more. */
  loseAll(detail: string): void {
    const lost = [...this.#open.values()];
    this.#open.clear();
    for (const open of lost) if (typeof open === "object") open.lose("closed", detail);
  }

  /** Whether a message is an answer to this very request. */
  answers(pending: PendingRequest, message: unknown): boolean {
    return isObject(message) && message["method"] === undefined && this.#open.get(message["id"]) === pending;
  }

  /** What may reach the SDK now. A request of the server is counted, and a request of ours is answered once. */
  #admit(message: unknown): unknown {
    const handed = this.take(message);
    if (!isObject(handed)) return handed;
    const { id, method } = handed;
    if (method === undefined) this.#open.delete(id);
    else if (id !== undefined && !this.#flood.asked()) return DROPPED;
    return handed;
  }

  /** pending-request-1: a second answer to the id finds no pending request */
  #claim(id: unknown, pending: PendingRequest): PendingRequest {
    this.#open.set(id, "answered");
    return pending;
  }

  #answerSdk(id: unknown, answer: unknown): void {
    this.#open.delete(id);
    this.#toSdk(answer);
  }
}

function emptyAnswer(id: unknown): object {
  return { jsonrpc: "2.0", id, result: { resultType: "complete", content: [], tools: [] } };
}

/** Stands for an answer that the SDK waits for and that cannot be handed on. */
function refused(id: unknown, why: string): object {
  return { jsonrpc: "2.0", id, error: { code: -32_600, message: `its answer is ${why}` } };
}

/** Wraps each handler that is set, the present one included. */
function intercept<K extends "onmessage" | "onclose">(
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
      // A client that reads the handler and sets it again hands back what is wrapped already.
      if (handler !== wrapped) wrapped = wrap(handler);
    },
  });
}
