// Configure: from what a caller gives to rules, settings and tools that fit together, or an error that says what does not.

import type { StructuredToolInterface } from "@langchain/core/tools";
import { examine } from "../adapters/config/findings.js";
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
import { type Policy, type Settings, unfitRules } from "../policy/index.js";
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
export async function configure(
  options: ToolgateOptions,
  { ownServers = false }: { readonly ownServers?: boolean } = {},
): Promise<Configured> {
  const own = options.tools ?? [];
  refuseClashes(own);
  const tools = new Map(own.map((tool) => [tool.name, tool]));
  const loaded = await loadedFrom(options.config);
  const { findings, policy, settings } = examine(loaded, {
    env: process.env,
    localTools: [...tools.keys(), ...BUILT_INS],
    // Who `identify` says is not read from LangGraph's server, and a test's agent runs in none.
    folders: ownServers || options.identify !== undefined ? [] : [process.cwd(), loaded.config.folder],
    ownModel: options.model !== undefined,
    ownServers,
  });
  const wrong = findings.find((finding) => finding.level === "error");
  if (wrong) throw refusalOf(wrong);
  const locals = await localTools(own);
  const listed = locals.map((tool) => ({ ...tool, alias: tool.name, server: LOCAL, tool: tool.name }));
  const all = [...findings, ...unfitRules(policy, listed)];
  const config = withOwnSecret(loaded.config);
  return { config, lock: await readLock(config.lock), findings: all, policy, settings, tools, locals };
}

/** A model that cannot be had has a code of its own wherever it is noticed. */
function refusalOf({ code, message }: Finding): ToolgateError {
  const hint = "mend the configuration; `toolgate check` lists everything at once";
  return new ToolgateError(code === "script_missing" ? "model_missing" : "config_invalid", message, hint);
}

function loadedFrom(given: ToolgateOptions["config"]): Loaded | Promise<Loaded> {
  if (typeof given === "string") return readConfig(given, process.env);
  return resolveConfig(given, { folder: mustHaveFolder(workingFolder()), env: process.env });
}

/** A store in a folder keeps its secret there. Beside a store that is a server, only the command keeps one. */
function withOwnSecret(config: Config): Config {
  return config.store.kind === "sqlite" ? withKeptSecret(config) : config;
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
