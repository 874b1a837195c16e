// Thread: a thread is taken for a run, and given back, each one transaction. (transaction-1)
//
//   thread-1. Taking a thread raises the fence of whatever a gone owner left in it: from then on that owner can neither send
//             nor settle, should it only have been cut off.
//   thread-2. Whether an owner is gone is asked as for an operation: on this machine by its process, elsewhere by the lease.

import type { Owner } from "../contracts/index.js";
import { sameOwner } from "../contracts/index.js";
import { mustBeWhole } from "./accept.js";
import type { EnterResult } from "./port.js";
import { heldByOther, sweepRows, type Transaction } from "./transaction.js";
import { fenced, leaseOf, ownerGone } from "./transitions.js";

export function enter(tx: Transaction, threadId: string, owner: Owner, leaseMs: number): EnterResult {
  const { tables, now } = tx;
  const other = heldByOther(tx, threadId, owner);
  if (other) return { kind: "busy", owner: other };
  mustBeWhole(tx, threadId); // ledger-9
  sweepRows(tx, threadId, false); // thread-1: writes are unknown from now on
  for (const row of tables.inHand(threadId)) {
    if (ownerGone(row, tx)) tables.putRow(fenced(row));
  }
  tables.setHolder(threadId, { owner, ...leaseOf(leaseMs, tx) });
  tables.touch(threadId, now);
  return { kind: "entered" };
}

export function leave({ tables }: Transaction, threadId: string, owner: Owner): void {
  const holder = tables.holder(threadId);
  if (holder && sameOwner(holder.owner, owner)) tables.setHolder(threadId, undefined);
}
