// Items: ledger rows in the shapes other programs read. Times become ISO 8601 UTC.

import {
  type ApprovalItem,
  type OperationItem,
  type OperationRow,
  outcomeOf,
  type SettledRow,
  type UnknownItem,
} from "../contracts/index.js";
import type { Asked } from "../ledger/port.js";

export function toApprovalItem({ request }: Asked, { operation }: Pick<OperationRow, "operation">): ApprovalItem {
  return {
    approvalId: request.approvalId,
    operationId: operation.id,
    callId: operation.callId,
    alias: operation.alias,
    server: operation.server,
    tool: operation.tool,
    arguments: operation.arguments,
    effect: operation.effect,
    destination: request.destination?.text ?? null,
    why: request.why,
    expiresAt: new Date(request.expiresAt).toISOString(),
  };
}

export function toUnknownItem({ operation, sentAt, outcome }: SettledRow): UnknownItem {
  return {
    operationId: operation.id,
    callId: operation.callId,
    alias: operation.alias,
    server: operation.server,
    tool: operation.tool,
    arguments: operation.arguments,
    sentAt: sentAt === undefined ? null : new Date(sentAt).toISOString(),
    evidence: outcome.evidence ?? null,
  };
}

export function toOperationItem(row: OperationRow, replayed: boolean): OperationItem {
  const { operation } = row;
  const outcome = outcomeOf(row);
  return {
    operationId: operation.id,
    callId: operation.callId,
    alias: operation.alias,
    server: operation.server,
    tool: operation.tool,
    effect: operation.effect,
    decision: operation.decision?.kind ?? null,
    status: outcome?.status ?? row.state,
    reason: outcome?.reason ?? null,
    by: outcome?.by ?? null,
    sent: row.sent,
    replayed,
  };
}
