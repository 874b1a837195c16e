// Early servers: a command that is going to list its servers starts them while the rest of the agent is loaded.
//
//   early-1. Whoever connects a server first gets what came of the early start, also when it failed. No server is started
//            a second time because its early start failed.
//   early-2. What happened to a server is told when it is first connected, as if it had been started then.

import { createServers } from "../adapters/mcp/pool.js";
import { GRANT_START } from "../approval/index.js";
import { type Config, serversInUse } from "../contracts/index.js";
import type { ConnectResult, Servers } from "../contracts/mcp-port.js";
import { openRedactor } from "../observation/redact.js";
import { configure } from "./configure.js";
import { notingGroups } from "./groups.js";

type Listener = Parameters<Servers["onEvent"]>[0];
type Event = Parameters<Listener>[0];

export interface EarlyServers {
  /** The servers, for the agent that is put together. From then on its `redact` takes the secrets out of what they say. */
  readonly handOver: (redact: (text: string) => string) => Servers;
  /** Ends every server that was started. Idempotent. */
  readonly close: () => Promise<void>;
}

/** Starts the servers that every run connects. Throws what is wrong with the configuration; then nothing is started. */
export async function startEarly(config: Config): Promise<EarlyServers> {
  await configure({ config });
  let { redact } = openRedactor([...config.secrets, ...config.literalSecrets], [GRANT_START]);
  const { mcpServers, lateAnswerMs } = config;
  const noteGroup = notingGroups(config);
  const pool = createServers(mcpServers, { now: Date.now, redact: (text) => redact(text), lateAnswerMs, noteGroup });
  const servers = startedOf(pool, serversInUse(config, []));
  return {
    handOver: (own) => {
      redact = own;
      return servers;
    },
    close: () => pool.close(),
  };
}

/** `pool`, with these servers of it starting now. */
export function startedOf(pool: Servers, names: readonly string[]): Servers {
  const listeners = new Set<Listener>();
  const untold = new Map<string, Event[]>(names.map((name) => [name, []]));
  const tell = (event: Event) => {
    for (const listener of listeners) {
      try {
        listener(event);
      } catch {
        // A listener that throws does not keep the others from being told.
      }
    }
  };
  pool.onEvent((event) => {
    const kept = untold.get(event.server);
    if (kept === undefined) tell(event);
    else if (event.kind !== "list_changed" || kept.at(-1)?.kind !== event.kind) kept.push(event); // said for ever, kept once
  });
  const starts = new Map<string, Promise<ConnectResult>>(names.map((name) => [name, pool.connect(name)]));
  return {
    names: pool.names,
    async connect(name) {
      const start = starts.get(name);
      if (start === undefined) return pool.connect(name);
      starts.delete(name);
      const events = untold.get(name) ?? [];
      untold.delete(name);
      for (const event of events) tell(event); // early-2
      const result = await start; // early-1
      return result.ok ? pool.connect(name) : result; // the living connection, or a new one after a loss
    },
    connection: (name) => pool.connection(name),
    generation: (name) => pool.generation(name),
    onEvent(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close: () => pool.close(),
  };
}
