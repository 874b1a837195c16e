// Propose: a model request and the proposal that it led to are recorded, and counted against the turn.

import type { Owner } from "../contracts/index.js";
import type { ModelRequestRecord } from "./port.js";
import { mustHold, type Transaction } from "./transaction.js";

/** Idempotent by request id. */
export function propose(tx: Transaction, record: ModelRequestRecord, run: Owner | undefined): void {
  const { tables, now } = tx;
  const { threadId, turnId, startedAt, endedAt, final } = record;
  mustHold(tx, threadId, run); // transaction-1
  if (!tables.addModelRequest(record)) return;
  const spent = { modelRequests: 1, activeMs: Math.max(0, endedAt - startedAt), finalMade: final };
  tables.addToTurn(threadId, turnId, spent);
  tables.touch(threadId, now);
}
