// Views: what the state shows of a batch. For people and edges; nothing is ever allowed because of one (G9).

import {
  type HaltView,
  isUnknownWrite,
  type OperationRow,
  type OperationView,
  type SettledRow,
} from "../contracts/index.js";
import type { CallResult } from "../execution/call.js";
import type { Batch, BatchCall } from "../gate/batch.js";
import type { Standing } from "../ledger/port.js";

/** Views of a batch as it is judged. `replayed` says which of the settled ones an earlier run settled. */
export function judgedViews(batch: Batch, replayed: (call: BatchCall) => boolean): OperationView[] {
  return batch.calls.map((call) => ({ ...viewOf(call), ...judgedPart(call, replayed(call)) }));
}

type Part = Pick<OperationView, "status"> & Partial<OperationView>;

function judgedPart({ judgement }: BatchCall, replayed: boolean): Part {
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

/** Views of a batch after its calls were carried out. What an earlier run settled is marked as replayed. */
export function calledViews(batch: Batch, results: readonly CallResult[]): OperationView[] {
  const byId = new Map(results.map((result) => [result.operationId, result]));
  return batch.calls.map((call): OperationView => {
    const result = byId.get(call.operation.id);
    if (result === undefined) return { ...viewOf(call), ...judgedPart(call, wasRunBefore(call)) };
    const { outcome, result: ref, replayed } = result;
    return {
      ...viewOf(call),
      status: outcome.status,
      reason: outcome.reason,
      ...ref,
      ...(replayed ? { replayed } : {}),
    };
  });
}

/** A refusal is not marked: it is the same each time, and nothing ran. */
function wasRunBefore({ judgement }: BatchCall): boolean {
  return judgement.kind === "settled" && judgement.row.outcome.status !== "rejected";
}

/** Views of a batch by the rows that its calls have now. */
export function settledViews(
  batch: Batch,
  rows: ReadonlyMap<string, SettledRow>,
  before: readonly OperationView[],
): OperationView[] {
  const replayed = replayedIn(before);
  return batch.calls.map((call) => {
    const row = rows.get(call.operation.id);
    const marked = replayed.has(call.operation.id) ? { replayed: true } : {};
    return { ...viewOf(call), ...(row ? settledPart(row) : { status: "ready" as const }), ...marked };
  });
}

/** The operations that the state shows as answered from the ledger. */
export function replayedIn(views: readonly OperationView[]): Set<string> {
  return new Set(views.filter((view) => view.replayed).map((view) => view.operationId));
}

/** The part of a view that a settled row decides. */
function settledPart({ outcome, result, resolution }: SettledRow): Part {
  return {
    status: outcome.status,
    reason: outcome.reason,
    ...result,
    ...(resolution?.type === "leave" ? { left: true } : {}),
  };
}

function viewOf({ operation }: Pick<BatchCall, "operation">): Omit<OperationView, "status"> {
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

export function unknownWritesOf(rows: Iterable<OperationRow>): string[] {
  return [...rows].filter(isUnknownWrite).map((row) => row.operation.id);
}

export function haltOf(operationIds: readonly string[]): HaltView {
  return { halted: operationIds.length > 0, operations: [...new Set(operationIds)].sort() };
}
