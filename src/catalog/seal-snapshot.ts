// Snapshot: gives a snapshot its id, and decides whether a stored one can be trusted again.
//
//   snapshot-1. A snapshot is its content. The id covers every tool, what was withheld and which servers there are, and a
//               body that does not have the id it claims is no snapshot. Status, problems and protocol are not covered.
//   snapshot-2. A snapshot never changes: it is frozen to the bottom before anyone sees it.

import { type Digest, digest, type ToolEntry, ToolSnapshot } from "../contracts/index.js";
import { deepFreeze } from "./freeze.js";

/**
 * Gives content its id and freezes it. `known`: digests of entries, as `digest` makes them, that were computed when the
 * entries were made, so that a large catalog is not written out again at once.
 */
export function sealSnapshot(
  content: Omit<ToolSnapshot, "id">,
  known: ReadonlyMap<ToolEntry, Digest> = new Map(),
): ToolSnapshot {
  return deepFreeze({ id: idOf(content, known), ...content }); // snapshot-2
}

/** A stored snapshot, checked against its own id and frozen; undefined when it is not what it claims to be. */
export function loadSnapshot(value: unknown): ToolSnapshot | undefined {
  try {
    const parsed = ToolSnapshot.safeParse(value);
    if (!parsed.success) return undefined;
    return idOf(parsed.data, new Map()) === parsed.data.id ? deepFreeze(parsed.data) : undefined; // snapshot-1
  } catch {
    return undefined; // not hashable, or nested beyond what can be parsed
  }
}

function idOf({ servers, tools, withheld }: Omit<ToolSnapshot, "id">, known: ReadonlyMap<ToolEntry, Digest>): Digest {
  // Tools by their digests, each computed alone: nested in one value they would reach the depth bound sooner.
  return digest({
    servers: servers.map((server) => server.name).sort(),
    tools: tools.map((tool) => known.get(tool) ?? digest(tool)),
    withheld,
  });
}
