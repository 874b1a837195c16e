// Facts: what really happened, written down by the fake world itself: what was sent, what took effect, what people said and
// what reached a host. The invariants are judged by these, never by what the code under test says of itself.

import type { JsonObject, OperationRow } from "../../src/contracts/index.js";
import type { AnswerKind, ToolPlan } from "./plan.js";

/** What an answer that reached a host means for a write, by the table of `server.ts`. */
export type Meaning = "ok" | "failed" | "rejected" | "unavailable" | "result_unknown";

export interface Send {
  readonly operationId: string;
  readonly tool: ToolPlan;
  readonly args: JsonObject;
  readonly host: string;
  readonly at: number;
}

export interface Approval {
  readonly threadId: string;
  readonly alias: string;
  readonly operationId: string;
  readonly args: JsonObject;
  readonly edited: boolean;
  /** Given in order, without ids: it says yes to whatever stands at its place when it comes. */
  readonly inOrder: boolean;
  /** The operation it was used for. */
  usedBy?: string;
}

export interface Violation {
  /** Counted under this. */
  readonly kind: ViolationKind;
  readonly what: string;
}

export const VIOLATIONS = [
  "double send",
  "effect without approval",
  "not dispatching at the send",
  "send after a person's word",
  "repeat without a person",
  "send while halted",
  "approval expired at the claim",
  "false ok",
  "false failed",
  "effect of a refused write",
  "wrongly unknown",
  "wrong outcome",
  "state went back",
  "format fault",
  "wedged",
  "hang",
  "called tampered",
  "untyped error",
] as const;
export type ViolationKind = (typeof VIOLATIONS)[number];

export interface Facts {
  readonly sends: Send[];
  readonly effects: { readonly operationId: string; readonly tool: ToolPlan; readonly args: JsonObject }[];
  readonly approvals: Approval[];
  /** Calls the model made: thread, alias and arguments. */
  readonly made: Set<string>;
  /** What each write's answers mean, as they reached a host. */
  readonly told: Map<string, Meaning[]>;
  /** What people said of unknown outcomes. */
  readonly words: { readonly operationId: string; readonly type: string }[];
  /** What the server itself answered when it was asked about an operation. */
  readonly readBacks: { readonly operationId: string; readonly found: "happened" | "did_not_happen" | "nothing" }[];
  /** When the last verdict on a proposal was stored, in virtual milliseconds. */
  readonly lastVerdict: Map<string, number>;
  /** Rows as they were last seen. */
  readonly rows: Map<string, OperationRow>;
  readonly violations: Violation[];
  /** Writes a violation into the history, where it happened. */
  readonly tell: (line: string) => void;
  /** Faults that struck, by kind. */
  readonly struck: Map<string, number>;
  /** Something happened after which a host may know less than the world: a crash, a pause, a failed store, a jumped clock. */
  troubled: boolean;
  /** A clock was off or jumped: lifetimes cannot be judged from outside. */
  clocksOff: boolean;
}

export function createFacts(tell: (line: string) => void): Facts {
  return {
    tell,
    sends: [],
    effects: [],
    approvals: [],
    made: new Set(),
    told: new Map(),
    words: [],
    readBacks: [],
    lastVerdict: new Map(),
    rows: new Map(),
    violations: [],
    struck: new Map(),
    troubled: false,
    clocksOff: false,
  };
}

export function violate(facts: Facts, kind: ViolationKind, what: string): void {
  facts.violations.push({ kind, what });
  facts.tell(`${kind}: ${what}`);
}

export function strike(facts: Facts, kind: string): void {
  facts.struck.set(kind, (facts.struck.get(kind) ?? 0) + 1);
}

/** What a write's answer means to a host that declared the tool like this: the contract's table, once more, by hand. */
export function meaningOf(how: AnswerKind | "plain", tool: ToolPlan): Meaning {
  switch (how) {
    case "plain":
    case "late":
    case "too_late":
      return "ok";
    case "not_sent":
    case "refused":
    case "turned_away":
      return "unavailable";
    case "rpc_error":
    case "rpc_error_after":
      return tool.errors === "honest" ? "rejected" : "result_unknown";
    case "is_error":
    case "is_error_after":
      return tool.errors === "honest" && !tool.contract ? "failed" : "result_unknown";
    case "says_failed":
      return tool.contract ? "failed" : "ok";
    case "says_rejected":
      return tool.contract ? "rejected" : "ok";
    case "says_unknown":
    case "says_nonsense":
    case "says_both":
      return tool.contract ? "result_unknown" : "ok";
    case "wrong_schema":
      return tool.outputSchema || tool.contract ? "result_unknown" : "ok";
    case "dies_before":
    case "dies_after":
    case "lost_before":
    case "lost_after":
    case "slow_effect":
    case "malformed":
    case "too_large":
    case "unfinishable":
      return "result_unknown";
  }
}

export function canonical(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "undefined";
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  const keys = Object.keys(value).sort();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical((value as JsonObject)[key])}`).join(",")}}`;
}
