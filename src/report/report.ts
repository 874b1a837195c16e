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
import { openQuestions } from "../gate/verdicts.js";
import { turnOf } from "../observation/conversation.js";
import { decide, toolSettings } from "../policy/index.js";
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

async function inEach<T>(places: readonly string[], find: (key: string) => Promise<T[]>): Promise<T[]> {
  return (await Promise.all(places.map(find))).flat();
}

/** A snapshot with each tool's decision, as it stands without arguments. */
export function reportTools(ports: ReportPorts, snapshot: ToolSnapshot): ToolsReport {
  return {
    snapshotId: snapshot.id,
    servers: snapshot.servers.map(({ name, status, protocol, toolCount, problem }) => ({
      name,
      status,
      protocol: protocol ?? null,
      toolCount,
      ...(problem === undefined ? {} : { problem }),
    })),
    tools: snapshot.tools.map((entry) => {
      const decision = decide(ports.policy, entry, {});
      return {
        alias: entry.alias,
        server: entry.server,
        tool: entry.tool,
        effect: toolSettings(ports.settings, entry).effect,
        decision: decision.kind,
        rules: [...decision.rules],
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
