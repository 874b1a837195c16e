// Accept: a thread's seals are looked at before a run takes it, and made anew when a person accepts what stands.
//
//   accept-1. What may have been sent, as far as a changed record can still tell, is unknown once it is accepted: a write that
//             is not settled, one whose own seal does not hold, and a call of a proposal that has no row.

import {
  BUILT_INS,
  type Digest,
  type JsonObject,
  type Operation,
  type OperationRow,
  type Outcome,
  operationId,
  type Proposal,
  type SettledRow,
  ToolgateError,
} from "../contracts/index.js";
import type { AcceptResult } from "./port.js";
import { added, factsOf, problemOf, type Sealer, tampered } from "./sealing.js";
import type { Tables } from "./tables.js";
import { heldByOther, putSettled, type Transaction } from "./transaction.js";
import { doubted, proposed } from "./transitions.js";

/** Throws `store_tampered` where the thread is not as it was sealed, `secret_missing` where this host cannot tell. (ledger-9) */
export function mustBeWhole({ tables, seals }: Transaction, threadId: string): void {
  const head = tables.head(threadId);
  if (seals) {
    const problem = problemOf(seals.sealer, threadId, head, tables.seals(threadId));
    if (problem !== undefined) throw tampered(threadId, problem);
  } else if (head !== undefined) {
    throw new ToolgateError(
      "secret_missing",
      `thread \`${threadId}\` is sealed, and this host has no secret that outlives it, so it cannot go on with it`,
      "set `approvals.secret` to the secret of the hosts that use this store",
      { data: { threadId } },
    );
  }
}

/** Seals every row of a thread as it stands, and the thread. Takes the tables as they are kept. */
export function sealThread(tables: Tables, sealer: Sealer, threadId: string): void {
  const rows = tables.rowsOfThread(threadId);
  let sum = 0n;
  for (const [index, row] of rows.entries()) {
    const seal = sealer.sealRow(row, index + 1);
    tables.putRow({ ...row, seal });
    sum = added(sum, seal);
  }
  tables.setHead(threadId, sealer.sealHead(threadId, { changes: rows.length, rows: rows.length, lastSeq: -1, sum }));
}

export function accept(
  tx: Transaction,
  threadId: string,
  said: { readonly by: string; readonly note: string },
): AcceptResult {
  const kept = tx.seals?.kept ?? tx.tables;
  const nobody = { machine: "", pid: 0, started: "", instance: "" };
  const other = heldByOther(tx, threadId, nobody);
  if (other) return { kind: "busy", owner: other };
  const rows = kept.rowsOfThread(threadId);
  const proposals = kept.modelRequests(threadId).flatMap(({ proposal }) => proposal ?? []);
  if (rows.length === 0 && proposals.length === 0) return { kind: "not_found" };

  const plain: Transaction = { ...tx, tables: kept };
  const unknown: SettledRow[] = [];
  for (const row of [...rows.filter((one) => isDoubtful(tx, one)), ...missingRows(rows, proposals, tx.now)]) {
    const after = doubted(row, outcomeFor(said), tx.now);
    putSettled(plain, after);
    unknown.push(after);
  }
  kept.setAccepted(threadId, { ...said, at: tx.now });
  if (tx.seals) sealThread(kept, tx.seals.sealer, threadId);
  return { kind: "accepted", unknown };
}

/** A write that may have been sent, whatever its row says. (accept-1) */
function isDoubtful({ seals }: Transaction, row: OperationRow): boolean {
  if (row.operation.effect !== "write") return false;
  if (row.state === "claimed" || row.state === "dispatching") return true;
  const known = row.seal === undefined || seals?.sealer.knows(row.seal) === true;
  return seals !== undefined && known && !seals.sealer.holds(factsOf(row));
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
