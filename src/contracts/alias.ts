// Alias: the one name under which a model sees a server's tool.
//
// An alias has only characters that every provider accepts, and at most 64 of them. Nothing ever splits an alias into server
// and tool: it is looked up as a whole in a snapshot, because the names of servers and tools may hold any separator.

import { sha256 } from "./digest.js";

export const ALIAS_CHARS = 64;

/** A name with every character a provider may refuse mapped to `_`. */
export function mapName(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/gu, "_");
}

/**
 * `mcp__{server}__{tool}`, mapped. An alias that would be longer than 64 characters is cut, and ends with `_` and 8 hex digits
 * of the hash of the full name.
 */
export function aliasOf(server: string, tool: string): string {
  const full = `mcp__${server}__${tool}`;
  const mapped = mapName(full);
  if (mapped.length <= ALIAS_CHARS) return mapped;
  return `${mapped.slice(0, ALIAS_CHARS - 9)}_${sha256(full).slice(0, 8)}`;
}
