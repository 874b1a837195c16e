// Configure: from what a caller gives to rules, settings and tools that fit together, or an error that says what does not.

import type { StructuredToolInterface } from "@langchain/core/tools";
import { checkConfig } from "../adapters/config/findings.js";
import { type Loaded, readConfig, resolveConfig } from "../adapters/config/load.js";
import { readLock } from "../adapters/config/lock.js";
import { mustHaveFolder, workingFolder } from "../adapters/process/working-folder.js";
import type { LocalTool } from "../catalog/index.js";
import {
  BUILT_INS,
  type Config,
  type Finding,
  type JsonObject,
  LOCAL,
  type Lock,
  ToolgateError,
} from "../contracts/index.js";
import { compilePolicy, compileSettings, type Policy, type Settings, unfitRules } from "../policy/index.js";
import type { ToolgateOptions } from "./options.js";
import { withKeptSecret } from "./secret.js";

export interface Configured {
  readonly config: Config;
  readonly findings: readonly Finding[];
  /** What the host pinned; undefined where there is no lock file. */
  readonly lock: Lock | undefined;
  readonly policy: Policy;
  readonly settings: Settings;
  /** The host's own tools, by name. */
  readonly tools: ReadonlyMap<string, StructuredToolInterface>;
  /** The same as the catalog lists them. */
  readonly locals: readonly LocalTool[];
}

/** Throws `config_unreadable`, `config_invalid` and `config_variable`. */
export async function configure(options: ToolgateOptions): Promise<Configured> {
  const { config, findings } = await configOf(options);
  const own = options.tools ?? [];
  refuseClashes(own);
  const tools = new Map(own.map((tool) => [tool.name, tool]));
  const context = {
    servers: [...Object.keys(config.mcpServers), ...(config.disabledServers ?? [])],
    localTools: [...tools.keys(), ...BUILT_INS],
  };
  const policy = compilePolicy(config.permissions, context);
  const settings = compileSettings(config.tools, config.mcpServers, context);
  const all = [...findings, ...policy.findings, ...settings.findings];
  const wrong = all.find((finding) => finding.level === "error");
  if (wrong) {
    const hint = "mend the configuration; `toolgate check` lists everything at once";
    throw new ToolgateError("config_invalid", wrong.message, hint);
  }
  const locals = await localTools(own);
  const listed = locals.map((tool) => ({ ...tool, alias: tool.name, server: LOCAL, tool: tool.name }));
  all.push(...unfitRules(policy.policy, listed));
  const lock = await readLock(config.lock);
  return { config, lock, findings: all, policy: policy.policy, settings: settings.settings, tools, locals };
}

async function configOf({ config: given, model }: ToolgateOptions): Promise<Loaded> {
  const loaded =
    typeof given === "string"
      ? await readConfig(given, process.env)
      : isResolved(given)
        ? { config: given, findings: [] }
        : resolveConfig(given, { folder: mustHaveFolder(workingFolder()), env: process.env });
  const checked = checkConfig(loaded.config).filter(isForNow);
  const findings = [...loaded.findings, ...checked.filter(({ code }) => !(model && code === "model_missing"))];
  return { config: withOwnSecret(loaded.config), findings };
}

/** A store in a folder keeps its secret there. Beside a store that is a server, only the command keeps one. */
function withOwnSecret(config: Config): Config {
  return config.store.kind === "sqlite" ? withKeptSecret(config) : config;
}

/** A server that cannot start is told at discovery, and the others go on; without its store nothing does. */
function isForNow({ level, code }: Finding): boolean {
  return level === "warning" || code.startsWith("store_");
}

/** A configuration that `loadConfig` returned has a folder; what a person writes has none. */
function isResolved(given: Exclude<ToolgateOptions["config"], string>): given is Config {
  return typeof (given as Partial<Config>).folder === "string" && typeof (given as Partial<Config>).limits === "object";
}

async function localTools(own: readonly StructuredToolInterface[]): Promise<LocalTool[]> {
  if (own.length === 0) return []; // the command has none, and then LangChain is not loaded for them
  const { toJsonSchema } = await import("@langchain/core/utils/json_schema");
  return own.map(({ name, description, schema }) => ({
    name,
    description,
    inputSchema: toJsonSchema(schema) as JsonObject,
  }));
}

function refuseClashes(tools: readonly StructuredToolInterface[]): void {
  const seen = new Set<string>(BUILT_INS);
  for (const { name } of tools) {
    if (seen.has(name)) {
      throw new ToolgateError(
        "config_invalid",
        `two tools are named \`${name}\``,
        `rename the host's tool; ${BUILT_INS.join(" and ")} are built in`,
      );
    }
    seen.add(name);
  }
}
