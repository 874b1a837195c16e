// The world of one cell: a folder, a store, the server's log and the wire's, and the processes that were started.

import { mkdtempSync, readFileSync, rmSync, watch } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readLog, type ServerEvent, type ServerEventName } from "../../../servers/log.js";
import type { Bundle } from "./bundle.js";
import { aliasOf, type Effect, toolsOf } from "./effects.js";
import type { Action } from "./plan.js";
import type { Halt } from "./points.js";
import { keptBy, losePower, tornStores } from "./power.js";
import { gone, type Halted, HostProcess } from "./process.js";
import { broken, promisesIn } from "./promises.js";
import { type Databases, openStore, type Store } from "./stores.js";

/** Of the seal on answers. */
export const SECRET = "a-secret-for-tests-that-is-long-enough";

/** What a server does to the first call. */
export interface Fault {
  readonly at: "accepted" | "effect" | "half" | "answered";
  readonly do: "hold" | "die";
}

export interface HostOptions {
  readonly halts?: readonly Halt[];
  readonly fault?: Fault;
  readonly offsetMs?: number;
  readonly machine?: string;
  readonly witness?: boolean;
  readonly races?: boolean;
  /** The call's own deadline, in milliseconds. */
  readonly timeoutMs?: number;
  /** Lays over the configuration. */
  readonly config?: Readonly<Record<string, unknown>>;
}

/** A machine that loses its power whenever a host is killed. */
export interface Power {
  /** How many transactions the disk keeps of those that need not be there. */
  readonly keeps: number;
  readonly copyPages?: number;
}

/** What a loss of power came to. */
export interface PowerLost {
  /** How many transactions need not be there, where the most were lost. */
  readonly losable: number;
  /** Promises that were not kept, and stores that SQLite could not make whole again. */
  readonly broken: readonly string[];
}

export interface WorldParts {
  readonly bundle: Bundle;
  readonly store: Store;
  readonly effect: Effect;
  readonly databases: () => Promise<Databases>;
  /** Rounds of a race. @default as the row has it */
  readonly rounds?: number;
  readonly power?: Power;
}

/** A line of the wire: one `tools/call` that was handed to a server's pipe. */
export interface Sent {
  readonly tool: string;
  readonly operationId?: string;
}

export class World {
  readonly folder = mkdtempSync(join(tmpdir(), "toolgate-faults-"));
  readonly threadId = "t1";
  readonly effect: Effect;
  readonly store: Store;
  readonly rounds: number | undefined;
  readonly #parts: WorldParts;
  readonly #hosts: HostProcess[] = [];
  #opened: Readonly<Record<string, string>> | undefined;
  /** How often the power went. */
  #losses = 0;
  #losable = 0;
  readonly #broken: string[] = [];

  constructor(parts: WorldParts) {
    this.#parts = parts;
    this.effect = parts.effect;
    this.store = parts.store;
    this.rounds = parts.rounds;
  }

  get storePath(): string {
    return join(this.folder, "store", "toolgate.sqlite");
  }

  /** Where the store is; made at the first question. */
  async opened(): Promise<Readonly<Record<string, string>>> {
    this.#opened ??= await openStore(this.store, this.folder, this.#parts.databases);
    return this.#opened;
  }

  /** Starts a host process with a thread whose model makes one call. */
  async host(actions: readonly Action[], options: HostOptions = {}): Promise<HostProcess> {
    const { bundle, effect, power } = this.#parts;
    const { halts = [], fault, timeoutMs, config = {}, ...rest } = options;
    const env = { SERVER_LOG: this.#logPath, FAULT: fault ? JSON.stringify(fault) : "" };
    const server = {
      command: process.execPath,
      args: [bundle.server],
      protocol: "2025-11-25",
      credentialId: "faults", // it is the same server, whatever its faults
      env,
    };
    const host = new HostProcess(bundle.host, {
      config: {
        store: await this.opened(),
        approvals: { secret: SECRET },
        mcpServers: { faults: server },
        permissions: { ask: ["mcp__faults"] },
        tools: toolsOf(effect, timeoutMs),
        ...config,
      },
      steps: [{ calls: [{ name: aliasOf(effect), args: { text: "a" }, id: "c1" }] }, { say: "Done." }],
      threadId: this.threadId,
      actions,
      halts,
      wirePath: this.#wirePath,
      ...(power === undefined
        ? {}
        : { power: { ...power, promisesPath: this.#promisesPath, looks: this.#losses > 0 } }),
      ...rest,
    });
    this.#hosts.push(host);
    if (power !== undefined && this.#losses > 0) {
      const promises = promisesIn(this.#promisesPath);
      this.#broken.push(...broken(promises, await host.found()));
    }
    return host;
  }

  /** Kills a host that stands, and waits until its servers have ended. Where the machine can lose its power, it does so. */
  async kill(host: HostProcess, { synced }: Halted): Promise<void> {
    await host.kill();
    await this.quiet();
    const { power } = this.#parts;
    if (power === undefined) return;
    const kept = keptBy(this.storePath, synced);
    if (power.keeps === 0) this.#broken.push(...tornStores(this.storePath, kept));
    losePower(this.storePath, [kept.certain, ...kept.commits].slice(0, power.keeps + 1).at(-1) as number);
    this.#losses += 1;
    this.#losable = Math.max(this.#losable, kept.commits.length);
  }

  /** What came of it that the power went. */
  get powerLost(): PowerLost {
    return { losable: this.#losable, broken: this.#broken };
  }

  /** Whether the machine of this world can lose its power. */
  get losesPower(): boolean {
    return this.#parts.power !== undefined;
  }

  /** What the server did, by its own log. */
  log(...names: ServerEventName[]): ServerEvent[] {
    return readLog(this.#logPath, ...names);
  }

  /** What was handed to the server's pipe. */
  wire(): Sent[] {
    return linesOf(this.#wirePath).map((line) => JSON.parse(line) as Sent);
  }

  /** Resolves when the server has logged this. */
  async logged(event: ServerEventName): Promise<void> {
    const changes = watch(this.folder);
    try {
      let change = nextChange(changes);
      while (this.log(event).length === 0) {
        await change;
        change = nextChange(changes);
      }
    } finally {
      changes.close();
    }
  }

  /** The process of the server that was started last. */
  get serverPid(): number {
    return this.log("started").at(-1)?.pid as number;
  }

  /** Lets a server go on that holds a call: the one that was started `nth`. @default the last */
  releaseServer(nth = -1): void {
    process.kill(this.log("started").at(nth)?.pid as number, "SIGUSR2");
  }

  async killServer(): Promise<void> {
    const pid = this.serverPid;
    process.kill(pid, "SIGKILL");
    await gone(pid);
  }

  /** Resolves when no server that was started is left: what the log says then is final. */
  async quiet(): Promise<void> {
    for (const { pid } of this.log("started")) await gone(pid as number);
  }

  /** Ends what is left, each process by its own id, and removes the folder. */
  async end(): Promise<void> {
    await Promise.all(this.#hosts.map((host) => host.kill()));
    await this.quiet();
    rmSync(this.folder, { recursive: true, force: true });
  }

  get #logPath(): string {
    return join(this.folder, "server.jsonl");
  }

  get #promisesPath(): string {
    return join(this.folder, "promises.jsonl");
  }

  get #wirePath(): string {
    return join(this.folder, "wire.jsonl");
  }
}

const nextChange = (changes: ReturnType<typeof watch>) =>
  new Promise<void>((resolve) => changes.once("change", () => resolve()));

function linesOf(path: string): string[] {
  try {
    return readFileSync(path, "utf8")
      .split("\n")
      .filter((line) => line !== "");
  } catch {
    return [];
  }
}
