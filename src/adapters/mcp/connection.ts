// One connected server: pages of its list, and calls with the evidence they leave behind.
//
// `how` and the facts beside it come from the pending request, which the transport filled in, never from an SDK error.
// Pages and results are the raw ones. The SDK's own timer never fires, because at a timeout the SDK would send a cancel.
//
//   connection-1. Only a request that has a signal (a read) is ever cancelled. A write is not cancelled at its deadline, and
//                 its late answer is still taken.
//   connection-2. A retired connection takes no new call, and closes when its last pending request has ended.

import type { Client } from "@modelcontextprotocol/client";
import { z } from "zod";
import type {
  Call,
  CallEvidence,
  CallRequest,
  ListPage,
  RawResponse,
  ServerConnection,
} from "../../contracts/mcp-port.js";
import { contain } from "../process/contain.js";
import type { Observer } from "./observed-transport.js";
import { PendingRequest, RefusedResend } from "./pending-request.js";
import { messageOf, type Scrub } from "./problem.js";

/** The longest time that `setTimeout` takes. */
const LONGEST_MS = 2_147_483_647;
const ANYTHING = z.looseObject({});
const NOTHING_LATE = Promise.resolve(undefined);

export interface ConnectionParts {
  readonly name: string;
  readonly client: Client;
  readonly observer: Observer;
  readonly scrub: Scrub;
  /** The connection must not be used again: the session is gone, or nobody listens at the address. */
  readonly onUseless: (reason: string) => void;
  /** Ends the transport for good. Never rejects. */
  readonly end: () => Promise<void>;
}

interface Terms {
  readonly deadlineMs: number;
  readonly keepListeningMs: number;
  readonly signal?: AbortSignal | undefined;
}

export class McpConnection implements ServerConnection {
  readonly name: string;
  readonly protocol: string;
  readonly serverInfo: { readonly name: string; readonly version: string };
  readonly #parts: ConnectionParts;
  /** Every request that may still be answered, and the writes among them. */
  readonly #open = new Set<Promise<unknown>>();
  readonly #writes = new Set<Promise<unknown>>();
  #closed: string | undefined;
  #ended: Promise<void> | undefined;

  constructor(parts: ConnectionParts) {
    this.name = parts.name;
    this.protocol = parts.client.getNegotiatedProtocolVersion() ?? "unknown";
    const info = parts.client.getServerVersion();
    this.serverInfo = { name: info?.name ?? parts.name, version: info?.version ?? "" };
    this.#parts = parts;
  }

  get closed(): boolean {
    return this.#closed !== undefined;
  }

  async listPage(cursor: string | undefined, deadlineMs: number, maxBytes: number): Promise<ListPage> {
    if (this.#parts.client.getServerCapabilities()?.tools === undefined) {
      return { ok: false, problem: "the server does not declare the `tools` capability" };
    }
    const cancellable = new AbortController().signal; // a list is a read: it may be cancelled at its deadline
    const { evidence } = this.#send(
      new PendingRequest(maxBytes, () => true),
      (signal) =>
        this.#parts.client.request({ method: "tools/list", params: cursor === undefined ? {} : { cursor } }, ANYTHING, {
          timeout: LONGEST_MS,
          ...(signal === undefined ? {} : { signal }),
        }),
      { deadlineMs, keepListeningMs: 0, signal: cancellable },
    );
    return this.#page(await evidence, deadlineMs, maxBytes);
  }

  call(request: CallRequest): Call {
    return this.#send(
      new PendingRequest(request.maxBytes, request.maySend),
      (signal) =>
        this.#parts.client.callTool(
          { name: request.tool, arguments: request.arguments, _meta: request.meta },
          {
            // Without an output schema there is nothing for the SDK to validate; with a definition it looks none up.
            toolDefinition: { name: request.tool, inputSchema: { ...request.inputSchema, type: "object" } },
            allowInputRequired: true,
            timeout: LONGEST_MS,
            ...(signal === undefined ? {} : { signal }),
          },
        ),
      request,
    );
  }

  /** Resolves when every write that may still be answered was answered, or its time is over. */
  async settled(): Promise<void> {
    while (this.#writes.size > 0) await Promise.all(this.#writes);
  }

  /** Takes no new call from now on; ends when no request is pending any more (connection-2). */
  async retire(reason: string): Promise<void> {
    this.#closed ??= reason;
    while (this.#open.size > 0) await Promise.all(this.#open);
    await this.end();
  }

  /** Ends at once. Never rejects. */
  end(): Promise<void> {
    this.#closed ??= "the connection was closed";
    // In a later tick, because ending reports the loss to the pool, and the pool then ends the connection it lost.
    this.#ended ??= Promise.resolve().then(() => this.#parts.end());
    return this.#ended;
  }

  #send(pending: PendingRequest, start: (signal: AbortSignal | undefined) => Promise<unknown>, terms: Terms): Call {
    const { scrub, observer } = this.#parts;
    if (this.#closed !== undefined) return neverSent(pending, "closed", this.#closed, scrub);
    if (terms.signal?.aborted === true) return neverSent(pending, "aborted", "cancelled before it was sent", scrub);
    const cancel = terms.signal === undefined ? undefined : new AbortController(); // connection-1

    const made = observer.run(pending, async () => start(cancel?.signal));
    made.catch((error: unknown) => {
      if (error instanceof RefusedResend) return; // the first send goes on
      pending.lose("error", messageOf(error));
    });

    const evidence = firstEnd(pending, terms).then((how) => {
      if (how === "deadline" || how === "aborted") cancel?.abort();
      const facts = pending.evidence(how, scrub);
      if (how !== "deadline" || terms.keepListeningMs <= 0) pending.listening = false;
      if (facts.sessionGone === true) this.#parts.onUseless("the session is gone");
      if (facts.refused) this.#parts.onUseless("nobody was reached");
      return facts;
    });
    const late = evidence.then((facts) => {
      if (facts.how !== "deadline" || terms.keepListeningMs <= 0) return undefined;
      return listen(pending, terms.keepListeningMs, scrub);
    });
    void late.then(() => observer.release(pending)); // observe-6
    this.#track(late, terms.signal === undefined);
    return { evidence, late };
  }

  #track(work: Promise<unknown>, write: boolean): void {
    this.#open.add(work);
    if (write) this.#writes.add(work);
    void work.finally(() => {
      this.#open.delete(work);
      this.#writes.delete(work);
    });
  }

  #page(facts: CallEvidence, deadlineMs: number, maxBytes: number): ListPage {
    const failed = (problem: string): ListPage => ({ ok: false, problem: this.#parts.scrub(problem) });
    if (facts.tooLarge === true) return failed(`a page of its tools is above ${maxBytes} bytes`);
    if (facts.how === "deadline") return failed(`its tools were not listed within ${deadlineMs} ms`);
    if (facts.response === undefined) return failed(`its tools could not be listed: ${facts.detail ?? facts.how}`);
    return page(facts.response, facts.bytes ?? 0, failed);
  }
}

function page(response: RawResponse, bytes: number, failed: (problem: string) => ListPage): ListPage {
  if ("error" in response)
    return failed(`it answered tools/list with error ${response.error.code}: ${response.error.message}`);
  const { result } = response;
  if (typeof result !== "object" || result === null) return failed("its answer to tools/list holds no result");
  const { tools, nextCursor } = result as Readonly<Record<string, unknown>>;
  if (!Array.isArray(tools)) return failed("its answer to tools/list holds no list of tools");
  return { ok: true, tools, bytes, ...(nextCursor === undefined ? {} : { nextCursor }) };
}

/** Waits for the end of the request, for our deadline or for the run's own signal, and says which came first. */
function firstEnd(pending: PendingRequest, terms: Terms): Promise<CallEvidence["how"]> {
  return new Promise((resolve) => {
    const done = (how: CallEvidence["how"]) => {
      clearTimeout(timer);
      terms.signal?.removeEventListener("abort", aborted);
      resolve(pending.end ?? how); // an answer that has come in by now counts
    };
    const aborted = contain(() => done("aborted"));
    const expired = contain(() => done("deadline"));
    const timer = setTimeout(expired, Math.min(terms.deadlineMs, LONGEST_MS));
    terms.signal?.addEventListener("abort", aborted, { once: true });
    void pending.ended.then(() => done("error"));
  });
}

/** Listens on after the deadline. Undefined unless an answer came. */
async function listen(pending: PendingRequest, ms: number, scrub: Scrub): Promise<CallEvidence | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const enough = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, Math.min(ms, LONGEST_MS));
  });
  await Promise.race([pending.ended, enough]);
  clearTimeout(timer);
  pending.listening = false;
  return pending.end === "response" ? pending.evidence("response", scrub) : undefined;
}

/** A call that was never handed to the transport. */
function neverSent(pending: PendingRequest, how: CallEvidence["how"], detail: string, scrub: Scrub): Call {
  pending.note(detail);
  return { evidence: Promise.resolve(pending.evidence(how, scrub)), late: NOTHING_LATE };
}
