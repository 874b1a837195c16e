// Thread: a thread is taken for a run, and given back, each one transaction. (transaction-1)
//
//   thread-1. Taking a thread raises the fence of whatever a gone owner left in it: from then on that owner can neither send
//             nor settle, should it only have been cut off.
//   thread-2. Whether an owner is gone is asked as for an operation: on this machine by its process, elsewhere by the lease.
//   thread-3. Whose a thread is was recorded by the first run that took it, and is never changed. (ledger-9)

import type { Owner } from "../contracts/index.js";
import { DEFAULT_SCOPE, sameOwner, scopeOfKey } from "../contracts/index.js";
import { mustBeWhole } from "./accept.js";
import type { EnterResult } from "./port.js";
import { heldByOther, sweepRows, type Transaction } from "./transaction.js";
import { fenced, leaseOf, ownerGone } from "./transitions.js";

export function enter(
  tx: Transaction,
  threadId: string,
  owner: Owner,
  leaseMs: number,
  scope = scopeOfKey(threadId),
): EnterResult {
  const { tables, now } = tx;
  const recorded = tables.scope(threadId);
  if ((recorded ?? namedScope(threadId) ?? scope) !== scope) return { kind: "foreign" };
  const other = heldByOther(tx, threadId, owner);
  if (other) return { kind: "busy", owner: other };
  mustBeWhole(tx, threadId); // ledger-10
  sweepRows(tx, threadId, false); // thread-1: writes are unknown from now on
  for (const row of tables.inHand(threadId)) {
    if (ownerGone(row, tx)) tables.putRow(fenced(row));
  }
  if (recorded === undefined) tables.setScope(threadId, scope); // thread-3
  tables.setHolder(threadId, { owner, ...leaseOf(leaseMs, tx) });
  tables.touch(threadId, now);
  return { kind: "entered" };
}

export function leave({ tables }: Transaction, threadId: string, owner: Owner): void {
  const holder = tables.holder(threadId);
  if (holder && sameOwner(holder.owner, owner)) tables.setHolder(threadId, undefined);
}

/** Whose a thread is; undefined while it is nobody's. */
export function scopeOf({ tables }: Transaction, threadId: string): string | undefined {
  return tables.scope(threadId) ?? namedScope(threadId);
}

/** Records whose a thread is, if it is nobody's. Returns whose it is. (thread-3) */
export function adopt({ tables }: Transaction, threadId: string, scope: string): string {
  const recorded = tables.scope(threadId);
  const of = recorded ?? namedScope(threadId) ?? scope;
  if (recorded === undefined) tables.setScope(threadId, of);
  return of;
}

/** The scope that a key names. A bare id names none. */
function namedScope(threadId: string): string | undefined {
  const named = scopeOfKey(threadId);
  return named === DEFAULT_SCOPE ? undefined : named;
}
