// Check: what the witnesses of a cell say together. Pure. It reads the server's log, the wire, the ledger and the
// messages, and believes none of them alone.
//
//   matrix-check-1. Of a write there is one effect at most, whatever operation it stands under, and one line on the
//                   wire.
//   matrix-check-2. An effect has a yes behind it: to that very operation, its arguments and tool, given before it was
//                   sent and no longer than its life before.
//   matrix-check-3. `ok` means that there is an effect; `failed`, `rejected` and, of a write, `unavailable` that there
//                   is none.
//   matrix-check-4. Where nothing was lost on the wire, nothing is unknown.
//   matrix-check-5. Each call has one tool message, in its place, that says what the ledger says.

import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import type { ServerEvent } from "../../../servers/log.js";
import { digest, type JsonObject, type OperationRow, outcomeOf, sentAtOf } from "../../../src/contracts/index.js";
import { formatProblems } from "../../support/provider-format.js";
import type { Told, Words } from "./plan.js";
import type { Sent } from "./world.js";

export interface Evidence {
  readonly log: readonly ServerEvent[];
  readonly wire: readonly Sent[];
  readonly words: Words;
  /** Whether the call is a write. */
  readonly write: boolean;
  /** Whether this can never end in `result_unknown`. */
  readonly known: boolean;
  /** How long a yes lives, in milliseconds. */
  readonly ttlMs: number;
  /** Milliseconds by which the ledger's clock was set forward between the claim and the send. @default 0 */
  readonly setMs?: number;
}

/** What was found. Each list names what is wrong; a sound cell has none. */
export interface Findings {
  readonly effects: number;
  readonly requests: number;
  /** `ok`, `result_unknown`, …: what the ledger says of the last operation; its state when it is not settled. */
  readonly outcome: string;
  readonly double: readonly string[];
  readonly unapproved: readonly string[];
  readonly false: readonly string[];
  readonly unknown: readonly string[];
  readonly format: readonly string[];
}

export function check(evidence: Evidence): Findings {
  const { log, words } = evidence;
  const effects = log.filter(({ event }) => event === "effect");
  const last = words.rows.at(-1);
  return {
    effects: effects.length,
    requests: log.filter(({ event }) => event === "accepted").length,
    outcome: last === undefined ? "nothing" : (outcomeOf(last)?.status ?? last.state),
    double: doubles(evidence, effects),
    unapproved: effects.flatMap((effect) => unapproved(effect, evidence)),
    false: words.rows.flatMap((row) => falsehood(row, effects, evidence.write)),
    unknown: evidence.known ? words.rows.filter(isUnknown).map(({ operation }) => operation.id) : [],
    format: format(words),
  };
}

/** matrix-check-1 */
function doubles({ wire, write }: Evidence, effects: readonly ServerEvent[]): string[] {
  if (!write) return [];
  const sent = wire.map(({ operationId }) => operationId);
  const resent = sent.filter((id, at) => sent.indexOf(id) !== at).map((id) => `${id} was sent again`);
  return [...effects.slice(1).map(({ operationId }) => `${operationId} is one effect too many`), ...resent];
}

/** matrix-check-2 */
function unapproved({ operationId, arguments: args }: ServerEvent, { words, ttlMs, setMs = 0 }: Evidence): string[] {
  const row = words.rows.find(({ operation }) => operation.id === operationId);
  const asked = words.asked.find(({ request }) => request.operationId === operationId);
  const verdict = asked?.verdict;
  const is = (said: string) => [`${operationId} ${said}`];
  if (row === undefined) return is("is not in the ledger");
  if (asked === undefined || verdict?.type !== "approve") return is("has no yes");
  if (!asked.consumed) return is("was made under a yes that no claim used");
  if (verdict.argumentsDigest !== digest(args as JsonObject)) return is("has other arguments than the yes");
  // What it says of the send was lost, or its tool, too: a person accepted it so, and it may have been read back since.
  const doubted =
    outcomeOf(row)?.reason === "store_tampered" || (row.state === "settled" && row.sent && !sentAtOf(row));
  if (verdict.toolDigest !== row.toolDigest && !(doubted && row.toolDigest === null))
    return is("is of another tool than the yes");
  if (doubted) return [];
  const announced = sentAtOf(row);
  if (announced === undefined) return is("was never announced");
  const sentAt = announced - setMs;
  if (sentAt - (asked.answeredAt ?? verdict.at) > ttlMs) return is("was sent after its yes had expired");
  if (sentAt > verdict.expiresAt) return is("was sent after its question had expired");
  return [];
}

/** matrix-check-3 */
function falsehood(row: OperationRow, effects: readonly ServerEvent[], write: boolean): string[] {
  const { operation } = row;
  const outcome = outcomeOf(row);
  const happened = effects.some(({ operationId }) => operationId === operation.id);
  switch (outcome?.status) {
    case "ok":
      return happened ? [] : [`${operation.id} is ok and never happened`];
    case "failed":
    case "rejected":
      return happened ? [`${operation.id} is ${outcome.status} and happened`] : [];
    case "unavailable":
      return happened && write ? [`${operation.id} is unavailable and happened`] : [];
    case "result_unknown":
    case undefined:
      return [];
  }
}

function isUnknown(row: OperationRow): boolean {
  return outcomeOf(row)?.status === "result_unknown";
}

/** matrix-check-5 */
function format({ messages, rows }: Words): string[] {
  const last = messages.at(-1);
  const waits = last?.type === "ai" && (last.calls?.length ?? 0) > 0;
  const closed = waits ? messages.slice(0, -1) : messages; // its calls are not answered yet
  const problems = formatProblems(closed.map(messageOf));
  const other = messages.filter(({ operationId, status }) => {
    const row = rows.find(({ operation }) => operation.id === operationId);
    return operationId !== undefined && outcomeOf(row)?.status !== status;
  });
  return [...problems, ...other.map(({ answers, status }) => `the message to ${answers} says ${status}`)];
}

function messageOf({ type, text, calls, answers }: Told): BaseMessage {
  if (type === "tool") return new ToolMessage({ content: text, tool_call_id: answers ?? "" });
  if (type !== "ai") return new HumanMessage(text);
  return new AIMessage({ content: text, tool_calls: (calls ?? []).map((id) => ({ id, name: "", args: {} })) });
}
