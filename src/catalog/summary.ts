// Summary: what a thread's state says of a snapshot. The snapshot itself is stored once, in the host's store.
//
//   summary-1. A summary takes at most 1,024 bytes of JSON, or at most 4,096 where the servers alone need more, whatever the
//              size of the catalog.

import {
  type EffectClass,
  oneLine,
  type SnapshotSummary,
  type ToolEntry,
  type ToolSnapshot,
} from "../contracts/index.js";

/** Bytes of JSON. Servers are named first: a person asks which servers there are before asking for their tools. */
const BYTES = 1_024;
const SERVER_BYTES = 3_072;

/** The bounded summary of a snapshot: all servers while they fit, then the first aliases, then the first withheld tools. */
export function summarise(snapshot: ToolSnapshot, effectOf: (entry: ToolEntry) => EffectClass): SnapshotSummary {
  const toolCount = snapshot.tools.length;
  const empty: SnapshotSummary = { id: snapshot.id, servers: [], tools: [], toolCount, withheld: [] };
  const base = bytesOf(empty);
  const servers = fill(
    snapshot.servers,
    ({ name, status, toolCount }) => ({ name: oneLine(name, 64), status, toolCount }),
    SERVER_BYTES - base,
  );
  const used = base + servers.bytes;
  const tools = fill(
    snapshot.tools,
    (entry) => ({ alias: entry.alias, effect: effectOf(entry) }),
    Math.max(BYTES - 192 - used, 320),
  );
  const withheld = fill(
    snapshot.withheld,
    ({ server, tool }) => `${oneLine(server, 64)}/${oneLine(tool, 64)}`,
    Math.max(BYTES - used - tools.bytes, 128),
  );
  return { ...empty, servers: servers.items, tools: tools.items, withheld: withheld.items };
}

/** The first items that fit, with the bytes they take in a JSON list. (summary-1) */
function fill<In, Out>(from: readonly In[], make: (item: In) => Out, room: number): { items: Out[]; bytes: number } {
  const items: Out[] = [];
  let bytes = 0;
  for (const item of from) {
    const made = make(item);
    const more = bytesOf(made) + 1;
    if (bytes + more > room) break;
    items.push(made);
    bytes += more;
  }
  return { items, bytes };
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
