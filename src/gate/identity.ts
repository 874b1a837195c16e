// Identity: who answers in a run, and in which scope the run is. Both are the host's word (`identify`).
//
//   identity-1. Text is who answers, in the configuration's scope. `{ id, scope }` names both. Everything else is nobody in
//               particular, in the configuration's scope: an error, a promise, an object that names no scope.
//   identity-2. A scope that was named and cannot be used is no other scope: the run is refused.

import { checkedScope, replaceHidden } from "../contracts/index.js";

/** Nobody in particular. */
export const UNAUTHENTICATED = "unauthenticated";

/** Whoever a host names, as somebody: text with something to be seen in it. Everything else, a promise too, is nobody in particular. */
export function identified(who: unknown): string {
  return typeof who === "string" && replaceHidden(who, () => "").trim() !== "" ? who : UNAUTHENTICATED;
}

/** Who answers in a run, and whose records it sees. */
export interface Identity {
  readonly id: string;
  readonly scope: string;
}

/** What a host said of a run. `scope` is that of the configuration. Throws `config_invalid`. (identity-1) */
export function identityFrom(say: () => unknown, scope: string): Identity {
  const said = attempted(say);
  if (typeof said !== "object" || said === null || !("scope" in said)) return { id: identified(said), scope };
  const own = attempted(() => said.scope);
  const id = attempted(() => (said as { readonly id?: unknown }).id);
  return { id: identified(id), scope: checkedScope(own, "`identify`") }; // identity-2
}

function attempted(say: () => unknown): unknown {
  try {
    return say();
  } catch {
    return undefined;
  }
}
