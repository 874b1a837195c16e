// discover: closes what the last batch left open, then lists, assembles and publishes.
//
//   V1. Every call gets its tool message before anything newer: a crash, a jump or a new message leaves none behind (G8).
//   V2. An unchanged snapshot writes nothing.
//   V3. A refused assembly keeps the old snapshot.

import { type BaseMessage, RemoveMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { summarise } from "../../catalog/index.js";
import { type SnapshotSummary, ToolgateError, type ToolSnapshot } from "../../contracts/index.js";
import { toolSettings } from "../../policy/index.js";
import { loadBatch, threadOf } from "../batch.js";
import type { Host } from "../host.js";
import { lastProposal, unanswered, withArguments } from "../messages.js";
import { type GraphState, type GraphUpdate, STATE_VERSION } from "../state.js";
import { haltOf } from "../views.js";
import { highestSeq, messageOf, settleAll, unknownWrites } from "./observe.js";

export function discover(host: Host) {
  return async (state: GraphState, runtime: LangGraphRunnableConfig): Promise<GraphUpdate> => {
    if (state.stateVersion > STATE_VERSION) {
      throw new ToolgateError(
        "store_version",
        `this thread was saved by a later version of toolgate (state version ${state.stateVersion})`,
        "open it with that version, or start a new thread",
      );
    }
    const closed = await closeOpenBatch(host, state, threadOf(runtime));
    const published = await publish(host, state, runtime);
    return { ...closed, ...published };
  };
}

/** V1. Tool messages go before the newer messages: what stands behind the proposal is taken out and put back after them. */
async function closeOpenBatch(host: Host, state: GraphState, threadId: string): Promise<GraphUpdate> {
  const proposal = lastProposal(state.messages);
  if (!proposal) return {};
  const open = unanswered(state.messages, proposal);
  if (open.size === 0) return {};
  await host.ledger.sweep({ threadId, reads: true });
  const batch = await loadBatch(host, state, threadId);
  if (!batch) return {};
  const rows = await settleAll(host, batch, "it was withdrawn: a new message came; it was not run");
  const answers = await Promise.all(
    batch.calls
      .filter((call) => open.has(call.call.callId))
      .map((call) => {
        const row = rows.get(call.operation.id) as NonNullable<ReturnType<typeof rows.get>>;
        return messageOf(host, batch, row, false);
      }),
  );
  const behind = state.messages.slice(proposal.at + 1);
  const answered = behind.filter((message) => message.getType() === "tool").length;
  const newer = behind.slice(answered) as BaseMessage[];
  const edited = batch.edited.size > 0 ? [withArguments(proposal.message, batch.edited)] : [];
  return {
    messages: [
      ...edited,
      ...newer.flatMap((message) => (message.id ? [new RemoveMessage({ id: message.id })] : [])),
      ...answers,
      ...newer,
    ],
    operations: [],
    ledgerSeq: highestSeq(state.ledgerSeq, rows.values()),
    halt: haltOf([...batch.standing.unknownWrites.map((write) => write.operationId), ...unknownWrites(rows.values())]),
    note: "",
  };
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
