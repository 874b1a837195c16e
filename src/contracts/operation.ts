// One call the model made, from its proposal to what became of it.

import { z } from "zod";
import { Digest, digest } from "./digest.js";
import { JsonObject } from "./snapshot.js";

/** Declared by the host alone; a tool it does not name is a `write`. */
export const EffectClass = z.enum(["read", "write"]);
export type EffectClass = z.infer<typeof EffectClass>;

export const DecisionKind = z.enum(["allow", "ask", "deny"]);
export type DecisionKind = z.infer<typeof DecisionKind>;

/** What policy says of a call, with the rules that say so. */
export const Decision = z.strictObject({ kind: DecisionKind, rules: z.array(z.string()), reason: z.string() });
export type Decision = z.infer<typeof Decision>;

/** A call as it stands in a message of the model. */
export interface MessageCall {
  readonly index: number;
  readonly callId: string;
  readonly alias: string;
  readonly arguments: JsonObject;
}

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
  /** What shows an edit of the store by another hand. Only stores whose host has a durable secret have it. */
  seal: z.string().optional(),
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
