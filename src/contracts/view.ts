// What the graph's state shows of a batch: for people and edges. Nothing is ever allowed because of a view (G9).

import { z } from "zod";
import { Digest } from "./digest.js";
import { Decision, EffectClass } from "./operation.js";
import { OutcomeStatus } from "./outcome.js";

/** What people and edges see of one operation of the current batch. Bodies and arguments are elsewhere. */
export const OperationView = z.object({
  operationId: Digest,
  index: z.number(),
  callId: z.string(),
  alias: z.string(),
  server: z.string().nullable(),
  tool: z.string().nullable(),
  argumentsDigest: Digest,
  effect: EffectClass,
  decision: Decision.nullable(),
  /** `asked`: waits for a person; `ready`: may be claimed; then the outcome. */
  status: z.enum(["asked", "ready", ...OutcomeStatus.options]),
  reason: z.string().optional(),
  ref: z.string().optional(),
  bytes: z.number().optional(),
  sha256: Digest.optional(),
  /** Answered from the ledger: it was settled by an earlier run. */
  replayed: z.boolean().optional(),
  /** Its outcome is unknown and a person left it so. */
  left: z.boolean().optional(),
});
export type OperationView = z.infer<typeof OperationView>;

/** The ledger's halt, mirrored for people and Studio. */
export const HaltView = z.object({ halted: z.boolean(), operations: z.array(z.string()) });
export type HaltView = z.infer<typeof HaltView>;
