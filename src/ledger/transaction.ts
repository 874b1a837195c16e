// Transaction: what the rules of one transaction share: the tables, the time, and who may still be alive.
//
//   transaction-1. A thread is held by one run at a time. While it is, no other run proposes, asks, claims, begins or
//                  refuses in it.

import {
  type Digest,
  digest,
  type Operation,
  type OperationRow,
  type Owner,
  rejected,
  type SettledRow,
  sameOwner,
  takenOver,
} from "../contracts/index.js";
import { type Moment, outlived } from "./clock.js";
import { type Asked, runKey } from "./port.js";
import { askedOf, type Sealer, tampered } from "./seals.js";
import type { Holder, Question, Tables } from "./tables.js";
import { isGone, lost, ownerGone, type Place, proposed, settled, type Watch } from "./transitions.js";

export interface Transaction extends Watch {
  readonly tables: Tables;
  readonly moment: Moment;
  /** Whether a mark is kept outside of the store. */
  readonly marks?: boolean;
  /** How many changes of rows a thread will have seen with this transaction, where rows are sealed. */
  readonly changesOf?: (threadId: string) => number;
  /** Where rows are sealed: the tables as they are kept, for whoever looks at the seals themselves. */
  readonly seals?: { readonly sealer: Sealer; readonly kept: Tables } | undefined;
}

/** Puts a row that is settled now, and what its thread and turn keep of it. */
export function putSettled(tx: Transaction, row: SettledRow): void {
  tx.tables.putRow(row);
  tx.tables.touch(row.threadId, tx.now);
  if (row.outcome.reason === "budget") {
    tx.tables.addToTurn(row.threadId, row.turnId, { budgetSpent: true });
  }
}

/** Settles the row of each write (and read) that the owner of a dead process left in `dispatching`. Returns them. */
export function sweepRows(tx: Transaction, threadId: string | undefined, reads: boolean): SettledRow[] {
  const swept: SettledRow[] = [];
  for (const row of tx.tables.dispatching(threadId)) {
    if (row.operation.effect === "read" && !reads) continue;
    if (!ownerGone(row, tx)) continue;
    const after = lost(row, tx.now);
    putSettled(tx, after);
    swept.push(after);
  }
  return swept;
}

/** Whose run a thread is, other than this one's, while that run may live. (transaction-1) */
export function heldByOther(tx: Transaction, threadId: string, run: Owner): Owner | undefined {
  const holder = tx.tables.holder(threadId);
  if (holder === undefined || sameOwner(holder.owner, run) || holderGone(tx, threadId, holder)) return undefined;
  return holder.owner;
}

function holderGone(tx: Transaction, threadId: string, holder: Holder): boolean {
  return isGone(tx.liveness(holder.owner, runKey(threadId)), holder, tx);
}

/** Throws `already_running` when the thread is not the run's own. Whoever names no run is not held to it. */
export function mustHold({ tables }: Transaction, threadId: string, run: Owner | undefined): void {
  if (run === undefined || sameOwner(tables.holder(threadId)?.owner, run)) return;
  throw takenOver(threadId);
}

/** Whether an operation is, by the host's own record, of another thread or scope, or another call under the same id. */
export function isForeign(
  tx: Transaction,
  operation: Operation,
  row: OperationRow | undefined,
  place: Pick<Place, "threadId" | "scope">,
): boolean {
  if (row && (row.operation.argumentsDigest !== operation.argumentsDigest || !samePlace(row, place))) return true;
  const proposal = tx.tables.proposal(operation.proposalId);
  return proposal !== undefined && !samePlace(proposal, place);
}

function samePlace(a: Pick<Place, "threadId" | "scope">, b: Pick<Place, "threadId" | "scope">): boolean {
  return a.threadId === b.threadId && a.scope === b.scope;
}

/** Under which the attempt to run an operation in a thread that it does not belong to is kept. */
export function foreignId(operationId: Digest, place: Pick<Place, "threadId" | "scope">): Digest {
  return digest(["other_thread", place.threadId, place.scope, operationId]);
}

/**
 * Refuses an operation of another thread. The record of the attempt is kept under an id of its own, so that the true
 * thread's operation, which may be yet to come, is not taken by it.
 */
export function refuseForeign(
  tx: Transaction,
  operation: Operation,
  place: Place,
  toolDigest: Digest | null,
): SettledRow {
  const outcome = rejected("other_thread", "host", "this call belongs to another thread; it was not run");
  const answer = settled(proposed(operation, place, toolDigest, tx.now), outcome, tx.now);
  const id = foreignId(operation.id, place);
  if (tx.tables.row(id) === undefined) {
    const kept = { ...operation, id, proposalId: `other_thread:${operation.proposalId}` };
    putSettled(tx, { ...answer, operation: kept });
  }
  return answer;
}

/** Whether a question can no longer be answered, nor its answer be used. By the earlier of its own and the sealed time. */
export function questionExpired(question: Question, moment: Moment): boolean {
  const { createdAt, expiresAt } = question.request;
  const until = Math.min(expiresAt, question.verdict?.expiresAt ?? expiresAt);
  return outlived({ at: createdAt, elapsed: question.madeElapsed }, until - createdAt, moment);
}

/** Throws `store_tampered` where another hand changed the question that was asked last. Earlier ones count for nothing. */
export function mustBeAsAsked({ seals, tables }: Transaction, row: OperationRow, question: Question): void {
  const { approvalId, operationId } = question.request;
  if (!seals || row.asked === undefined || row.asked === askedOf(question)) return;
  if (tables.currentQuestion(operationId)?.request.approvalId !== approvalId) return;
  throw tampered(row.threadId, `the question \`${approvalId}\` was changed`);
}

export function asAsked(question: Question, moment: Moment): Asked {
  const { request, verdict, answered, consumed } = question;
  return {
    request,
    ...(verdict === undefined ? {} : { verdict }),
    ...(answered === undefined ? {} : { answeredAt: answered.at }),
    consumed,
    expired: questionExpired(question, moment),
  };
}
