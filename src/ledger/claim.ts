// Claim: the claim of a batch and the step to `dispatching`, each one transaction.
//
//   claim-1. Everything that decides is read in the transaction that changes the state.
//   claim-2. A verdict is consumed with the claim that it permits, or not at all.
//   claim-3. Writes of a thread get their number in the claim. A claim that is made again gets a new number, because it
//            happens after whatever came between.
//
// Nothing is written until the whole batch is ruled on: where a person must be asked, nothing was claimed, settled or
// consumed. What an earlier call of the batch comes to is therefore carried along and not read back.

import {
  type Digest,
  type DispatchingRow,
  haltedOutcome,
  isBuiltIn,
  type OperationRow,
  type Owner,
  type SettledRow,
} from "../contracts/index.js";
import { type Ruling, rule } from "./admission.js";
import { outlived } from "./clock.js";
import type { BeginResult, Claim, ClaimBatch, ClaimRequest, ClaimResult } from "./port.js";
import {
  asAsked,
  heldByOther,
  isForeign,
  mustBeAsAsked,
  putSettled,
  questionExpired,
  refuseForeign,
  sweepRows,
  type Transaction,
} from "./transaction.js";
import { claimed, dispatching, leaseOf, lost, ownerGone, proposed, rederived, settled } from "./transitions.js";

/** A ruling with the row it was made on. */
interface Ruled {
  readonly request: ClaimRequest;
  readonly row: OperationRow | undefined;
  readonly ruling: Ruling;
}

export function claim(tx: Transaction, batch: ClaimBatch): ClaimResult {
  const other = heldByOther(tx, batch.threadId, batch.owner);
  if (other) return { kind: "claims", claims: batch.operations.map(({ operation: { id } }) => busy(id, other)) }; // transaction-1
  const field = survey(tx, batch);
  const ruled: Ruled[] = [];
  for (const request of batch.operations) ruled.push(ruleOn(tx, batch, field, request, ruled));
  const asking = ruled.filter(({ ruling }) => ruling.kind === "ask");
  if (asking.length > 0) return { kind: "ask", operationIds: asking.map(({ request }) => request.operation.id) };

  for (const row of field.swept.values()) putSettled(tx, row);
  const claims: Claim[] = [];
  for (const one of ruled) claims.push(apply(tx, batch, field, one));
  tx.tables.touch(batch.threadId, tx.now);
  return { kind: "claims", claims };
}

/** What bears on every write of a batch. */
interface Field {
  /** Writes found in `dispatching` under an owner that is gone, as they will stand. */
  readonly swept: ReadonlyMap<Digest, SettledRow>;
  /** Writes in `dispatching` under an owner that may live, of this thread. */
  readonly inFlight: readonly DispatchingRow[];
  readonly unknown: readonly OperationRow[];
  readonly ahead: readonly OperationRow[];
  readonly verdictExpired: boolean;
}

function survey(tx: Transaction, batch: ClaimBatch): Field {
  const { tables } = tx;
  const reach = batch.haltScope === "server" ? undefined : batch.threadId;
  const swept = new Map<Digest, SettledRow>();
  const inFlight: DispatchingRow[] = [];
  for (const row of tables.dispatching(reach)) {
    if (row.operation.effect !== "write") continue;
    if (ownerGone(row, tx)) swept.set(row.operation.id, lost(row, tx.now));
    else if (row.threadId === batch.threadId) inFlight.push(row);
  }
  const unknown = [...tables.unknownWrites(reach), ...swept.values()];
  const after = tables.writesAfter(batch.threadId, batch.ledgerSeq);
  const ahead = after.filter((row) => row.operation.proposalId !== batch.proposalId);
  const last = tables.lastVerdict(batch.proposalId);
  const verdictExpired = last !== undefined && outlived(last, batch.ttlMs, tx.moment);
  return { swept, inFlight, unknown, ahead, verdictExpired };
}

/** A write that keeps a thread's further writes from running: its own, or under `server` one to the same server. */
export function halts(
  row: OperationRow,
  of: Pick<OperationRow, "threadId" | "scope" | "operation">,
  haltScope: "thread" | "server",
): boolean {
  if (row.operation.id === of.operation.id) return false;
  if (row.threadId === of.threadId) return true;
  return haltScope === "server" && row.scope === of.scope && row.operation.server === of.operation.server;
}

function ruleOn(
  tx: Transaction,
  batch: ClaimBatch,
  field: Field,
  request: ClaimRequest,
  before: readonly Ruled[],
): Ruled {
  const { tables } = tx;
  const { operation } = request;
  const { threadId, scope } = batch;
  if (before.some((one) => one.request.operation.id === operation.id)) {
    return { request, row: undefined, ruling: { kind: "busy", owner: batch.owner } }; // named twice: runs once
  }
  const row = tables.row(operation.id);
  const question = tables.currentQuestion(operation.id);
  if (row && question) mustBeAsAsked(tx, row, question);
  const ruling = rule({
    request,
    threadId,
    scope,
    foreign: isForeign(tx, operation, row, batch),
    row,
    ownerGone: row === undefined || ownerGone(row, tx),
    asked: question && asAsked(question, tx.moment),
    questionExpired: question !== undefined && questionExpired(question, tx.moment),
    verdictExpired: field.verdictExpired,
    unknown: field.unknown.find((other) => halts(other, { threadId, scope, operation }, batch.haltScope)),
    inFlight: field.inFlight.find((other) => other.operation.id !== operation.id)?.owner,
    repeats: operation.effect === "write" ? repeatsOf(tx, batch, request, before) : [],
    ahead: field.ahead.filter((other) => other.operation.id !== operation.id).map((other) => other.operation.id),
  });
  return { request, row, ruling };
}

/** Identical writes before this one: in the ledger, and among the earlier calls of the batch that are to be claimed. */
function repeatsOf(
  tx: Transaction,
  batch: ClaimBatch,
  { operation }: ClaimRequest,
  before: readonly Ruled[],
): Digest[] {
  const now = new Map(before.map((one) => [one.request.operation.id, one]));
  const stored = tx.tables
    .identicalWrites(batch.threadId, operation)
    .filter((row) => row.operation.id !== operation.id && !standsLater(row, operation))
    .map((row) => row.operation.id)
    .filter((id) => now.get(id)?.ruling.kind !== "settle");
  const claimedNow = before
    .filter(({ request, ruling }) => ruling.kind === "claim" && isIdentical(request.operation, operation))
    .map(({ request }) => request.operation.id);
  return [...new Set([...stored, ...claimedNow])];
}

/** A later call of the same response is no earlier write, even when it was claimed first and that claim was abandoned. */
function standsLater(row: OperationRow, operation: ClaimRequest["operation"]): boolean {
  return row.operation.proposalId === operation.proposalId && row.operation.index > operation.index;
}

function isIdentical(a: ClaimRequest["operation"], b: ClaimRequest["operation"]): boolean {
  return a.effect === "write" && a.server === b.server && a.tool === b.tool && a.argumentsDigest === b.argumentsDigest;
}

function apply(tx: Transaction, batch: ClaimBatch, field: Field, { request, row, ruling }: Ruled): Claim {
  const { tables, now } = tx;
  const { operation, toolDigest } = request;
  const operationId = operation.id;
  const known = row ? rederived(row, operation, toolDigest) : proposed(operation, batch, toolDigest, now);
  switch (ruling.kind) {
    case "ask":
      throw new TypeError("a batch that must be asked about is not applied");
    case "busy":
      return busy(operationId, ruling.owner);
    case "foreign": {
      const refused = refuseForeign(tx, operation, batch, toolDigest);
      return { kind: "settled", operationId, row: refused, replayed: false };
    }
    case "replayed":
      return { kind: "settled", operationId, row: ruling.row, replayed: true };
    case "lost": {
      const after = field.swept.get(operationId) ?? lost(ruling.row, now, true);
      if (!field.swept.has(operationId)) putSettled(tx, after);
      return { kind: "settled", operationId, row: after, replayed: false };
    }
    case "settle": {
      const after = settled(known, ruling.outcome, now);
      putSettled(tx, after);
      return { kind: "settled", operationId, row: after, replayed: false };
    }
    case "claim": {
      const seq = operation.effect === "write" ? tables.nextSeq(batch.threadId) : undefined; // claim-3
      const after = claimed(known, { owner: batch.owner, lease: leaseOf(batch.leaseMs, tx), seq });
      tables.putRow(after);
      tables.setHaltScope(operationId, batch.haltScope);
      if (ruling.consume !== undefined) tables.consume(ruling.consume); // claim-2
      const { fence, attempt } = after;
      return { kind: "claimed", operationId, fence, attempt, ...(seq === undefined ? {} : { seq }) };
    }
  }
}

/** Where a mark outside of the store is kept, the store counts what it sends. */
function countSend({ tables, marks }: Transaction): void {
  if (marks) tables.setSends?.((tables.card().sends ?? 0) + 1);
}

function busy(operationId: Digest, owner: Owner): Claim {
  return { kind: "busy", operationId, owner };
}

export function begin(tx: Transaction, operationId: Digest, fence: number, actsMs: number): BeginResult {
  const { tables, now } = tx;
  const row = tables.row(operationId);
  if (row === undefined || row.fence !== fence || row.state !== "claimed") return { kind: "lost" };
  if (heldByOther(tx, row.threadId, row.owner)) return { kind: "lost" }; // transaction-1
  if (row.operation.effect === "write") {
    const haltScope = tables.haltScope(operationId);
    const reach = haltScope === "server" ? undefined : row.threadId;
    sweepRows(tx, reach, false);
    const unknown = tables.unknownWrites(reach).find((other) => halts(other, row, haltScope));
    if (unknown) {
      const after = settled(row, haltedOutcome(unknown.operation.alias), now);
      putSettled(tx, after);
      return { kind: "halted", row: after };
    }
  }
  tables.putRow(dispatching(row, now, tx.steady + actsMs));
  if (row.operation.effect === "write") countSend(tx);
  if (!isBuiltIn(row.operation)) {
    const writes = row.operation.effect === "write" ? 1 : 0;
    tables.addToTurn(row.threadId, row.turnId, { calls: 1, writes });
  }
  return { kind: "dispatching", sentAt: now };
}
