// Transitions: what may become of an operation's row. Pure; the rules apply them inside a store's transaction.
//
//   transition-1. A row makes no move that the table below does not name. States only go forward; the three moves back into
//                 `claimed` (an abandoned claim, an operation that certainly was not run, a read that may be sent again)
//                 raise fence and attempt.
//   transition-2. A write that was being sent by an owner that is gone is `result_unknown`, never anything better. The
//                 fence is raised with it, so that an owner that was only cut off changes nothing any more.
//   transition-3. The lease of an owner that runs on this machine is counted on the clock of the boot alone, and that of an
//                 owner of another machine on the store's clock alone. So a clock that is set, on a host or in a database,
//                 ends no lease on its own machine.
//   transition-4. `did_not_happen` is taken from nobody, neither a server nor a person, while whoever sent may still send or
//                 get its answer. Of a process that runs on this machine that is told by `actsUntil`, also after its lease:
//                 it may have been stopped just before the send. Once it has settled and does not listen, it refuses nothing.
//
// docs/ledger.md draws the table; `npx tsx docs/ledger.ts` makes that drawing from it.

import {
  type ClaimedRow,
  type Digest,
  type DispatchingRow,
  isRetriable,
  type Operation,
  type OperationRow,
  type Outcome,
  type Owner,
  outcomeOf,
  type ProposedRow,
  type ReadBack,
  type SettledRow,
  sentAtOf,
} from "../contracts/index.js";
import type { OwnerLiveness, WriteRef } from "./port.js";
import type { LeaseEnd } from "./tables.js";

/** What a row stands at: its state, or once it is settled the status of its outcome. */
export type RowStatus = "proposed" | "claimed" | "dispatching" | Outcome["status"];

/** Every move that a row may make, with the method of the ledger that makes it. */
export const TRANSITIONS: readonly { readonly from: RowStatus; readonly to: RowStatus; readonly by: string }[] = [
  { from: "proposed", to: "claimed", by: "claim" },
  { from: "proposed", to: "rejected", by: "refuse, answer (reject, edit, expired) or claim (its own checks)" },
  { from: "proposed", to: "unavailable", by: "refuse" },
  { from: "claimed", to: "claimed", by: "claim, when the owner is gone" },
  { from: "claimed", to: "dispatching", by: "begin" },
  { from: "claimed", to: "rejected", by: "begin (halted), or refuse, answer and claim when the owner is gone" },
  { from: "claimed", to: "unavailable", by: "settle, when nothing could be sent; or refuse, when the owner is gone" },
  { from: "dispatching", to: "ok", by: "settle" },
  { from: "dispatching", to: "failed", by: "settle" },
  { from: "dispatching", to: "rejected", by: "settle (the server says so), or answer to a read whose owner is gone" },
  { from: "dispatching", to: "unavailable", by: "settle, or sweep of a read whose owner is gone" },
  { from: "dispatching", to: "result_unknown", by: "settle, accept, or sweep of a write whose owner is gone" },
  { from: "dispatching", to: "claimed", by: "claim of a read whose owner is gone" },
  { from: "unavailable", to: "claimed", by: "claim, when it certainly was not run" },
  { from: "unavailable", to: "rejected", by: "answer (reject, edit)" },
  { from: "result_unknown", to: "ok", by: "settleLate, readBack or resolve (happened)" },
  { from: "result_unknown", to: "failed", by: "settleLate, readBack or resolve (did_not_happen)" },
  { from: "result_unknown", to: "rejected", by: "settleLate" },
  { from: "result_unknown", to: "unavailable", by: "settleLate" },
  ...(["proposed", "claimed", "ok", "failed", "rejected", "unavailable"] as const).map(
    (from) => ({ from, to: "result_unknown", by: "accept, of a record that another hand changed" }) as const,
  ),
  { from: "result_unknown", to: "result_unknown", by: "settleLate, readBack or resolve (leave): more is known of it" },
];

const ALLOWED = new Set(TRANSITIONS.map(({ from, to }) => `${from} ${to}`));

function statusOf(row: OperationRow): RowStatus {
  return row.state === "settled" ? row.outcome.status : row.state;
}

/** The row after a move. Throws `TypeError` for a move that the table does not name. (transition-1) */
function move<Row extends OperationRow>(before: OperationRow, after: Row): Row {
  const name = `${statusOf(before)} ${statusOf(after)}`;
  if (!ALLOWED.has(name)) throw new TypeError(`an operation cannot go from ${name.replace(" ", " to ")}`);
  return after;
}

/** How the ledger tells whether the owner of a row may still act. */
export interface Watch {
  /** Of the store's clock, or the host's. */
  readonly now: number;
  /** Of the clock that counts from the boot of this machine. */
  readonly steady: number;
  readonly liveness: OwnerLiveness;
}

/** Whether the owner of a row is gone: its process has ended, or its lease has. */
export function ownerGone(row: OperationRow, watch: Watch): boolean {
  if (row.state === "proposed" || row.owner === undefined) return true;
  const { leaseUntil = 0, leaseSteady } = row;
  return isGone(watch.liveness(row.owner, row.operation.id), { leaseUntil, leaseSteady }, watch);
}

/** Whether an owner is gone of which so much is known. (transition-3) */
export function isGone(life: ReturnType<OwnerLiveness>, { leaseUntil, leaseSteady }: LeaseEnd, watch: Watch): boolean {
  switch (life) {
    case "alive":
      return false;
    case "gone":
      return true;
    case "here":
      return leaseSteady === undefined ? leaseUntil <= watch.now : leaseSteady <= watch.steady;
    case "unknown":
      return leaseUntil <= watch.now;
  }
}

/** Whether whoever sent a row may still send it, or get its answer. (transition-4) */
export function mayAct(row: DispatchingRow | SettledRow, watch: Watch): boolean {
  const life = row.owner && watch.liveness(row.owner, row.operation.id);
  if (life !== "here" || row.leaseSteady === undefined) return !ownerGone(row, watch);
  return row.actsUntil !== undefined && watch.steady < row.actsUntil;
}

/** A lease that begins now. */
export function leaseOf(ms: number, { now, steady }: Pick<Watch, "now" | "steady">): LeaseEnd {
  return { leaseUntil: now + ms, leaseSteady: steady + ms };
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

/** Whether it may be refused or asked about as if nobody had begun it. */
export function isUnbegun(row: OperationRow, watch: Watch): boolean {
  return row.state === "proposed" || (row.state === "claimed" && ownerGone(row, watch));
}

export function writeRef(row: OperationRow): WriteRef {
  const sentAt = sentAtOf(row);
  return {
    operationId: row.operation.id,
    alias: row.operation.alias,
    state: outcomeOf(row)?.status ?? row.state,
    ...(sentAt === undefined ? {} : { sentAt }),
  };
}

/** Where a row lives. */
export interface Place {
  readonly threadId: string;
  readonly scope: string;
  readonly turnId: string;
}

export function proposed(operation: Operation, place: Place, toolDigest: Digest | null, now: number): ProposedRow {
  const { threadId, scope, turnId } = place;
  const started = { state: "proposed", fence: 0, attempt: 0, sent: false, createdAt: now } as const;
  return { operation, threadId, scope, turnId, toolDigest, ...started };
}

/** A row with the host's newest derivation of route, effect and decision. Which call it is never changes. */
export function rederived<Row extends OperationRow>(row: Row, operation: Operation, toolDigest: Digest | null): Row {
  const { alias, server, tool, effect } = operation;
  const decision = operation.decision ?? row.operation.decision;
  return { ...row, operation: { ...row.operation, alias, server, tool, effect, decision }, toolDigest };
}

/** What an earlier attempt left behind is dropped. */
export function claimed(
  row: OperationRow,
  claim: { readonly owner: Owner; readonly lease: LeaseEnd; readonly seq: number | undefined },
): ClaimedRow {
  const { operation, threadId, scope, turnId, toolDigest, createdAt, asked, seal } = row;
  const seq = claim.seq ?? row.seq;
  return move(row, {
    operation,
    threadId,
    scope,
    turnId,
    toolDigest,
    createdAt,
    state: "claimed",
    owner: claim.owner,
    ...claim.lease,
    fence: row.fence + 1,
    attempt: row.attempt + 1,
    sent: false,
    ...(seq === undefined ? {} : { seq }),
    ...(asked === undefined ? {} : { asked }),
    ...(seal === undefined ? {} : { seal }),
  });
}

/** `actsUntil`: the steady reading until which whoever sends it may act. */
export function dispatching(row: ClaimedRow, now: number, actsUntil: number): DispatchingRow {
  return move(row, { ...row, state: "dispatching", sent: true, sentAt: now, actsUntil });
}

export function settled(
  row: OperationRow,
  outcome: Outcome,
  now: number,
  more: Partial<Pick<SettledRow, "sent" | "result" | "resolution" | "leaseUntil" | "leaseSteady" | "replacedBy">> = {},
): SettledRow {
  return move(row, { ...row, ...more, state: "settled", outcome, settledAt: now });
}

/** What its owner tells of it while it does not listen for an answer: nothing is in flight any more. (transition-4) */
export function quiet<Row extends OperationRow>(row: Row): Row {
  const { actsUntil: _, ...rest } = { actsUntil: undefined, ...row };
  return rest as Row;
}

/** What the owner of a dead process left in `dispatching`. (transition-2) */
export function lost(row: DispatchingRow, now: number, write = row.operation.effect === "write"): SettledRow {
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
export function fenced<Row extends OperationRow>(row: Row): Row {
  return { ...row, fence: row.fence + 1 };
}

/** A write that may have been sent, whatever its changed record says: whoever had it in hand changes nothing any more. */
export function doubted(row: OperationRow, outcome: Outcome, now: number): SettledRow {
  const { resolution: _, ...rest } = row.state === "settled" ? row : { ...row, resolution: undefined };
  return settled(fenced(rest as OperationRow), outcome, now, { sent: true });
}

/** A row whose outcome is unknown, with what a person said of it. What was seen on the wire stays with it. */
export function resolved(row: SettledRow, resolution: NonNullable<SettledRow["resolution"]>, now: number): SettledRow {
  const { evidence } = row.outcome;
  const kept = evidence === undefined ? {} : { evidence };
  const said = (status: "ok" | "failed", message: string): SettledRow =>
    settled(row, { status, reason: "resolved", by: "person", message, ...kept }, now, { resolution });
  switch (resolution.type) {
    case "leave":
      return move(row, { ...row, resolution });
    case "happened":
      return said("ok", "a person says that it happened");
    case "did_not_happen":
      return said("failed", "a person says that it did not happen");
  }
}

/**
 * A row whose outcome is unknown, with what a read-back found: settled, or still unknown with one more piece of evidence.
 * (transition-4)
 */
export function readBackAs(row: SettledRow, readBack: ReadBack, watch: Watch): SettledRow {
  const evidence = { attempted: true, how: "host_gone", ...row.outcome.evidence, readBack };
  const early = readBack.found === "did_not_happen" && mayAct(row, watch);
  const message = `read back: ${readBack.detail}`;
  switch (early ? "nothing" : readBack.found) {
    case "nothing":
      return move(row, { ...row, outcome: { ...row.outcome, evidence } });
    case "happened":
      return settled(row, { status: "ok", reason: "read_back", by: "server", message, evidence }, watch.now);
    case "did_not_happen":
      return settled(row, { status: "failed", reason: "read_back", by: "server", message, evidence }, watch.now);
  }
}
