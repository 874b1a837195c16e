// A question to a person, and the answer. Times are epoch milliseconds.

import { z } from "zod";
import { Digest } from "./digest.js";

/** A question about exactly one operation. */
export const ApprovalRequest = z.strictObject({
  /** Random, 128 bits. No secret: knowing it authorises nothing. */
  approvalId: z.string(),
  operationId: Digest,
  threadId: z.string(),
  scope: z.string(),
  argumentsDigest: Digest,
  toolDigest: Digest,
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
  approvalId: z.string(),
  operationId: Digest,
  threadId: z.string(),
  scope: z.string(),
  argumentsDigest: Digest,
  toolDigest: Digest,
  type: VerdictType,
  approver: z.string(),
  at: z.number(),
  /** When the request it answers expires. */
  expiresAt: z.number(),
  message: z.string().optional(),
  mac: z.string(),
});
export type Verdict = z.infer<typeof Verdict>;
