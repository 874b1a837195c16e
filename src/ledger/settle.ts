// Settling: how operations end, as steps of one transaction each.
//
//   L1. Only `result_unknown` settles again, and once: by late evidence, a declared read-back or a person's word.
//   L4. A settlement names the fence of its claim; with an older one nothing changes.
//   L6. What is settled stays: whoever comes later gets the row as it stands.

import type { Digest, OperationRow, Owner, ReadBack, Resolution, ResolutionType } from "../contracts/index.js";
import type { Refusal, ResolveResult, Settlement } from "./port.js";
import {
  isUnknown,
  lost,
  ownerGone,
  proposed,
  readBackAs,
  rederived,
  resolvedAs,
  settled,
} from "./transitions.js";
import { isForeign, mustHold, putSettled, refuseForeign, type Session, sweepRows } from "./transaction.js";

export function settle(session: Session, settlement: Settlement): boolean {
  const row = session.tables.row(settlement.operationId);
  if (row === undefined || row.fence !== settlement.fence) return false; // L4
  if (row.state === "proposed") return false;
  if (row.state === "settled") return isSame(row, settlement); // a settlement told twice
  put(session, row, settlement);
  if (row.state === "dispatching") {
    const activeMs = Math.max(0, session.now - (row.sentAt ?? session.now));
    session.tables.addToTurn(row.threadId, row.turnId, { activeMs });
  }
  return true;
}

function isSame(row: OperationRow, { outcome, sent }: Settlement): boolean {
  const { status, reason, by, message } = outcome;
  const was = row.outcome;
  return (
    was?.status === status && was.reason === reason && was.by === by && was.message === message && row.sent === sent
  );
}

/** An answer that came too late, which may leave the outcome unknown still, with better evidence of it. */
export function settleLate(session: Session, settlement: Settlement): boolean {
  const row = session.tables.row(settlement.operationId);
  if (row === undefined || row.fence !== settlement.fence || !isUnknown(row)) return false; // L1, L4
  put(session, row, settlement);
  return true;
}

function put(session: Session, row: OperationRow, { outcome, sent, result, listensMs }: Settlement): void {
  const lease = listensMs === undefined ? {} : { leaseUntil: session.now + listensMs };
  const after = settled(row, outcome, session.now, { sent, ...lease, ...(result ? { result } : {}) });
  putSettled(session, after);
}

/** What a read-back found: evidence of an unknown outcome, and its end when it says either way. (L1, L6) */
export function readBack(session: Session, operationId: Digest, found: Omit<ReadBack, "at">): OperationRow | undefined {
  const row = session.tables.row(operationId);
  if (row === undefined || !isUnknown(row) || row.operation.effect !== "write") return row;
  const outcome = readBackAs(row, { ...found, at: session.now }, session);
  const open = outcome.status === "result_unknown";
  const after = { ...row, outcome, settledAt: open ? (row.settledAt ?? session.now) : session.now };
  putSettled(session, after);
  return after;
}

export function refuse(session: Session, refusals: readonly Refusal[], run?: Owner): OperationRow[] {
  for (const { threadId } of refusals) mustHold(session, threadId, run); // L8
  const rows: OperationRow[] = [];
  for (const refusal of refusals) rows.push(refuseOne(session, refusal));
  return rows;
}

function refuseOne(session: Session, refusal: Refusal): OperationRow {
  const { operation, toolDigest, outcome } = refusal;
  const row = session.tables.row(operation.id);
  if (isForeign(session, operation, row, refusal)) {
    return refuseForeign(session, operation, refusal, toolDigest);
  }
  const open = row === undefined || row.state === "proposed" || (row.state === "claimed" && ownerGone(row, session));
  if (!open) return row; // L6
  const known = row
    ? rederived(row, operation, toolDigest ?? row.toolDigest)
    : proposed(operation, refusal, toolDigest, session.now);
  const after = settled(known, outcome, session.now);
  putSettled(session, after);
  return after;
}

export function unknowns(session: Session, threadId?: string): OperationRow[] {
  sweepRows(session, threadId, false);
  return session.tables.unknownWrites(threadId);
}

export function resolve(
  session: Session,
  operationId: Digest,
  type: ResolutionType,
  said: Omit<Resolution, "type" | "at">,
): ResolveResult {
  const stored = session.tables.row(operationId);
  if (stored === undefined || stored.operation.effect !== "write") {
    return stored?.state === "settled" ? { kind: "already_settled", row: stored } : { kind: "not_found" };
  }
  const abandoned = stored.state === "dispatching" && ownerGone(stored, session);
  const row = abandoned ? lost(stored, session.now) : stored;
  if (abandoned) putSettled(session, row);
  if (row.state === "dispatching") return { kind: "owner_alive", row };
  if (row.state !== "settled") return { kind: "not_found" }; // nothing was sent, so nothing is unknown
  if (!isUnknown(row)) return { kind: "already_settled", row };
  if (type === "did_not_happen" && !ownerGone(row, session)) return { kind: "owner_alive", row };

  const resolution: Resolution = { ...said, type, at: session.now };
  const left = row.resolution !== undefined && type === "leave"; // left before: the first word stands
  const after = left ? row : resolvedRow(row, type, resolution, session.now);
  putSettled(session, after);
  return { kind: "resolved", row: after };
}

function resolvedRow(row: OperationRow, type: ResolutionType, resolution: Resolution, now: number): OperationRow {
  if (type === "leave") return { ...row, resolution };
  return settled(row, resolvedAs(row, type === "happened"), now, { resolution });
}
