// What became of a call, in words a host can switch on.

import { z } from "zod";

export const OutcomeStatus = z.enum(["ok", "rejected", "failed", "unavailable", "result_unknown"]);
export type OutcomeStatus = z.infer<typeof OutcomeStatus>;

/** Why a call was refused before anything happened. */
export const RejectedReason = z.enum([
  "denied",
  "person",
  "repeated_rejection",
  "edited",
  "withdrawn",
  "expired",
  "invalid_arguments",
  "unknown_tool",
  "drift",
  "halted",
  "budget",
  "other_thread",
  "durability",
  "server",
]);
export type RejectedReason = z.infer<typeof RejectedReason>;

/** What a dispatched call, or the attempt to dispatch it, came to. */
export const SettledReason = z.enum([
  /** The server (or local tool) answered that it did it. */
  "success",
  /** A result with `isError: true`. */
  "tool_error",
  /** A JSON-RPC error, or an HTTP status that does not prove the request was turned away. */
  "server_error",
  /** The server's own `status` under `contract: "status"`. */
  "contract",
  /** Nothing was sent: no connection, no listing, or it closed before the send. */
  "not_sent",
  /** HTTP 401 for the token, 307, 308, or 404 for the session: turned away before it ran. */
  "turned_away",
  /** The deadline passed after the send. */
  "deadline",
  /** The connection was lost, or the process died, after the send. */
  "connection_lost",
  /** The success breaks the output schema the server declared. */
  "output_schema",
  /** The result is above a limit of the host. */
  "too_large",
  /** A kind of result that cannot be finished, such as `input_required`. */
  "unfinishable",
  /** An answer that is no tool result. */
  "malformed",
  /** The process that sent it is gone without a record of the answer. */
  "host_gone",
  /** The store's record of it was changed by another hand, and a person accepted what stands. */
  "store_tampered",
  /** A person said what happened. */
  "resolved",
  /** A read-back the host declared told what happened. */
  "read_back",
]);
export type SettledReason = z.infer<typeof SettledReason>;

/** Who refused, or whose word the outcome is. */
export const OutcomeBy = z.enum(["policy", "person", "schema", "drift", "budget", "halt", "expiry", "server", "host"]);
export type OutcomeBy = z.infer<typeof OutcomeBy>;

/** What a read-back came to. `nothing`: it could not be made, or its answer settles neither way. */
export const ReadBackFound = z.enum(["happened", "did_not_happen", "nothing"]);
export type ReadBackFound = z.infer<typeof ReadBackFound>;

/** A read-back the host declared for a write whose outcome was unknown. Times are epoch milliseconds. */
export const ReadBack = z.strictObject({
  /** Alias of the tool that was asked. */
  tool: z.string(),
  found: ReadBackFound,
  /** What it answered, in one line, bounded and redacted. */
  detail: z.string(),
  at: z.number(),
});
export type ReadBack = z.infer<typeof ReadBack>;

/** The transport facts an outcome was derived from: what was seen, not what it was taken to mean. */
export const Evidence = z.strictObject({
  attempted: z.boolean(),
  how: z.string(),
  httpStatus: z.number().int().optional(),
  bytes: z.number().int().optional(),
  /** The answer came after the deadline. */
  late: z.boolean().optional(),
  /** One line, bounded and redacted. */
  detail: z.string().optional(),
  /** The latest read-back, when one was made. */
  readBack: ReadBack.optional(),
});
export type Evidence = z.infer<typeof Evidence>;

/** What became of an operation. `message` is prose for people and the model; `reason` is for programs. */
export const Outcome = z.strictObject({
  status: OutcomeStatus,
  reason: z.union([RejectedReason, SettledReason]),
  by: OutcomeBy,
  message: z.string(),
  evidence: Evidence.optional(),
});
export type Outcome = z.infer<typeof Outcome>;

/** Builds a `rejected` outcome. */
export function rejected(reason: RejectedReason, by: OutcomeBy, message: string): Outcome {
  return { status: "rejected", reason, by, message };
}

/** What a write is refused with while the outcome of an earlier one is unknown. `alias`: the earlier write's. */
export function haltedOutcome(alias: string): Outcome {
  return rejected("halted", "halt", `the outcome of ${alias} is unknown; no write runs until it is settled`);
}
