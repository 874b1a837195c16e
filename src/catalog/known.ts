// Known: what is kept of a server's tools, so that a later list can be compared with it.
//
//   known-1. A definition that is longer than `KEPT_BYTES` is kept as its digest alone.
//   known-2. Equal lists are kept alike, whatever the order of their tools.

import { canonicalBytes, type Digest, type KnownTool, type ToolEntry } from "../contracts/index.js";
import type { AssessedTool } from "./assess.js";
import { compare } from "./order.js";

/** Bytes of JSON up to which what the model is shown of a tool is kept. */
export const KEPT_BYTES = 16_384;

/** One tool as it is kept. */
export function knownTool({
  tool,
  digest,
  title,
  description,
  inputSchema,
  outputSchema,
  annotations,
}: ToolEntry): KnownTool {
  const shown = {
    ...(title === undefined ? {} : { title }),
    description,
    inputSchema,
    ...(outputSchema === undefined ? {} : { outputSchema }),
    ...(annotations === undefined ? {} : { annotations }),
  };
  return { name: tool, digest, ...(canonicalBytes(shown) > KEPT_BYTES ? {} : shown) }; // known-1
}

/** Every tool of a list that has a name, those that are withheld by their digests alone. `digests`: by the tool's own name. */
export function knownTools(assessed: readonly AssessedTool[], digests: ReadonlyMap<string, Digest>): KnownTool[] {
  const entries = new Map(assessed.flatMap((one) => (one.ok ? [[one.entry.tool, one.entry] as const] : [])));
  return [...digests]
    .map(([name, digest]): KnownTool => {
      const entry = entries.get(name);
      return entry?.digest === digest ? knownTool(entry) : { name, digest };
    })
    .sort((a, b) => compare(a.name, b.name)); // known-2
}
