// observe: outcomes become tool messages, exactly one for each call of the batch (G8).

import type { ToolMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { type OperationRow, type Owner, rejected, ToolgateError } from "../../contracts/index.js";
import { toolMessage } from "../../observation/index.js";
import { type Batch, type BatchCall, loadBatch, threadOf } from "../../gate/batch.js";
import { leaseOf } from "../../langgraph/held-graph.js";
import type { Host } from "../host.js";
import type { GraphState, GraphUpdate } from "../state.js";
import { haltOf, ownUnknown, settledPart, toldOf, viewOf } from "../views.js";

export function observe(host: Host) {
  return async (state: GraphState, runtime: LangGraphRunnableConfig): Promise<GraphUpdate> => {
    const threadId = threadOf(runtime);
    const batch = await loadBatch(host, state, threadId);
    if (!batch) return { operations: [] };
    const rows = await settleAll(host, batch, "it was not run", leaseOf(runtime)?.owner);
    for (const { operation, judgement } of batch.calls) {
      if (judgement.kind !== "refuse") continue;
      const { id: operationId, alias, effect } = operation;
      runtime.writer?.({
        type: "toolgate.call",
        phase: "refused",
        operationId,
        alias,
        effect,
        ...toldOf(judgement.outcome),
      });
    }
    const replayed = new Set(state.operations.filter((view) => view.replayed).map((view) => view.operationId));
    const messages = await Promise.all(
      batch.calls.map((call) =>
        messageOf(host, batch, rows.get(call.operation.id) as OperationRow, replayed.has(call.operation.id)),
      ),
    );
    return {
      messages,
      operations: batch.calls.map((call) => ({
        ...viewOf(call),
        ...settledPart(rows.get(call.operation.id) as OperationRow),
        ...(replayed.has(call.operation.id) ? { replayed: true } : {}),
      })),
      ledgerSeq: highestSeq(state.ledgerSeq, rows.values()),
      halt: haltOf([...ownUnknown(batch.standing), ...unknownWrites(rows.values())]),
      note: "",
    };
  };
}

/**
 * Settles what nothing will run any more, and returns the row of each call. A call that was never refused and never ran
 * is closed as withdrawn. Throws `already_running` when another run still holds one.
 */
export async function settleAll(
  host: Host,
  batch: Batch,
  withdrawn: string,
  run: Owner | undefined,
): Promise<Map<string, OperationRow>> {
  const open = batch.calls.filter((call) => call.judgement.kind !== "settled");
  const refused = await host.ledger.refuse(
    open.map((call) => ({
      operation: call.operation,
      threadId: batch.threadId,
      scope: host.config.scope,
      turnId: batch.turnId,
      toolDigest: call.entry?.digest ?? null,
      outcome: call.judgement.kind === "refuse" ? call.judgement.outcome : rejected("withdrawn", "host", withdrawn),
    })),
    run,
  );
  const rows = new Map<string, OperationRow>();
  for (const { judgement } of batch.calls)
    if (judgement.kind === "settled") rows.set(judgement.row.operation.id, judgement.row);
  for (const [index, row] of refused.entries()) rows.set((open[index] as BatchCall).operation.id, row);
  for (const row of rows.values()) if (row.state !== "settled") throw alreadyRunning(batch.threadId, row);
  return rows;
}

export function alreadyRunning(threadId: string, row: Pick<OperationRow, "operation">): ToolgateError {
  return new ToolgateError(
    "already_running",
    `thread \`${threadId}\` is running elsewhere: \`${row.operation.alias}\` is in flight`,
    "wait for that run to end, then run the thread again",
    { data: { threadId, operationId: row.operation.id } },
  );
}

/** The tool message of a settled operation, its body read from the result store. */
export async function messageOf(
  host: Host,
  batch: Pick<Batch, "threadId" | "snapshot">,
  row: OperationRow,
  replayed: boolean,
): Promise<ToolMessage> {
  const body = row.result === undefined ? undefined : await host.results.read(batch.threadId, row.result.ref);
  return toolMessage(
    {
      operation: row.operation,
      outcome: row.outcome as NonNullable<typeof row.outcome>,
      snapshotId: batch.snapshot?.id ?? null,
      ...(row.result === undefined ? {} : { result: row.result }),
      ...(body === undefined ? {} : { body }),
      replayed,
    },
    { resultBytes: host.config.limits.resultBytes },
  );
}

/** Never the thread's maximum: what another branch wrote stays ahead of this one until a person has seen it. */
export function highestSeq(seq: number, rows: Iterable<OperationRow>): number {
  let highest = seq;
  for (const row of rows) highest = Math.max(highest, row.seq ?? 0);
  return highest;
}

export function unknownWrites(rows: Iterable<OperationRow>): string[] {
  return [...rows]
    .filter((row) => row.operation.effect === "write" && row.outcome?.status === "result_unknown")
    .map((row) => row.operation.id);
}
