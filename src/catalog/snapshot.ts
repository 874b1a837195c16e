// Snapshot: what makes one, and what makes a stored one trustworthy again.
//
//   K15. A snapshot is its content: the id covers every tool, what was withheld and which servers there are, and a body
//        that does not have the id it claims is no snapshot. Status, problems and protocol are not covered.
//   K16. A snapshot never changes: it is frozen to the bottom before anyone sees it.

import { type Digest, digest, ToolSnapshot } from "../contracts/index.js";

/** Gives content its id and freezes it. */
export function seal(content: Omit<ToolSnapshot, "id">): ToolSnapshot {
  return deepFreeze({ id: idOf(content), ...content });
}

/** A stored snapshot, checked against its own id and frozen; undefined when it is not what it claims to be. */
export function loadSnapshot(value: unknown): ToolSnapshot | undefined {
  try {
    const parsed = ToolSnapshot.safeParse(value);
    if (!parsed.success) return undefined;
    return idOf(parsed.data) === parsed.data.id ? deepFreeze(parsed.data) : undefined; // K15
  } catch {
    return undefined; // not hashable, or nested beyond what can be parsed
  }
}

function idOf({ servers, tools, withheld }: Omit<ToolSnapshot, "id">): Digest {
  // Tools by their digests, each computed alone: nested in one value they would reach the depth bound sooner.
  return digest({
    servers: servers.map((server) => server.name).sort(),
    tools: tools.map((tool) => digest(tool)),
    withheld,
  });
}

/** K16. Iterative; what is frozen already is taken to be frozen to the bottom. */
function deepFreeze<T>(value: T): T {
  const pending: unknown[] = [value];
  while (pending.length > 0) {
    const item = pending.pop();
    if (typeof item !== "object" || item === null || Object.isFrozen(item)) continue;
    Object.freeze(item);
    for (const part of Object.values(item)) pending.push(part);
  }
  return value;
}
