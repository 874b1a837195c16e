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
//              looks like that of a call goes nowhere: the SDK would take it for the call's.

import { AsyncLocalStorage } from "node:async_hooks";
import type { Transport } from "@modelcontextprotocol/client";
import { isObject } from "../../contracts/index.js";
import { rawLimit } from "./measure.js";
import { DROPPED, NOT_PERMITTED, NothingSent, type PendingRequest, RefusedResend } from "./pending-request.js";

type Message = Readonly<Record<string, unknown>>;

/** The pending request that code runs for: from the call to the transport, and from there to the HTTP request. */
const calling = new AsyncLocalStorage<PendingRequest | undefined>();
const sending = new AsyncLocalStorage<PendingRequest | undefined>();

const TRACKED: ReadonlySet<unknown> = new Set(["tools/call", "tools/list"]);
/** Raw bytes that are always accepted: handshakes and notifications come without a call that sets a bound. */
const FLOOR_BYTES = 4_194_304;

export interface ObserverHooks {
  /** `notifications/tools/list_changed` came in. */
  readonly onListChanged: () => void;
  /** The transport closed. Runs before the pending requests end. The text says why. */
  readonly onClose: () => string;
}

export class Observer {
  readonly #hooks: ObserverHooks;
  readonly #pending = new Map<unknown, PendingRequest>(); // observe-4
  /** The method of the last message sent. */
  lastMethod: string | undefined;

  constructor(hooks: ObserverHooks) {
    this.#hooks = hooks;
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
    for (const pending of this.#pending.values())
      if (pending.listening) limit = Math.max(limit, rawLimit(pending.maxBytes));
    return limit;
  }

  /** Observes a transport. `posts`: the transport makes an HTTP request of every send. */
  attach(transport: Transport, options: { readonly posts: boolean }): void {
    const send = transport.send.bind(transport);
    transport.send = async (message, sendOptions) => {
      const { method, id } = message as Message;
      if (typeof method === "string") this.lastMethod = method;
      const pending = calling.getStore();
      if (pending === undefined || id === undefined || !TRACKED.has(method))
        return sending.run(undefined, () => send(message, sendOptions));
      pending.sends += 1;
      if (pending.sends > 1) {
        const refusal = new RefusedResend(); // observe-1
        pending.note(refusal.message);
        throw refusal;
      }
      if (!pending.mayStillSend()) throw new NothingSent(NOT_PERMITTED); // observe-3
      pending.attempted = true;
      this.#pending.set(id, pending);
      try {
        await sending.run(pending, () => send(message, sendOptions));
      } catch (error) {
        if (error instanceof NothingSent || pending.withheld || (options.posts && pending.posts === 0))
          pending.attempted = false;
        throw error;
      }
    };
    intercept(transport, "onmessage", (handler) =>
      handler === undefined
        ? undefined
        : (message: never, extra: never) => {
            const handed = this.take(message);
            if (handed !== DROPPED) handler(handed as never, extra as never);
          },
    );
    intercept(transport, "onclose", (handler) => () => {
      this.loseAll(this.#hooks.onClose());
      handler?.();
    });
  }

  /** Takes a parsed message. Keeps the answer to a pending request and returns what may be handed on to the SDK, or `DROPPED`. */
  take(message: unknown): unknown {
    if (!isObject(message)) return message;
    const { id, method } = message;
    if (method === "notifications/tools/list_changed") this.#hooks.onListChanged();
    if (method !== undefined || id === undefined) return message;
    const pending = this.#claim(id);
    if (pending === undefined) return this.#looksPending(id) ? DROPPED : message;
    pending.answer(message);
    return { jsonrpc: "2.0", id, result: { resultType: "complete", content: [], tools: [] } }; // observe-2
  }

  /** An answer that was dropped for its size. */
  oversize(id: string | number, bytes: number): void {
    this.#claim(id)?.oversize(bytes);
  }

  /** Ends every pending request: no answer can come on this transport any more. */
  loseAll(detail: string): void {
    const lost = [...this.#pending.values()];
    this.#pending.clear();
    for (const pending of lost) pending.lose("closed", detail);
  }

  #claim(id: unknown): PendingRequest | undefined {
    const pending = this.#pending.get(id);
    this.#pending.delete(id); // pending-request-1: a second answer to the id finds nothing here
    return pending;
  }

  /** Whether a message is an answer to this very request. */
  answers(pending: PendingRequest, message: unknown): boolean {
    return isObject(message) && message["method"] === undefined && this.#pending.get(message["id"]) === pending;
  }

  /** Whether the SDK, which compares ids as numbers, would take this one for that of a pending call; or it is no id at all. */
  #looksPending(id: unknown): boolean {
    if (typeof id === "number" || id === null) return false;
    return typeof id !== "string" || [...this.#pending.keys()].some((own) => Number(own) === Number(id));
  }
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
