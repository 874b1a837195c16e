// Opens one connection to one server, or says in one line why it cannot be opened.
//
// The protocol version is negotiated on the connection itself: no second process is started to find it out.
//
//   open-1. A server that ends at a request it does not know (`server/discover`) is started once more and greeted with the
//           handshake of the older protocol.
//              Both starts together have the time of one.
//   open-2. A process or session that was started for a connection that failed is ended.

import {
  Client,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type Transport,
} from "@modelcontextprotocol/client";
import { type HttpServer, ownSignal, type ServerConfig, type StdioServer } from "../../contracts/index.js";
import { contain } from "../process/contain.js";
import type { NoteGroup } from "../process/left-behind.js";
import { McpConnection } from "./connection.js";
import { observedFetch } from "./http.js";
import { Observer } from "./observed-transport.js";
import { messageOf, type Scrub, ServerProblem } from "./problem.js";
import { StdioTransport } from "./stdio.js";

const CLIENT = { name: "toolgate", version: "0.1.0" };
/** How long a stdio server may leave `server/discover` unanswered before the older handshake is tried. */
const PROBE_MS = 10_000;
/** How long the end of an HTTP session may take. */
const GOODBYE_MS = 1_000;
/** How long an HTTP stream that ended stays closed. */
const REOPEN_MS = { least: 1_000, most: 60_000 };

type Mode = "auto" | "modern" | "legacy";

export interface OpenHooks {
  readonly scrub: Scrub;
  /** Asked before every start. Throws a `ServerProblem` when there were too many. */
  readonly mayStart: () => void;
  readonly onListChanged: () => void;
  /** The connection is lost, or must not be used again. */
  readonly onLost: (connection: McpConnection, reason: string) => void;
  readonly noteGroup: NoteGroup;
  /** Aborted when the host closes: an attempt under way gives up. */
  readonly closing: AbortSignal;
  /** Work that goes on in the background and ends something. */
  readonly onEnding: (work: Promise<void>) => void;
}

/** Throws a `ServerProblem`, its message not redacted yet. */
export async function openConnection(
  name: string,
  config: ServerConfig,
  timeoutMs: number,
  hooks: OpenHooks,
): Promise<McpConnection> {
  const mode = modeOf(config);
  hooks.mayStart();
  const since = performance.now();
  const first = new Attempt(name, config, timeoutMs, hooks);
  try {
    return await first.connect(mode);
  } catch (error) {
    if (!(mode === "auto" && first.diedOfProbe)) throw error;
  }
  hooks.mayStart(); // open-1
  const leftMs = Math.max(1, Math.ceil(timeoutMs - (performance.now() - since)));
  return new Attempt(name, config, leftMs, hooks).connect("legacy");
}

function modeOf(config: ServerConfig): Mode {
  if (config.type === "sse") {
    if (config.protocol === "2026-07-28")
      throw new ServerProblem("the `sse` transport does not carry protocol 2026-07-28; use `http`");
    return "legacy";
  }
  if (config.protocol === "auto") return "auto";
  return config.protocol === "2026-07-28" ? "modern" : "legacy";
}

class Attempt {
  readonly #name: string;
  readonly #config: ServerConfig;
  readonly #timeoutMs: number;
  readonly #hooks: OpenHooks;
  readonly #observer: Observer;
  readonly #transport: Transport;
  #connection: McpConnection | undefined;
  #failure: string | undefined;
  /** Why we ended the connection, where the server gave a reason for it. */
  #abandoned: string | undefined;

  constructor(name: string, config: ServerConfig, timeoutMs: number, hooks: OpenHooks) {
    this.#name = name;
    this.#config = config;
    this.#timeoutMs = timeoutMs;
    this.#hooks = hooks;
    this.#observer = new Observer({
      onListChanged: hooks.onListChanged,
      onClose: () => this.#lost(),
      onFlood: (reason) => this.#abandon(reason),
    });
    this.#transport = config.type === "stdio" ? this.#stdio(config) : this.#http(config);
    this.#observer.attach(this.#transport, { posts: config.type !== "stdio" });
  }

  /** The process ended while it was asked which protocol it speaks (open-1). */
  get diedOfProbe(): boolean {
    return (
      this.#transport instanceof StdioTransport &&
      this.#transport.died &&
      !this.#transport.abandoned &&
      this.#observer.lastMethod === "server/discover"
    );
  }

  async connect(mode: Mode): Promise<McpConnection> {
    const client = new Client(CLIENT, {
      capabilities: {},
      versionNegotiation: this.#negotiation(mode),
      ...(this.#config.protocol === "2025-11-25" ? { supportedProtocolVersions: ["2025-11-25"] } : {}),
      // In protocol 2026-07-28 a server tells changes to subscribers only. The observer sees the notifications.
      listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => {} } },
    });
    client.onerror = () => {}; // the observer sees every loss and every answer
    try {
      const { closing } = this.#hooks;
      await within(this.#timeoutMs, client.connect(this.#transport, { timeout: this.#timeoutMs }), closing);
    } catch (error) {
      const problem = this.#problem(error);
      this.#hooks.onEnding(this.#end()); // open-2
      throw problem;
    }
    const connection = new McpConnection({
      name: this.#name,
      client,
      observer: this.#observer,
      scrub: this.#hooks.scrub,
      onUseless: (reason) => this.#hooks.onLost(connection, reason),
      end: () => this.#end(),
    });
    this.#connection = connection;
    if (this.#transport instanceof StdioTransport && this.#transport.died)
      throw new ServerProblem(this.#transport.account());
    return connection;
  }

  #negotiation(mode: Mode) {
    const probe = this.#config.type === "stdio" ? Math.min(PROBE_MS, this.#timeoutMs / 2) : this.#timeoutMs;
    switch (mode) {
      case "auto":
        return { mode: "auto" as const, probe: { timeoutMs: probe } };
      case "modern":
        return { mode: { pin: "2026-07-28" }, probe: { timeoutMs: this.#timeoutMs } };
      case "legacy":
        return { mode: "legacy" as const };
    }
  }

  #stdio(config: StdioServer): Transport {
    return new StdioTransport(config, {
      limitBytes: () => this.#observer.limitBytes(),
      onOversize: (id, bytes) => this.#observer.oversize(id, bytes),
      maySend: () => this.#observer.sending()?.mayStillSend() ?? true,
      noted: (leader) => this.#hooks.noteGroup(this.#name, leader),
    });
  }

  #http(config: HttpServer): Transport {
    const url = new URL(config.url);
    const options = {
      fetch: observedFetch(this.#observer, {
        onFailure: (text) => {
          this.#failure = text;
        },
        oneStream: config.type === "sse",
        onStreamEnd: () => this.#streamEnded(config),
      }),
      requestInit: { headers: config.headers },
    };
    return config.type === "sse"
      ? new SSEClientTransport(url, options)
      : new StreamableHTTPClientTransport(url, { ...options, reconnectionScheduler: reopenLater });
  }

  #streamEnded(config: HttpServer): void {
    // On the `sse` transport every answer comes by that stream, and the SDK would open another one, of another session.
    if (config.type === "sse") void this.#transport.close().catch(() => {});
    // Otherwise only notifications were missed, and one of them may have said that the list changed.
    else this.#hooks.onListChanged();
  }

  /** Ends the connection for what the server did. */
  #abandon(reason: string): void {
    this.#abandoned ??= reason;
    if (this.#transport instanceof StdioTransport) this.#transport.abandon(reason);
    else void this.#transport.close().catch(() => {});
  }

  #lost(): string {
    const closed = this.#abandoned ?? "the connection was closed";
    const reason = this.#transport instanceof StdioTransport ? this.#transport.account() : closed;
    if (this.#connection !== undefined) this.#hooks.onLost(this.#connection, reason);
    return reason;
  }

  #problem(error: unknown): ServerProblem {
    if (error instanceof ServerProblem) return error;
    if (this.#transport instanceof StdioTransport && this.#transport.died)
      return new ServerProblem(`it did not start: ${this.#transport.account()}`);
    return new ServerProblem(this.#abandoned ?? this.#failure ?? messageOf(error));
  }

  async #end(): Promise<void> {
    if (this.#transport instanceof StreamableHTTPClientTransport)
      await within(GOODBYE_MS, this.#transport.terminateSession()).catch(() => {});
    await this.#transport.close().catch(() => {});
  }
}

/** A server says after how many milliseconds a stream of it is opened again. It may say 0, or more than a timer takes. */
function reopenLater(reopen: () => void, askedMs: number): () => void {
  const timer = setTimeout(contain(reopen), Math.min(Math.max(askedMs, REOPEN_MS.least), REOPEN_MS.most));
  return () => clearTimeout(timer);
}

async function within<T>(ms: number, work: Promise<T>, whenClosing?: AbortSignal): Promise<T> {
  const closing = whenClosing && ownSignal(whenClosing); // a host may open many servers at once
  work.catch(() => {}); // it may fail after the time is over, when nobody waits for it any more
  let timer: NodeJS.Timeout | undefined;
  let stop = () => {};
  const cut = new Promise<never>((_, reject) => {
    const late = contain(() => reject(new ServerProblem(`it was not ready within ${ms} ms`)));
    timer = setTimeout(late, ms);
    stop = contain(() => reject(new ServerProblem("toolgate is closing")));
    if (closing?.aborted === true) stop();
    closing?.addEventListener("abort", stop, { once: true });
  });
  try {
    return await Promise.race([work, cut]);
  } finally {
    clearTimeout(timer);
    closing?.removeEventListener("abort", stop);
  }
}
