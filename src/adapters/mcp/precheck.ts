// Looks at a command before it is started, so that a person reads what is wrong instead of an errno.

import { basename, isAbsolute } from "node:path";
import type { StdioServer } from "../../contracts/index.js";
import { commandKind, type FileFault, findCommand } from "./command.js";
import { ServerProblem } from "./problem.js";

/** The file to start. Throws a `ServerProblem` when the folder or the command cannot work. */
export function precheck(config: StdioServer, env: Readonly<Record<string, string>>): string {
  const folder = `\`${basename(config.cwd)}\``;
  const there = commandKind(config.cwd);
  if (there === undefined) throw new ServerProblem(`the folder ${folder} (\`cwd\` of this server) does not exist`);
  if (there === "file") throw new ServerProblem(`${folder} (\`cwd\` of this server) is not a folder`);

  const found = findCommand(config.command, { cwd: config.cwd, path: env.PATH, pathExt: env.PATHEXT });
  if ("file" in found) return found.file;
  const shown = isAbsolute(config.command) ? `\`${basename(config.command)}\`` : `\`${config.command}\``;
  if (found.at === "path") throw new ServerProblem(`the command ${shown} ${PATH_FAULTS[found.fault]}`);
  const source = config.env.PATH === undefined ? "the environment toolgate was started in" : "this server's `env`";
  const relative = found.passedOver === undefined ? "" : ", whose relative folders are not looked in";
  throw new ServerProblem(`the command ${shown} was not found in PATH (from ${source})${relative}`);
}

const PATH_FAULTS: Readonly<Record<FileFault, string>> = {
  missing: "does not exist (a path: PATH is not searched)",
  directory: "is a folder, not a program",
  not_executable: "is not executable",
};
