// Machine: what may become of an operation's row. Pure; every ledger adapter applies it inside its transactions.
//
//   M1. States only move forward. The three ways back into `claimed` (nothing was sent: an abandoned claim, a write
//       that never reached `dispatching`; or sending again is harmless: a read) raise fence and attempt.
//   M2. A write that was being sent by an owner that is gone is `result_unknown`, never anything better; the fence is raised
//       with it, so that an owner that was only cut off changes nothing any more.

import {
  type Digest,
  LOCAL,
  type Operation,
  type OperationRow,
  type Outcome,
  type Owner,
  type ReadBack,
} from "../contracts/index.js";
import type { OwnerLiveness, WriteRef } from "./port.js";

/** How an adapter tells whether the owner of a row may still act. */
export interface Watch {
  readonly now: number;
  readonly liveness: OwnerLiveness;
}

/** Whether the owner of a row is gone: its process has ended, or its lease has. */
export function ownerGone(row: OperationRow, watch: Watch): boolean {
  if (row.owner === undefined) return true;
  const life = watch.liveness(row.owner, row.operation.id);
  switch (life) {
    case "alive":
      return false;
    case "gone":
      return true;
    case "unknown":
      return (row.leaseUntil ?? 0) <= watch.now;
  }
}

export function isUnknown(row: OperationRow): boolean {
  return row.outcome?.status === "result_unknown";
}

/** Whether an earlier identical write with this row counts for the repeat guard. */
export function isRepeat(row: OperationRow): boolean {
  const status = row.outcome?.status;
  return row.state === "claimed" || row.state === "dispatching" || status === "ok" || status === "result_unknown";
}

/** Whether a numbered write counts for the branch guard: rejected and unavailable ones changed nothing. */
export function isAhead(row: OperationRow): boolean {
  return row.outcome?.status !== "rejected" && row.outcome?.status !== "unavailable";
}

/** Settled, but certainly not run: may be claimed as the next attempt. A write only if it never reached `dispatching`. */
export function isRetriable(row: OperationRow, write = row.operation.effect === "write"): boolean {
  return row.outcome?.status === "unavailable" && (!write || (!row.sent && row.sentAt === undefined));
}

/** Nothing was sent for it, or nothing that cannot be sent again: a question about it can still make a difference. */
export function isUndecided(row: OperationRow, watch: Watch): boolean {
  switch (row.state) {
    case "proposed":
      return true;
    case "claimed":
      return ownerGone(row, watch);
    case "dispatching":
      return row.operation.effect === "read" && ownerGone(row, watch);
    case "settled":
      return isRetriable(row);
  }
}

/** `connect_server` and `read_result`: in the ledger like any call, but not counted. */
export function isBuiltIn(operation: Operation): boolean {
  return operation.server === LOCAL && (operation.alias === "connect_server" || operation.alias === "read_result");
}

export function writeRef(row: OperationRow): WriteRef {
  return {
    operationId: row.operation.id,
    alias: row.operation.alias,
    state: row.outcome?.status ?? row.state,
    ...(row.sentAt === undefined ? {} : { sentAt: row.sentAt }),
  };
}

/** Where a row lives. */
export interface Place {
  readonly threadId: string;
  readonly scope: string;
  readonly turnId: string;
}

export function proposed(operation: Operation, place: Place, toolDigest: Digest | null, now: number): OperationRow {
  const { threadId, scope, turnId } = place;
  const started = { state: "proposed", fence: 0, attempt: 0, sent: false, createdAt: now } as const;
  return { operation, threadId, scope, turnId, toolDigest, ...started };
}

/** A row with the host's newest derivation of route, effect and decision. Which call it is never changes. */
export function rederived(row: OperationRow, operation: Operation, toolDigest: Digest | null): OperationRow {
  const { alias, server, tool, effect } = operation;
  const decision = operation.decision ?? row.operation.decision;
  return { ...row, operation: { ...row.operation, alias, server, tool, effect, decision }, toolDigest };
}

/** M1: what an earlier attempt left behind is dropped with it. */
export function claimed(
  row: OperationRow,
  claim: { readonly owner: Owner; readonly leaseUntil: number; readonly seq: number | undefined },
): OperationRow {
  const { outcome: _outcome, result: _result, sentAt: _sentAt, settledAt: _settledAt, ...kept } = row;
  return {
    ...kept,
    state: "claimed",
    owner: claim.owner,
    leaseUntil: claim.leaseUntil,
    fence: row.fence + 1,
    attempt: row.attempt + 1,
    sent: false,
    ...(claim.seq === undefined ? {} : { seq: claim.seq }),
  };
}

export function dispatching(row: OperationRow, now: number): OperationRow {
  return { ...row, state: "dispatching", sent: true, sentAt: now };
}

export function settled(
  row: OperationRow,
  outcome: Outcome,
  now: number,
  more: Partial<Pick<OperationRow, "sent" | "result" | "resolution" | "leaseUntil">> = {},
): OperationRow {
  return { ...row, ...more, state: "settled", outcome, settledAt: now };
}

/** What the owner of a dead process left in `dispatching`. (M2) */
export function lost(row: OperationRow, now: number, write = row.operation.effect === "write"): OperationRow {
  const outcome: Outcome = {
    status: write ? "result_unknown" : "unavailable",
    reason: "host_gone",
    by: "host",
    message: write
      ? "the process that sent it is gone without a record of the answer; it may or may not have happened"
      : "the process that sent it is gone without a record of the answer",
    evidence: { attempted: true, how: "host_gone" },
  };
  return settled(fenced(row), outcome, now);
}

/** A row that its owner can no longer change. */
export function fenced(row: OperationRow): OperationRow {
  return { ...row, fence: row.fence + 1 };
}

/** What a person said of an unknown outcome, as its outcome. What was seen on the wire stays with it. */
export function resolvedAs(row: OperationRow, happened: boolean): Outcome {
  const evidence = row.outcome?.evidence;
  return {
    status: happened ? "ok" : "failed",
    reason: "resolved",
    by: "person",
    message: happened ? "a person says that it happened" : "a person says that it did not happen",
    ...(evidence === undefined ? {} : { evidence }),
  };
}

/**
 * What a read-back says of an unknown outcome, as its outcome: settled, or still unknown with one more piece of evidence.
 * While the sender may still get its answer, `did_not_happen` is as little taken from a server as from a person.
 */
export function readBackAs(row: OperationRow, readBack: ReadBack, watch: Watch): Outcome {
  const known = row.outcome as Outcome; // only an unknown outcome is read back
  const evidence = { attempted: true, how: "host_gone", ...known.evidence, readBack };
  const early = readBack.found === "did_not_happen" && !ownerGone(row, watch);
  switch (early ? "nothing" : readBack.found) {
    case "nothing":
      return { ...known, evidence };
    case "happened":
      return { status: "ok", reason: "read_back", by: "server", message: `read back: ${readBack.detail}`, evidence };
    case "did_not_happen":
      return {
        status: "failed",
        reason: "read_back",
        by: "server",
        message: `read back: ${readBack.detail}`,
        evidence,
      };
  }
}
