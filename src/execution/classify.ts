// Classify: transport evidence -> outcome, by where the answer came from and never by the code or the text of an error.
//
// Pure, total.
//
//   classify-1. A write without a trustworthy answer is `result_unknown`, never `failed` (G7).
//   classify-2. What certainly reached nobody is `unavailable`, for reads and writes alike.
//   classify-3. A response that arrived is judged in this order: size, unfinishable kind, output schema (not for `isError`),
//               contract, `isError`, success.

import type { EffectClass, Evidence, JsonObject, Outcome, OutcomeStatus, SettledReason } from "../contracts/index.js";
import type { CallEvidence } from "../contracts/mcp-port.js";

/** What the host declared of the tool that bears on how its answers are read. */
export interface Terms {
  readonly effect: EffectClass;
  readonly errors: "conservative" | "honest";
  readonly contract: "status" | undefined;
  readonly outputMismatch: "unknown" | "flag";
}

/** What was found when looking at the result itself; each a sentence, absent when there is nothing to object. */
export interface Findings {
  /** It is above a limit of the host, or of a kind the host does not take. */
  readonly limit?: string | undefined;
  /** It breaks the output schema the server declared. */
  readonly outputSchema?: string | undefined;
}

/** MCP's `CallToolResult` as far as classification reads it (spec 2025-11-25, server/tools, "Tool Result"). */
export function isToolResult(result: unknown): result is JsonObject & { content?: unknown[] } {
  if (typeof result !== "object" || result === null || Array.isArray(result)) return false;
  const { content } = result as JsonObject;
  return Array.isArray(content) || content === undefined; // MCP's own clients read a missing list as an empty one
}

/** Whether the result asks for more input or names a task: kinds this host does not finish. */
function isUnfinishable(result: unknown): boolean {
  if (typeof result !== "object" || result === null) return false;
  const { resultType, inputRequests, task } = result as JsonObject;
  return (resultType !== undefined && resultType !== "complete") || inputRequests !== undefined || task !== undefined;
}

export function classify(evidence: CallEvidence, terms: Terms, findings: Findings): Outcome {
  const facts = asEvidence(evidence);
  const write = terms.effect === "write";
  const settle = (status: OutcomeStatus, reason: SettledReason, by: Outcome["by"], message: string): Outcome => ({
    status,
    reason,
    by,
    message,
    evidence: facts,
  });
  const doubt = (reason: SettledReason, message: string) =>
    settle(write ? "result_unknown" : "unavailable", reason, "host", message); // classify-1

  if (evidence.response === undefined) {
    const { httpStatus } = evidence;
    if (!evidence.attempted || evidence.refused) {
      return settle("unavailable", "not_sent", "host", say("nothing was sent", evidence.detail)); // classify-2
    }
    if (evidence.tooLarge) return doubt("too_large", "the result is larger than this host takes");
    if (httpStatus !== undefined && turnsAway(httpStatus, evidence)) {
      return settle(
        "unavailable",
        "turned_away",
        "server",
        `the server turned the request away with HTTP ${httpStatus}`,
      ); // classify-2
    }
    if (httpStatus !== undefined) return statusOnly(httpStatus, doubt, settle, write);
    if (evidence.how === "deadline") return doubt("deadline", "no answer came before the deadline");
    return doubt("connection_lost", say("the connection was lost before an answer came", evidence.detail));
  }

  // classify-3, in this order
  if (evidence.tooLarge) return doubt("too_large", "the result is larger than this host takes");
  if ("error" in evidence.response) {
    const message = `the server answered with an error: ${evidence.response.error.message}`;
    // Under an error status it may be a gateway's word, which the host did not vouch for.
    const vouched = evidence.httpStatus === undefined ? terms : ({ ...terms, errors: "conservative" } as const);
    return serverError(message, vouched, settle);
  }
  const { result } = evidence.response;
  if (findings.limit !== undefined) return doubt("too_large", findings.limit);
  if (isUnfinishable(result))
    return doubt("unfinishable", "the server asked for something this host does not do within a call");
  if (!isToolResult(result)) return doubt("malformed", "the answer is not a tool result");
  if (result["isError"] !== undefined && typeof result["isError"] !== "boolean") {
    return doubt("malformed", "the answer's `isError` is neither true nor false");
  }
  const isError = result["isError"] === true;
  const mismatch = isError ? undefined : findings.outputSchema;
  if (mismatch !== undefined && !(write && terms.outputMismatch === "flag")) return doubt("output_schema", mismatch);
  if (terms.contract === "status") return byContract(result, settle, doubt);
  if (isError) return toolError(result, terms, settle);
  return mismatch === undefined
    ? settle("ok", "success", "server", "done")
    : settle("ok", "output_schema", "server", `done (flagged: ${mismatch})`);
}

type Settle = (status: OutcomeStatus, reason: SettledReason, by: Outcome["by"], message: string) => Outcome;

function serverError(message: string, terms: Terms, settle: Settle): Outcome {
  if (terms.effect === "read") return settle("failed", "server_error", "server", message);
  if (terms.errors === "honest") return { ...settle("rejected", "server_error", "server", message), reason: "server" };
  return settle("result_unknown", "server_error", "server", message); // classify-1
}

/** A status without an answer in MCP's own words. It may be a gateway's, so that `errors: "honest"` does not cover it. */
function statusOnly(
  status: number,
  doubt: (reason: SettledReason, message: string) => Outcome,
  settle: Settle,
  write: boolean,
): Outcome {
  const message = `the server answered HTTP ${status}`;
  if (mayComeAfterTheCall(status)) return doubt("server_error", message);
  return settle(write ? "result_unknown" : "failed", "server_error", "server", message); // classify-1
}

function toolError(result: JsonObject, terms: Terms, settle: Settle): Outcome {
  const message = errorText(result);
  if (terms.effect === "read" || terms.errors === "honest") return settle("failed", "tool_error", "server", message);
  return settle("result_unknown", "tool_error", "server", message); // classify-1
}

/** toolgate's result contract: `structuredContent.status` is one of ok, rejected, failed, result_unknown. */
function byContract(
  result: JsonObject,
  settle: Settle,
  doubt: (reason: SettledReason, message: string) => Outcome,
): Outcome {
  const report = result["structuredContent"] as { status?: unknown; message?: unknown } | undefined;
  const message = typeof report?.message === "string" ? report.message : "";
  switch (report?.status) {
    case "ok":
      if (result["isError"] === true)
        return doubt("contract", "the answer says both that it is done and that it failed");
      return settle("ok", "contract", "server", message || "done");
    case "failed":
      return settle("failed", "contract", "server", message);
    case "rejected":
      return { ...settle("rejected", "contract", "server", message), reason: "server" };
    case "result_unknown":
      return doubt("contract", message || "the server does not know whether it happened");
    default:
      return doubt("contract", "the result has no `status` that the result contract knows");
  }
}

/**
 * The server says by the status that it did not take the request: the token was refused (RFC 6750, section 3.1), the same
 * request is to be made elsewhere (RFC 9110, sections 15.4.8 and 15.4.9), or there is no such session (spec 2025-11-25,
 * basic/transports, "Session Management"). The request was sent, so it counts for the repeat guard.
 */
function turnsAway(status: number, { tokenRefused, sessionGone }: CallEvidence): boolean {
  return (
    (status === 401 && tokenRefused === true) ||
    status === 307 ||
    status === 308 ||
    (status === 404 && sessionGone === true)
  );
}

/** 303 is what a server answers that has done what was asked (RFC 9110, section 15.4.4); the others beside it are read alike. */
function mayComeAfterTheCall(status: number): boolean {
  return status === 401 || (status >= 300 && status <= 304);
}

/** The server's own words of an `isError` result: its text blocks, not bounded yet. */
function errorText(result: JsonObject): string {
  const content = Array.isArray(result["content"]) ? (result["content"] as unknown[]) : [];
  const texts = content.flatMap((block) => {
    const { type, text } = (block ?? {}) as { type?: unknown; text?: unknown };
    return type === "text" && typeof text === "string" ? [text] : [];
  });
  return texts.join("\n") || "the tool reported an error without a text";
}

function asEvidence(evidence: CallEvidence): Evidence {
  return {
    attempted: evidence.attempted,
    how: evidence.how,
    ...(evidence.httpStatus === undefined ? {} : { httpStatus: evidence.httpStatus }),
    ...(evidence.bytes === undefined ? {} : { bytes: evidence.bytes }),
    ...(evidence.detail === undefined ? {} : { detail: evidence.detail }),
  };
}

function say(sentence: string, detail: string | undefined): string {
  return detail ? `${sentence}: ${detail}` : sentence;
}
