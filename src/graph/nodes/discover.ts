// discover: closes what the last batch left open, then lists, assembles and publishes.
//
//   discover-1. Every call gets its tool message before anything newer: a crash, a jump or a new message leaves none behind (G8).
//   discover-3. A refused assembly keeps the old snapshot.
//   discover-4. Unknown writes that an earlier turn left behind are read back first, where the host declared how, so that a
//               thread is not halted for longer than its server needs to be asked.
//   discover-5. A host that is closed while it lists its servers ends the run as `stopped`: the model is not asked with the tools
//               of servers that were ended.

import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { summarise } from "../../catalog/index.js";
import { type SnapshotSummary, serversInUse, ToolgateError, type ToolSnapshot } from "../../contracts/index.js";
import { readBack } from "../../execution/reconcile.js";
import { leaseOf } from "../../langgraph/held-graph.js";
import { toolSettings } from "../../policy/index.js";
import type { GraphPorts } from "../ports.js";
import { repair } from "../repair.js";
import { threadOf } from "../runtime.js";
import { type GraphState, type GraphUpdate, STATE_VERSION } from "../state.js";

export function discover(ports: GraphPorts) {
  return async (state: GraphState, runtime: LangGraphRunnableConfig): Promise<GraphUpdate> => {
    goOnUnlessClosing(ports); // discover-5
    await readBackUnknown(ports, state, runtime); // discover-4
    const repaired = await repair(ports, state, threadOf(ports, runtime), leaseOf(runtime)?.owner); // discover-1
    const published = await publish(ports, state, runtime);
    // A default is nothing that a saver stores: the version is written with the first snapshot.
    const version = state.snapshot === undefined ? { stateVersion: STATE_VERSION } : {};
    return { ...repaired?.update, ...published, ...version };
  };
}

/** discover-5 */
function goOnUnlessClosing(ports: GraphPorts): void {
  if (!ports.closing()) return;
  throw new ToolgateError("stopped", "the host was closed before the model was asked", "run the thread again");
}

/** discover-4 */
async function readBackUnknown(ports: GraphPorts, state: GraphState, runtime: LangGraphRunnableConfig): Promise<void> {
  if (ports.settings.readBacks.length === 0) return;
  const { threadId, scope } = threadOf(ports, runtime);
  const { haltScope } = ports.config;
  const place = { threadId, scope, haltScope, turnId: "", proposalId: "", ledgerSeq: state.ledgerSeq };
  const { unknownWrites } = await ports.ledger.standing({ ...place, writes: [] });
  if (unknownWrites.length === 0) return; // the usual case writes nothing
  const snapshot = state.snapshot === undefined ? undefined : await ports.catalog.snapshot(state.snapshot.id);
  await readBack(ports, await ports.ledger.unknowns(threadId), snapshot, runtime.writer);
}

async function publish(ports: GraphPorts, state: GraphState, runtime: LangGraphRunnableConfig): Promise<GraphUpdate> {
  const names = serversInUse(ports.config, state.connected);
  const previous = state.snapshot === undefined ? undefined : await ports.catalog.snapshot(state.snapshot.id);
  const stop = ports.servers.onEvent((event) => runtime.writer?.({ type: "toolgate.server", ...event }));
  let assembled: Awaited<ReturnType<typeof ports.catalog.assemble>>;
  try {
    assembled = await ports.catalog.assemble(names, previous);
  } finally {
    stop();
  }
  goOnUnlessClosing(ports); // discover-5: no server could be listed
  if (!assembled.ok) {
    runtime.writer?.({ type: "toolgate.catalog_refused", problem: assembled.problem });
    if (previous !== undefined) return {}; // discover-3
    assembled = await ports.catalog.assemble([], undefined);
    if (!assembled.ok)
      throw new ToolgateError("server_failed", assembled.problem, "run `toolgate check` and mend the configuration");
  }
  const { snapshot } = assembled;
  const down = snapshot.servers.find(
    (server) => server.status === "failed" && ports.config.mcpServers[server.name]?.required,
  );
  if (down) {
    throw new ToolgateError(
      "server_failed",
      `the required server \`${down.name}\` is not available: ${down.problem ?? "no reason given"}`,
      "start it, or set `required` to false to go on without it",
    );
  }
  const connected = snapshot.servers.filter(({ status }) => status === "connected").map(({ name }) => name);
  await ports.accepted.keep(threadOf(ports, runtime).scope, connected, "kill"); // first-list-4
  await ports.catalog.publish(snapshot);
  const summary = summaryOf(ports, snapshot);
  return JSON.stringify(summary) === JSON.stringify(state.snapshot) ? {} : { snapshot: summary }; // unchanged: nothing is written
}

function summaryOf(ports: GraphPorts, snapshot: ToolSnapshot): SnapshotSummary {
  return summarise(snapshot, (entry) => toolSettings(ports.settings, entry).effect);
}
