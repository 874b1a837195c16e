// A question to a person, and the answer. Times are epoch milliseconds.

import { z } from "zod";
import { Digest } from "./digest.js";

/**
 * Digests of a destination. The first covers no secret value. Behind it, where the host has a secret that outlives the process,
 * stand the name of a key and a digest that was made with that key and covers the values, too.
 */
export const DestinationDigest = z.string().regex(/^[0-9a-f]{64}(:[0-9a-f]{16}:[0-9a-f]{64})?$/);
export type DestinationDigest = z.infer<typeof DestinationDigest>;

/** Where a call goes and who it is called as, as the configuration of its server says. */
export const Destination = z.strictObject({
  /** What a person reads of it: one line, without secrets. */
  text: z.string(),
  digest: DestinationDigest,
});
export type Destination = z.infer<typeof Destination>;

/** What a question and its answer are about. */
const ABOUT = {
  /** Random, 128 bits. No secret: knowing it authorises nothing. */
  approvalId: z.string(),
  operationId: Digest,
  threadId: z.string(),
  scope: z.string(),
  argumentsDigest: Digest,
  toolDigest: Digest,
  /** Names of the parameters the host fills in at the send, sorted; absent when there are none. They are approved too. */
  injects: z.array(z.string()).optional(),
};

/** A question about exactly one operation. */
export const ApprovalRequest = z.strictObject({
  ...ABOUT,
  /** Absent for the host's own tools. `moved`: how often it changed since the operation was first asked about. */
  destination: Destination.extend({ moved: z.number().int().nonnegative() }).optional(),
  /** Why a person is asked: the rule, or the earlier writes a guard found. */
  why: z.string(),
  /** Ids of the earlier writes the person is shown. An approval covers no others. */
  seen: z.array(Digest),
  createdAt: z.number(),
  expiresAt: z.number(),
});
export type ApprovalRequest = z.infer<typeof ApprovalRequest>;

export const VerdictType = z.enum(["approve", "reject", "edit"]);
export type VerdictType = z.infer<typeof VerdictType>;

/** A person's answer, sealed: `mac` covers every other field. */
export const Verdict = z.strictObject({
  ...ABOUT,
  /** Of the question's destination. */
  destination: DestinationDigest.optional(),
  type: VerdictType,
  approver: z.string(),
  at: z.number(),
  /** When the request it answers expires. */
  expiresAt: z.number(),
  message: z.string().optional(),
  mac: z.string(),
});
export type Verdict = z.infer<typeof Verdict>;

/**
 * Whether two destinations are the same, as far as can be told: by value where both were digested with one key, otherwise by
 * what was digested without a key. None is the same as none alone.
 */
export function sameDestination(a: DestinationDigest | undefined, b: DestinationDigest | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  const [plain, key, whole] = a.split(":");
  const [otherPlain, otherKey, otherWhole] = b.split(":");
  return key !== undefined && key === otherKey ? whole === otherWhole : plain === otherPlain;
}

/** Whether two lists of injected parameters are the same; none and an empty list are. */
export function sameInjects(a: readonly string[] = [], b: readonly string[] = []): boolean {
  return a.length === b.length && a.every((name, index) => name === b[index]);
}
