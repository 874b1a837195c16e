// Assemble: every server's last complete list and the host's own tools -> one snapshot, published whole or not at all.
//
// Pure, synchronous, total. Tools stand in the order of their server's name, then their own: `local` first, so that a
// prompt does not change because a server answered sooner or lists in another order.
//
//   K3. Equal catalogs have equal snapshots and ids, whatever the order of servers, tools and keys.
//   K4. No alias is ambiguous: tools that share one are all left out, never the first or last of them kept.
//   K5. A tool that cannot be published is named with its reason and harms no other; under `refuse` it stops everything.

import {
  aliasOf,
  type CatalogLimits,
  digest,
  hasHidden,
  type JsonObject,
  LOCAL,
  notHashable,
  oneLine,
  type ServerStatus,
  type SnapshotServer,
  type ToolEntry,
  type ToolSnapshot,
  type WithheldTool,
} from "../contracts/index.js";
import { withoutInjected } from "./inject.js";
import { seal } from "./snapshot.js";
import { checkTool, nameProblem, type ToolRules } from "./tool.js";
import { isObject, own } from "./walk.js";

export { describeServers } from "./describe.js";
export { loadSnapshot } from "./snapshot.js";
export { summarise } from "./summary.js";

/** A server and its last complete list. Tools of a server that is neither `connected` nor `stale` do not count. */
export interface ServerListing {
  readonly name: string;
  readonly status: ServerStatus;
  readonly protocol?: string;
  /** Raw tools, as the server sent them. */
  readonly tools: readonly unknown[];
  /** In place of `tools`, when the raw list is gone (another process made it): what an earlier snapshot had of it. */
  readonly entries?: readonly ToolEntry[];
  /** Beside `entries`: what that snapshot withheld. */
  readonly withheld?: readonly WithheldTool[];
  readonly problem?: string;
}

/** A tool of the host's own, or a built-in. Its name is its alias. */
export interface LocalTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
}

export interface AssembleOptions {
  readonly limits: CatalogLimits;
  readonly onInvalid: "withhold" | "refuse";
  /** Parameters of a tool that the host fills in. Contract: pure, does not throw. */
  readonly injected: (server: string, tool: string) => readonly string[];
}

export type AssembleResult =
  | { readonly ok: true; readonly snapshot: ToolSnapshot }
  | { readonly ok: false; readonly problem: string };

/** What became of one server's list. */
interface Assessed {
  readonly server: SnapshotServer;
  readonly entries: readonly ToolEntry[];
  readonly withheld: readonly WithheldTool[];
  /** The aliases its tools lay claim to, those of withheld tools too. Each tool is one claim. */
  readonly claims: readonly { readonly alias: string; readonly tool: string }[];
  /** The server itself, not a tool of it, cannot be published. */
  readonly fault?: string;
}

/** Assembles a snapshot, deeply frozen, or says why there is none. */
export function assemble(
  listings: readonly ServerListing[],
  locals: readonly LocalTool[],
  options: AssembleOptions,
): AssembleResult {
  const { limits } = options;
  if (listings.length > limits.servers) return refuse(`there are more than ${limits.servers} servers`);
  const patterns = patternsOf(limits);
  if (typeof patterns === "string") return refuse(patterns);
  const names = listings.map((listing) => listing.name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) return refuse(`the server \`${oneLine(twice, 80)}\` is there twice`);
  const own = localEntries(locals, options);
  if (typeof own === "string") return refuse(own);

  const ordered = [...listings].sort((a, b) => compare(a.name, b.name)); // K3
  const assessed = ordered.map((listing) => assess(listing, options, patterns));
  const fault = assessed.find((one) => one.fault !== undefined);
  if (fault !== undefined && options.onInvalid === "refuse")
    return refuse(`the server \`${oneLine(fault.server.name, 80)}\` is refused: ${fault.fault}`);

  const { tools, withheld } = settleAliases(assessed, own);
  const [first] = withheld;
  if (first !== undefined && options.onInvalid === "refuse")
    // K5
    return refuse(`\`${first.tool}\` of \`${oneLine(first.server, 80)}\` is refused: ${first.reason}`);
  const servers = assessed.map(({ server }) => ({ ...server, toolCount: countOf(tools, server.name) }));
  return { ok: true, snapshot: seal({ servers, tools: [...own, ...tools], withheld }) };
}

interface Patterns {
  readonly tool: RegExp | undefined;
  readonly server: RegExp | undefined;
}

function patternsOf(limits: CatalogLimits): Patterns | string {
  try {
    return { tool: whole(limits.toolName), server: whole(limits.serverName) };
  } catch {
    return "`catalog.limits.toolName` or `catalog.limits.serverName` is no regular expression";
  }
}

function whole(pattern: string | undefined): RegExp | undefined {
  return pattern === undefined ? undefined : new RegExp(`^(?:${pattern})$`, "u");
}

/** The host's own tools: a fault among them is the host's to mend, so it is a problem and never a withheld tool. */
function localEntries(locals: readonly LocalTool[], options: AssembleOptions): ToolEntry[] | string {
  const entries: ToolEntry[] = [];
  for (const { name, description, inputSchema } of locals) {
    const shown = oneLine(name, 80);
    if (!/^[A-Za-z0-9_-]{1,64}$/.test(name)) return `the local tool \`${shown}\` has a name that providers refuse`;
    if (entries.some((entry) => entry.alias === name)) return `the local tool \`${shown}\` is there twice`;
    const covered = { name, description, inputSchema };
    const foreign = notHashable(covered);
    if (foreign !== undefined) return `the local tool \`${shown}\` is no plain JSON: ${foreign}`;
    const left = withoutInjected(structuredClone(inputSchema), options.injected(LOCAL, name));
    if (!left.ok) return `the local tool \`${shown}\`: ${left.problem}`;
    const entry = { alias: name, server: LOCAL, tool: name, description, inputSchema: left.schema };
    entries.push({ ...entry, digest: digest(covered) });
  }
  return entries.sort((a, b) => compare(a.alias, b.alias));
}

function assess(listing: ServerListing, options: AssembleOptions, patterns: Patterns): Assessed {
  const { limits } = options;
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
    injected: (tool) => options.injected(listing.name, tool),
  };
  const entries: ToolEntry[] = [];
  const withheld: WithheldTool[] = [];
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

/** Leaves out every tool whose alias another tool lays claim to as well, whichever of them came first. (K4) */
function settleAliases(
  assessed: readonly Assessed[],
  locals: readonly ToolEntry[],
): { tools: ToolEntry[]; withheld: WithheldTool[] } {
  const claims = new Map<string, { server: string; tool: string }[]>();
  for (const { alias } of locals) claims.set(alias, [{ server: LOCAL, tool: alias }]);
  for (const { server, claims: made } of assessed)
    for (const { alias, tool } of made)
      claims.set(alias, [...(claims.get(alias) ?? []), { server: server.name, tool }]);

  const tools: ToolEntry[] = [];
  const withheld = assessed.flatMap((one) => one.withheld);
  for (const entry of assessed.flatMap((one) => one.entries)) {
    const rivals = (claims.get(entry.alias) ?? []).filter(
      (claim) => claim.server !== entry.server || claim.tool !== entry.tool,
    );
    const reason = clash(entry, rivals, claims.get(entry.alias)?.length ?? 0);
    if (reason === undefined) tools.push(entry);
    else withheld.push({ server: entry.server, tool: oneLine(entry.tool, 128), reason });
  }
  tools.sort((a, b) => compare(a.server, b.server) || compare(a.tool, b.tool)); // K3
  return { tools, withheld: inOrder(withheld) };
}

function clash(
  entry: ToolEntry,
  rivals: readonly { server: string; tool: string }[],
  claims: number,
): string | undefined {
  const [rival] = rivals.toSorted((a, b) => compare(a.server, b.server) || compare(a.tool, b.tool));
  if (rival !== undefined) {
    const whose = rival.server === entry.server ? "" : ` of \`${oneLine(rival.server, 60)}\``;
    return `its alias \`${entry.alias}\` is that of \`${oneLine(rival.tool, 80)}\`${whose} too`;
  }
  return claims > 1 ? "the server lists it more than once" : undefined;
}

/** Sorted, equal rows once: what is withheld is part of the id. (K3) */
function inOrder(withheld: readonly WithheldTool[]): WithheldTool[] {
  const rows = withheld.toSorted(
    (a, b) => compare(a.server, b.server) || compare(a.tool, b.tool) || compare(a.reason, b.reason),
  );
  return rows.filter((row, index) => {
    const before = rows[index - 1];
    return before?.server !== row.server || before.tool !== row.tool || before.reason !== row.reason;
  });
}

function countOf(tools: readonly ToolEntry[], server: string): number {
  return tools.reduce((count, tool) => count + (tool.server === server ? 1 : 0), 0);
}

function refuse(problem: string): AssembleResult {
  return { ok: false, problem: oneLine(problem) };
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
