// Groups: where the process groups of servers are noted, so that the next start can name what a killed host left running.

import { type NoteGroup, noteGroups } from "../adapters/process/left-behind.js";
import { folderOf } from "../adapters/sqlite/folder.js";
import type { Config } from "../contracts/index.js";

/** Undefined where the store is in memory: nothing outlives the process then. */
export function notingGroups(config: Config): NoteGroup | undefined {
  const folder = folderOf(config);
  return folder === undefined ? undefined : noteGroups(folder);
}
