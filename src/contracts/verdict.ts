// A question to a person, and the answer. Times are epoch milliseconds.

import { z } from "zod";
import { Digest } from "./digest.js";

/** Where a call goes and who it is called as, as the configuration of its server says. */
export const Destination = z.strictObject({
  /** What a person reads of it: one line, without secrets. */
  text: z.string(),
  digest: Digest,
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
  /** Digest of the question's destination. */
  destination: Digest.optional(),
  type: VerdictType,
  approver: z.string(),
  at: z.number(),
  /** When the request it answers expires. */
  expiresAt: z.number(),
  message: z.string().optional(),
  mac: z.string(),
});
export type Verdict = z.infer<typeof Verdict>;

/** Whether two lists of injected parameters are the same; none and an empty list are. */
export function sameInjects(a: readonly string[] = [], b: readonly string[] = []): boolean {
  return a.length === b.length && a.every((name, index) => name === b[index]);
}
