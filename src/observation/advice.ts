// What the model may do about a call that did not succeed: one sentence for each reason. None of them invites a repeat.

import { type EffectClass, type Outcome, RejectedReason } from "../contracts/index.js";

/** A sentence of plain advice. Empty for `ok`. */
export function adviceFor(outcome: Outcome, effect: EffectClass): string {
  switch (outcome.status) {
    case "ok":
      return "";
    case "rejected":
      return rejectedAdvice(outcome.reason);
    case "failed":
      return effect === "read"
        ? "The tool ran and reported an error. Correct the call if the error says how; otherwise go on without it."
        : "The tool reported that it was not done. Correct the call if the error says how; otherwise go on without it.";
    case "unavailable":
      return effect === "read"
        ? "There is no usable answer. You may ask again later, or go on without it and say so."
        : "It was not run. You may ask again later, or go on without it and say so.";
    case "result_unknown":
      return (
        "It may or may not have happened. Do not repeat it, and do not assume either: say that its outcome is unknown. " +
        "Further writes are held back until a person or the server's own record settles it; reads can go on."
      );
  }
}

function rejectedAdvice(reason: Outcome["reason"]): string {
  const known = RejectedReason.safeParse(reason);
  return known.success ? `It was not run. ${ADVICE[known.data]}` : "It was not run.";
}

const ADVICE: Readonly<Record<RejectedReason, string>> = {
  denied: "The host's rules forbid it. Do not call it again; go on without it and say what is missing.",
  person: "A person said no. Do not ask for the same again; go on without it, or ask what they want instead.",
  repeated_rejection: "A person said no to this before. Go on without it, or ask what they want instead.",
  edited: "A person changed it and approved the changed call in its place.",
  withdrawn: "A new message came before it was decided. Call it again only if it is still wanted.",
  expired: "The question expired without an answer. It will not run later; call it again only if it is still wanted.",
  invalid_arguments: "Correct the arguments and call it again.",
  unknown_tool: "This request's tools did not include it. Use only the tools you are given.",
  drift: "The server changed the tool since you were shown it. Look at its new definition before calling it again.",
  halted: "The outcome of an earlier write is unknown. No write runs until that is settled; reads can go on.",
  budget: "This turn's budget is spent. Answer with what you have and say what is missing.",
  other_thread: "It belongs to another conversation.",
  durability: "A write needs a run whose steps are stored as it goes. Go on without it and say so.",
  server: "The server refused it, and nothing was changed. Correct the call if the answer says how.",
};
