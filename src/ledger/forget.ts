// Forget: the contents of a thread go, and what they were is kept by digest alone.
//
//   forget-1. Nothing is forgotten of a thread in which a write is unknown or a call is in hand. What waits for an answer is
//             withdrawn.
//   forget-2. Of each operation a row stays with its digests, its state and its numbers, sealed like any other: the repeat
//             guard, the branch guard and the thread's head go on holding.

import { isOpen, type OperationRow, type Owner, rejected, type SettledRow } from "../contracts/index.js";
import type { ForgetResult } from "./port.js";
import { mustHold, type Transaction } from "./transaction.js";
import { settled } from "./transitions.js";

const FORGOTTEN = "its contents were forgotten";

/** What keeps a thread from being forgotten. (forget-1) */
function unsettled(tx: Transaction, threadId: string, run: Owner): OperationRow[] {
  mustHold(tx, threadId, run);
  return tx.tables.rowsOfThread(threadId).filter(isOpen);
}

export function bury(tx: Transaction, threadId: string, run: Owner): ForgetResult {
  const rows = unsettled(tx, threadId, run);
  if (rows.length > 0) return { kind: "unsettled", rows };
  for (const row of tx.tables.rowsOfThread(threadId)) tx.tables.putRow(tombstone(row, tx.now)); // forget-2
  return { kind: "forgotten" };
}

function tombstone(row: OperationRow, now: number): SettledRow {
  const end = row.state === "settled" ? row : settled(row, rejected("withdrawn", "host", FORGOTTEN), now);
  const { result: _, resolution, ...kept } = end;
  const { status, reason, by } = end.outcome;
  return {
    ...kept,
    // A name that the model made up is text of the conversation; a tool's name is the server's.
    operation: {
      ...end.operation,
      alias: end.operation.tool === null ? "" : end.operation.alias,
      arguments: {},
      decision: null,
    },
    outcome: { status, reason, by, message: FORGOTTEN },
    ...(resolution ? { resolution: { type: resolution.type, by: resolution.by, at: resolution.at } } : {}),
  };
}
