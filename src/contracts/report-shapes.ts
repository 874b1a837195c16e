// The shapes other programs read: the `--json` output of the command and the answers of `toolgate.ledger`.
// Times are ISO 8601 UTC.

import { z } from "zod";
import { DecisionKind, EffectClass } from "./operation.js";
import { Evidence, OutcomeBy } from "./outcome.js";
import { JsonObject, ServerStatus, WithheldTool } from "./snapshot.js";

/** Which call an item is about. */
const CALL = {
  operationId: z.string(),
  callId: z.string(),
  alias: z.string(),
  server: z.string().nullable(),
  tool: z.string().nullable(),
};

export const ApprovalItem = z.strictObject({
  approvalId: z.string(),
  ...CALL,
  arguments: JsonObject,
  effect: EffectClass,
  /** Where the call goes and who it is called as; null for the host's own tools. */
  destination: z.string().nullable(),
  why: z.string(),
  expiresAt: z.string(),
});
export type ApprovalItem = z.infer<typeof ApprovalItem>;

export const UnknownItem = z.strictObject({
  ...CALL,
  arguments: JsonObject,
  sentAt: z.string().nullable(),
  evidence: Evidence.nullable(),
});
export type UnknownItem = z.infer<typeof UnknownItem>;

export const OperationItem = z.strictObject({
  ...CALL,
  effect: EffectClass,
  decision: DecisionKind.nullable(),
  /** The outcome's status, or the ledger state while there is none. */
  status: z.string(),
  reason: z.string().nullable(),
  by: OutcomeBy.nullable(),
  sent: z.boolean(),
  replayed: z.boolean(),
});
export type OperationItem = z.infer<typeof OperationItem>;

export const RunStatus = z.enum(["done", "awaiting_approval", "result_unknown", "error"]);
export type RunStatus = z.infer<typeof RunStatus>;

export const RunReport = z.strictObject({
  threadId: z.string(),
  status: RunStatus,
  answer: z.string(),
  approvals: z.array(ApprovalItem),
  unknowns: z.array(UnknownItem),
  operations: z.array(OperationItem),
  modelRequests: z.number().int(),
  snapshotId: z.string().nullable(),
  tools: z.array(z.string()),
  error: z.strictObject({ code: z.string(), message: z.string(), hint: z.string() }).optional(),
});
export type RunReport = z.infer<typeof RunReport>;

export const ToolsReport = z.strictObject({
  snapshotId: z.string().nullable(),
  servers: z.array(
    z.strictObject({
      name: z.string(),
      status: ServerStatus,
      protocol: z.string().nullable(),
      toolCount: z.number().int(),
      problem: z.string().optional(),
    }),
  ),
  tools: z.array(
    z.strictObject({
      alias: z.string(),
      server: z.string(),
      tool: z.string(),
      effect: EffectClass,
      decision: DecisionKind,
      rules: z.array(z.string()),
      /** There where its server's tools are pinned in the lock file. */
      pinned: z.literal(true).optional(),
      /** There where it is new or has changed since its server was pinned or, where it is not, since that server's first list. */
      news: z.strictObject({ kind: z.enum(["new", "changed"]), text: z.string() }).optional(),
    }),
  ),
  withheld: z.array(WithheldTool),
});
export type ToolsReport = z.infer<typeof ToolsReport>;

export const Finding = z.strictObject({ level: z.enum(["error", "warning"]), code: z.string(), message: z.string() });
export type Finding = z.infer<typeof Finding>;
