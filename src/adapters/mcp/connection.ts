// One connected server: pages of its list, and calls with the evidence they leave behind.
//
//   S1. `how` and the facts beside it come from the flight, which the transport filled in; never from an SDK error.
//   S3. Pages and results are the raw ones.
//   S4. Only what carries a signal (a read) is ever cancelled. A write is left alone at its deadline and listened to.
//   K1. The SDK's own timer never fires: at a timeout the SDK would send a cancel.
//   K2. A retired connection takes no new call and closes when the last one in flight has ended.

import type { Client } from "@modelcontextprotocol/client";
import { z } from "zod";
import type {
  Call,
  CallEvidence,
  CallRequest,
  ListPage,
  RawResponse,
  ServerConnection,
} from "../../contracts/servers.js";
import { Flight, RefusedResend } from "./flight.js";
import type { Observer } from "./observe.js";
import { messageOf, type Say } from "./problem.js";

/** The longest `setTimeout` there is (K1). */
const NEVER_MS = 2_147_483_647;
const ANYTHING = z.looseObject({});
const NOTHING_LATE = Promise.resolve(undefined);

export interface ConnectionParts {
  readonly name: string;
  readonly client: Client;
  readonly observer: Observer;
  readonly say: Say;
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

export class Connection implements ServerConnection {
  readonly name: string;
  readonly protocol: string;
  readonly serverInfo: { readonly name: string; readonly version: string };
  readonly #parts: ConnectionParts;
  /** Everything that may still bring an answer, and the writes among it. */
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
    const never = new AbortController(); // a list is a read: it may be cancelled
    const { evidence } = this.#send(
      new Flight(maxBytes, () => true),
      (signal) =>
        this.#parts.client.request({ method: "tools/list", params: cursor === undefined ? {} : { cursor } }, ANYTHING, {
          timeout: NEVER_MS,
          ...(signal === undefined ? {} : { signal }),
        }),
      { deadlineMs, keepListeningMs: 0, signal: never.signal },
    );
    return this.#page(await evidence, deadlineMs, maxBytes);
  }

  call(request: CallRequest): Call {
    return this.#send(
      new Flight(request.maxBytes, request.maySend),
      (signal) =>
        this.#parts.client.callTool(
          { name: request.tool, arguments: request.arguments, _meta: request.meta },
          {
            // Without an output schema there is nothing for the SDK to validate; with a definition it looks none up.
            toolDefinition: { name: request.tool, inputSchema: { ...request.inputSchema, type: "object" } },
            allowInputRequired: true,
            timeout: NEVER_MS,
            ...(signal === undefined ? {} : { signal }),
          },
        ),
      request,
    );
  }

  /** Writes that may still be answered have been, or their time is over. */
  async settled(): Promise<void> {
    while (this.#writes.size > 0) await Promise.all(this.#writes);
  }

  /** Takes no new call from now on; ends when nothing is in flight any more (K2). */
  async retire(reason: string): Promise<void> {
    this.#closed ??= reason;
    while (this.#open.size > 0) await Promise.all(this.#open);
    await this.end();
  }

  /** Ends at once. Never rejects. */
  end(): Promise<void> {
    this.#closed ??= "the connection was closed";
    // In a later tick: ending tells the host of the loss, and the host ends what it lost.
    this.#ended ??= Promise.resolve().then(() => this.#parts.end());
    return this.#ended;
  }

  #send(flight: Flight, start: (signal: AbortSignal | undefined) => Promise<unknown>, terms: Terms): Call {
    const { say, observer } = this.#parts;
    if (this.#closed !== undefined) return over(flight, "closed", this.#closed, say);
    if (terms.signal?.aborted === true) return over(flight, "aborted", "cancelled before it was sent", say);
    const cancel = terms.signal === undefined ? undefined : new AbortController(); // S4

    const made = observer.run(flight, async () => start(cancel?.signal));
    made.catch((error: unknown) => {
      if (error instanceof RefusedResend) return; // the first send goes on
      flight.lose("error", messageOf(error));
    });

    const evidence = until(flight, terms).then((how) => {
      if (how === "deadline" || how === "aborted") cancel?.abort();
      const facts = flight.evidence(how, say);
      if (how !== "deadline" || terms.keepListeningMs <= 0) flight.listening = false;
      if (facts.sessionGone === true) this.#parts.onUseless("the session is gone");
      if (facts.refused) this.#parts.onUseless("nobody was reached");
      return facts;
    });
    const late = evidence.then((facts) => {
      if (facts.how !== "deadline" || terms.keepListeningMs <= 0) return undefined;
      return listen(flight, terms.keepListeningMs, say);
    });
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
    const failed = (problem: string): ListPage => ({ ok: false, problem: this.#parts.say(problem) });
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

/** How waiting ends: with the flight, at our deadline, or by the run's own signal. */
function until(flight: Flight, terms: Terms): Promise<CallEvidence["how"]> {
  return new Promise((resolve) => {
    const done = (how: CallEvidence["how"]) => {
      clearTimeout(timer);
      terms.signal?.removeEventListener("abort", aborted);
      resolve(flight.end ?? how); // what has come in by now counts
    };
    const aborted = () => done("aborted");
    const timer = setTimeout(() => done("deadline"), Math.min(terms.deadlineMs, NEVER_MS));
    terms.signal?.addEventListener("abort", aborted, { once: true });
    void flight.over.then(() => done("error"));
  });
}

/** Listens on after the deadline. Only an answer is worth telling. */
async function listen(flight: Flight, ms: number, say: Say): Promise<CallEvidence | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const enough = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, Math.min(ms, NEVER_MS));
  });
  await Promise.race([flight.over, enough]);
  clearTimeout(timer);
  flight.listening = false;
  return flight.end === "response" ? flight.evidence("response", say) : undefined;
}

/** A call that was never handed to the transport. */
function over(flight: Flight, how: CallEvidence["how"], detail: string, say: Say): Call {
  flight.note(detail);
  return { evidence: Promise.resolve(flight.evidence(how, say)), late: NOTHING_LATE };
}
