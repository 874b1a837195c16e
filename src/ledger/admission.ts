// Admission: everything the store knows of one operation at the instant of its claim -> what the claim must do. Pure.
//
//   admission-1. The order of the checks is the order below; the first that bites decides.
//   admission-2. A verdict counts only for the current question, the exact operation, tool definition, injected
//                parameters and destination, its thread and scope, and only with the seal that the caller has verified. A verdict that does
//                not match is left as it is and can still be used for what it is about.
//   admission-3. An approval covers the earlier writes that its question showed, and no others.
//   admission-4. A verdict is used up by the operation and not by the attempt: when an attempt ended with nothing sent, the
//                next one goes on under it, within its lifetime. No other operation ever can.
//   admission-5. Our own checks never replace an outcome: an `unavailable` operation that cannot be claimed again stays so.

import {
  type Digest,
  type DispatchingRow,
  haltedOutcome,
  isRetriable,
  type OperationRow,
  type Outcome,
  type Owner,
  rejected,
  type SettledRow,
  sameDestination,
  sameInjects,
} from "../contracts/index.js";
import type { Asked, ClaimRequest } from "./port.js";

export interface ClaimFacts {
  readonly request: ClaimRequest;
  readonly threadId: string;
  readonly scope: string;
  /** Its proposal or its row belongs to another thread or scope. */
  readonly foreign: boolean;
  readonly row: OperationRow | undefined;
  /** The row's owner is gone, or there is none. */
  readonly ownerGone: boolean;
  /** The current question about the operation, with its answer. */
  readonly asked: Asked | undefined;
  readonly questionExpired: boolean;
  /** The time from the batch's last verdict to its claim has passed. */
  readonly verdictExpired: boolean;
  /** A write that halts this one: its outcome is unknown. */
  readonly unknown: OperationRow | undefined;
  /** The owner of another write of the thread that may still be in flight. */
  readonly inFlight: Owner | undefined;
  /** Earlier identical writes, those of the same batch included. */
  readonly repeats: readonly Digest[];
  /** Writes of other proposals numbered above what this branch of the thread has seen. */
  readonly ahead: readonly Digest[];
}

export type Ruling =
  | { readonly kind: "claim"; readonly consume: string | undefined }
  /** Answered from the ledger as it stands. */
  | { readonly kind: "replayed"; readonly row: SettledRow }
  /** It belongs to another thread; nothing of that thread is touched. */
  | { readonly kind: "foreign" }
  /** A write was being sent by an owner that is gone. */
  | { readonly kind: "lost"; readonly row: DispatchingRow }
  | { readonly kind: "settle"; readonly outcome: Outcome }
  | { readonly kind: "busy"; readonly owner: Owner }
  | { readonly kind: "ask" };

/** Rules on one operation of a batch. (admission-1) */
export function rule(facts: ClaimFacts): Ruling {
  if (facts.foreign) return { kind: "foreign" };
  const { row } = facts;
  if (row === undefined || row.state === "proposed") return admit(facts);
  if (row.state !== "settled" && !facts.ownerGone) return { kind: "busy", owner: row.owner };
  // The stricter of what it was sent as and what the host says it is now.
  const write = row.operation.effect === "write" || facts.request.operation.effect === "write";
  switch (row.state) {
    case "claimed":
      return admit(facts);
    case "dispatching":
      return write ? { kind: "lost", row } : admit(facts);
    case "settled": {
      if (!isRetriable(row, write)) return { kind: "replayed", row };
      const again = admit(facts);
      return again.kind === "settle" ? { kind: "replayed", row } : again; // admission-5
    }
  }
}

/** Whether an operation nobody is running may be claimed now. */
function admit(facts: ClaimFacts): Ruling {
  const { operation, repeat } = facts.request;
  const write = operation.effect === "write";
  if (operation.decision?.kind === "deny") return settle(rejected("denied", "policy", operation.decision.reason));
  if (write && facts.unknown) return settle(haltedOutcome(facts.unknown.operation.alias));
  if (write && facts.inFlight) return { kind: "busy", owner: facts.inFlight };
  if (write && repeat === "deny" && facts.repeats.length > 0) {
    return settle(rejected("denied", "policy", "an identical write was made before, and policy denies repeats"));
  }

  const earlier = write ? [...(repeat === "ask" ? facts.repeats : []), ...facts.ahead] : [];
  const approved = approval(facts);
  if (operation.decision?.kind === "allow" && earlier.length === 0) return { kind: "claim", consume: approved };
  if (facts.questionExpired) {
    return settle(rejected("expired", "expiry", "the question about it expired; it was not run"));
  }
  if (approved === undefined) return { kind: "ask" };
  if (facts.verdictExpired) {
    return settle(rejected("expired", "expiry", "it was approved too long before it could start; it was not run"));
  }
  const seen = facts.asked?.request.seen ?? [];
  if (earlier.some((id) => !seen.includes(id))) return { kind: "ask" }; // admission-3
  return { kind: "claim", consume: approved };
}

/** The id of the approval that covers exactly this claim, if the caller named the one that is stored. (admission-2, admission-4) */
function approval(facts: ClaimFacts): string | undefined {
  const { operation, toolDigest, injects, destination, verdict: given } = facts.request;
  const { asked } = facts;
  const verdict = asked?.verdict;
  if (given === undefined || asked === undefined || verdict === undefined) return undefined;
  const matches =
    given.approvalId === asked.request.approvalId &&
    given.mac === verdict.mac &&
    verdict.type === "approve" &&
    sameDestination(asked.request.destination?.digest, destination) &&
    sameDestination(verdict.destination, destination) &&
    [asked.request, verdict].every(
      (sealed) =>
        sealed.operationId === operation.id &&
        sealed.argumentsDigest === operation.argumentsDigest &&
        sealed.toolDigest === toolDigest &&
        sameInjects(sealed.injects, injects) &&
        sealed.threadId === facts.threadId &&
        sealed.scope === facts.scope,
    );
  return matches ? asked.request.approvalId : undefined;
}

function settle(outcome: Outcome): Ruling {
  return { kind: "settle", outcome };
}
