// The protocol half of the hostile servers: JSON-RPC messages in, whatever the config says out. No SDK.
// Calls are in hostile-calls.ts, the words in hostile-wire.ts.

import { setTimeout as delay } from "node:timers/promises";
import type { ServerEvent, ServerLog } from "../../../servers/log.js";
import { type HostileCalls, hostileCalls } from "./hostile-calls.js";
import type { HostileConfig, Page } from "./hostile-config.js";
import { answerText, type Received, type ReplyParts, uncached, type Wire } from "./hostile-wire.js";

type Rpc = { id?: unknown; method?: string; params?: Record<string, unknown>; result?: unknown; error?: unknown };

/** Where a client stands in paging. One per connection or session. */
export interface Walk {
  list: number;
  page: number;
}

export interface HostileCore {
  receive(message: unknown, walk: Walk, wire: Wire): Promise<Received>;
  /** Adds a wire that notifications go to. A wire that is gone swallows them. */
  listen(wire: Wire, subscriptionId?: unknown): void;
  readonly calls: HostileCalls;
}

const serverInfoKey = "io.modelcontextprotocol/serverInfo";
const subscriptionKey = "io.modelcontextprotocol/subscriptionId";

/** `effects` gives what the log says was done so far. */
export function hostileCore(config: HostileConfig, log: ServerLog, effects: () => readonly ServerEvent[]): HostileCore {
  const modern = config.protocol === "2026-07-28";
  const listeners = new Map<Wire, unknown>();
  const calls = hostileCalls(config, log, effects, announce);
  let walks = 0;
  let announced = 0;

  function currentList(): number {
    return config.lists.findLastIndex((list) => calls.count >= list.afterCalls && walks >= list.afterListings);
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

  async function initialize(id: unknown, wire: Wire): Promise<Received> {
    const start = config.duringStart;
    if (start?.do === "silent") return "open";
    if (start?.do === "slow") await delay(start.ms);
    const { capabilities } = config;
    const instructions = config.instructions === undefined ? {} : { instructions: config.instructions };
    const body = modern
      ? { supportedVersions: [config.protocol], capabilities, _meta: { [serverInfoKey]: config.serverInfo } }
      : { protocolVersion: config.protocol, capabilities, serverInfo: config.serverInfo };
    const reply: ReplyParts =
      start?.do === "error"
        ? { error: start.error }
        : { result: start?.do === "result" ? start.result : { ...body, ...instructions } };
    await wire.write(answerText(config.protocol, id, reply, uncached));
    if (start?.do === "exit" && start.after === "initialize") wire.die("exit", start.code);
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
    if (page.die !== undefined) {
      wire.die(page.die);
      return "open";
    }
    if (page.silent) return "open";
    if (page.status !== undefined && wire.status !== undefined) {
      await wire.status(page.status, {}, "");
      return "done";
    }
    const cursors = page.nextCursor === undefined ? {} : { nextCursor: page.nextCursor };
    const { error, resultText } = page;
    const reply = { result: { tools: page.tools, ...cursors }, resultText, error };
    await wire.write(answerText(config.protocol, id, reply, uncached));
    const start = config.duringStart;
    if (start?.do === "exit" && start.after === "list") wire.die("exit", start.code);
    await announce();
    return "done";
  }

  function listen(wire: Wire, subscriptionId?: unknown): void {
    listeners.set(wire, subscriptionId);
  }

  async function receive(message: unknown, walk: Walk, wire: Wire): Promise<Received> {
    const { id, method, params = {}, ...rest } = (message ?? {}) as Rpc;
    if (method === undefined) {
      calls.answered(id, rest);
      return "done";
    }
    switch (method) {
      case modern ? "server/discover" : "initialize":
        return initialize(id, wire);
      case "tools/list":
        return list(id, params.cursor, walk, wire);
      case "tools/call":
        return calls.call(id, params, wire);
      case "notifications/cancelled":
        calls.cancelled(params.requestId, String(params.reason ?? ""));
        return "done";
      case "subscriptions/listen": {
        if (!modern) break;
        const acknowledged = { _meta: { [subscriptionKey]: id }, notifications: params.notifications ?? {} };
        const method = "notifications/subscriptions/acknowledged";
        listen(wire, id);
        await wire.write(JSON.stringify({ jsonrpc: "2.0", method, params: acknowledged }));
        return "open";
      }
      case "ping":
        await wire.write(answerText(config.protocol, id, { result: {} }));
        return "done";
    }
    if (id === undefined) return "done"; // a notification
    await wire.write(
      answerText(config.protocol, id, { error: { code: -32601, message: `no method \`${method}\` here` } }),
    );
    return "done";
  }

  return {
    receive,
    listen,
    calls,
  };
}
