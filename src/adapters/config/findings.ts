// What `toolgate check` finds wrong with a configuration without starting a server or writing a file.
//
// The policy room judges rules, permissions and `tools` keys. The findings that need the file system are made here.
//
//   check-1. An error is something without which nothing is started: what will not work, or lets a server reach what guards it. A
//            warning is a choice, or a loss that the run survives, which a person should know of. Errors come first.
//   check-2. A path or command that was filled in from a secret is not shown.
//   check-3. What `check` calls an error, `run` and `createToolgate` refuse, before any server is started.
//   check-4. A server that cannot be started is an error where it is required from the start. Otherwise the run goes on without
//            it, and it is a warning.

import { existsSync, lstatSync, statSync } from "node:fs";
import {
  BUILT_INS,
  type Config,
  type Finding,
  mistakable,
  type ServerConfig,
  type StdioServer,
  serverKey,
} from "../../contracts/index.js";
import { createRedactor, MIN_SECRET_CHARS } from "../../observation/redact.js";
import { compilePolicy, compileSettings, isHidden, type Policy, type Settings, toolPart } from "../../policy/index.js";
import { commandKind, type FoundCommand, findCommand } from "../mcp/command.js";
import { leftBehind } from "../process/left-behind.js";
import { folderOf } from "../sqlite/folder.js";
import { logFindings } from "../sqlite/wal.js";
import { exposureFindings } from "./exposure.js";
import { authFindings } from "./langgraph-auth.js";
import type { Loaded } from "./load.js";
import { isAbout, urlProblem } from "./read-servers.js";
import { contains } from "./roots.js";
import { shortSecretsOf } from "./secrets.js";
import type { Environment } from "./variables.js";

/** What the configuration is used with. */
export interface Surroundings {
  /** The environment that servers would get their PATH from. */
  readonly env: Environment;
  /** Names of the host's own tools, the built-ins among them. @default the built-ins */
  readonly localTools?: readonly string[];
  /** Folders in which a `langgraph.json` would be that of the server that runs this. @default none */
  readonly folders?: readonly string[];
  /** Whether the host brings its model, so that the configuration's is not used. @default false */
  readonly ownModel?: boolean;
  /** Whether the host brings its servers, so that no program is started. @default false */
  readonly ownServers?: boolean;
}

/** A configuration as it was examined. */
export interface Examined {
  /** Everything that is odd, errors first. With an error nothing is started. (check-3) */
  readonly findings: readonly Finding[];
  readonly policy: Policy;
  readonly settings: Settings;
}

/** Examines a configuration: the one list of findings, for `toolgate check` and for whoever runs it. */
export function examine({ config, findings: found }: Loaded, around: Surroundings): Examined {
  const servers = [...Object.keys(config.mcpServers), ...(config.disabledServers ?? [])];
  const context = { servers, localTools: around.localTools ?? [...BUILT_INS] };
  const policy = compilePolicy(config.permissions, context);
  const settings = compileSettings(config.tools, config.mcpServers, context);
  const own = [
    ...storeFindings(config),
    ...hostFindings(config),
    ...(around.ownModel ? [] : modelFindings(config)),
    ...Object.entries(config.mcpServers).flatMap(([name, server]) => serverFindings(name, server, around)),
    ...Object.keys(config.mcpServers).flatMap((name) => exposureFindings(name, config, context)),
    ...lookAlikeFindings(config),
    ...toolFindings(config),
    ...readBackFindings(config),
    ...hiddenReadBacks(settings.settings),
    ...secretFindings(config),
    ...Object.entries(config.mcpServers).flatMap(([name, server]) => shortSecretFindings(name, server)),
    ...authFindings(config, around.folders ?? []),
  ];
  const redact = createRedactor([...config.secrets, ...config.literalSecrets]); // check-2
  const findings = [
    ...own.map((finding) => ({ ...finding, message: redact(finding.message) })),
    ...policy.findings,
    ...settings.findings,
    ...found,
  ];
  findings.sort((a, b) => Number(a.level === "warning") - Number(b.level === "warning"));
  return { findings, policy: policy.policy, settings: settings.settings };
}

/** Names of places only: how long such a value is would help to guess it. */
function shortSecretFindings(name: string, server: ServerConfig): Finding[] {
  return shortSecretsOf(server).map((place) => {
    const why = `it is shorter than ${MIN_SECRET_CHARS} characters, and hiding it would hide parts of other words`;
    return warning("secret_short", `server \`${name}\`: the secret in \`${place}\` is not taken out of text: ${why}`);
  });
}

function error(code: string, message: string): Finding {
  return { level: "error", code, message };
}

function warning(code: string, message: string): Finding {
  return { level: "warning", code, message };
}

function storeFindings({ store }: Config): Finding[] {
  switch (store.kind) {
    case "postgres":
      return postgresFindings(store.url);
    case "memory":
      return [warning("store_memory", "the `memory` store forgets what was sent when the process ends")];
    case "sqlite":
      return [
        ...(existsSync(store.path) && !statSync(store.path).isDirectory()
          ? [error("store_path", `\`store.path\` is a file; name a folder: \`${store.path}\``)]
          : []),
        ...markFindings(store),
      ];
  }
}

/** What is odd about this machine and not about the configuration: servers that live on, a store's log that grows. */
export function hostFindings(config: Config): Finding[] {
  const folder = folderOf(config);
  return [
    ...(folder === undefined ? [] : leftBehind(folder)),
    ...(config.store.kind === "sqlite" ? logFindings(config.store.path) : []),
  ];
}

function markFindings({ path, mark }: Extract<Config["store"], { kind: "sqlite" }>): Finding[] {
  if (mark === undefined || !contains(path, mark)) return [];
  const why = "whoever sets the store back sets it back, too";
  return [error("store_mark", `\`store.mark\` lies in the store's folder: ${why}; name a file somewhere else`)];
}

/** Looks at the connection string only: the database is not asked. */
function postgresFindings(url: string): Finding[] {
  if (/^postgres(ql)?:\/\//.test(url) && URL.canParse(url)) return [];
  return [error("store_url", "`store.url` is no connection string; write `postgres://user@host/database`")];
}

function modelFindings({ model }: Config): Finding[] {
  if (model === undefined) return [warning("model_missing", "no `model` is set; name one here or with --model")];
  if (!model.startsWith("scripted:")) return [];
  // A link that leads nowhere is there: whoever opens it says why it cannot be read.
  if (lstatSync(model.slice("scripted:".length), { throwIfNoEntry: false })) return [];
  return [error("script_missing", `\`model\` names a script that is not there: \`${model}\``)];
}

function serverFindings(name: string, server: ServerConfig, { env, ownServers }: Surroundings): Finding[] {
  if (server.type === "stdio") return ownServers ? [] : processFindings(name, server, env);
  const wrong = urlProblem(server.url);
  return wrong ? [error("url", `server \`${name}\`: \`url\` ${wrong.problem}; ${wrong.hint}`)] : [];
}

/** Finds a missing program before a run reports the server as unavailable. */
function processFindings(name: string, server: StdioServer, env: Environment): Finding[] {
  const fault = server.required && server.connect === "start" ? error : warning; // check-4
  const folder = commandKind(server.cwd);
  if (folder !== "folder") {
    const what = folder === "file" ? "is a file" : "is not there";
    return [fault("cwd_missing", `server \`${name}\`: its folder \`${server.cwd}\` ${what}`)];
  }
  const own = server.env["PATH"];
  const path = own ?? env["PATH"];
  const found = findCommand(server.command, { cwd: server.cwd, path, pathExt: env["PATHEXT"] });
  if ("file" in found) return [];
  const source = own === undefined ? "PATH is toolgate's own" : "PATH is from the server's `env`";
  const where = server.command.includes("/") ? `looked for from \`${server.cwd}\`` : source;
  const what = faultText(found, path);
  return [fault("command_missing", `server \`${name}\`: command \`${server.command}\` ${what} (${where})`)];
}

function faultText(found: Exclude<FoundCommand, { file: string }>, path: string | undefined): string {
  const { at, fault } = found;
  if (fault === "directory") return "is a directory";
  if (fault === "not_executable") return "may not be executed";
  if (at === "path") return "is not there";
  if ("passedOver" in found) return "is only in a relative folder of PATH, and those are not looked in";
  return path ? "is not on PATH" : "cannot be found: PATH is empty";
}

/** Names of servers that a person can take for one another. */
function lookAlikeFindings({ mcpServers }: Config): Finding[] {
  const names = Object.keys(mcpServers);
  const said = mistakable(names, []);
  return names.flatMap((name) => {
    const what = said.get(serverKey(name));
    return what === undefined ? [] : [warning("look_alike", `server \`${name}\` ${what}; give it another one`)];
  });
}

function toolFindings(config: Config): Finding[] {
  return Object.entries(config.tools).flatMap(([key, tool]) => {
    if (!namesWrite(key, config) || tool.reconcile || tool.errors || serverIsHonest(key, config)) return [];
    const what = "an error answer leaves its outcome unknown, and only a person can settle it";
    return [warning("write_unsettled", `write \`${key}\` has neither \`errors\` nor \`reconcile\`: ${what}`)];
  });
}

/** Values that look like a name for a part of the write, but are sent unchanged. */
function readBackFindings({ tools }: Config): Finding[] {
  return Object.entries(tools).flatMap(([key, { reconcile }]) =>
    strings(reconcile?.arguments)
      .filter((text) => text.startsWith("$") && text !== "$operationId" && !text.startsWith("$arguments."))
      .map((text) => {
        const known = "`$operationId` and `$arguments.NAME` are the names there are";
        return warning("read_back_name", `\`tools.${key}.reconcile\`: \`${text}\` is sent as it stands; ${known}`);
      }),
  );
}

/** A read-back is a call like any other to the server, and a hidden tool is not called. */
function hiddenReadBacks(settings: Settings): Finding[] {
  return settings.readBacks.flatMap(({ key, pattern }) => {
    const named = pattern.servers.map((server) => ({ server, tool: toolPart(pattern.text, server) }));
    const why = named.map((target) => isHidden(settings, target)).find((reason) => reason !== undefined);
    if (why === undefined) return [];
    return [
      error("read_back_hidden", `\`tools.${key}.reconcile\` names \`${pattern.text}\`, which cannot be called: ${why}`),
    ];
  });
}

function strings(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(strings) : [];
}

/** Whether a `tools` key is about a write: it says so, or it names one tool and no glob declares that tool a read. */
function namesWrite(key: string, config: Config): boolean {
  const { effect } = config.tools[key] ?? {};
  if (effect !== undefined || key.includes("*")) return effect === "write";
  return !Object.entries(config.tools).some(
    ([other, { effect }]) => effect === "read" && other.endsWith("*") && key.startsWith(other.slice(0, -1)),
  );
}

/** Whether the host vouches for the server's error answers. The default of `errors` says nothing about them. */
function serverIsHonest(key: string, config: Config): boolean {
  return Object.entries(config.mcpServers).some(([name, { errors }]) => errors === "honest" && isAbout(key, name));
}

function secretFindings({ approvals, store }: Config): Finding[] {
  if (approvals.secret !== undefined) return [];
  switch (store.kind) {
    case "sqlite":
      return []; // one is kept in the store's folder
    case "memory":
      return [warning("secret_missing", "no `approvals.secret` is set, so a random one is used")];
    case "postgres": {
      if (store.mark !== undefined) {
        return [error("store_mark", "`store.mark` needs `approvals.secret`: without one no row is sealed")];
      }
      const why =
        "answers given before a restart must be given again, and the ledger's rows are not sealed: an edit of the database is not noticed";
      return [warning("secret_missing", `no \`approvals.secret\` is set, so a random one is used: ${why}`)];
    }
  }
}
