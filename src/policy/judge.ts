// Judge: decides for each call of a batch whether it is refused, asked about or run, from everything that is known of it.
//
// This is the one place that puts refusals, questions and permissions in order. The node `gate` shows its answer, the node
// `approval` asks by it and the node `execute` acts on it. It is pure and synchronous and never throws.
//
//   judge-1. The first reason that refuses a call decides, in this order: another thread's call, unknown tool, unusable
//            arguments, deny, repeated rejection, halt, budget. A refused call is never asked about.
//   judge-2. A call without a proposal in the ledger is never allowed by a rule; it is asked about (G9).
//   judge-3. A call that a guard has found earlier writes for is asked about, whatever policy allows. An approval covers the
//            writes that the person was shown and no others.
//   judge-4. A question that nobody answered in time refuses its call.
//   judge-5. An unknown write of a thread halts the further writes of that thread to any server. Under
//            `haltScope: "server"` an unknown write of another thread halts writes to the same server, too. The claim in the
//            ledger follows the same rule.

import {
  type Decision,
  type Digest,
  haltedOutcome,
  isRetriable,
  type Limits,
  type Operation,
  type OperationRow,
  type Outcome,
  rejected,
  type SettledRow,
} from "../contracts/index.js";
import { overBudget, type Spent } from "./budget.js";

/** An earlier write that a guard found. */
export interface EarlierWrite {
  readonly operationId: Digest;
  readonly alias: string;
  readonly state: string;
}

/** What is known of one call before it is judged. `operation.decision` is policy's, or null where policy was not asked. */
export interface CallFacts {
  readonly operation: Operation;
  /** The model made the call in a proposal that the ledger holds, or it is a person's stored edit of such a call. */
  readonly proposed: boolean;
  /** The proposal belongs to another thread or scope. */
  readonly foreign: boolean;
  /** The offered tools with names close to the one that was called. Undefined when that one is offered. */
  readonly unknown?: { readonly near: readonly string[] };
  /** Why the arguments cannot be used. */
  readonly invalid?: string;
  /** What a person must be told is new of the tool, whatever else they are asked for. */
  readonly news?: string;
  readonly builtIn: boolean;
  readonly repeat: "allow" | "ask" | "deny";
  /** The ledger's row of the call, when there is one. */
  readonly row?: OperationRow;
  /** The current question about it and whether it was answered with a yes that still verifies. */
  readonly question?: { readonly seen: readonly Digest[]; readonly approved: boolean; readonly expired: boolean };
}

/** What the ledger knows about the thread that matters for the whole batch. */
export interface BatchStanding extends Spent {
  readonly rejections: readonly { readonly server: string; readonly tool: string; readonly argumentsDigest: Digest }[];
  /** `own`: the write is one of this thread. The other writes are of the same scope. */
  readonly unknownWrites: readonly (EarlierWrite & { readonly server: string | null; readonly own: boolean })[];
  readonly repeats: ReadonlyMap<Digest, readonly EarlierWrite[]>;
  readonly ahead: readonly EarlierWrite[];
}

export type Judgement =
  /** It was settled before and is answered from the ledger. */
  | { readonly kind: "settled"; readonly operation: Operation; readonly row: SettledRow }
  | { readonly kind: "refuse"; readonly operation: Operation; readonly outcome: Outcome }
  | { readonly kind: "ask"; readonly operation: Operation; readonly earlier: readonly EarlierWrite[] }
  | { readonly kind: "run"; readonly operation: Operation };

/** After this many rejections by a person in one turn, the turn's writes are refused without asking. */
const REJECTIONS_BEFORE_REFUSAL = 3;

/** Judges a whole batch, in the order of its calls. */
export function judge(
  calls: readonly CallFacts[],
  standing: BatchStanding,
  limits: Limits,
  haltScope: "thread" | "server",
): Judgement[] {
  const refusals = calls.map((call) => refusal(call, standing, haltScope));
  const over = overBudget(
    calls.map((call, index) => ({
      effect: call.operation.effect,
      free: call.builtIn,
      paid: refusals[index] !== undefined || inHand(call),
    })),
    standing,
    limits,
  );
  const earlierInBatch = new Map<string, readonly EarlierWrite[]>();
  return calls.map((call, index) => {
    const { operation, row } = call;
    if (row?.state === "settled" && !retriable(row, operation))
      return { kind: "settled", operation: row.operation, row };
    const outcome = refusals[index] ?? budgetRefusal(over[index]);
    if (outcome) return { kind: "refuse", operation, outcome };

    const earlier = guardHits(call, standing, earlierInBatch);
    const identicalBefore = call.repeat === "deny" ? repeatsOf(call, standing, earlierInBatch) : [];
    if (operation.effect === "write" && identicalBefore.length > 0) {
      const message = `an identical write was made before: ${named(identicalBefore)}`;
      return { kind: "refuse", operation, outcome: rejected("denied", "policy", message) };
    }
    if (operation.effect === "write") {
      const identical = earlierInBatch.get(writeKey(operation)) ?? [];
      earlierInBatch.set(writeKey(operation), [...identical, inThisMessage(operation)]);
    }

    const decision = guarded(call, earlier);
    const judged = { ...operation, decision };
    if (decision.kind === "allow") return { kind: "run", operation: judged };
    if (call.question?.expired && !call.question.approved) {
      return {
        kind: "refuse",
        operation: judged,
        outcome: rejected("expired", "expiry", "nobody answered in time; it was not run"),
      }; // judge-4
    }
    const shown = new Set(call.question?.seen);
    const covered = call.question?.approved === true && earlier.every((write) => shown.has(write.operationId)); // judge-3
    return covered ? { kind: "run", operation: judged } : { kind: "ask", operation: judged, earlier };
  });
}

/** The first reason that refuses a call whatever a person might say. Budgets come later: they depend on the batch. (judge-1) */
function refusal(call: CallFacts, standing: BatchStanding, haltScope: "thread" | "server"): Outcome | undefined {
  const { operation } = call;
  if (call.foreign) return rejected("other_thread", "host", "this call belongs to another thread; it was not run");
  if (call.unknown) {
    const near = call.unknown.near.length > 0 ? `; close names: ${call.unknown.near.join(", ")}` : "";
    return rejected(
      "unknown_tool",
      "host",
      `no tool named \`${operation.alias}\` was offered for this response${near}`,
    );
  }
  if (call.invalid !== undefined) return rejected("invalid_arguments", "schema", call.invalid);
  if (operation.decision?.kind === "deny") return rejected("denied", "policy", operation.decision.reason);
  if (rejectedBefore(operation, standing)) {
    return rejected(
      "repeated_rejection",
      "person",
      "a person rejected this very call in this turn; it was not asked again",
    );
  }
  if (operation.effect === "write" && standing.rejections.length >= REJECTIONS_BEFORE_REFUSAL) {
    return rejected(
      "repeated_rejection",
      "person",
      `a person rejected ${standing.rejections.length} calls in this turn; its writes are no longer asked`,
    );
  }
  const unknown = operation.effect === "write" ? haltingWrite(operation, standing, haltScope) : undefined;
  return unknown === undefined ? undefined : haltedOutcome(unknown.alias);
}

function budgetRefusal(over: string | undefined): Outcome | undefined {
  return over === undefined ? undefined : rejected("budget", "budget", `${over}; it was not run`);
}

/** Whether the call was sent already, or may have been: then the turn has paid for it. What becomes of it the claim decides. */
function inHand(call: CallFacts): boolean {
  return call.row !== undefined && call.row.state !== "proposed" && call.row.sent;
}

/** The same test as the claim's: if a person were asked about a row that the claim does not take, the answer could never be used. */
function retriable(row: OperationRow, operation: Operation): boolean {
  return isRetriable(row, row.operation.effect === "write" || operation.effect === "write");
}

/** The unknown write that halts this one, if there is one. (judge-5) */
function haltingWrite(operation: Operation, standing: BatchStanding, haltScope: "thread" | "server") {
  return standing.unknownWrites.find((write) => {
    if (write.operationId === operation.id) return false;
    return write.own || (haltScope === "server" && write.server === operation.server);
  });
}

function rejectedBefore(operation: Operation, standing: BatchStanding): boolean {
  return standing.rejections.some(
    (one) =>
      one.server === operation.server &&
      one.tool === operation.tool &&
      one.argumentsDigest === operation.argumentsDigest,
  );
}

function guardHits(
  call: CallFacts,
  standing: BatchStanding,
  earlierInBatch: ReadonlyMap<string, readonly EarlierWrite[]>,
): EarlierWrite[] {
  if (call.operation.effect === "read") return [];
  const hits = call.repeat === "allow" ? [] : repeatsOf(call, standing, earlierInBatch);
  for (const write of standing.ahead) {
    if (!hits.some((hit) => hit.operationId === write.operationId)) hits.push(write);
  }
  return hits;
}

function repeatsOf(
  call: CallFacts,
  standing: BatchStanding,
  earlierInBatch: ReadonlyMap<string, readonly EarlierWrite[]>,
): EarlierWrite[] {
  const inBatch = earlierInBatch.get(writeKey(call.operation)) ?? [];
  return [...(standing.repeats.get(call.operation.id) ?? []), ...inBatch].filter(
    (write, index, all) => all.findIndex((other) => other.operationId === write.operationId) === index,
  );
}

/** Policy's decision, tightened by what policy cannot know: the proposal (judge-2) and the guards (judge-3). */
function guarded(call: CallFacts, earlier: readonly EarlierWrite[]): Decision {
  const decision = call.operation.decision ?? { kind: "ask", rules: [], reason: "policy was not asked" };
  const asked = (reason: string): Decision => ({
    kind: "ask",
    rules: decision.rules,
    reason: call.news === undefined ? reason : `${reason}; ${call.news}`,
  });
  if (!call.proposed) return asked("this is not a call the model made: it was changed or added afterwards");
  if (earlier.length > 0) return asked(`earlier writes bear on this one: ${named(earlier)}`);
  return decision;
}

function named(writes: readonly EarlierWrite[]): string {
  return writes.map((write) => `${write.alias} (${write.state}, ${write.operationId.slice(0, 12)})`).join("; ");
}

function inThisMessage(operation: Operation): EarlierWrite {
  return { operationId: operation.id, alias: operation.alias, state: "in the same message" };
}

function writeKey(operation: Operation): string {
  return JSON.stringify([operation.server, operation.tool, operation.argumentsDigest]);
}
