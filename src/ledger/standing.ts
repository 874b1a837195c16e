// Standing: what the ledger knows that bears on a batch, by the same rules the claim will apply. Reads only.

import type { Digest, OperationRow } from "../contracts/index.js";
import type { Standing, StandingQuery, WriteRef } from "./port.js";
import { lost, ownerGone, writeRef } from "./transitions.js";
import type { Session } from "./transaction.js";

export function standing(session: Session, query: StandingQuery): Standing {
  const { tables } = session;
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
    unknownWrites: unknownWrites(session, query),
    repeats: repeats(session, query),
    ahead: after
      .filter((row) => row.operation.proposalId !== query.proposalId && !own.has(row.operation.id))
      .map(writeRef),
  };
}

/** Those on record, and those a dead process left behind: no later call will change that they are unknown. */
function unknownWrites(session: Session, query: StandingQuery): Standing["unknownWrites"] {
  const { tables, now } = session;
  const reach = query.haltScope === "server" ? undefined : query.threadId;
  const abandoned = tables
    .dispatching(reach)
    .filter((row) => row.operation.effect === "write" && ownerGone(row, session))
    .map((row) => lost(row, now));
  return [...tables.unknownWrites(reach), ...abandoned]
    .filter((row) => row.threadId === query.threadId || row.scope === query.scope)
    .map((row) => ({ ...writeRef(row), server: row.operation.server, own: row.threadId === query.threadId }));
}

function repeats(session: Session, query: StandingQuery): ReadonlyMap<Digest, readonly WriteRef[]> {
  const found = new Map<Digest, readonly WriteRef[]>();
  const position = new Map(query.writes.map((write, index) => [write.operationId, index]));
  for (const [index, write] of query.writes.entries()) {
    const earlier = session.tables.identicalWrites(query.threadId, write).filter(
      (row: OperationRow) => (position.get(row.operation.id) ?? -1) < index, // never itself, nor a later call of the batch
    );
    if (earlier.length > 0) found.set(write.operationId, earlier.map(writeRef));
  }
  return found;
}
