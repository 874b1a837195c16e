// An operation as the ledger holds it: a union by state, and what can be said of a row. Times are epoch milliseconds.

import { z } from "zod";
import { Digest } from "./digest.js";
import { Operation } from "./operation.js";
import { Outcome } from "./outcome.js";

/** Forward only: proposed, claimed, dispatching, settled. */
export const OperationState = z.enum(["proposed", "claimed", "dispatching", "settled"]);
export type OperationState = z.infer<typeof OperationState>;

/** Where a stored result body can be found. */
export const ResultRef = z.strictObject({ ref: z.string(), bytes: z.number().int().nonnegative(), sha256: Digest });
export type ResultRef = z.infer<typeof ResultRef>;

/** Who is running an operation. Two processes never have equal owners, nor do two toolgates in one process. */
export const Owner = z.strictObject({
  machine: z.string(),
  pid: z.number().int(),
  /** Start time of the process as its system reports it: tells a reused pid apart. */
  started: z.string(),
  instance: z.string(),
});
export type Owner = z.infer<typeof Owner>;

export const ResolutionType = z.enum(["happened", "did_not_happen", "leave"]);
export type ResolutionType = z.infer<typeof ResolutionType>;

/** What a person said of an unknown outcome. */
export const Resolution = z.strictObject({
  type: ResolutionType,
  by: z.string(),
  at: z.number(),
  note: z.string().optional(),
});
export type Resolution = z.infer<typeof Resolution>;

const everyRow = {
  operation: Operation,
  threadId: z.string(),
  scope: z.string(),
  turnId: z.string(),
  toolDigest: Digest.nullable(),
  /** Rises with every claim; a writer with an older one is refused. */
  fence: z.number().int().nonnegative(),
  attempt: z.number().int().nonnegative(),
  /** The number of this write among the thread's writes, given when it is claimed. */
  seq: z.number().int().positive().optional(),
  createdAt: z.number(),
  /** A digest of the question about it that was asked last: its answer is believed for that one alone. */
  asked: z.string().optional(),
  /** What shows an edit of the store by another hand. Only stores whose host has a durable secret have it. */
  seal: z.string().optional(),
};

/**
 * When the owner's lease ends: by the store's clock, and by the clock of the owner's machine that counts from its boot and that
 * nobody can set. Rows that an older version wrote have only the first.
 */
const lease = {
  leaseUntil: z.number(),
  leaseSteady: z.number().optional(),
};

const held = { owner: Owner, ...lease };

/** The reading of that same clock until which the sender may still send, or hear an answer. */
const actsUntil = z.number().optional();

export const ProposedRow = z.strictObject({ ...everyRow, state: z.literal("proposed"), sent: z.literal(false) });
export type ProposedRow = z.infer<typeof ProposedRow>;

export const ClaimedRow = z.strictObject({ ...everyRow, ...held, state: z.literal("claimed"), sent: z.literal(false) });
export type ClaimedRow = z.infer<typeof ClaimedRow>;

export const DispatchingRow = z.strictObject({
  ...everyRow,
  ...held,
  state: z.literal("dispatching"),
  /** A send was attempted, or may have been. */
  sent: z.literal(true),
  sentAt: z.number(),
  actsUntil,
});
export type DispatchingRow = z.infer<typeof DispatchingRow>;

export const SettledRow = z.strictObject({
  ...everyRow,
  state: z.literal("settled"),
  outcome: Outcome,
  settledAt: z.number(),
  result: ResultRef.optional(),
  /** A send was attempted, or may have been. */
  sent: z.boolean(),
  sentAt: z.number().optional(),
  /** Whoever ran it last, if anybody did; with the time until which it may still hear a late answer. */
  owner: Owner.optional(),
  leaseUntil: z.number().optional(),
  leaseSteady: z.number().optional(),
  actsUntil,
  /** The operation that a person's edit put in this one's place. */
  replacedBy: Digest.optional(),
  resolution: Resolution.optional(),
});
export type SettledRow = z.infer<typeof SettledRow>;

export const OperationRow = z.discriminatedUnion("state", [ProposedRow, ClaimedRow, DispatchingRow, SettledRow]);
export type OperationRow = z.infer<typeof OperationRow>;

/** How an operation ended; undefined while it has not. */
export function outcomeOf(row: OperationRow | undefined): Outcome | undefined {
  return row?.state === "settled" ? row.outcome : undefined;
}

/** When it was sent, or may have been; undefined where it never was. */
export function sentAtOf(row: OperationRow): number | undefined {
  return row.state === "dispatching" || row.state === "settled" ? row.sentAt : undefined;
}

/** The steady reading until which whoever sends it may act; undefined where nothing is in flight. */
export function actsUntilOf(row: OperationRow): number | undefined {
  return row.state === "dispatching" || row.state === "settled" ? row.actsUntil : undefined;
}

export function isUnknown(row: OperationRow): row is SettledRow {
  return outcomeOf(row)?.status === "result_unknown";
}

/** A write that may or may not have happened. */
export function isUnknownWrite(row: OperationRow): row is SettledRow {
  return row.operation.effect === "write" && isUnknown(row);
}

/** Claimed or dispatching: somebody runs it, or did when it was last heard of. */
export function isInHand(row: OperationRow): row is ClaimedRow | DispatchingRow {
  return row.state === "claimed" || row.state === "dispatching";
}

/** Somebody may have it in hand, or nobody knows what came of it. */
export function isOpen(row: OperationRow): boolean {
  return isInHand(row) || isUnknownWrite(row);
}

/** Reasons under which a host declared that a server's word is to be believed. */
const VOUCHED: ReadonlySet<Outcome["reason"]> = new Set(["contract", "tool_error", "server", "read_back"]);

/** Whether it was sent, and is settled otherwise than by a word that the host vouched for: a person's counts as such, too. */
function isInDoubt(row: OperationRow): boolean {
  return row.state === "settled" && row.sent && !VOUCHED.has(row.outcome.reason);
}

/** Whether an earlier identical write with this row counts for the repeat guard. */
export function isRepeat(row: OperationRow): boolean {
  const status = outcomeOf(row)?.status;
  return isInHand(row) || status === "ok" || status === "result_unknown" || isInDoubt(row);
}

/** Whether a numbered write counts for the branch guard: one that was refused or not sent changed nothing. */
export function isAhead(row: OperationRow): boolean {
  const status = outcomeOf(row)?.status;
  return (status !== "rejected" && status !== "unavailable") || isInDoubt(row);
}

/** Settled, but certainly not run: may be claimed as the next attempt. A write only if it never reached `dispatching`. */
export function isRetriable(row: OperationRow, write = row.operation.effect === "write"): boolean {
  return outcomeOf(row)?.status === "unavailable" && (!write || (!row.sent && sentAtOf(row) === undefined));
}

export function sameOwner(a: Owner | undefined, b: Owner): boolean {
  return a?.instance === b.instance && a.pid === b.pid && a.started === b.started && a.machine === b.machine;
}
