// Folders of a store. Node's recursive mkdir never returns where the parent refuses entries for good (as /proc does), so
// the missing ones are made one by one, from the nearest that is there.

import { mkdirSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Config } from "../../contracts/index.js";

/** Makes a folder and its missing parents for their user alone. Throws what the system says. */
export function makeFolder(path: string): void {
  const missing: string[] = [];
  let at = resolve(path);
  while (!exists(at)) {
    missing.push(at);
    if (dirname(at) === at) break;
    at = dirname(at);
  }
  for (const folder of missing.reverse()) {
    try {
      mkdirSync(folder, { mode: 0o700 });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error; // another process was first
    }
  }
}

function exists(path: string): boolean {
  try {
    statSync(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
}

/** Where toolgate keeps what it keeps on this machine: the store, or beside a store that is a server the seal's secret. */
export function folderOf({ store, folder }: Pick<Config, "store" | "folder">): string | undefined {
  switch (store.kind) {
    case "memory":
      return undefined;
    case "sqlite":
      return store.path;
    case "postgres":
      return join(folder, ".toolgate");
  }
}
