// Assess: one server's last complete list -> the entries it may publish, what is withheld, and the aliases it claims.
//
//   K5. A tool that cannot be published is named with its reason and harms no other.

import {
  aliasOf,
  type CatalogLimits,
  hasHidden,
  LOCAL,
  oneLine,
  type ServerStatus,
  type SnapshotServer,
  type ToolEntry,
  type WithheldTool,
} from "../contracts/index.js";
import { compare } from "./order.js";
import { checkTool, nameProblem, type ToolRules } from "./tool.js";
import { isObject, own } from "./walk.js";

/** A server and its last complete list. Tools of a server that is neither `connected` nor `stale` do not count. */
export interface ServerListing {
  readonly name: string;
  readonly status: ServerStatus;
  readonly protocol?: string;
  /** Raw tools, as the server sent them. */
  readonly tools: readonly unknown[];
  /** In place of `tools`, when the raw list is gone (another process made it): what an earlier snapshot had of it. */
  readonly entries?: readonly ToolEntry[];
  /** Withheld before the list was judged (it names a secret of the host); beside `entries`: what that snapshot withheld. */
  readonly withheld?: readonly WithheldTool[];
  readonly problem?: string;
}

/** What became of one server's list. */
export interface Assessed {
  readonly server: SnapshotServer;
  readonly entries: readonly ToolEntry[];
  readonly withheld: readonly WithheldTool[];
  /** The aliases its tools lay claim to, those of withheld tools too. Each tool is one claim. */
  readonly claims: readonly { readonly alias: string; readonly tool: string }[];
  /** The server itself, not a tool of it, cannot be published. */
  readonly fault?: string;
}

export interface Patterns {
  readonly tool: RegExp | undefined;
  readonly server: RegExp | undefined;
}

export function patternsOf(limits: CatalogLimits): Patterns | string {
  try {
    return { tool: whole(limits.toolName), server: whole(limits.serverName) };
  } catch {
    return "`catalog.limits.toolName` or `catalog.limits.serverName` is no regular expression";
  }
}

function whole(pattern: string | undefined): RegExp | undefined {
  return pattern === undefined ? undefined : new RegExp(`^(?:${pattern})$`, "u");
}

/** What a server's list is judged by. */
export interface ServerRules {
  readonly limits: CatalogLimits;
  readonly patterns: Patterns;
  readonly injected: (server: string, tool: string) => readonly string[];
}

export function assess(listing: ServerListing, { limits, patterns, injected }: ServerRules): Assessed {
  const fault = serverFault(listing, limits, patterns);
  if (fault !== undefined) {
    const server = serverOf(listing, "failed", [fault]);
    return { server, entries: [], withheld: [], claims: [], fault };
  }
  if (listing.entries !== undefined) return carried(listing, listing.entries);
  const rules: ToolRules = {
    limits,
    namePattern: patterns.tool,
    protocol: listing.protocol,
    injected: (tool) => injected(listing.name, tool),
  };
  const entries: ToolEntry[] = [];
  const withheld: WithheldTool[] = (listing.withheld ?? []).filter((row) => row.server === listing.name);
  const claims: { alias: string; tool: string }[] = [];
  const notes: string[] = [];
  const leaveOut = (tool: unknown, reason: string) =>
    withheld.push({ server: listing.name, tool: typeof tool === "string" ? oneLine(tool, 128) : "", reason });
  for (const raw of published(listing)) {
    const name = isObject(raw) ? own(raw, "name") : undefined;
    const nameless = nameProblem(name, patterns.tool);
    if (!isObject(raw)) leaveOut("", "it is no object");
    else if (nameless !== undefined) leaveOut(name, nameless);
    else if (typeof name === "string") {
      claims.push({ alias: aliasOf(listing.name, name), tool: name });
      const checked = checkTool(listing.name, name, raw, rules);
      if (!checked.ok) leaveOut(name, checked.reason);
      else entries.push(checked.entry);
      if (checked.ok && checked.note !== undefined) notes.push(checked.note);
    }
  }
  return { server: serverOf(listing, listing.status, notes), entries, withheld, claims };
}

/** Entries of an earlier snapshot were checked when it was made; its content was checked when it was loaded. */
function carried(listing: ServerListing, all: readonly ToolEntry[]): Assessed {
  const entries = all.filter((entry) => entry.server === listing.name);
  return {
    server: serverOf(listing, listing.status, []),
    entries,
    withheld: (listing.withheld ?? []).filter((row) => row.server === listing.name),
    claims: entries.map(({ alias, tool }) => ({ alias, tool })),
  };
}

/** A server whose list is not looked at. Too many tools are a failed discovery, not a reason to cut the list. */
function serverFault(listing: ServerListing, limits: CatalogLimits, patterns: Patterns): string | undefined {
  const { name } = listing;
  if (name === "" || name === LOCAL) return "its name is empty or stands for the host's own tools";
  if (/[\n\t]/.test(name) || hasHidden(name)) return "its name has characters that cannot be seen";
  if (patterns.server !== undefined && !patterns.server.test(name))
    return "its name does not fit `catalog.limits.serverName`";
  return published(listing).length > limits.tools ? `the server lists more than ${limits.tools} tools` : undefined;
}

function published(listing: ServerListing): readonly unknown[] {
  return listing.status === "connected" || listing.status === "stale" ? listing.tools : [];
}

function serverOf(listing: ServerListing, status: ServerStatus, notes: readonly string[]): SnapshotServer {
  const problem = [...(listing.problem === undefined ? [] : [listing.problem]), ...notes.toSorted(compare)].join("; ");
  return {
    name: listing.name,
    status,
    ...(listing.protocol === undefined ? {} : { protocol: listing.protocol }),
    toolCount: 0,
    ...(problem === "" ? {} : { problem: oneLine(problem) }),
  };
}
