// Looks at a command before it is started, so that a person reads what is wrong instead of an errno.

import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { basename, delimiter, isAbsolute, join, resolve } from "node:path";
import type { StdioServer } from "../../contracts/index.js";
import { ServerProblem } from "./problem.js";

/** Throws a `ServerProblem` when the folder or the command cannot work. */
export async function precheck(config: StdioServer, env: Readonly<Record<string, string>>): Promise<void> {
  const folder = await kind(config.cwd);
  const named = `\`${basename(config.cwd)}\``;
  if (folder === "missing") throw new ServerProblem(`the folder ${named} (\`cwd\` of this server) does not exist`);
  if (folder !== "folder") throw new ServerProblem(`${named} (\`cwd\` of this server) is not a folder`);

  const shown = isAbsolute(config.command) ? `\`${basename(config.command)}\`` : `\`${config.command}\``;
  if (config.command.includes("/")) {
    const path = resolve(config.cwd, config.command);
    const found = await kind(path);
    if (found === "missing")
      throw new ServerProblem(`the command ${shown} does not exist (a path: PATH is not searched)`);
    if (found === "folder") throw new ServerProblem(`the command ${shown} is a folder, not a program`);
    if (!(await executable(path))) throw new ServerProblem(`the command ${shown} is not executable`);
    return;
  }
  const source = config.env.PATH === undefined ? "the environment toolgate was started in" : "this server's `env`";
  for (const entry of (env.PATH ?? "").split(delimiter)) {
    const path = join(resolve(config.cwd, entry), config.command);
    if ((await kind(path)) === "file" && (await executable(path))) return;
  }
  throw new ServerProblem(`the command ${shown} was not found in PATH (from ${source})`);
}

async function kind(path: string): Promise<"missing" | "folder" | "file"> {
  try {
    return (await stat(path)).isDirectory() ? "folder" : "file";
  } catch {
    return "missing";
  }
}

async function executable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}
