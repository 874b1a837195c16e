// Runs: a thread is taken for a run, and given back, as steps of one transaction each. (L8)
//
//   N1. Taking a thread fences off whatever a gone owner left in it: from then on that owner can neither send nor settle,
//       should it only have been cut off.
//   N2. Whether an owner is gone is asked as for an operation: on this machine by its process, elsewhere by the lease.

import type { Owner } from "../contracts/index.js";
import type { EnterResult } from "./port.js";
import { fenced, ownerGone } from "./transitions.js";
import { heldByOther, type Session, sameOwner, sweepRows } from "./transaction.js";

export function enter(session: Session, threadId: string, owner: Owner, leaseMs: number): EnterResult {
  const { tables, now } = session;
  const other = heldByOther(session, threadId, owner);
  if (other) return { kind: "busy", owner: other };
  sweepRows(session, threadId, false); // N1: writes are unknown from now on
  for (const row of tables.inHand(threadId)) {
    if (ownerGone(row, session)) tables.putRow(fenced(row));
  }
  tables.setHolder(threadId, { owner, leaseUntil: now + leaseMs });
  tables.touch(threadId, now);
  return { kind: "entered" };
}

export function leave({ tables }: Session, threadId: string, owner: Owner): void {
  const holder = tables.holder(threadId);
  if (holder && sameOwner(holder.owner, owner)) tables.setHolder(threadId, undefined);
}
