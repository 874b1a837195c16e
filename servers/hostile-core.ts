// The protocol half of the hostile servers: JSON-RPC messages in, whatever the config says out. No SDK.
//
//   H1. A call is logged as accepted before anything else, its effect before anything that follows it (log.ts, L1).
//   H2. What goes out is text that this file made; the wire only frames it (a line, an SSE event, a body).
//   H3. A cancel is logged and has no other consequence.

import { setTimeout as delay } from "node:timers/promises";
import type { Behaviour, HostileConfig, Page } from "./hostile-config.js";
import { operationIdOf, readLog, type ServerLog } from "./log.js";

/** How messages leave. All promises resolve when the bytes are out of this process. */
export interface Wire {
  /** One message, framed. */
  write(message: string | Buffer): Promise<void>;
  /** One message in two parts, `ms` apart. */
  writeSplit(message: Buffer, at: number, ms: number): Promise<void>;
  /** The first half of a framed message and no more. */
  writeHalf(message: string): Promise<void>;
  /** Text that is no message, framed as one. */
  noise(text: string): Promise<void>;
  /** HTTP only. */
  status?(status: number, headers: Record<string, string>, body: string): Promise<void>;
  drop?(headers: boolean): Promise<void>;
}

type Rpc = { id?: unknown; method?: string; params?: Record<string, unknown>; result?: unknown; error?: unknown };
type CallFacts = { n: number; tool: string; arguments: unknown; operationId?: string };
type ReplyParts = { result?: unknown; resultText?: string | undefined; error?: unknown };

/** Where a client stands in paging. One per connection or session. */
export interface Walk {
  list: number;
  page: number;
}

/** `open` means: no answer is coming from here, whoever holds the response keeps it open. */
export type Received = "done" | "open";

export interface HostileCore {
  receive(message: unknown, walk: Walk, wire: Wire): Promise<Received>;
  /** Adds a wire that notifications go to. A wire that is gone swallows them. */
  listen(wire: Wire, subscriptionId?: unknown): void;
  /** Says that the client let go of a request. */
  cancelled(requestId: unknown, reason: string): void;
  readonly calls: number;
}

const done = { content: [{ type: "text", text: "done" }] };
const serverInfoKey = "io.modelcontextprotocol/serverInfo";
const subscriptionKey = "io.modelcontextprotocol/subscriptionId";

export function hostileCore(config: HostileConfig, log: ServerLog, logPath: string | undefined): HostileCore {
  const modern = config.protocol === "2026-07-28";
  const listeners = new Map<Wire, unknown>();
  const running = new Map<unknown, CallFacts>();
  const asked = new Map<unknown, (answer: Rpc) => void>();
  const callsByTool = new Map<string, number>();
  let calls = 0;
  let walks = 0;
  let announced = 0;

  function currentList(): number {
    return config.lists.findLastIndex((list) => calls >= list.afterCalls && walks >= list.afterListings);
  }

  async function announce(): Promise<void> {
    const current = Math.max(0, currentList());
    if (current === announced) return;
    announced = current;
    if (config.lists[current]?.notify !== true) return;
    for (const [wire, subscriptionId] of listeners) {
      const params = subscriptionId === undefined ? {} : { params: { _meta: { [subscriptionKey]: subscriptionId } } };
      await wire.write(JSON.stringify({ jsonrpc: "2.0", method: "notifications/tools/list_changed", ...params }));
    }
  }

  function answerText(id: unknown, reply: ReplyParts, extra: object = {}): string {
    if (reply.error !== undefined) return JSON.stringify({ jsonrpc: "2.0", id, error: reply.error });
    if (reply.resultText !== undefined)
      return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${reply.resultText}}`;
    const added = modern ? { resultType: "complete", ...extra } : {};
    const result = isObject(reply.result) ? { ...added, ...reply.result } : reply.result;
    return JSON.stringify({ jsonrpc: "2.0", id, result });
  }

  async function initialize(id: unknown, wire: Wire): Promise<Received> {
    const start = config.duringStart;
    if (start?.do === "silent") return "open";
    if (start?.do === "slow") await delay(start.ms);
    const capabilities = { tools: { listChanged: true } };
    const instructions = config.instructions === undefined ? {} : { instructions: config.instructions };
    const body = modern
      ? { supportedVersions: [config.protocol], capabilities, _meta: { [serverInfoKey]: config.serverInfo } }
      : { protocolVersion: config.protocol, capabilities, serverInfo: config.serverInfo };
    const reply: ReplyParts =
      start?.do === "error"
        ? { error: start.error }
        : { result: start?.do === "result" ? start.result : { ...body, ...instructions } };
    await wire.write(answerText(id, reply, { ttlMs: 0, cacheScope: "private" }));
    if (start?.do === "exit" && start.after === "initialize") process.exit(start.code);
    return "done";
  }

  async function list(id: unknown, cursor: unknown, walk: Walk, wire: Wire): Promise<Received> {
    log({ event: "listed", cursor: cursor ?? null });
    if (cursor === undefined) {
      walk.list = Math.max(0, currentList());
      walk.page = 0;
      walks += 1;
    } else walk.page += 1;
    const pages = config.lists[walk.list]?.pages ?? [];
    const template = pages[Math.min(walk.page, pages.length - 1)] as Page;
    const page = JSON.parse(JSON.stringify(template).replaceAll("{{n}}", String(walk.page + 1))) as Page;
    await delay(page.ms);
    if (page.die !== undefined) die(page.die);
    if (page.silent) return "open";
    if (page.status !== undefined && wire.status !== undefined) {
      await wire.status(page.status, {}, "");
      return "done";
    }
    const cursors = page.nextCursor === undefined ? {} : { nextCursor: page.nextCursor };
    const reply = page.error === undefined ? { result: { tools: page.tools, ...cursors } } : { error: page.error };
    await wire.write(answerText(id, reply, { ttlMs: 0, cacheScope: "private" }));
    const start = config.duringStart;
    if (start?.do === "exit" && start.after === "list") process.exit(start.code);
    await announce();
    return "done";
  }

  function behaviourOf(tool: string): Behaviour {
    const nth = callsByTool.get(tool) ?? 0;
    callsByTool.set(tool, nth + 1);
    const own = Object.hasOwn(config.calls, tool) ? config.calls[tool] : config.calls["*"];
    if (own === undefined) return { do: "answer", effect: true };
    return Array.isArray(own) ? (own[Math.min(nth, own.length - 1)] as Behaviour) : own;
  }

  function effect(facts: CallFacts): void {
    const before = logPath === undefined || !config.idempotent ? [] : readLog(logPath, "effect");
    const repeated = facts.operationId !== undefined && before.some((e) => e.operationId === facts.operationId);
    if (!repeated) log({ event: "effect", ...facts });
  }

  async function call(id: unknown, params: Record<string, unknown>, wire: Wire): Promise<Received> {
    const tool = String(params.name);
    calls += 1;
    const facts = { n: calls, tool, arguments: params.arguments, ...operationIdOf(params._meta) };
    log({ event: "accepted", ...facts }); // H1
    running.set(id, facts);
    await announce();
    try {
      return await behave(behaviourOf(tool), { id, facts, wire, meta: params._meta });
    } finally {
      running.delete(id);
    }
  }

  type Ask = { id: unknown; facts: CallFacts; wire: Wire; meta: unknown };

  async function behave(behaviour: Behaviour, { id, facts, wire, meta }: Ask): Promise<Received> {
    const finish = async (text: string | Buffer): Promise<Received> => {
      log({ event: "finished", n: facts.n, tool: facts.tool });
      await wire.write(text);
      return "done";
    };
    const text = (words: string): string => answerText(id, { result: { content: [{ type: "text", text: words }] } });
    const reply = (parts: ReplyParts): string =>
      answerText(id, parts.error === undefined && parts.result === undefined ? { result: done, ...parts } : parts);
    const act = (): void => {
      if (!("effect" in behaviour) || behaviour.effect) effect(facts);
    };

    switch (behaviour.do) {
      case "answer":
        act();
        return finish(reply(behaviour));
      case "slow":
        act();
        await delay(behaviour.ms);
        return finish(reply(behaviour));
      case "late":
        await delay(behaviour.ms);
        act();
        return finish(reply(behaviour));
      case "silent":
        act();
        return "open";
      case "progress":
        act();
        await progress(behaviour, meta, wire);
        return finish(reply(behaviour));
      case "dieBefore":
        return die(behaviour.by);
      case "dieAfter":
        act();
        await delay(behaviour.ms);
        return die(behaviour.by);
      case "halfLine":
        act();
        await wire.writeHalf(text("done"));
        return die(behaviour.by);
      case "noise":
        act();
        await noise(behaviour, wire);
        return finish(reply(behaviour));
      case "huge":
        act();
        return finish(text("x".repeat(behaviour.bytes)));
      case "twice":
        act();
        log({ event: "finished", n: facts.n, tool: facts.tool });
        await wire.write(reply(behaviour));
        await wire.write(behaviour.second === undefined ? reply(behaviour) : reply({ result: behaviour.second }));
        return "done";
      case "wrongId":
        act();
        await wire.write(answerText(behaviour.id, { result: done, ...behaviour }));
        return "done";
      case "stderrFlood":
        act();
        await flood(behaviour.bytes);
        return finish(reply(behaviour));
      case "badUtf8":
        act();
        return finish(Buffer.from(text("\u00b0\u00a1"), "latin1"));
      case "split": {
        act();
        log({ event: "finished", n: facts.n, tool: facts.tool });
        const bytes = Buffer.from(text("caf\u00e9"));
        await wire.writeSplit(bytes, bytes.indexOf(0xc3) + 1, behaviour.ms);
        return "done";
      }
      case "ask":
        act();
        await ask(behaviour.method, behaviour.params, facts, wire);
        return finish(reply(behaviour));
      case "env":
        return finish(text(JSON.stringify({ env: process.env, argv: process.argv, cwd: process.cwd() })));
      case "lookup": {
        const wanted = (facts.arguments as Record<string, unknown> | undefined)?.[behaviour.argument];
        const effects = logPath === undefined ? [] : readLog(logPath, "effect");
        const happened = effects.some(({ operationId }) => operationId !== undefined && operationId === wanted);
        return finish(answerText(id, { result: happened ? behaviour.happened : behaviour.absent }));
      }
      case "status": {
        act();
        const location = behaviour.location === undefined ? {} : { location: behaviour.location };
        await wire.status?.(behaviour.status, { ...behaviour.headers, ...location }, behaviour.body);
        return "done";
      }
      case "drop":
        act();
        if (behaviour.when === "half-body") await wire.writeHalf(text("done"));
        await wire.drop?.(behaviour.when !== "before-headers");
        return "done";
    }
  }

  async function ask(method: string, params: unknown, facts: CallFacts, wire: Wire): Promise<void> {
    const id = `hostile-${facts.n}`;
    const answer = new Promise<Rpc>((resolve) => asked.set(id, resolve));
    await wire.write(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    const { result, error } = await answer;
    log({ event: "reply", n: facts.n, tool: facts.tool, answer: error === undefined ? { result } : { error } });
  }

  function cancelled(requestId: unknown, reason: string): void {
    const facts = running.get(requestId);
    if (facts !== undefined) log({ event: "cancelled", n: facts.n, tool: facts.tool, reason }); // H3
  }

  function listen(wire: Wire, subscriptionId?: unknown): void {
    listeners.set(wire, subscriptionId);
  }

  async function receive(message: unknown, walk: Walk, wire: Wire): Promise<Received> {
    const { id, method, params = {}, ...rest } = (message ?? {}) as Rpc;
    if (method === undefined) {
      asked.get(id)?.(rest);
      return "done";
    }
    switch (method) {
      case modern ? "server/discover" : "initialize":
        return initialize(id, wire);
      case "tools/list":
        return list(id, params.cursor, walk, wire);
      case "tools/call":
        return call(id, params, wire);
      case "notifications/cancelled":
        cancelled(params.requestId, String(params.reason ?? ""));
        return "done";
      case "subscriptions/listen": {
        if (!modern) break;
        const acknowledged = { _meta: { [subscriptionKey]: id }, notifications: params.notifications ?? {} };
        const method = "notifications/subscriptions/acknowledged";
        await wire.write(JSON.stringify({ jsonrpc: "2.0", method, params: acknowledged }));
        listen(wire, id);
        return "open";
      }
      case "ping":
        await wire.write(answerText(id, { result: {} }));
        return "done";
    }
    if (id === undefined) return "done"; // a notification
    await wire.write(answerText(id, { error: { code: -32601, message: `no method \`${method}\` here` } }));
    return "done";
  }

  return {
    receive,
    listen,
    cancelled,
    get calls() {
      return calls;
    },
  };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Ends this process without a word. */
export function die(by: "SIGKILL" | "exit"): never {
  if (by === "SIGKILL") process.kill(process.pid, "SIGKILL");
  return process.exit(1);
}

/** Lines that are no protocol, then one of `bytes`. */
export async function noise(say: { lines: readonly string[]; bytes?: number | undefined }, wire: Wire): Promise<void> {
  for (const line of say.lines) await wire.noise(line);
  if (say.bytes !== undefined) await wire.noise("x".repeat(say.bytes));
}

async function progress(say: { everyMs: number; ms?: number | undefined }, meta: unknown, wire: Wire): Promise<void> {
  const progressToken = (meta as Record<string, unknown> | undefined)?.progressToken;
  const end = say.ms ?? Number.POSITIVE_INFINITY;
  for (let passed = 0; passed < end; passed += say.everyMs) {
    await delay(Math.min(say.everyMs, end - passed));
    const params = { progressToken, progress: passed + say.everyMs };
    await wire.write(JSON.stringify({ jsonrpc: "2.0", method: "notifications/progress", params }));
  }
}

function flood(bytes: number): Promise<void> {
  return new Promise((resolve) => process.stderr.write("x".repeat(bytes), () => resolve()));
}
