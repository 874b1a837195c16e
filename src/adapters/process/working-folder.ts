// Working folder: the folder that this process works in. The system refuses to name one that was deleted since.

import { ToolgateError } from "../../contracts/errors.js";

/** Undefined where it was deleted. */
export function workingFolder(): string | undefined {
  try {
    return process.cwd();
  } catch {
    return undefined;
  }
}

/** Throws `config_unreadable` where it was deleted: relative paths begin nowhere then. */
export function mustHaveFolder(folder: string | undefined): string {
  if (folder !== undefined) return folder;
  throw new ToolgateError(
    "config_unreadable",
    "the folder that this process works in was deleted",
    "change to a folder that exists, then start it again",
  );
}
