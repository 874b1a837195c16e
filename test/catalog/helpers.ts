import type { AssembleOptions, LocalTool, ServerListing } from "../../src/catalog/index.js";
import { assemble } from "../../src/catalog/index.js";
import { CatalogLimits, type ToolSnapshot } from "../../src/contracts/index.js";

export const LIMITS = CatalogLimits.parse({});

/** A tool as a server might send it. */
export function tool(name: string, more: Record<string, unknown> = {}): Record<string, unknown> {
  return { name, description: `does ${name}`, inputSchema: { type: "object" }, ...more };
}

export function listing(name: string, tools: readonly unknown[], more: Partial<ServerListing> = {}): ServerListing {
  return { name, status: "connected", protocol: "2025-11-25", tools, ...more };
}

export function options(more: Partial<AssembleOptions> = {}): AssembleOptions {
  return { limits: LIMITS, onInvalid: "withhold", injected: () => [], ...more };
}

export function local(name: string): LocalTool {
  return { name, description: "a tool of the host", inputSchema: { type: "object" } };
}

/** Assembles what must be possible to assemble. */
export function snapshotOf(
  listings: readonly ServerListing[],
  locals: readonly LocalTool[] = [],
  more: Partial<AssembleOptions> = {},
): ToolSnapshot {
  const result = assemble(listings, locals, options(more));
  if (!result.ok) throw new Error(result.problem);
  return result.snapshot;
}

/** Assembles what must be refused. */
export function refusalOf(
  listings: readonly ServerListing[],
  locals: readonly LocalTool[] = [],
  more: Partial<AssembleOptions> = {},
): string {
  const result = assemble(listings, locals, options(more));
  if (result.ok) throw new Error("it was assembled");
  return result.problem;
}

export const aliases = (snapshot: ToolSnapshot) => snapshot.tools.map((entry) => entry.alias);
export const reasons = (snapshot: ToolSnapshot) =>
  Object.fromEntries(snapshot.withheld.map((row) => [row.tool, row.reason]));
