// Events: what the stream of a run says of its calls.

import { type Operation, type Outcome, oneLine } from "../contracts/index.js";

export type CallPhase = "sent" | "settled" | "refused";

/** A custom stream event about one call: where it stands and, once it has ended, why, unless all is well. */
export function callEvent(phase: CallPhase, { id, alias, effect }: Operation, outcome?: Outcome): object {
  return { type: "toolgate.call", phase, operationId: id, alias, effect, ...(outcome ? toldOf(outcome) : {}) };
}

function toldOf({ status, reason, message }: Outcome): object {
  return status === "ok" ? { status } : { status, reason, message: oneLine(message) };
}
