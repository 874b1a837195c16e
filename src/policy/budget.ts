// Budgets: which calls of a batch a turn can still pay for.
//
// They are pure. What a turn has spent is what the ledger counted for it, so neither a fork nor an edited state nor a restart
// gives it more.
//
//   budget-1. Calls pay in the order in which the model made them, and a call that has paid does not pay again.

import type { EffectClass, Limits } from "../contracts/index.js";

/** What a turn has spent so far, as the ledger counted it. */
export interface Spent {
  readonly modelRequests: number;
  readonly calls: number;
  readonly writes: number;
  readonly activeMs: number;
  readonly finalMade: boolean;
}

export interface Payer {
  readonly effect: EffectClass;
  /** Built-ins cost nothing. */
  readonly free: boolean;
  /** It was dispatched before, so it has been counted. */
  readonly paid: boolean;
}

/** Says for each call which budget refuses it; undefined when the turn can pay for it. */
export function overBudget(payers: readonly Payer[], spent: Spent, limits: Limits): (string | undefined)[] {
  const over = turnSpent(spent, limits);
  let calls = spent.calls;
  let writes = spent.writes;
  return payers.map((payer) => {
    if (payer.paid) return undefined; // budget-1
    if (over) return over;
    if (payer.free) return undefined;
    if (calls >= limits.calls) return `the turn's ${limits.calls} calls are used up`;
    if (payer.effect === "write" && writes >= limits.writes) return `the turn's ${limits.writes} writes are used up`;
    calls += 1;
    if (payer.effect === "write") writes += 1;
    return undefined;
  });
}

/** Says why the whole turn is out of budget; undefined while it is not. */
export function turnSpent(spent: Spent, limits: Limits): string | undefined {
  if (spent.finalMade) return "the turn's last model request was made";
  if (spent.modelRequests >= limits.modelRequests)
    return `the turn's ${limits.modelRequests} model requests are used up`;
  if (spent.activeMs > limits.wallMs) return `the turn's ${limits.wallMs} ms are used up`;
  return undefined;
}
