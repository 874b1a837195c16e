// Settle: how operations end, each method one transaction.
//
//   settle-1. Only `result_unknown` settles again, and once: by late evidence, a declared read-back or a person's word.
//   settle-2. A settlement names the fence of its claim; with an older one nothing changes.
//   settle-3. What is settled stays: whoever comes later gets the row as it stands.

import {
  type Digest,
  isUnknown,
  isUnknownWrite,
  type OperationRow,
  type Owner,
  type ReadBack,
  type Resolution,
  type ResolutionType,
  type SettledRow,
} from "../contracts/index.js";
import type { Refusal, ResolveResult, Settlement } from "./port.js";
import { unbelieved } from "./seals.js";
import { isForeign, mustHold, putSettled, refuseForeign, sweepRows, type Transaction } from "./transaction.js";
import {
  isUnbegun,
  leaseOf,
  lost,
  mayAct,
  ownerGone,
  proposed,
  quiet,
  readBackAs,
  rederived,
  resolved,
  settled,
} from "./transitions.js";

export function settle(tx: Transaction, settlement: Settlement): boolean {
  const row = tx.tables.row(settlement.operationId);
  if (row === undefined || row.fence !== settlement.fence) return false; // settle-2
  if (row.state === "proposed") return false;
  if (row.state === "settled") return isSame(row, settlement); // a settlement told twice
  apply(tx, row, settlement);
  if (row.state === "dispatching") {
    tx.tables.addToTurn(row.threadId, row.turnId, { activeMs: settlement.tookMs ?? Math.max(0, tx.now - row.sentAt) });
  }
  return true;
}

function isSame({ outcome: was, sent: wasSent }: SettledRow, { outcome, sent }: Settlement): boolean {
  const { status, reason, by, message } = outcome;
  return was.status === status && was.reason === reason && was.by === by && was.message === message && wasSent === sent;
}

/** An answer that came too late, which may leave the outcome unknown still, with better evidence of it. */
export function settleLate(tx: Transaction, settlement: Settlement): boolean {
  const row = tx.tables.row(settlement.operationId);
  if (row === undefined || row.fence !== settlement.fence || !isUnknown(row)) return false; // settle-1, settle-2
  apply(tx, row, settlement);
  return true;
}

function apply(tx: Transaction, row: OperationRow, { outcome, sent, result, listensMs }: Settlement): void {
  const lease = listensMs === undefined ? {} : leaseOf(listensMs, tx);
  const after = settled(row, outcome, tx.now, { sent, ...lease, ...(result ? { result } : {}) });
  putSettled(tx, listensMs === undefined ? quiet(after) : after);
}

/** What a read-back found: evidence of an unknown outcome, and its end when it says either way. (settle-1, settle-3) */
export function readBack(tx: Transaction, operationId: Digest, found: Omit<ReadBack, "at">): OperationRow | undefined {
  const row = tx.tables.row(operationId);
  if (row === undefined || !isUnknownWrite(row)) return row;
  const after = readBackAs(row, { ...found, at: tx.now }, tx);
  putSettled(tx, after);
  return after;
}

export function refuse(tx: Transaction, refusals: readonly Refusal[], run?: Owner): OperationRow[] {
  for (const { threadId } of refusals) mustHold(tx, threadId, run); // transaction-1
  const rows: OperationRow[] = [];
  for (const refusal of refusals) rows.push(refuseOne(tx, refusal));
  return rows;
}

function refuseOne(tx: Transaction, refusal: Refusal): OperationRow {
  const { operation, toolDigest, outcome } = refusal;
  const row = tx.tables.row(operation.id);
  if (isForeign(tx, operation, row, refusal)) {
    return refuseForeign(tx, operation, refusal, toolDigest);
  }
  if (row !== undefined && !isUnbegun(row, tx)) return row; // settle-3
  const known = row
    ? rederived(row, operation, toolDigest ?? row.toolDigest)
    : proposed(operation, refusal, toolDigest, tx.now);
  const after = settled(known, outcome, tx.now);
  putSettled(tx, after);
  return after;
}

/** Of one thread: throws `store_tampered` where another hand changed one of them. */
export function unknowns(tx: Transaction, threadId?: string): SettledRow[] {
  sweepRows(tx, threadId, false);
  const rows = tx.tables.unknownWrites(threadId);
  const changed = rows.find((row) => tx.seals && !tx.seals.sealer.holdsWhole(row) && row.seal !== undefined);
  if (tx.seals && changed && threadId !== undefined) throw unbelieved(tx.seals.sealer, changed);
  return rows;
}

export function resolve(
  tx: Transaction,
  operationId: Digest,
  type: ResolutionType,
  said: Omit<Resolution, "type" | "at">,
): ResolveResult {
  const stored = tx.tables.row(operationId);
  if (stored === undefined || stored.operation.effect !== "write") {
    return stored?.state === "settled" ? { kind: "already_settled", row: stored } : { kind: "not_found" };
  }
  const over = stored.state === "dispatching" && (ownerGone(stored, tx) || !mayAct(stored, tx));
  const row = over ? lost(stored, tx.now) : stored;
  if (row.state === "settled" && row !== stored) putSettled(tx, row);
  if (row.state === "dispatching") return { kind: "owner_alive", row };
  if (row.state !== "settled") return { kind: "not_found" }; // nothing was sent, so nothing is unknown
  if (!isUnknown(row)) return { kind: "already_settled", row };
  if (type === "did_not_happen" && mayAct(row, tx)) return { kind: "owner_alive", row }; // transition-4

  const leftBefore = row.resolution !== undefined && type === "leave"; // the first word stands
  const after = leftBefore ? row : resolved(row, { ...said, type, at: tx.now }, tx.now);
  putSettled(tx, after);
  return { kind: "resolved", row: after };
}
