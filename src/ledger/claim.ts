// Claims: the claim of a batch and the step to `dispatching`, as steps of one transaction each.
//
//   L2. Everything that decides is read here, in the transaction that changes the state.
//   L3. A verdict is consumed with the claim it permits, or not at all.
//   L5. Writes get their number here; a claim that is made again gets a new one, for it happens after what came between.
//
// Nothing is written until the whole batch is ruled on: where a person must be asked, nothing was claimed, settled or
// consumed. What an earlier call of the batch comes to is therefore carried along, not read back.

import { type Digest, type OperationRow, type Owner, rejected } from "../contracts/index.js";
import { type Ruling, rule } from "./admission.js";
import { outlived } from "./clock.js";
import type { BeginResult, Claim, ClaimBatch, ClaimRequest, ClaimResult } from "./port.js";
import {
  claimed,
  dispatching,
  isBuiltIn,
  lost,
  ownerGone,
  proposed,
  rederived,
  settled,
} from "./transitions.js";
import {
  asAsked,
  heldByOther,
  isForeign,
  putSettled,
  questionExpired,
  refuseForeign,
  type Session,
  sweepRows,
} from "./transaction.js";

/** A ruling with the row it was made on. */
interface Ruled {
  readonly request: ClaimRequest;
  readonly row: OperationRow | undefined;
  readonly ruling: Ruling;
}

export function claim(session: Session, batch: ClaimBatch): ClaimResult {
  const other = heldByOther(session, batch.threadId, batch.owner);
  if (other) return { kind: "claims", claims: batch.operations.map(({ operation: { id } }) => busy(id, other)) }; // L8
  const field = survey(session, batch);
  const ruled: Ruled[] = [];
  for (const request of batch.operations) ruled.push(ruleOn(session, batch, field, request, ruled));
  const asking = ruled.filter(({ ruling }) => ruling.kind === "ask");
  if (asking.length > 0) return { kind: "ask", operationIds: asking.map(({ request }) => request.operation.id) };

  for (const row of field.swept.values()) putSettled(session, row);
  const claims: Claim[] = [];
  for (const one of ruled) claims.push(apply(session, batch, field, one));
  session.tables.touch(batch.threadId, session.now);
  return { kind: "claims", claims };
}

/** What bears on every write of a batch. */
interface Field {
  /** Writes found in `dispatching` under an owner that is gone, as they will stand. */
  readonly swept: ReadonlyMap<Digest, OperationRow>;
  /** Writes in `dispatching` under an owner that may live, of this thread. */
  readonly inFlight: readonly OperationRow[];
  readonly unknown: readonly OperationRow[];
  readonly ahead: readonly OperationRow[];
  readonly verdictExpired: boolean;
}

function survey(session: Session, batch: ClaimBatch): Field {
  const { tables } = session;
  const reach = batch.haltScope === "server" ? undefined : batch.threadId;
  const swept = new Map<Digest, OperationRow>();
  const inFlight: OperationRow[] = [];
  for (const row of tables.dispatching(reach)) {
    if (row.operation.effect !== "write") continue;
    if (ownerGone(row, session)) swept.set(row.operation.id, lost(row, session.now));
    else if (row.threadId === batch.threadId) inFlight.push(row);
  }
  const unknown = [...tables.unknownWrites(reach), ...swept.values()];
  const after = tables.writesAfter(batch.threadId, batch.ledgerSeq);
  const ahead = after.filter((row) => row.operation.proposalId !== batch.proposalId);
  const last = tables.lastVerdict(batch.proposalId);
  const verdictExpired = last !== undefined && outlived(last, batch.ttlMs, session.moment);
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
  session: Session,
  batch: ClaimBatch,
  field: Field,
  request: ClaimRequest,
  before: readonly Ruled[],
): Ruled {
  const { tables } = session;
  const { operation } = request;
  const { threadId, scope } = batch;
  if (before.some((one) => one.request.operation.id === operation.id)) {
    return { request, row: undefined, ruling: { kind: "busy", owner: batch.owner } }; // named twice: runs once
  }
  const row = tables.row(operation.id);
  const question = tables.currentQuestion(operation.id);
  const ruling = rule({
    request,
    threadId,
    scope,
    foreign: isForeign(session, operation, row, batch),
    row,
    ownerGone: row === undefined || ownerGone(row, session),
    asked: question && asAsked(question, session.moment),
    questionExpired: question !== undefined && questionExpired(question, session.moment),
    verdictExpired: field.verdictExpired,
    unknown: field.unknown.find((other) => halts(other, { threadId, scope, operation }, batch.haltScope)),
    inFlight: field.inFlight.find((other) => other.operation.id !== operation.id)?.owner,
    repeats: operation.effect === "write" ? repeatsOf(session, batch, request, before) : [],
    ahead: field.ahead.filter((other) => other.operation.id !== operation.id).map((other) => other.operation.id),
  });
  return { request, row, ruling };
}

/** Identical writes before this one: in the ledger, and among the earlier calls of the batch that are to be claimed. */
function repeatsOf(
  session: Session,
  batch: ClaimBatch,
  { operation }: ClaimRequest,
  before: readonly Ruled[],
): Digest[] {
  const now = new Map(before.map((one) => [one.request.operation.id, one]));
  const stored = session.tables
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

function apply(session: Session, batch: ClaimBatch, field: Field, { request, row, ruling }: Ruled): Claim {
  const { tables, now } = session;
  const { operation, toolDigest } = request;
  const operationId = operation.id;
  const known = row ? rederived(row, operation, toolDigest) : proposed(operation, batch, toolDigest, now);
  switch (ruling.kind) {
    case "ask":
      throw new TypeError("a batch that must be asked about is not applied");
    case "busy":
      return busy(operationId, ruling.owner);
    case "foreign": {
      const refused = refuseForeign(session, operation, batch, toolDigest);
      return { kind: "settled", operationId, row: refused, replayed: false };
    }
    case "replayed":
      return { kind: "settled", operationId, row: row as OperationRow, replayed: true };
    case "lost": {
      const after = field.swept.get(operationId) ?? lost(row as OperationRow, now, true);
      if (!field.swept.has(operationId)) putSettled(session, after);
      return { kind: "settled", operationId, row: after, replayed: false };
    }
    case "settle": {
      const after = settled(known, ruling.outcome, now);
      putSettled(session, after);
      return { kind: "settled", operationId, row: after, replayed: false };
    }
    case "claim": {
      const seq = operation.effect === "write" ? tables.nextSeq(batch.threadId) : undefined; // L5
      const after = claimed(known, { owner: batch.owner, leaseUntil: now + batch.leaseMs, seq });
      tables.putRow(after);
      tables.setHaltScope(operationId, batch.haltScope);
      if (ruling.consume !== undefined) tables.consume(ruling.consume); // L3
      const { fence, attempt } = after;
      return { kind: "claimed", operationId, fence, attempt, ...(seq === undefined ? {} : { seq }) };
    }
  }
}

function busy(operationId: Digest, owner: Owner): Claim {
  return { kind: "busy", operationId, owner };
}

export function begin(session: Session, operationId: Digest, fence: number): BeginResult {
  const { tables, now } = session;
  const row = tables.row(operationId);
  if (row === undefined || row.fence !== fence || row.state !== "claimed") return { kind: "lost" }; // L4
  if (row.owner && heldByOther(session, row.threadId, row.owner)) return { kind: "lost" }; // L8
  if (row.operation.effect === "write") {
    const haltScope = tables.haltScope(operationId);
    const reach = haltScope === "server" ? undefined : row.threadId;
    sweepRows(session, reach, false);
    const unknown = tables.unknownWrites(reach).find((other) => halts(other, row, haltScope));
    if (unknown) {
      const message = `the outcome of ${unknown.operation.alias} is unknown; no write runs until it is settled`;
      const after = settled(row, rejected("halted", "halt", message), now);
      putSettled(session, after);
      return { kind: "halted", row: after };
    }
  }
  tables.putRow(dispatching(row, now));
  if (!isBuiltIn(row.operation)) {
    const writes = row.operation.effect === "write" ? 1 : 0;
    tables.addToTurn(row.threadId, row.turnId, { calls: 1, writes });
  }
  return { kind: "dispatching", sentAt: now };
}
