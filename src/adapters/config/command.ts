// Finds the program a server's `command` would start, as the system would, without starting it.

import { accessSync, constants, statSync } from "node:fs";
import { join, resolve } from "node:path";

export interface CommandLookup {
  /** Absolute: what a command with a slash is relative to. */
  readonly cwd: string;
  /** The search path the server gets. */
  readonly path: string | undefined;
  /** @default process.platform */
  readonly platform?: NodeJS.Platform;
  /** Windows: endings that are tried. @default ".COM;.EXE;.BAT;.CMD" */
  readonly pathExt?: string | undefined;
}

export type FoundCommand = { readonly file: string } | { readonly problem: string };

/** The file that would be started, or the end of a sentence that says why there is none. */
export function findCommand(command: string, lookup: CommandLookup): FoundCommand {
  const windows = (lookup.platform ?? process.platform) === "win32";
  const endings = windows ? ["", ...(lookup.pathExt ?? ".COM;.EXE;.BAT;.CMD").split(";")] : [""];
  const hasFolder = command.includes("/") || (windows && command.includes("\\"));
  if (!hasFolder && !lookup.path) return { problem: "cannot be found: PATH is empty" };
  const folders = hasFolder ? [lookup.cwd] : (lookup.path as string).split(windows ? ";" : ":");
  let nearMiss: string | undefined;
  for (const folder of folders) {
    for (const ending of endings) {
      const file = hasFolder ? resolve(folder, command + ending) : join(folder || lookup.cwd, command + ending);
      const problem = notRunnable(file, windows);
      if (problem === undefined) return { file };
      if (problem !== "is not there") nearMiss ??= problem;
    }
  }
  return { problem: nearMiss ?? (hasFolder ? "is not there" : "is not on PATH") };
}

function notRunnable(file: string, windows: boolean): string | undefined {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined) return "is not there";
  if (found.isDirectory()) return "is a directory";
  if (windows) return undefined;
  try {
    accessSync(file, constants.X_OK);
    return undefined;
  } catch {
    return "may not be executed";
  }
}
