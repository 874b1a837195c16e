// Accept: a thread's seals are looked at before a run takes it, and made anew when a person accepts what stands.
//
//   accept-1. What may have been sent, as far as a changed record can still tell, is unknown once it is accepted: a write that
//             is not settled, one whose own seal does not hold, and a call of a proposal that has no row.

import {
  BUILT_INS,
  type Digest,
  isRetriable,
  type JsonObject,
  type Operation,
  type OperationRow,
  type Outcome,
  operationId,
  type Proposal,
  type SettledRow,
  ToolgateError,
  threadOfKey,
} from "../contracts/index.js";
import type { AcceptResult, Mark, Marked } from "./port.js";
import { added, type Head, NO_HEAD, OTHER_SECRET, problemOf, type Sealer, tampered, type Unsealed } from "./seals.js";
import type { StoreCard, Tables } from "./tables.js";
import { heldByOther, putSettled, type Transaction } from "./transaction.js";
import { doubted, proposed } from "./transitions.js";

/** Throws `store_tampered` where the thread is not as it was sealed, `secret_missing` where this host cannot tell. (ledger-10) */
export function mustBeWhole({ tables, seals }: Transaction, key: string): void {
  const head = tables.head(key);
  if (seals) {
    const problem = problemOf(seals.sealer, key, head, tables.seals(key));
    if (problem !== undefined) throw tampered(key, problem);
  } else if (head !== undefined) {
    const threadId = threadOfKey(key);
    throw new ToolgateError(
      "secret_missing",
      `thread \`${threadId}\` is sealed, and this host has no secret that outlives it, so it cannot go on with it`,
      "set `approvals.secret` to the secret of the hosts that use this store",
      { data: { threadId } },
    );
  }
}

/** Throws `store_tampered` where the store knows of less than its mark does: it was set back, or is another one. */
export function mustBeCurrent(tx: Transaction, key: string, mark: Mark): void {
  const marked = mark.read(key);
  if (marked === undefined) return;
  if (headOf(tx, key) === "other_secret") throw tampered(key, OTHER_SECRET); // nobody can tell how far it has come
  const known = standingOf(tx, key);
  if (marked.store !== known.store) throw storeTampered(`is not the one that its mark \`${mark.path}\` was made for`);
  if (marked.sends > known.sends) {
    const count = `it knows of ${known.sends} writes that were sent, and its mark \`${mark.path}\` of ${marked.sends}`;
    throw storeTampered(`was set back: ${count}`);
  }
  if (marked.changes > known.changes) throw tampered(key, `it was set back, as its mark \`${mark.path}\` says`);
}

/** How far a store and a thread of it have come. */
export function standingOf(tx: Transaction, key: string): Marked {
  const { id, sends = 0 } = tx.tables.card();
  const head = headOf(tx, key);
  return { store: id, sends, changes: typeof head === "object" ? head.changes : 0 };
}

function headOf({ tables, seals }: Transaction, key: string): Head | Unsealed | undefined {
  const text = tables.head(key);
  return text === undefined ? NO_HEAD : seals?.sealer.openHead(key, text);
}

/** The same, with what the transaction itself changes. */
export function comingOf({ tables, changesOf }: Transaction, key: string): Marked {
  const { id, sends = 0 } = tables.card();
  return { store: id, sends, changes: changesOf?.(key) ?? 0 };
}

/** Throws `store_tampered` for a store without seals that has sent writes with them, as its mark says. */
export function mustBeNew({ id }: StoreCard, mark: Mark): void {
  if (mark.read("")?.store === id) throw storeTampered("bears no seals any more");
}

function storeTampered(what: string): ToolgateError {
  return new ToolgateError(
    "store_tampered",
    `the store ${what}; nothing is sent`,
    "compare the servers with what the store says; `toolgate accept --restored --note TEXT` then takes the store as it is, with what may have been sent as unknown",
    { data: { restored: true } },
  );
}

/** A store that is taken as it is never counts less than its mark did. */
export function acceptCard({ tables }: Transaction, mark: Mark): void {
  const { id, sends = 0 } = tables.card();
  const marked = mark.read("");
  if (marked?.store === id) tables.setSends?.(Math.max(sends, marked.sends));
}

/** Seals every row of a thread as it stands, and the thread, `after` so many changes. Takes the tables as they are kept. */
export function sealThread(tables: Tables, sealer: Sealer, threadId: string, after = 0): void {
  const rows = tables.rowsOfThread(threadId);
  let sum = 0n;
  for (const [index, row] of rows.entries()) {
    const seal = sealer.sealRow(row, after + index + 1);
    tables.putRow({ ...row, seal });
    sum = added(sum, seal);
  }
  for (const { proposal } of tables.modelRequests(threadId)) {
    if (proposal) tables.putProposal({ ...proposal, seal: sealer.sealProposal(proposal) });
  }
  const { proposals } = tables.seals(threadId);
  const counts = { changes: after + rows.length + 1, rows: rows.length, proposals };
  tables.setHead(threadId, sealer.sealHead(threadId, { ...counts, lastSeq: -1, sum }));
}

/** Whether there is nothing to accept: nobody changed the thread. */
function isAsSealed(tx: Transaction, threadId: string, mark: Mark | undefined): boolean {
  if (tx.seals === undefined) return false;
  try {
    mustBeWhole(tx, threadId);
    if (mark) mustBeCurrent(tx, threadId, mark);
  } catch {
    return false;
  }
  const { sealer, kept } = tx.seals;
  const proposals = kept.modelRequests(threadId).flatMap(({ proposal }) => proposal ?? []);
  return kept.rowsOfThread(threadId).every(sealer.holdsWhole) && proposals.every(sealer.holdsProposal);
}

/** `anyhow`: the store was set back as a whole, so that every thread is in doubt. */
export function accept(
  tx: Transaction,
  threadId: string,
  said: { readonly by: string; readonly note: string },
  { mark, anyhow = false }: { readonly mark: Mark | undefined; readonly anyhow?: boolean },
): AcceptResult {
  const kept = tx.seals?.kept ?? tx.tables;
  const nobody = { machine: "", pid: 0, started: "", instance: "" };
  const other = heldByOther(tx, threadId, nobody);
  if (other) return { kind: "busy", owner: other };
  const rows = kept.rowsOfThread(threadId);
  const proposals = kept.modelRequests(threadId).flatMap(({ proposal }) => proposal ?? []);
  if (rows.length === 0 && proposals.length === 0) return { kind: "not_found" };
  if (!anyhow && isAsSealed(tx, threadId, mark)) return { kind: "accepted", unknown: [] };

  const plain: Transaction = { ...tx, tables: kept };
  const unknown: SettledRow[] = [];
  for (const row of [...rows.filter((one) => isDoubtful(tx, one)), ...missingRows(rows, proposals, tx.now)]) {
    const after = doubted(row, outcomeFor(said), tx.now);
    putSettled(plain, after);
    unknown.push(after);
  }
  kept.setAccepted(threadId, { ...said, at: tx.now });
  const seen = Math.max(standingOf(plain, threadId).changes, mark?.read(threadId)?.changes ?? 0);
  if (tx.seals) sealThread(kept, tx.seals.sealer, threadId, seen);
  return { kind: "accepted", unknown };
}

/** A write that may have been sent, whatever its row says. (accept-1) */
function isDoubtful({ seals }: Transaction, row: OperationRow): boolean {
  if (row.operation.effect !== "write") return false;
  if (row.state !== "settled" || isRetriable(row)) return true; // it may have been put back to what it was
  if (seals === undefined || seals.sealer.holdsWhole(row)) return false;
  // A seal of another secret proves nothing. That it happened keeps it from being sent again; anything else would not.
  const other = row.seal !== undefined && !seals.sealer.knows(row.seal);
  return !other || row.outcome.status !== "ok";
}

/** Calls that a proposal has and no row. Their arguments are known by their digest alone. (accept-1) */
function missingRows(rows: readonly OperationRow[], proposals: readonly Proposal[], now: number): OperationRow[] {
  const there = new Set(rows.map(({ operation }) => `${operation.proposalId} ${operation.index}`));
  return proposals.flatMap((proposal) =>
    proposal.calls
      .filter(({ alias, invalid }) => invalid === undefined && !BUILT_INS.some((name) => name === alias))
      .filter(({ index }) => !there.has(`${proposal.proposalId} ${index}`))
      .map((call) => proposed(missing(proposal, call), proposal, null, now)),
  );
}

function missing({ proposalId }: Proposal, call: Proposal["calls"][number]): Operation {
  const { index, callId, alias, argumentsDigest } = call;
  const id: Digest = operationId(proposalId, index, argumentsDigest);
  const place = { id, proposalId, index, callId, alias, server: null, tool: null };
  return { ...place, arguments: {} as JsonObject, argumentsDigest, effect: "write", decision: null };
}

function outcomeFor({ by, note }: { readonly by: string; readonly note: string }): Outcome {
  return {
    status: "result_unknown",
    reason: "store_tampered",
    by: "host",
    message: `the record of it was changed by another hand, so it may or may not have happened; ${by} accepted the thread: ${note}`,
  };
}
