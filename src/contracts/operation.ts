// One call the model made, from its proposal to what became of it.

import { z } from "zod";
import { Digest, digest } from "./digest.js";
import { Outcome } from "./outcome.js";
import { JsonObject } from "./snapshot.js";

/** Declared by the host alone; a tool it does not name is a `write`. */
export const EffectClass = z.enum(["read", "write"]);
export type EffectClass = z.infer<typeof EffectClass>;

export const DecisionKind = z.enum(["allow", "ask", "deny"]);
export type DecisionKind = z.infer<typeof DecisionKind>;

/** What policy says of a call, with the rules that say so. */
export const Decision = z.strictObject({ kind: DecisionKind, rules: z.array(z.string()), reason: z.string() });
export type Decision = z.infer<typeof Decision>;

export const ProposedCall = z.strictObject({
  index: z.number().int().nonnegative(),
  callId: z.string(),
  alias: z.string(),
  argumentsDigest: Digest,
  /** Why what the model sent cannot be used as arguments; the call is then kept with `{}` and never runs. */
  invalid: z.string().optional(),
});
export type ProposedCall = z.infer<typeof ProposedCall>;

/** One model response that has calls. The id is random and made by us. */
export const Proposal = z.strictObject({
  proposalId: z.string(),
  threadId: z.string(),
  scope: z.string(),
  /** Id of the user message that began this turn. */
  turnId: z.string(),
  snapshotId: Digest,
  calls: z.array(ProposedCall),
});
export type Proposal = z.infer<typeof Proposal>;

/** A call with its route and its decision. `server` and `tool` are null when no tool of the snapshot has the alias. */
export const Operation = z.strictObject({
  id: Digest,
  proposalId: z.string(),
  index: z.number().int().nonnegative(),
  callId: z.string(),
  alias: z.string(),
  server: z.string().nullable(),
  tool: z.string().nullable(),
  arguments: JsonObject,
  argumentsDigest: Digest,
  effect: EffectClass,
  decision: Decision.nullable(),
  /** Id of the operation this one is a person's edit of. */
  replaces: Digest.optional(),
});
export type Operation = z.infer<typeof Operation>;

/** The identity of an operation: the same call of the same response with the same arguments is the same operation. */
export function operationId(proposalId: string, index: number, argumentsDigest: Digest): Digest {
  return digest([proposalId, index, argumentsDigest]);
}

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

/** What a person said of an unknown outcome. Times are epoch milliseconds. */
export const Resolution = z.strictObject({
  type: ResolutionType,
  by: z.string(),
  at: z.number(),
  note: z.string().optional(),
});
export type Resolution = z.infer<typeof Resolution>;

/** An operation as the ledger holds it. Times are epoch milliseconds. */
export const OperationRow = z.strictObject({
  operation: Operation,
  threadId: z.string(),
  scope: z.string(),
  turnId: z.string(),
  toolDigest: Digest.nullable(),
  state: OperationState,
  outcome: Outcome.optional(),
  result: ResultRef.optional(),
  owner: Owner.optional(),
  leaseUntil: z.number().optional(),
  /** Rises with every claim; a writer with an older one is refused. */
  fence: z.number().int().nonnegative(),
  attempt: z.number().int().nonnegative(),
  /** The number of this write among the thread's writes, given when it is claimed. */
  seq: z.number().int().positive().optional(),
  /** A send was attempted, or may have been. */
  sent: z.boolean(),
  sentAt: z.number().optional(),
  settledAt: z.number().optional(),
  createdAt: z.number(),
  /** The operation a person's edit put in this one's place. */
  replacedBy: Digest.optional(),
  resolution: Resolution.optional(),
});
export type OperationRow = z.infer<typeof OperationRow>;

/**
 * Whether a settled operation may be claimed again, as the next attempt: it certainly did not run, and a write was never
 * sent. `write`: whether the call that would be claimed counts as a write.
 */
export function isRetriable(row: OperationRow, write = row.operation.effect === "write"): boolean {
  return row.outcome?.status === "unavailable" && (!write || (!row.sent && row.sentAt === undefined));
}
