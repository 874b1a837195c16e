// Reconcile facts: the arguments of the read that a host declared for an unknown write, and what an answer to it says.
//
// Pure, total.
//
//   reconcile-facts-1. An answer settles nothing unless it meets every fact that the host named, exactly. An answer that meets
//                      both sets of facts says nothing.
//   reconcile-facts-2. "It did not happen" counts only together with "and it will not any more": the request may still be on
//                      its way.

import type { Facts, JsonObject, Operation, ReadBackFound, Reconcile } from "../contracts/index.js";

/** What an answer says where the host names nothing else: toolgate's own shape (docs/grants.md). */
const HAPPENED: Facts = { "/data/carried_out": true };
/** reconcile-facts-2: `final` is the server's word that the operation cannot begin any more. */
const DID_NOT_HAPPEN: Facts = { "/data/carried_out": false, "/data/final": true };

const ARGUMENT = "$arguments.";

/** The arguments of the read, with what stands for the write's own filled in; or what is missing. */
export function readBackArguments(
  template: JsonObject,
  { id, arguments: given }: Pick<Operation, "id" | "arguments">,
): { readonly arguments: JsonObject } | { readonly problem: string } {
  let missing: string | undefined;
  const fill = (value: unknown): unknown => {
    if (value === "$operationId") return id;
    if (typeof value === "string" && value.startsWith(ARGUMENT)) {
      const name = value.slice(ARGUMENT.length);
      if (Object.hasOwn(given, name)) return structuredClone(given[name]);
      missing ??= name;
      return null;
    }
    if (Array.isArray(value)) return value.map(fill);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fill(item)]));
  };
  const filled = fill(template) as JsonObject;
  return missing === undefined ? { arguments: filled } : { problem: `the write has no argument \`${missing}\`` };
}

/** What the structured content of an answer says of the write. (reconcile-facts-1) */
export function foundIn(
  content: unknown,
  { happened = HAPPENED, didNotHappen = DID_NOT_HAPPEN }: Pick<Reconcile, "happened" | "didNotHappen">,
): ReadBackFound {
  const yes = meets(content, happened);
  const no = meets(content, didNotHappen);
  if (yes === no) return "nothing";
  return yes ? "happened" : "did_not_happen";
}

function meets(content: unknown, facts: Facts): boolean {
  const all = Object.entries(facts);
  return all.length > 0 && all.every(([pointer, value]) => at(content, pointer) === value);
}

/** The value at a JSON pointer (RFC 6901); undefined where there is none. */
function at(content: unknown, pointer: string): unknown {
  let value = content;
  for (const part of pointer.split("/").slice(1)) {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<string, unknown>)[key];
  }
  return value;
}
