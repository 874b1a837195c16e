// Accepted: tells what of a server's tools is new or changed, beside those that the host pinned or, where it did not, beside
// the first complete list of the server.
//
//   accepted-1. A pinned server is judged by its pins alone, and a server that is not pinned by its first list alone.
//   accepted-2. Where no first list is kept, or it was changed by another hand, every tool of the server is new.
//   accepted-3. Tools of the host's own and built-ins are never new.

import { differenceOf, knownTool } from "../catalog/index.js";
import { type KnownTool, LOCAL, type Lock, type News, oneLine, type ToolEntry } from "../contracts/index.js";
import type { Survives } from "../ledger/port.js";
import { createFirstLists, type FirstListDeps } from "./first-lists.js";

export interface AcceptedDeps extends FirstListDeps {
  readonly lock: Lock | undefined;
  /** The tools of a server as it last listed them; undefined when it never did in this process. */
  readonly listed: (server: string) => readonly KnownTool[] | undefined;
}

export interface Accepted {
  /** What is new of a tool; undefined where nothing is. */
  newsOf(scope: string, entry: ToolEntry): Promise<News | undefined>;
  /**
   * Keeps the lists that these servers gave as the first ones of a scope, where it has none. `survives`: "kill" is enough for a
   * run, which stores more before anything comes of them. @default "power-loss"
   */
  keep(scope: string, servers: readonly string[], survives?: Survives): Promise<void>;
  isPinned(server: string): boolean;
}

export function createAccepted({ lock, listed, ...stored }: AcceptedDeps): Accepted {
  const firstLists = createFirstLists(stored);
  const pinned = pinsOf(lock);
  return {
    isPinned: (server) => pinned.has(server),
    async keep(scope, servers, survives) {
      await Promise.all(servers.map((server) => firstLists.keep(scope, server, () => listed(server), survives)));
    },
    async newsOf(scope, entry) {
      const { server } = entry;
      if (server === LOCAL) return undefined; // accepted-3
      const pins = pinned.get(server);
      if (pins !== undefined) return compared(entry, pins, true); // accepted-1
      const first = await firstLists.of(scope, server);
      if (first.kind === "kept") return compared(entry, first.tools, false);
      const why = first.kind === "edited" ? "was changed by another hand" : "is not kept"; // accepted-2
      return {
        kind: "new",
        pinned: false,
        text: `the first list of ${named(server)} ${why}, so every tool of it counts as new`,
      };
    },
  };
}

function pinsOf(lock: Lock | undefined): ReadonlyMap<string, ReadonlyMap<string, KnownTool>> {
  const servers = Object.entries(lock?.servers ?? {});
  return new Map(servers.map(([name, { tools }]) => [name, new Map(tools.map((tool) => [tool.name, tool]))]));
}

function compared(entry: ToolEntry, accepted: ReadonlyMap<string, KnownTool>, pinned: boolean): News | undefined {
  const before = accepted.get(entry.tool);
  if (before?.digest === entry.digest) return undefined;
  const tool = `${named(entry.tool)} of ${named(entry.server)}`;
  if (before === undefined) {
    const since = pinned ? "is not among the tools that were pinned" : "was not in that server's first complete list";
    return { kind: "new", pinned, text: `${tool} is new: it ${since}` };
  }
  const since = pinned ? "since it was pinned" : "since that server's first complete list";
  return { kind: "changed", pinned, text: `${tool} has changed ${since}: ${differenceOf(before, knownTool(entry))}` };
}

const named = (name: string): string => `\`${oneLine(name, 80)}\``;
