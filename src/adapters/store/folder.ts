// Folders of a store. Node's recursive mkdir never returns where the parent refuses entries for good (as /proc does), so
// the missing ones are made one by one, from the nearest that is there.

import { mkdirSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";

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
