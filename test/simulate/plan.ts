// Plan: what a run is about, as plain data: everything that was drawn before it began. A failing plan is made shorter by
// leaving parts of it out.

/** A tool of the fake server, with what the host declares of it. */
export interface ToolPlan {
  readonly name: string;
  readonly effect: "read" | "write";
  readonly decision: "allow" | "ask" | "deny";
  readonly errors: "honest" | "conservative";
  /** It reports its own outcome. */
  readonly contract: boolean;
  /** The operation's id is filled in as a parameter. */
  readonly keyed: boolean;
  readonly readBack: boolean;
  readonly repeat: "ask" | "allow" | "deny";
  readonly outputSchema: boolean;
}

/** `fresh`: another number each time the model is asked; `bad`: arguments that fit no schema. */
export interface CallPlan {
  readonly tool: string;
  readonly n: number | "fresh" | "bad";
}

export interface TurnPlan {
  /** The calls of each response; after them the model says that it is done. */
  readonly steps: readonly (readonly CallPlan[])[];
  readonly durability: "sync" | "async";
}

export const PERSON = [
  "approve",
  "approve_twice",
  "approve_late",
  "approve_then_wait",
  "approve_outside",
  "approve_in_order",
  "approve_some",
  "reject",
  "edit",
  "nonsense",
  "week_later",
] as const;
/** What a person does with a question. */
export type PersonPlan = (typeof PERSON)[number];

export const WORDS = ["truth", "leave", "happened", "did_not_happen", "outside", "nonsense"] as const;
/** What a person says of an unknown outcome. `truth`: they have looked. */
export type WordPlan = (typeof WORDS)[number];

export const MOVES = [
  "replay",
  "fork",
  "fork_edited_call",
  "fork_forged_state",
  "forge_head",
  "goto",
  "new_message",
  "resume_twice",
  "stale_answer",
  "copy_thread",
  "restart",
] as const;
/** What a client does instead of going on, after the so-manieth run. `pick` chooses among what there is. */
export interface MovePlan {
  readonly kind: (typeof MOVES)[number];
  readonly after: number;
  readonly pick: number;
}

/** Where a fault of a host strikes: at the n-th call of a port (any port: `*`), counted over all hosts. */
export interface Place {
  readonly port: string;
  readonly nth: number;
}

export const HOST_FAULTS = ["crash", "pause", "clock", "store_fails"] as const;
export const ANSWERS = [
  "not_sent",
  "refused",
  "turned_away",
  "dies_before",
  "dies_after",
  "lost_before",
  "lost_after",
  "late",
  "too_late",
  "slow_effect",
  "rpc_error",
  "rpc_error_after",
  "is_error",
  "is_error_after",
  "malformed",
  "too_large",
  "unfinishable",
  "wrong_schema",
  "says_failed",
  "says_rejected",
  "says_unknown",
  "says_nonsense",
  "says_both",
] as const;
/** How the server treats a call, other than by doing it and saying so. */
export type AnswerKind = (typeof ANSWERS)[number];
export const SERVER_FAULTS = ["drift", "list_fails", "connect_fails"] as const;

export type FaultPlan =
  | {
      readonly kind: (typeof HOST_FAULTS)[number];
      readonly at: Place;
      readonly when: "before" | "after";
      /** Milliseconds of a pause or of a clock's jump. */
      readonly ms: number;
    }
  /** The n-th call that is sent to a tool. */
  | { readonly kind: "answer"; readonly how: AnswerKind; readonly nth: number }
  /** The n-th listing, or connecting. */
  | { readonly kind: (typeof SERVER_FAULTS)[number]; readonly nth: number };

export interface HostPlan {
  readonly machine: string;
  /** Milliseconds by which its clock is off from the start. */
  readonly offMs: number;
}

export interface Plan {
  readonly seed: number;
  readonly hosts: readonly HostPlan[];
  readonly haltScope: "thread" | "server";
  /** Milliseconds the saver takes at most. */
  readonly saverMs: number;
  readonly tools: readonly ToolPlan[];
  readonly turns: readonly TurnPlan[];
  readonly people: readonly PersonPlan[];
  readonly words: readonly WordPlan[];
  readonly moves: readonly MovePlan[];
  readonly faults: readonly FaultPlan[];
}
