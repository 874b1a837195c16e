// Closing: the calls of a batch that nothing will run any more get their settled rows, and rows become tool messages.

import type { ToolMessage } from "@langchain/core/messages";
import { type Owner, rejected, type SettledRow } from "../contracts/index.js";
import { alreadyRunning } from "../execution/prepare.js";
import type { Batch, BatchCall } from "../gate/batch.js";
import { toolMessage } from "../observation/index.js";
import type { GraphPorts } from "./ports.js";

/**
 * Settles what nothing will run any more, and returns the row of each call by its id. A call that was never refused and
 * never ran is closed as withdrawn. Throws `already_running` when another run still holds one.
 */
export async function settleAll(
  ports: GraphPorts,
  batch: Batch,
  withdrawn: string,
  run: Owner | undefined,
): Promise<Map<string, SettledRow>> {
  const rows = new Map<string, SettledRow>();
  const open: BatchCall[] = [];
  for (const call of batch.calls) {
    if (call.judgement.kind === "settled") rows.set(call.operation.id, call.judgement.row);
    else open.push(call);
  }
  const place = { threadId: batch.threadId, scope: batch.scope, turnId: batch.turnId };
  const closed = await ports.ledger.refuse(
    open.map(({ operation, entry, judgement }) => {
      const outcome = judgement.kind === "refuse" ? judgement.outcome : rejected("withdrawn", "host", withdrawn);
      return { ...place, operation, toolDigest: entry?.digest ?? null, outcome };
    }),
    run,
  );
  for (const [index, row] of closed.entries()) {
    if (row.state !== "settled") throw alreadyRunning(batch.threadId, row);
    rows.set((open[index] as BatchCall).operation.id, row);
  }
  return rows;
}

/** The tool message of a settled operation, its body read from the result store. */
export async function toolMessageOf(
  ports: GraphPorts,
  batch: Pick<Batch, "threadId" | "snapshot">,
  row: SettledRow,
  replayed: boolean,
): Promise<ToolMessage> {
  const { operation, outcome, result } = row;
  const body = result === undefined ? undefined : await ports.results.read(batch.threadId, result.ref);
  return toolMessage(
    {
      operation,
      outcome,
      snapshotId: batch.snapshot?.id ?? null,
      ...(result === undefined ? {} : { result }),
      ...(body === undefined ? {} : { body }),
      replayed,
    },
    { resultBytes: ports.config.limits.resultBytes },
  );
}

/** Never the thread's maximum: what another branch wrote stays ahead of this one until a person has seen it. */
export function highestSeq(seq: number, rows: Iterable<SettledRow>): number {
  let highest = seq;
  for (const row of rows) highest = Math.max(highest, row.seq ?? 0);
  return highest;
}
