// Views: what the state shows of a batch. For people and edges; nothing is ever allowed because of one (G9).

import { type OperationRow, type Outcome, oneLine } from "../contracts/index.js";
import type { Standing } from "../ledger/port.js";
import type { Batch, BatchCall } from "../gate/batch.js";
import type { HaltView, OperationView } from "./state.js";

/** Views of a batch as it is judged. `replayed` says which of the settled ones an earlier run settled. */
export function viewsOf(batch: Batch, replayed: (call: BatchCall) => boolean): OperationView[] {
  return batch.calls.map((call) => ({ ...viewOf(call), ...judgedPart(call, replayed(call)) }));
}

function judgedPart(
  { judgement }: BatchCall,
  replayed: boolean,
): Pick<OperationView, "status"> & Partial<OperationView> {
  switch (judgement.kind) {
    case "ask":
      return { status: "asked" };
    case "run":
      return { status: "ready" };
    case "refuse":
      return { status: judgement.outcome.status, reason: judgement.outcome.reason };
    case "settled":
      return { ...settledPart(judgement.row), ...(replayed ? { replayed: true } : {}) };
  }
}

/** The part of a view that a settled row decides. */
export function settledPart(row: OperationRow): Pick<OperationView, "status"> & Partial<OperationView> {
  return {
    status: row.outcome?.status ?? "ready",
    ...(row.outcome === undefined ? {} : { reason: row.outcome.reason }),
    ...(row.result === undefined ? {} : row.result),
    ...(row.resolution?.type === "leave" ? { left: true } : {}),
  };
}

export function viewOf({ operation }: Pick<BatchCall, "operation">): Omit<OperationView, "status"> {
  return {
    operationId: operation.id,
    index: operation.index,
    callId: operation.callId,
    alias: operation.alias,
    server: operation.server,
    tool: operation.tool,
    argumentsDigest: operation.argumentsDigest,
    effect: operation.effect,
    decision: operation.decision,
  };
}

/** Unknown writes of the thread itself: what it is shown as halted by. What others halt in it, the ledger says at each call. */
export function ownUnknown({ unknownWrites }: Standing): string[] {
  return unknownWrites.filter(({ own }) => own).map(({ operationId }) => operationId);
}

export function haltOf(operationIds: readonly string[]): HaltView {
  return { halted: operationIds.length > 0, operations: [...new Set(operationIds)].sort() };
}

/** What a run's stream says of an outcome: why, too, unless all is well. */
export function toldOf({ status, reason, message }: Outcome): { status: string; reason?: string; message?: string } {
  return status === "ok" ? { status } : { status, reason, message: oneLine(message) };
}
