// The configuration that a command works with: the file, and what the command line changes of it.

import { isAbsolute, resolve } from "node:path";
import { hostFindings } from "../adapters/config/findings.js";
import { readConfig } from "../adapters/config/load.js";
import { type Config, type Finding, oneLine } from "../contracts/index.js";
import { withKeptSecret } from "../create/secret.js";
import type { Context } from "./io.js";

export interface ConfigOptions {
  /** In place of the configuration's model; a `scripted:` path is relative to the caller. */
  readonly model?: string | undefined;
  /** Whether the command stores or checks answers, which needs the secret of the seals. @default false */
  readonly seals?: boolean;
}

/** The configuration, with the findings about its file. */
export async function configOf(
  { io, options }: Context,
  { model, seals }: ConfigOptions = {},
): Promise<{ config: Config; findings: readonly Finding[] }> {
  const { config, findings } = await readConfig(options.config, io.env);
  const own = model === undefined ? config : { ...config, model: modelName(model, io.cwd) };
  return { config: seals ? withKeptSecret(own) : own, findings };
}

/** The same, with the findings told on stderr. */
export async function notedConfig(context: Context, options: ConfigOptions): Promise<Config> {
  const { config, findings } = await configOf(context, options);
  for (const finding of [...findings, ...hostFindings(config)])
    context.note(`warning: ${oneLine(finding.message, 1_000)}`);
  return config;
}

function modelName(model: string, cwd: string): string {
  const path = /^scripted:(.+)$/s.exec(model)?.[1];
  return path === undefined || isAbsolute(path) ? model : `scripted:${resolve(cwd, path)}`;
}
