// discover: closes what the last batch left open, then lists, assembles and publishes.
//
//   V1. Every call gets its tool message before anything newer: a crash, a jump or a new message leaves none behind (G8).
//   V2. An unchanged snapshot writes nothing.
//   V3. A refused assembly keeps the old snapshot.
//   V4. Unknown writes that an earlier turn left behind are read back first, where the host declared how: a thread is not
//       halted for longer than its server needs to be asked.

import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { summarise } from "../../catalog/index.js";
import { type SnapshotSummary, ToolgateError, type ToolSnapshot } from "../../contracts/index.js";
import { toolSettings } from "../../policy/index.js";
import { threadOf } from "../../gate/batch.js";
import { leaseOf } from "../../langgraph/held-graph.js";
import type { Host } from "../host.js";
import { readBack } from "../../execution/reconcile.js";
import { repair } from "../repair.js";
import { type GraphState, type GraphUpdate, STATE_VERSION } from "../state.js";

export function discover(host: Host) {
  return async (state: GraphState, runtime: LangGraphRunnableConfig): Promise<GraphUpdate> => {
    await readBackUnknown(host, state, runtime); // V4
    const repaired = await repair(host, state, threadOf(runtime), leaseOf(runtime)?.owner); // V1
    const published = await publish(host, state, runtime);
    // A default is nothing that a saver stores: the version is written with the first snapshot.
    const version = state.snapshot === undefined ? { stateVersion: STATE_VERSION } : {};
    return { ...repaired?.update, ...published, ...version };
  };
}

/** V4 */
async function readBackUnknown(host: Host, state: GraphState, runtime: LangGraphRunnableConfig): Promise<void> {
  if (host.settings.readBacks.length === 0) return;
  const threadId = threadOf(runtime);
  const { scope, haltScope } = host.config;
  const place = { threadId, scope, haltScope, turnId: "", proposalId: "", ledgerSeq: state.ledgerSeq };
  const { unknownWrites } = await host.ledger.standing({ ...place, writes: [] });
  if (unknownWrites.length === 0) return; // the usual case writes nothing
  const snapshot = state.snapshot === undefined ? undefined : await host.catalog.snapshot(state.snapshot.id);
  await readBack(host, await host.ledger.unknowns(threadId), snapshot, runtime.writer);
}

/** Servers that this branch of a thread uses: those connected at the start, and those the model asked for. */
export function serversInUse(host: Host, connected: readonly string[]): string[] {
  const { mcpServers } = host.config;
  return Object.keys(mcpServers).filter((name) => mcpServers[name]?.connect === "start" || connected.includes(name));
}

async function publish(host: Host, state: GraphState, runtime: LangGraphRunnableConfig): Promise<GraphUpdate> {
  const names = serversInUse(host, state.connected);
  const previous = state.snapshot === undefined ? undefined : await host.catalog.snapshot(state.snapshot.id);
  const stop = host.servers.onEvent((event) => runtime.writer?.({ type: "toolgate.server", ...event }));
  let assembled: Awaited<ReturnType<typeof host.catalog.assemble>>;
  try {
    assembled = await host.catalog.assemble(names, previous);
  } finally {
    stop();
  }
  if (!assembled.ok) {
    runtime.writer?.({ type: "toolgate.catalog_refused", problem: assembled.problem });
    if (previous !== undefined) return {}; // V3
    assembled = await host.catalog.assemble([], undefined);
    if (!assembled.ok)
      throw new ToolgateError("server_failed", assembled.problem, "run `toolgate check` and mend the configuration");
  }
  const { snapshot } = assembled;
  const down = snapshot.servers.find(
    (server) => server.status === "failed" && host.config.mcpServers[server.name]?.required,
  );
  if (down) {
    throw new ToolgateError(
      "server_failed",
      `the required server \`${down.name}\` is not available: ${down.problem ?? "no reason given"}`,
      "start it, or set `required` to false to go on without it",
    );
  }
  await host.catalog.publish(snapshot);
  const summary = summaryOf(host, snapshot);
  return JSON.stringify(summary) === JSON.stringify(state.snapshot) ? {} : { snapshot: summary }; // V2
}

function summaryOf(host: Host, snapshot: ToolSnapshot): SnapshotSummary {
  return summarise(snapshot, (entry) => toolSettings(host.settings, entry).effect);
}
