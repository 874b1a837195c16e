// Report: one user turn of a thread, as other programs read it. Everything in it is from the ledger and the last state.

import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import {
  type ApprovalItem,
  type OperationItem,
  type OperationRow,
  type OperationView,
  placesOf,
  type RunReport,
  type ToolSnapshot,
  type ToolsReport,
  type UnknownItem,
} from "../contracts/index.js";
import type { GatePorts } from "../gate/ports.js";
import { openQuestions } from "../gate/verdicts.js";
import { turnOf } from "../observation/conversation.js";
import { allowedByName, decide, tightened, toolSettings } from "../policy/index.js";
import { toApprovalItem, toOperationItem, toUnknownItem } from "./items.js";
import type { ReportPorts } from "./ports.js";
import { unknownsOf } from "./records.js";

/** What of a thread's state is reported. */
export interface ShownThread {
  readonly messages?: readonly BaseMessage[];
  readonly operations?: readonly OperationView[];
  readonly snapshot?: { readonly id: string } | undefined;
}

/** Reports the turn since the last user message, of a thread of the configuration's scope. `state` undefined: the thread is new. */
export async function reportTurn(
  ports: ReportPorts,
  threadId: string,
  state: ShownThread | undefined,
): Promise<RunReport> {
  const messages = state?.messages ?? [];
  const turnId = turnOf(messages);
  const { scope } = ports.config;
  const places = placesOf(scope, threadId);
  const [requests, rows, open, unknown] = await Promise.all([
    inEach(places, (key) => ports.ledger.modelRequests(key, turnId)),
    inEach(places, (key) => ports.ledger.operations(key, turnId)),
    openQuestions(ports, async () => state?.operations, scope, threadId),
    unknownsOf(ports, scope, threadId),
  ]);
  const approvals: ApprovalItem[] = open.map(({ asked, row }) => toApprovalItem(asked, row));
  const unknowns: UnknownItem[] = unknown.map(toUnknownItem);
  const replayed = replayedIn(messages);
  const operations: OperationItem[] = [
    ...inCallOrder(rows).map((row) => toOperationItem(row, replayed.has(row.operation.id))),
    ...waiting(state?.operations ?? [], rows),
  ];
  return {
    threadId,
    status: unknowns.length > 0 ? "result_unknown" : approvals.length > 0 ? "awaiting_approval" : "done",
    answer: answerOf(messages),
    approvals,
    unknowns,
    operations,
    modelRequests: requests.length,
    snapshotId: state?.snapshot?.id ?? requests.at(-1)?.snapshotId ?? null,
    tools: [...(requests.at(-1)?.tools ?? [])],
  };
}

async function inEach<In, Out>(of: readonly In[], find: (one: In) => Promise<Out | Out[]>): Promise<Out[]> {
  return (await Promise.all(of.map(find))).flat() as Out[];
}

/** What the report of a snapshot needs beside. */
interface ToolsPorts extends Pick<ReportPorts, "config" | "policy" | "settings"> {
  readonly accepted: GatePorts["accepted"] & { isPinned(server: string): boolean };
}

/** A snapshot with each tool's decision, as it stands without arguments. */
export async function reportTools(ports: ToolsPorts, snapshot: ToolSnapshot): Promise<ToolsReport> {
  const { policy, settings, accepted, config } = ports;
  return {
    snapshotId: snapshot.id,
    servers: snapshot.servers.map(({ name, status, protocol, toolCount, problem }) => ({
      name,
      status,
      protocol: protocol ?? null,
      toolCount,
      ...(problem === undefined ? {} : { problem }),
    })),
    tools: await inEach(snapshot.tools, async (entry) => {
      const news = await accepted.newsOf(config.scope, entry);
      const decision = tightened(decide(policy, entry, {}), news, allowedByName(policy, entry, {}));
      const { server } = entry;
      return {
        alias: entry.alias,
        server,
        tool: entry.tool,
        effect: toolSettings(settings, entry).effect,
        decision: decision.kind,
        rules: [...decision.rules],
        ...(accepted.isPinned(server) ? { pinned: true as const } : {}),
        ...(news === undefined ? {} : { news: { kind: news.kind, text: news.text } }),
      };
    }),
    withheld: [...snapshot.withheld],
  };
}

/** By response, then by the place of the call in it; an edit stands behind what it replaces. */
function inCallOrder(rows: readonly OperationRow[]): OperationRow[] {
  const responses = [...new Set(rows.map((row) => row.operation.proposalId))];
  return responses.flatMap((proposalId) =>
    rows.filter((row) => row.operation.proposalId === proposalId).sort((a, b) => a.operation.index - b.operation.index),
  );
}

/** Calls of the current batch that the ledger has no row of yet: they wait for a sibling's answer. */
function waiting(views: readonly OperationView[], rows: readonly OperationRow[]): OperationItem[] {
  const known = new Set(rows.map((row) => row.operation.id));
  return views
    .filter((view) => view.status === "ready" && !known.has(view.operationId))
    .map(({ operationId, callId, alias, server, tool, effect, decision }) => ({
      operationId,
      callId,
      alias,
      server,
      tool,
      effect,
      decision: decision?.kind ?? null,
      status: "proposed",
      reason: null,
      by: null,
      sent: false,
      replayed: false,
    }));
}

function answerOf(messages: readonly BaseMessage[]): string {
  const last = messages.at(-1);
  return AIMessage.isInstance(last) && (last.tool_calls?.length ?? 0) === 0 ? last.text : "";
}

function replayedIn(messages: readonly BaseMessage[]): Set<string> {
  return new Set(
    messages.flatMap((message) => {
      const artifact = (message as { artifact?: { operationId?: unknown; replayed?: unknown } }).artifact;
      return artifact?.replayed === true && typeof artifact.operationId === "string" ? [artifact.operationId] : [];
    }),
  );
}
