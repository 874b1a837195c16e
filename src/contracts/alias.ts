// Alias: the one name under which a model sees a server's tool.
//
//   N1. An alias has only the characters every provider accepts and at most 64 of them.
//   N2. Nothing ever splits an alias: it is looked up whole, in a snapshot. Server and tool names may hold any separator.

import { sha256 } from "./digest.js";

export const ALIAS_CHARS = 64;

/** A name with every character a provider may refuse mapped to `_`. */
export function mapName(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/gu, "_");
}

/** `mcp__{server}__{tool}`, mapped; longer than 64: cut and ended with `_` and 8 hex digits of the full name's hash. */
export function aliasOf(server: string, tool: string): string {
  const full = `mcp__${server}__${tool}`;
  const mapped = mapName(full);
  if (mapped.length <= ALIAS_CHARS) return mapped;
  return `${mapped.slice(0, ALIAS_CHARS - 9)}_${sha256(full).slice(0, 8)}`;
}
