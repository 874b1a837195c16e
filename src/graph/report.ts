// Report: one user turn of a thread, as other programs read it. Everything in it is from the ledger and the last state.

import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import type {
  ApprovalItem,
  OperationItem,
  RunReport,
  ToolSnapshot,
  ToolsReport,
  UnknownItem,
} from "../contracts/index.js";
import { decide, toolSettings } from "../policy/index.js";
import type { Host } from "./host.js";
import { toApprovalItem, toOperationItem, toUnknownItem } from "./items.js";
import { turnOf } from "./messages.js";
import type { GraphState } from "./state.js";

/** Reports the turn since the last user message. `state` undefined: the thread is new. */
export async function reportTurn(
  host: Host,
  threadId: string,
  state: Partial<GraphState> | undefined,
): Promise<RunReport> {
  const messages = state?.messages ?? [];
  const turnId = turnOf(messages);
  const [requests, rows, open, unknown] = await Promise.all([
    host.ledger.modelRequests(threadId, turnId),
    host.ledger.operations(threadId, turnId),
    host.ledger.openRequests(threadId),
    host.ledger.unknowns(threadId),
  ]);
  const approvals: ApprovalItem[] = open.map((one) => toApprovalItem(one, one.row));
  const unknowns: UnknownItem[] = unknown.map(toUnknownItem);
  const replayed = replayedIn(messages);
  const operations: OperationItem[] = rows.map((row) => toOperationItem(row, replayed.has(row.operation.id)));
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

/** A snapshot with each tool's decision, as it stands without arguments. */
export function reportTools(host: Host, snapshot: ToolSnapshot): ToolsReport {
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
      const decision = decide(host.policy, entry, {});
      return {
        alias: entry.alias,
        server: entry.server,
        tool: entry.tool,
        effect: toolSettings(host.settings, entry).effect,
        decision: decision.kind,
        rules: [...decision.rules],
      };
    }),
    withheld: [...snapshot.withheld],
  };
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
