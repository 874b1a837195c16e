// Everything below a folder, and what became different there: how a test sees that nothing was touched.

import { createHash } from "node:crypto";
import { type BigIntStats, lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join, relative } from "node:path";

/** By path. Two looks at one thing are equal unless somebody wrote, replaced, linked or changed the mode of it. */
export type Tree = Readonly<Record<string, string>>;

/** Paths, sorted. */
export interface Changes {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
}

export const NOTHING: Changes = { added: [], changed: [], removed: [] };

export function lookAt(folder: string): Tree {
  const tree: Record<string, string> = {};
  const walk = (path: string): void => {
    const stat = lstatSync(path, { bigint: true });
    tree[relative(folder, path)] = described(path, stat);
    if (stat.isDirectory()) for (const name of readdirSync(path)) walk(join(path, name));
  };
  walk(folder);
  return tree;
}

export function changesOf(before: Tree, after: Tree): Changes {
  const added = Object.keys(after).filter((path) => !Object.hasOwn(before, path));
  const removed = Object.keys(before).filter((path) => !Object.hasOwn(after, path));
  const changed = Object.keys(after).filter((path) => Object.hasOwn(before, path) && before[path] !== after[path]);
  return { added: added.sort(), changed: changed.sort(), removed: removed.sort() };
}

/** The times of a file tell of a write of the same bytes; those of a directory only say what its names say already. */
function described(path: string, stat: BigIntStats): string {
  const common = `mode ${stat.mode.toString(8)} inode ${stat.ino}`;
  if (stat.isDirectory()) return `${common} directory`;
  const one = `${common} links ${stat.nlink} size ${stat.size} written ${stat.mtimeNs} changed ${stat.ctimeNs}`;
  if (stat.isSymbolicLink()) return `${one} to ${readlinkSync(path)}`;
  if (!stat.isFile()) return `${one} special`;
  return `${one} sha256 ${createHash("sha256").update(readFileSync(path)).digest("hex")}`;
}
