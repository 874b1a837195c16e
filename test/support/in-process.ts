// A whole agent for tests without a process: servers are objects, the store is in memory, and one schema checker serves
// every agent of a worker. For what the graph decides. What a transport, a process or a store on disk does is proved with
// the real ones.
//
// A server is told what to do by the same words as `test/servers/programs/hostile.ts`, and runs the same code: its tools and
// pages, the effect before or without an answer, late answers, errors, lists that change, and its death. It writes the same
// events as `servers/log.ts`, kept here. `test/conformance/in-process.test.ts` holds it to what every `Servers` must do.

import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { deployServer } from "../../servers/deploy-server.js";
import type { ServerEvent, ServerLog } from "../../servers/log.js";
import { sdkServer } from "../../servers/sdk.js";
import { PendingRequest } from "../../src/adapters/mcp/pending-request.js";
import { createSchemaChecker } from "../../src/adapters/schema/checker.js";
import type { SchemaChecker } from "../../src/catalog/schema-checker.js";
import type {
  Call,
  CallEvidence,
  CallRequest,
  ConnectResult,
  ListPage,
  RawResponse,
  ServerConnection,
  Servers,
} from "../../src/contracts/mcp-port.js";
import { createTestToolgate } from "../../src/testing.js";
import { hostileConfig } from "../servers/programs/hostile-config.js";
import { hostileCore } from "../servers/programs/hostile-core.js";
import type { Wire } from "../servers/programs/hostile-wire.js";
import { type Bench, benchOf } from "./agent.js";

/** A server of a configuration: `args` ends with its name, `env` says what it does. */
export interface Entry {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** Where servers write what they did, and read what was done. */
export interface Log {
  readonly write: ServerLog;
  readonly read: () => readonly ServerEvent[];
}

/** Keeps events as the file of `servers/log.ts` would: as text, so that nobody changes one afterwards. */
export function memoryLog(): Log {
  const lines: string[] = [];
  return {
    write: (event) => void lines.push(JSON.stringify(event)),
    read: () => lines.map((line) => JSON.parse(line) as ServerEvent),
  };
}

/** One schema checker for all agents of a worker: starting its thread takes longer than most tests. */
const shared = createSchemaChecker();
/** It outlives every agent. Its thread keeps no process alive. */
const checker: SchemaChecker = { check: (...args) => shared.check(...args), close: async () => {} };

/** Call it once at the top of a test file. A test that needs two agents on one store says `onDisk()` first. */
export function bench(): Bench {
  let log = memoryLog();
  return benchOf({
    opened: () => {
      log = memoryLog();
    },
    inMemory: true,
    log: () => log.read(),
    server: (name, env, rest) => ({ command: "in-process", args: [name], env, ...rest }),
    async create(options) {
      const { mcpServers = {}, lateAnswerMs = 5_000 } = options.config as {
        mcpServers?: Readonly<Record<string, Entry>>;
        lateAnswerMs?: number;
      };
      const servers = inProcessServers(mcpServers, { log: () => log, lateAnswerMs });
      const toolgate = await createTestToolgate({ ...options, servers });
      // The ports ask for their checker at each check. The agent's own never starts a thread.
      Object.assign(toolgate.host, { checker });
      return toolgate;
    },
  });
}

export interface Deps {
  readonly log: (entry: Entry) => Log;
  readonly lateAnswerMs: number;
}

type Event = Parameters<Parameters<Servers["onEvent"]>[0]>[0];

interface Slot {
  readonly entry: Entry;
  connection: Connection | undefined;
  attempt: Promise<ConnectResult> | undefined;
  generation: number;
}

/** The servers of a configuration, in this process. */
export function inProcessServers(entries: Readonly<Record<string, Entry>>, deps: Deps): Servers {
  const slots = new Map<string, Slot>(
    Object.entries(entries).map(([name, entry]) => [
      name,
      { entry, connection: undefined, attempt: undefined, generation: 0 },
    ]),
  );
  const listeners = new Set<(event: Event) => void>();
  let closing: Promise<void> | undefined;
  const tell = (server: string, kind: string, detail?: string) => {
    for (const listener of listeners) {
      try {
        listener({ server, kind, ...(detail === undefined ? {} : { detail }) });
      } catch {
        // A listener that throws does not keep the others from being told.
      }
    }
  };
  const changed = (name: string, slot: Slot, kind: string, detail?: string) => {
    slot.generation += 1;
    tell(name, kind, detail);
  };
  async function open(name: string, slot: Slot): Promise<ConnectResult> {
    tell(name, "connecting");
    const connection = new Connection(name, slot.entry, deps.log(slot.entry), {
      listChanged: () => changed(name, slot, "list_changed"),
      lost: () => {
        if (slot.connection === connection) slot.connection = undefined;
        tell(name, "closed", connection.lost);
      },
    });
    const problem = await connection.open();
    if (problem !== undefined) {
      tell(name, "failed", problem);
      return { ok: false, problem };
    }
    slot.connection = connection;
    changed(name, slot, "connected", connection.protocol);
    return { ok: true, connection };
  }
  return {
    names: [...slots.keys()],
    async connect(name) {
      const slot = slots.get(name);
      if (slot === undefined) return { ok: false, problem: "no server of this name is configured" };
      if (closing !== undefined) return { ok: false, problem: "toolgate is closing" };
      if (slot.connection?.closed === false) return { ok: true, connection: slot.connection };
      slot.attempt ??= open(name, slot).finally(() => {
        slot.attempt = undefined;
      });
      return slot.attempt;
    },
    connection: (name) => {
      const connection = slots.get(name)?.connection;
      return connection?.closed === false ? connection : undefined;
    },
    generation: (name) => slots.get(name)?.generation ?? 0,
    onEvent(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close() {
      closing ??= (async () => {
        await Promise.resolve();
        const open = [...slots.values()].flatMap(({ connection }) => (connection === undefined ? [] : [connection]));
        await within(deps.lateAnswerMs, Promise.all(open.map((connection) => connection.writesAnswered())));
        for (const connection of open) connection.end("the connection was closed");
      })();
      return closing;
    },
  };
}

/** The answer to the handshake, in either revision of the protocol. */
interface Greeting {
  readonly protocolVersion?: string;
  readonly supportedVersions?: readonly string[];
  readonly serverInfo?: ServerConnection["serverInfo"];
  readonly _meta?: Readonly<Record<string, ServerConnection["serverInfo"]>>;
}

interface Hooks {
  readonly listChanged: () => void;
  readonly lost: () => void;
}

/** One life of a server, and the client's end of it. */
class Connection implements ServerConnection {
  readonly name: string;
  protocol = "unknown";
  serverInfo = { name: "", version: "" };
  /** Why it is over. */
  lost: string | undefined;
  readonly #hooks: Hooks;
  readonly #server: Served;
  readonly #pending = new Map<number, PendingRequest>();
  readonly #writes = new Set<Promise<unknown>>();
  #nextId = 0;

  constructor(name: string, entry: Entry, log: Log, hooks: Hooks) {
    this.name = name;
    this.#hooks = hooks;
    this.#server = serve(entry, log, {
      say: (text) => void setImmediate(() => this.#receive(JSON.parse(text))),
      die: () => this.end("the process ended by SIGKILL"),
    });
  }

  get closed(): boolean {
    return this.lost !== undefined;
  }

  /** The handshake. Resolves with a problem, or with undefined. */
  async open(): Promise<string | undefined> {
    const { evidence } = this.#send(this.#server.hello.method, this.#server.hello.params, opening);
    const { response, detail } = await evidence;
    if (response === undefined || "error" in response) {
      this.lost ??= "it did not start";
      return response?.error.message ?? detail ?? "it did not start";
    }
    const { protocolVersion, supportedVersions, serverInfo, _meta } = response.result as Greeting;
    this.protocol = protocolVersion ?? supportedVersions?.[0] ?? "unknown";
    this.serverInfo = serverInfo ?? _meta?.["io.modelcontextprotocol/serverInfo"] ?? this.serverInfo;
    for (const message of this.#server.afterHello) this.#server.receive({ jsonrpc: "2.0", ...message });
    return undefined;
  }

  async listPage(cursor: string | undefined, deadlineMs: number, maxBytes: number): Promise<ListPage> {
    const { evidence } = this.#send("tools/list", cursor === undefined ? {} : { cursor }, {
      ...opening,
      deadlineMs,
      maxBytes,
      signal: new AbortController().signal,
    });
    const { tooLarge, how, response, detail, bytes = 0 } = await evidence;
    if (tooLarge) return { ok: false, problem: `a page of its tools is above ${maxBytes} bytes` };
    if (how === "deadline") return { ok: false, problem: `its tools were not listed within ${deadlineMs} ms` };
    if (response === undefined) return { ok: false, problem: `its tools could not be listed: ${detail ?? how}` };
    return pageOf(response, bytes);
  }

  call(request: CallRequest): Call {
    return this.#send("tools/call", { name: request.tool, arguments: request.arguments, _meta: request.meta }, request);
  }

  async writesAnswered(): Promise<void> {
    while (this.#writes.size > 0) await Promise.all(this.#writes);
  }

  end(reason: string): void {
    if (this.lost !== undefined) return;
    this.lost = reason;
    for (const pending of this.#pending.values()) pending.lose("closed", reason);
    this.#hooks.lost();
  }

  #send(method: string, params: object, terms: Terms): Call {
    const pending = new PendingRequest(terms.maxBytes, terms.maySend);
    const unsent = (how: CallEvidence["how"], detail: string): Call => {
      pending.note(detail);
      return { evidence: Promise.resolve(pending.evidence(how, asIs)), late: Promise.resolve(undefined) };
    };
    if (this.lost !== undefined) return unsent("closed", this.lost);
    if (terms.signal?.aborted) return unsent("aborted", "cancelled before it was sent");
    if (!permits(terms.maySend)) return unsent("error", "not permitted at the moment of sending");
    const id = ++this.#nextId;
    this.#pending.set(id, pending);
    pending.attempted = true;
    const text = JSON.stringify({ jsonrpc: "2.0", id, method, params });
    setImmediate(() => this.#server.receive(JSON.parse(text)));

    const evidence = firstEnd(pending, terms).then((how) => {
      if (terms.signal !== undefined && (how === "deadline" || how === "aborted"))
        this.#server.receive({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } });
      const facts = pending.evidence(how, asIs);
      if (how !== "deadline" || terms.keepListeningMs <= 0) pending.listening = false;
      return facts;
    });
    const late = evidence.then(async ({ how }) => {
      if (how !== "deadline" || terms.keepListeningMs <= 0) return undefined;
      await within(terms.keepListeningMs, pending.ended);
      pending.listening = false;
      return pending.end === "response" ? pending.evidence("response", asIs) : undefined;
    });
    if (terms.signal === undefined) {
      this.#writes.add(late);
      void late.finally(() => this.#writes.delete(late));
    }
    return { evidence, late };
  }

  #receive(message: Readonly<Record<string, unknown>>): void {
    if (this.lost !== undefined) return;
    if (message["method"] === "notifications/tools/list_changed") this.#hooks.listChanged();
    if (message["method"] !== undefined) return;
    const id = message["id"] as number;
    this.#pending.get(id)?.answer(message);
    this.#pending.delete(id);
  }
}

type Terms = Pick<CallRequest, "deadlineMs" | "keepListeningMs" | "maxBytes" | "maySend"> & {
  readonly signal?: AbortSignal | undefined;
};
const opening: Terms = { deadlineMs: 30_000, keepListeningMs: 0, maxBytes: 10_000_000, maySend: () => true };
const asIs = (text: string) => text;

function permits(maySend: () => boolean): boolean {
  try {
    return maySend() === true;
  } catch {
    return false;
  }
}

/** The end of the request, the deadline or the run's own signal, whichever comes first. */
function firstEnd(pending: PendingRequest, { deadlineMs, signal }: Terms): Promise<CallEvidence["how"]> {
  return new Promise((resolve) => {
    const done = (how: CallEvidence["how"]) => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", aborted);
      resolve(pending.end ?? how);
    };
    const aborted = () => done("aborted");
    const timer = setTimeout(() => done("deadline"), deadlineMs);
    signal?.addEventListener("abort", aborted, { once: true });
    void pending.ended.then(() => done("error"));
  });
}

async function within(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const enough = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, enough]);
  clearTimeout(timer);
}

function pageOf(response: RawResponse, bytes: number): ListPage {
  if ("error" in response) {
    const { code, message } = response.error;
    return { ok: false, problem: `it answered tools/list with error ${code}: ${message}` };
  }
  const { tools, nextCursor } = (response.result ?? {}) as Readonly<Record<string, unknown>>;
  if (!Array.isArray(tools)) return { ok: false, problem: "its answer to tools/list holds no list of tools" };
  return { ok: true, tools, bytes, ...(nextCursor === undefined ? {} : { nextCursor }) };
}

/** A running server: it takes messages, and says JSON text. */
interface Served {
  readonly hello: { readonly method: string; readonly params: object };
  readonly afterHello: readonly object[];
  receive(message: object): void;
}

interface Ends {
  readonly say: (text: string) => void;
  readonly die: () => void;
}

const clientInfo = { name: "in-process", version: "1.0.0" };

function serve(entry: Entry, log: Log, ends: Ends): Served {
  const name = entry.args.at(-1)?.replace(/^.*\/|\.js$/gu, "");
  log.write({ event: "started", pid: process.pid });
  switch (name) {
    case "hostile":
      return serveHostile(entry, log, ends);
    case "deploy":
      return serveDeploy(entry, log, ends);
  }
  throw new Error(`there is no server \`${name}\` in this process`);
}

/** What only a process or bytes on a wire can do. */
const PROCESS_ONLY = ["halfLine", "noise", "stderrFlood", "badUtf8", "split", "env"];

function serveHostile({ env }: Entry, log: Log, { say, die }: Ends): Served {
  const config = hostileConfig(env, "stdio");
  const asked = Object.values(config.calls).flatMap((behaviours) => [behaviours].flat().map((one) => one.do));
  const wrong = [
    ...asked.filter((name) => PROCESS_ONLY.includes(name)),
    ...(config.stubborn ? ["stubborn"] : []),
    ...(config.grandchild === undefined ? [] : ["grandchild"]),
    ...(config.duringStart?.do === "noise" ? ["noise"] : []),
  ];
  if (wrong.length > 0) throw new Error(`not in this process: ${wrong.join(", ")}`);
  let dead = false;
  const wire: Wire = {
    write: async (message) => {
      if (!dead) say(String(message));
    },
    writeSplit: async (message) => say(String(message)),
    writeHalf: async () => {},
    noise: async () => {},
    die: () => {
      dead = true;
      die();
    },
  };
  const core = hostileCore(config, log.write, () => log.read().filter(({ event }) => event === "effect"));
  const walk = { list: 0, page: 0 };
  const modern = config.protocol === "2026-07-28";
  if (!modern) core.listen(wire);
  const listen = {
    method: "subscriptions/listen",
    id: "listen",
    params: { notifications: { toolsListChanged: true } },
  };
  return {
    hello: modern
      ? { method: "server/discover", params: {} }
      : { method: "initialize", params: { protocolVersion: config.protocol, capabilities: {}, clientInfo } },
    afterHello: modern ? [listen] : [],
    receive: (message) => {
      if (!dead) void core.receive(message, walk, wire);
    },
  };
}

function serveDeploy({ env }: Entry, log: Log, { say }: Ends): Served {
  const [client, server] = InMemoryTransport.createLinkedPair();
  client.onmessage = (message) => say(JSON.stringify(message));
  void sdkServer({ ...deployServer(env), log: log.write }).connect(server);
  void client.start();
  return {
    hello: { method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo } },
    afterHello: [{ method: "notifications/initialized" }],
    receive: (message) => void client.send(message as JSONRPCMessage),
  };
}
