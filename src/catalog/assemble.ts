// Assemble: makes one snapshot of every server's last complete list and the host's own tools. It is published whole or not
// at all.
//
// It is pure, synchronous and total. The host's own tools stand first, then the servers' tools in the order of the server's
// name and their own name. So a prompt does not change because a server answered sooner or lists in another order.
//
//   assemble-1. Equal catalogs have equal snapshots and ids, whatever the order of servers, tools and keys.
//   assemble-2. A tool that cannot be published is withheld: it is named with the reason, and the other tools stay. Under
//               `refuse` one such tool refuses the whole catalog.
//   assemble-3. A tool that the host hides is named with the reason among the withheld ones. It refuses nothing, counts for no
//               bound and asks for no alias.
//   assemble-4. A tool that the host's own rules keep back is withheld in the same way, and never refuses the catalog.

import {
  type CatalogLimits,
  digest,
  type JsonObject,
  LOCAL,
  notHashable,
  oneLine,
  type ToolEntry,
  type ToolSnapshot,
  type WithheldTool,
} from "../contracts/index.js";
import { assess, patternsOf, type ServerListing } from "./assess.js";
import { inOrder, settleAliases } from "./collide.js";
import { withoutInjected } from "./inject.js";
import { compare } from "./order.js";
import { sealSnapshot } from "./seal-snapshot.js";

export { type AssessedTool, assessTool, patternsOf, type ServerListing, type ServerRules } from "./assess.js";
export { describeServers } from "./describe.js";
export { loadSnapshot } from "./seal-snapshot.js";
export { summarise } from "./summary.js";

/** A tool of the host's own, or a built-in. Its name is its alias. */
export interface LocalTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
}

export interface AssembleOptions {
  readonly limits: CatalogLimits;
  readonly onInvalid: "withhold" | "refuse";
  /** Parameters of a tool that the host fills in. **Contract:** pure, does not throw. */
  readonly injected: (server: string, tool: string) => readonly string[];
  /** Why the host's own rules keep a tool back; undefined when they do not. **Contract:** pure, does not throw. @default none is kept back */
  readonly keptBack?: (entry: ToolEntry) => string | undefined;
}

export type AssembleResult =
  | { readonly ok: true; readonly snapshot: ToolSnapshot }
  | { readonly ok: false; readonly problem: string };

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

  const ordered = [...listings].sort((a, b) => compare(a.name, b.name)); // assemble-1
  const assessed = ordered.map((listing) => assess(listing, { limits, patterns, injected: options.injected }));
  const fault = assessed.find((one) => one.fault !== undefined);
  if (fault !== undefined && options.onInvalid === "refuse")
    return refuse(`the server \`${oneLine(fault.server.name, 80)}\` is refused: ${fault.fault}`);

  const { tools, withheld } = settleAliases(assessed, own);
  const [first] = withheld; // assemble-2
  if (first !== undefined && options.onInvalid === "refuse")
    return refuse(`\`${first.tool}\` of \`${oneLine(first.server, 80)}\` is refused: ${first.reason}`);
  const kept = keepBack([...own, ...tools], options); // assemble-4
  const servers = assessed.map(({ server }) => ({ ...server, toolCount: countOf(kept.tools, server.name) }));
  const contents = new Map(assessed.flatMap((one) => [...one.contents]));
  const hidden = ordered.flatMap((listing) => listing.hidden ?? []);
  const out = [...withheld, ...kept.withheld, ...hidden];
  const all = out.length === withheld.length ? withheld : inOrder(out);
  return { ok: true, snapshot: sealSnapshot({ servers, tools: kept.tools, withheld: all }, contents) };
}

function keepBack(entries: readonly ToolEntry[], { keptBack }: AssembleOptions) {
  const tools: ToolEntry[] = [];
  const withheld: WithheldTool[] = [];
  for (const entry of entries) {
    const reason = keptBack?.(entry);
    if (reason === undefined) tools.push(entry);
    else withheld.push({ server: entry.server, tool: oneLine(entry.tool, 128), reason: oneLine(reason) });
  }
  return { tools, withheld };
}

/** The host's own tools. Only the host can mend a fault in one of them, so a fault is a problem and withholds no tool. */
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

function countOf(tools: readonly ToolEntry[], server: string): number {
  return tools.reduce((count, tool) => count + (tool.server === server ? 1 : 0), 0);
}

function refuse(problem: string): AssembleResult {
  return { ok: false, problem: oneLine(problem) };
}
