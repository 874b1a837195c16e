// The servers of one host: opened once, shared, opened again after a loss, ended together.
//
//   pool-1. One server has at most one living connection. Concurrent connects share one attempt.
//   pool-2. Starts are bounded: at most `MAX_STARTS` of a server in `WINDOW_MS`, processes and HTTP handshakes alike.
//   pool-3. The generation rises with every new connection, and whenever a list may have changed without our seeing it.
//   pool-4. `close()` waits for writes that may still be answered, then ends everything. A second call does nothing more.
//   pool-5. Listeners are told of changed lists `TOLD_CHANGES` times a second at most, however often a server says it.

import type { ServerConfig } from "../../contracts/index.js";
import type { ConnectResult, ServerConnection, Servers } from "../../contracts/mcp-port.js";
import type { NoteGroup } from "../process/left-behind.js";
import { workingFolder } from "../process/working-folder.js";
import type { McpConnection } from "./connection.js";
import { openConnection } from "./open-connection.js";
import { createScrub, messageOf, type Scrub, ServerProblem } from "./problem.js";
import { Rate } from "./rate.js";

const CONNECT_TIMEOUT_MS = 30_000;
const MAX_STARTS = 5;
const WINDOW_MS = 30_000;
const TOLD_CHANGES = 10;

export interface McpDeps {
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Removes secrets from text. */
  readonly redact: (text: string) => string;
  /** Milliseconds `close()` waits at most for pending writes to be answered. */
  readonly lateAnswerMs: number;
  /** Milliseconds from the start of a server until it is ready, and for its whole list. @default 30000 */
  readonly connectTimeoutMs?: number;
  /** Notes the groups of servers that are started, so that the next start can name what is left of them. @default nowhere */
  readonly noteGroup?: NoteGroup | undefined;
}

type Event = Parameters<Parameters<Servers["onEvent"]>[0]>[0];

/** The servers of `configs`. Starts nothing until `connect`. */
export function createServers(configs: Readonly<Record<string, ServerConfig>>, deps: McpDeps): Servers {
  return new ServerPool(configs, deps);
}

interface Slot {
  readonly config: ServerConfig;
  readonly scrub: Scrub;
  readonly starts: Rate;
  readonly toldChanges: Rate;
  connection: McpConnection | undefined;
  attempt: Promise<ConnectResult> | undefined;
  generation: number;
  /** Why it last did not start or did not stay. */
  lastProblem: string | undefined;
}

/** The start was not made. What a person should read is why the earlier starts failed. */
class TooManyStarts extends ServerProblem {}

class ServerPool implements Servers {
  readonly names: readonly string[];
  readonly connectTimeoutMs: number;
  readonly #deps: McpDeps;
  readonly #slots = new Map<string, Slot>();
  readonly #listeners = new Set<(event: Event) => void>();
  /** Every connection that may still own a process or a session, retired ones included, and the ends under way. */
  readonly #connections = new Set<McpConnection>();
  readonly #endings = new Set<Promise<void>>();
  readonly #stop = new AbortController();
  #closing: Promise<void> | undefined;

  constructor(configs: Readonly<Record<string, ServerConfig>>, deps: McpDeps) {
    this.#deps = deps;
    this.connectTimeoutMs = deps.connectTimeoutMs ?? CONNECT_TIMEOUT_MS;
    this.names = Object.keys(configs);
    for (const [name, config] of Object.entries(configs)) {
      const folders = [config.type === "stdio" ? config.cwd : undefined, workingFolder()];
      this.#slots.set(name, {
        config,
        scrub: createScrub(
          deps.redact,
          folders.filter((folder) => folder !== undefined),
        ),
        starts: new Rate(deps.now, MAX_STARTS, WINDOW_MS),
        toldChanges: new Rate(deps.now, TOLD_CHANGES, 1_000),
        connection: undefined,
        attempt: undefined,
        generation: 0,
        lastProblem: undefined,
      });
    }
  }

  connect(name: string): Promise<ConnectResult> {
    const slot = this.#slots.get(name);
    if (slot === undefined) return Promise.resolve({ ok: false, problem: "no server of this name is configured" });
    if (this.#closing !== undefined) return Promise.resolve({ ok: false, problem: "toolgate is closing" });
    const living = this.#living(slot);
    if (living !== undefined) return Promise.resolve({ ok: true, connection: living });
    slot.attempt ??= this.#attempt(name, slot).finally(() => {
      slot.attempt = undefined;
    }); // pool-1
    return slot.attempt;
  }

  connection(name: string): ServerConnection | undefined {
    const slot = this.#slots.get(name);
    return slot === undefined ? undefined : this.#living(slot);
  }

  generation(name: string): number {
    return this.#slots.get(name)?.generation ?? 0;
  }

  onEvent(listener: (event: Event) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close(); // pool-4
    return this.#closing;
  }

  async #attempt(name: string, slot: Slot): Promise<ConnectResult> {
    this.#emit(name, "connecting");
    try {
      const connection = await openConnection(name, slot.config, this.connectTimeoutMs, {
        scrub: slot.scrub,
        noteGroup: this.#deps.noteGroup ?? (() => () => {}),
        mayStart: () => this.#mayStart(slot),
        onListChanged: () => this.#changed(name, slot, "list_changed"),
        onLost: (lost, reason) => this.#lost(name, slot, lost, reason),
        onEnding: (work) => this.#ending(work),
        closing: this.#stop.signal,
      });
      this.#connections.add(connection);
      if (this.#closing !== undefined) {
        this.#ending(connection.end());
        return this.#failed(name, slot, new ServerProblem("toolgate is closing"));
      }
      slot.connection = connection;
      this.#changed(name, slot, "connected", connection.protocol); // pool-3
      return { ok: true, connection };
    } catch (error) {
      if (!(error instanceof TooManyStarts)) slot.lastProblem = messageOf(error);
      return this.#failed(name, slot, error);
    }
  }

  #failed(name: string, slot: Slot, error: unknown): ConnectResult {
    const problem = slot.scrub(messageOf(error));
    this.#emit(name, "failed", problem);
    return { ok: false, problem };
  }

  #mayStart(slot: Slot): void {
    if (this.#closing !== undefined) throw new ServerProblem("toolgate is closing");
    const start = slot.starts.take(); // pool-2
    if (start.ok) return;
    const seconds = Math.ceil(start.waitMs / 1_000);
    const last = slot.lastProblem === undefined ? "" : `; the last time: ${slot.lastProblem}`;
    throw new TooManyStarts(
      `it was started ${MAX_STARTS} times within ${WINDOW_MS / 1_000} s and did not stay; next try in ${seconds} s${last}`,
    );
  }

  #lost(name: string, slot: Slot, lost: McpConnection, reason: string): void {
    this.#ending(lost.retire(reason).then(() => void this.#connections.delete(lost)));
    if (slot.connection !== lost) return;
    slot.connection = undefined;
    slot.lastProblem = reason;
    this.#emit(name, "closed", slot.scrub(reason));
  }

  #changed(name: string, slot: Slot, kind: "list_changed" | "connected", detail?: string): void {
    slot.generation += 1;
    if (kind === "list_changed" && !slot.toldChanges.take().ok) return; // pool-5
    this.#emit(name, kind, detail);
  }

  #living(slot: Slot): McpConnection | undefined {
    return slot.connection?.closed === false ? slot.connection : undefined;
  }

  #ending(work: Promise<void>): void {
    this.#endings.add(work);
    void work.finally(() => this.#endings.delete(work));
  }

  #emit(server: string, kind: string, detail?: string): void {
    for (const listener of this.#listeners) {
      try {
        listener({ server, kind, ...(detail === undefined ? {} : { detail }) });
      } catch {
        // A listener that throws does not keep the others from being told.
      }
    }
  }

  async #close(): Promise<void> {
    await Promise.resolve(); // `#closing` is set before anything below runs
    this.#stop.abort();
    await Promise.all([...this.#slots.values()].map((slot) => slot.attempt));
    const writes = Promise.all([...this.#connections].map((connection) => connection.settled()));
    await waitAtMost(writes, this.#deps.lateAnswerMs);
    await Promise.all([...this.#connections].map((connection) => connection.end()));
    while (this.#endings.size > 0) await Promise.all(this.#endings);
  }
}

async function waitAtMost(work: Promise<unknown>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const enough = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, enough]);
  clearTimeout(timer);
}
