// Which folders a configured server can be expected to write, as far as its configuration shows.
//
//   roots-1. A root is a folder that is named in a stdio server's arguments (`/srv`, `./data`, `--root=/srv`) or environment,
//            or the folder it starts in. Files, such as a script, are no roots.
//   roots-2. Starting in the configuration's own folder is every server's default and is no sign of writing there. Starting
//            above that folder, or inside the store, is.
//   roots-3. Symbolic links are followed on both sides.

import { realpathSync, statSync } from "node:fs";
import { isAbsolute, relative, resolve, sep } from "node:path";
import type { Config, StdioServer } from "../../contracts/index.js";
import { folderOf } from "../sqlite/folder.js";

/** A part of toolgate that no server may write, inside a folder that one may write. */
export interface ExposedPath {
  readonly what: "configuration" | "store";
  readonly root: string;
}

/** The parts of toolgate that a server could write, one entry for each. */
export function exposedBy(server: StdioServer, config: Config): ExposedPath[] {
  const folder = real(config.folder);
  const kept = [folderOf(config), markOf(config)].flatMap((path) => (path === undefined ? [] : [real(path)]));
  const cwd = real(server.cwd);
  const roots = [...namedFolders(server), ...(cwd === folder ? [] : [cwd])]; // roots-2
  const exposed: ExposedPath[] = [];
  const holdsFile = roots.find((root) => contains(root, folder));
  if (holdsFile !== undefined) exposed.push({ what: "configuration", root: holdsFile });
  const holdsStore = roots.find((root) => kept.some((path) => contains(root, path) || contains(path, root)));
  if (holdsStore) exposed.push({ what: "store", root: holdsStore });
  return exposed;
}

function markOf({ store }: Config): string | undefined {
  return store.kind === "memory" ? undefined : store.mark;
}

/** Variables that name folders and do not show what a server writes. */
const NOT_ROOTS = new Set(["HOME", "PWD", "TMPDIR", "TMP", "TEMP", "USERPROFILE"]);

function namedFolders(server: StdioServer): string[] {
  const fromEnv = Object.entries(server.env).flatMap(([name, value]) => (NOT_ROOTS.has(name) ? [] : [value]));
  const fromArgs = server.args.flatMap((arg) => (arg.startsWith("-") ? arg.split("=").slice(1, 2) : [arg]));
  return [...fromArgs, ...fromEnv].flatMap((text) => {
    const path = resolve(server.cwd, text);
    return looksLikePath(text) && isFolder(path) ? [real(path)] : [];
  });
}

function looksLikePath(text: string): boolean {
  return text !== "" && !text.includes("\0") && !/^[a-z][a-z0-9+.-]+:/i.test(text) && text.length < 4_096;
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

/** The path without links; for what is not there yet, that of its nearest folder that is. (roots-3) */
function real(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = resolve(path, "..");
    return parent === path ? path : resolve(real(parent), relative(parent, path));
  }
}

/** Whether `inner` is `outer` or lies in it. */
export function contains(outer: string, inner: string): boolean {
  const way = relative(outer, inner);
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}
