// Standing: what the ledger knows that bears on a batch, by the same rules as the claim will apply. It reads only.

import type { Digest, DispatchingRow, OperationRow } from "../contracts/index.js";
import type { Look, LookPlan, LookQuery, PlanFrom, Standing, StandingQuery, WriteRef } from "./port.js";
import { asked } from "./question.js";
import type { Transaction } from "./transaction.js";
import { lost, ownerGone, writeRef } from "./transitions.js";

/** Everything that is known of one model response. */
export function look<Plan extends LookPlan>(
  tx: Transaction,
  query: LookQuery,
  planFrom: PlanFrom<Plan>,
): { readonly look: Look; readonly plan: Plan } {
  const { tables } = tx;
  const proposal = tables.proposal(query.proposalId);
  const rows = tables.rowsOfProposal(query.proposalId);
  const plan = planFrom(proposal, rows);
  const { turnId, writes, operationIds } = plan;
  const inFlight = tables.dispatching(query.threadId);
  return {
    plan,
    look: {
      proposal,
      rows,
      standing: standing(tx, { ...query, turnId, writes }, inFlight),
      asked: asked(tx, operationIds),
      abandoned: inFlight.some((row) => ownerGone(row, tx)),
    },
  };
}

/** `inFlight`: the thread's rows in `dispatching`. */
export function standing(
  tx: Transaction,
  query: StandingQuery,
  inFlight: readonly DispatchingRow[] = tx.tables.dispatching(query.threadId),
): Standing {
  const { tables } = tx;
  const { threadId, turnId } = query;
  const counters = tables.turn(threadId, turnId);
  const rejected = tables.rejectedByPerson(threadId, turnId);
  const after = tables.writesAfter(threadId, query.ledgerSeq);
  const own = new Set(query.writes.map((write) => write.operationId));
  return {
    ...counters,
    rejections: rejected.flatMap(({ operation: { proposalId, server, tool, argumentsDigest } }) =>
      server === null || tool === null || proposalId === query.proposalId ? [] : [{ server, tool, argumentsDigest }],
    ),
    unknownWrites: unknownWrites(tx, query, inFlight),
    repeats: repeats(tx, query),
    ahead: after
      .filter((row) => row.operation.proposalId !== query.proposalId && !own.has(row.operation.id))
      .map(writeRef),
  };
}

/** Those on record, and those a dead process left behind: no later call will change that they are unknown. */
function unknownWrites(
  tx: Transaction,
  query: StandingQuery,
  inFlight: readonly DispatchingRow[],
): Standing["unknownWrites"] {
  const { tables, now } = tx;
  const reach = query.haltScope === "server" ? undefined : query.threadId;
  const abandoned = (reach === undefined ? tables.dispatching() : inFlight)
    .filter((row) => row.operation.effect === "write" && ownerGone(row, tx))
    .map((row) => lost(row, now));
  return [...tables.unknownWrites(reach), ...abandoned]
    .filter((row) => row.threadId === query.threadId || row.scope === query.scope)
    .map((row) => ({ ...writeRef(row), server: row.operation.server, own: row.threadId === query.threadId }));
}

function repeats(tx: Transaction, query: StandingQuery): ReadonlyMap<Digest, readonly WriteRef[]> {
  const found = new Map<Digest, readonly WriteRef[]>();
  const position = new Map(query.writes.map((write, index) => [write.operationId, index]));
  for (const [index, write] of query.writes.entries()) {
    const earlier = tx.tables.identicalWrites(query.threadId, write).filter(
      (row: OperationRow) => (position.get(row.operation.id) ?? -1) < index, // never itself, nor a later call of the batch
    );
    if (earlier.length > 0) found.set(write.operationId, earlier.map(writeRef));
  }
  return found;
}
