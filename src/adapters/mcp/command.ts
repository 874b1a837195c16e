// Finds the program that a stdio server's `command` would start, as the system would find it, without starting it.
// `toolgate check` uses it, and so does the transport, which starts the very file that was found.
//
//   command-1. Only absolute folders of PATH are looked in. An empty or relative one stands for the folder that a program starts
//              in, and a file that lies there by accident is never started.

import { accessSync, constants, type Stats, statSync } from "node:fs";
import { posix, resolve, win32 } from "node:path";

export interface CommandLookup {
  /** The folder the program would start in, absolute. A command with a slash begins there. */
  readonly cwd: string;
  /** The search path the server gets. */
  readonly path: string | undefined;
  /** @default process.platform */
  readonly platform?: NodeJS.Platform;
  /** Windows: endings that are tried. @default ".COM;.EXE;.BAT;.CMD" */
  readonly pathExt?: string | undefined;
}

/** Why a file cannot be started. */
export type FileFault = "missing" | "directory" | "not_executable";

export type FoundCommand =
  | { readonly file: string }
  /** The command is a path, and the file there cannot be started. */
  | { readonly at: "path"; readonly fault: FileFault }
  /** No folder of PATH has the program. `fault` is that of the first file of this name that cannot be started. */
  | {
      readonly at: "PATH";
      readonly fault: FileFault;
      /** A folder of PATH that has the program and is not looked in. (command-1) */
      readonly passedOver?: string;
    };

/** The file that would be started, or why there is none. Never throws. */
export function findCommand(command: string, lookup: CommandLookup): FoundCommand {
  const windows = (lookup.platform ?? process.platform) === "win32";
  const endings = windows ? ["", ...(lookup.pathExt ?? ".COM;.EXE;.BAT;.CMD").split(";")] : [""];
  const isPath = command.includes("/") || (windows && command.includes("\\"));
  let fault: FileFault = "missing";
  let passedOver: string | undefined;
  for (const folder of isPath ? [""] : foldersOf(lookup.path, windows)) {
    const lookedIn = isPath || isAbsolute(folder, windows);
    for (const ending of endings) {
      const file = resolve(lookup.cwd, folder, command + ending);
      const found = faultOf(file, windows);
      if (found === undefined && lookedIn) return { file };
      if (found === undefined) passedOver ??= folder;
      else if (lookedIn && fault === "missing") fault = found;
    }
  }
  if (isPath) return { at: "path", fault };
  return { at: "PATH", fault, ...(passedOver === undefined ? {} : { passedOver }) };
}

/**
 * The environment with a PATH without the entries that are not looked in, so that what the program itself starts is not found
 * there either. Where none is left, PATH is left out: an empty one stands for the folder that a program starts in. (command-1)
 */
export function withAbsolutePath(env: Readonly<Record<string, string>>): Record<string, string> {
  const windows = process.platform === "win32";
  const { PATH: path, ...others } = env;
  const kept = foldersOf(path, windows).filter((folder) => isAbsolute(folder, windows));
  return kept.length === 0 ? others : { ...others, PATH: kept.join(windows ? ";" : ":") };
}

function foldersOf(path: string | undefined, windows: boolean): string[] {
  return path?.split(windows ? ";" : ":") ?? [];
}

function isAbsolute(folder: string, windows: boolean): boolean {
  return (windows ? win32 : posix).isAbsolute(folder);
}

function faultOf(file: string, windows: boolean): FileFault | undefined {
  const found = statOf(file);
  if (found === undefined) return "missing";
  if (found.isDirectory()) return "directory";
  if (windows) return undefined;
  try {
    accessSync(file, constants.X_OK);
    return undefined;
  } catch {
    return "not_executable";
  }
}

/** What stands at `path`; undefined when nothing does, or when the system refuses to look. */
export function commandKind(path: string): "folder" | "file" | undefined {
  const found = statOf(path);
  if (found === undefined) return undefined;
  return found.isDirectory() ? "folder" : "file";
}

/** Undefined also where the system refuses to look: the name is too long, or a folder on the way may not be searched. */
function statOf(file: string): Stats | undefined {
  try {
    return statSync(file, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
