// Assess: decides which tools of one server's last complete list may be published, which are withheld and why, and which
// aliases they claim. It is pure and synchronous.

import {
  aliasOf,
  type CatalogLimits,
  type Digest,
  hasHidden,
  isObject,
  LOCAL,
  oneLine,
  type ServerStatus,
  type SnapshotServer,
  type ToolEntry,
  type WithheldTool,
} from "../contracts/index.js";
import { compare } from "./order.js";
import { type CheckedTool, checkTool, nameProblem, type ToolRules } from "./tool.js";
import { own } from "./walk.js";

/** A server and its last complete list. Tools of a server that is neither `connected` nor `stale` do not count. */
export interface ServerListing {
  readonly name: string;
  readonly status: ServerStatus;
  readonly protocol?: string;
  /** Raw tools, as the server sent them. */
  readonly tools: readonly unknown[];
  /** In place of `tools`, when `assessTool` has assessed each of them already, by the same rules. */
  readonly assessed?: readonly AssessedTool[];
  /** The entries of an earlier snapshot, in place of `tools`, when another process made the list and it is gone. */
  readonly entries?: readonly ToolEntry[];
  /** Tools that were withheld before the list was assessed; beside `entries`, the tools that the earlier snapshot withheld. */
  readonly withheld?: readonly WithheldTool[];
  /** Tools that the host does not offer, and why. They are named beside the withheld ones, and are no fault of the list. */
  readonly hidden?: readonly WithheldTool[];
  readonly problem?: string;
}

/** An alias that a tool would have. */
export interface AliasClaim {
  readonly alias: string;
  readonly tool: string;
}

/** What became of one tool of a list. */
export type AssessedTool =
  | Extract<CheckedTool, { readonly ok: true }>
  /** `claim` is there when the tool has a usable name. */
  | { readonly ok: false; readonly withheld: WithheldTool; readonly claim?: AliasClaim };

/** What became of one server's list. */
export interface Assessed {
  readonly server: SnapshotServer;
  readonly entries: readonly ToolEntry[];
  readonly withheld: readonly WithheldTool[];
  /** The digest of each entry, where it is known. */
  readonly contents: ReadonlyMap<ToolEntry, Digest>;
  /** The aliases its tools lay claim to, those of withheld tools too. Each tool is one claim. */
  readonly claims: readonly AliasClaim[];
  /** Why the server itself, and not only one of its tools, cannot be published. */
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

/** What a server's list is assessed by. */
export interface ServerRules {
  readonly limits: CatalogLimits;
  readonly patterns: Patterns;
  readonly injected: (server: string, tool: string) => readonly string[];
}

/**
 * Assesses one tool of a server's list. `text`: its JSON text, when the caller has it. It is synchronous: whoever assesses a
 * large list decides where to pause.
 */
export function assessTool(
  { name: server, protocol }: Pick<ServerListing, "name" | "protocol">,
  raw: unknown,
  { limits, patterns, injected }: ServerRules,
  text?: string | undefined,
): AssessedTool {
  const leaveOut = (tool: unknown, reason: string): AssessedTool & { readonly ok: false } => {
    const shown = typeof tool === "string" ? oneLine(tool, 128) : "";
    return { ok: false, withheld: { server, tool: shown, reason } };
  };
  if (!isObject(raw)) return leaveOut("", "it is no object");
  const name = own(raw, "name");
  const problem = nameProblem(name, patterns.tool);
  if (problem !== undefined || typeof name !== "string") return leaveOut(name, problem ?? "it has no name");
  const rules: ToolRules = { limits, protocol, injected: (tool) => injected(server, tool) };
  const checked = checkTool(server, name, raw, rules, text);
  if (checked.ok) return checked;
  return { ...leaveOut(name, checked.reason), claim: { alias: aliasOf(server, name), tool: name } };
}

/** Assesses a server's list. */
export function assess(listing: ServerListing, rules: ServerRules): Assessed {
  const fault = serverFault(listing, rules);
  if (fault !== undefined) {
    const server = serverOf(listing, "failed", [fault]);
    return { server, entries: [], contents: new Map(), withheld: [], claims: [], fault };
  }
  if (listing.entries !== undefined) return carried(listing, listing.entries);
  const entries: ToolEntry[] = [];
  const contents = new Map<ToolEntry, Digest>();
  const withheld: WithheldTool[] = (listing.withheld ?? []).filter((row) => row.server === listing.name);
  const claims: AliasClaim[] = [];
  const notes: string[] = [];
  for (const tool of assessedOf(listing, rules)) {
    if (!tool.ok) {
      withheld.push(tool.withheld); // assemble-2
      if (tool.claim !== undefined) claims.push(tool.claim);
      continue;
    }
    entries.push(tool.entry);
    contents.set(tool.entry, tool.content);
    claims.push({ alias: tool.entry.alias, tool: tool.entry.tool });
    if (tool.note !== undefined) notes.push(tool.note);
  }
  return { server: serverOf(listing, listing.status, notes), entries, contents, withheld, claims };
}

function assessedOf(listing: ServerListing, rules: ServerRules): readonly AssessedTool[] {
  if (!isPublished(listing)) return [];
  return listing.assessed ?? listing.tools.map((raw) => assessTool(listing, raw, rules));
}

/**
 * Entries of an earlier snapshot are not checked again. They were checked when it was made, and its id was checked when it was
 * loaded.
 */
function carried(listing: ServerListing, all: readonly ToolEntry[]): Assessed {
  const entries = all.filter((entry) => entry.server === listing.name);
  return {
    server: serverOf(listing, listing.status, []),
    entries,
    contents: new Map(),
    withheld: (listing.withheld ?? []).filter((row) => row.server === listing.name),
    claims: entries.map(({ alias, tool }) => ({ alias, tool })),
  };
}

/** Says why a server's list is not looked at. A list with too many tools has failed; it is never cut to fit. */
function serverFault(listing: ServerListing, { limits, patterns }: ServerRules): string | undefined {
  const { name } = listing;
  if (name === "" || name === LOCAL) return "its name is empty or stands for the host's own tools";
  if (/[\n\t]/.test(name) || hasHidden(name)) return "its name has characters that cannot be seen";
  if (patterns.server !== undefined && !patterns.server.test(name))
    return "its name does not fit `catalog.limits.serverName`";
  const count = isPublished(listing) ? (listing.assessed ?? listing.tools).length : 0;
  return count > limits.tools ? `the server lists more than ${limits.tools} tools` : undefined;
}

function isPublished({ status }: ServerListing): boolean {
  return status === "connected" || status === "stale";
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
