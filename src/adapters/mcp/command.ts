// Finds the program that a stdio server's `command` would start, as the system would find it, without starting it.
// `toolgate check` uses it, and so does the transport before it starts the server.

import { accessSync, constants, type Stats, statSync } from "node:fs";
import { resolve } from "node:path";

export interface CommandLookup {
  /** The folder the program would start in, absolute. A command with a slash and a relative entry of PATH begin there. */
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
  | { readonly at: "PATH"; readonly fault: FileFault };

/** The file that would be started, or why there is none. Never throws. */
export function findCommand(command: string, lookup: CommandLookup): FoundCommand {
  const windows = (lookup.platform ?? process.platform) === "win32";
  const endings = windows ? ["", ...(lookup.pathExt ?? ".COM;.EXE;.BAT;.CMD").split(";")] : [""];
  const isPath = command.includes("/") || (windows && command.includes("\\"));
  let fault: FileFault = "missing";
  for (const folder of isPath ? [""] : (lookup.path?.split(windows ? ";" : ":") ?? [])) {
    for (const ending of endings) {
      // An empty entry of PATH means the folder that the program starts in.
      const file = resolve(lookup.cwd, folder, command + ending);
      const found = faultOf(file, windows);
      if (found === undefined) return { file };
      if (fault === "missing") fault = found;
    }
  }
  return { at: isPath ? "path" : "PATH", fault };
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
