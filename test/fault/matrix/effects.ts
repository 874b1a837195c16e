// Kinds of effect: which tool a row's call is of, and what the host was told of it.

export const EFFECTS = ["E0", "E1", "E2", "E2r", "E3"] as const;
export type Effect = (typeof EFFECTS)[number];

export const SAYS: Record<Effect, string> = {
  E0: "read",
  E1: "keyed write",
  E2: "append",
  E2r: "append with a read-back",
  E3: "irreversible",
};

const TOOL: Record<Effect, string> = { E0: "look", E1: "put", E2: "append", E2r: "record", E3: "fire" };

export const aliasOf = (effect: Effect) => `mcp__faults__${TOOL[effect]}`;

/** What `tools` says of the tool. Nothing says anything of a keyed write: the key is offered, nothing is sent again. */
export function toolsOf(effect: Effect, timeoutMs: number | undefined): Record<string, object> {
  const deadline = timeoutMs === undefined ? {} : { timeoutMs };
  const lookup = { mcp__faults__lookup: { effect: "read" } };
  const reconcile = { tool: "mcp__faults__lookup", arguments: { operation_id: "$operationId" } };
  switch (effect) {
    case "E0":
      return { [aliasOf(effect)]: { effect: "read", ...deadline } };
    case "E2r":
      return { [aliasOf(effect)]: { reconcile, ...deadline }, ...lookup };
    case "E1":
    case "E2":
    case "E3":
      return { [aliasOf(effect)]: { effect: "write", ...deadline } };
  }
}
