// Reads a configuration: parses the text, fills in variables and defaults, makes paths absolute and collects the secrets.
//
//   config-1. A configuration is taken whole, or it is refused with one sentence that says what is wrong, where, and what to
//             do next.
//   config-2. No refusal quotes a value that came from the environment. (G11)
//   config-3. What the file says about a server that is left out (`disabled: true`, `enabled: false`) is not read: its variables
//             may be unset.
//   config-4. An empty file is a configuration without servers.
//   config-5. A key of another host's format never loosens anything: `autoApprove` and the like become suggestions.
//   config-6. A configuration that a load returned is taken unchanged when it is given again: expanding it a second time
//             would expand what the variables hold. One that was changed since so that it is none any more is refused.
//   config-7. A key that may have been meant to restrict something is heard or refused, never ignored.

import { dirname, resolve } from "node:path";
import type { z } from "zod";
import { Config, type Finding, isObject, oneLine, type ServerConfig, ToolgateError } from "../../contracts/index.js";
import { ConfigFile } from "./file.js";
import { serverFindings } from "./foreign.js";
import { describeIssue, pathText, typeOf } from "./issues.js";
import { withoutServersThatAreOff } from "./left-out.js";
import { LOCK_FILE } from "./lock.js";
import { saysSecret } from "./names.js";
import { inFolder, isAbout, namesProblem, readServer } from "./read-servers.js";
import { readText } from "./read-text.js";
import { type Refuse, refusals } from "./refuse.js";
import { secretsOf } from "./secrets.js";
import { type Path, parseStrictJson } from "./strict-json.js";
import { unknownKeyFinding, unknownKeys } from "./unknown.js";
import { type Environment, expandVariables, type VariableProblem } from "./variables.js";

/** A shorter secret could be guessed. */
const SECRET_CHARS = 32;

export interface Loaded {
  readonly config: Config;
  /** Warnings: unknown and ignored keys, rules that other hosts' keys suggest, doubtful values. */
  readonly findings: readonly Finding[];
}

export interface ResolveOptions {
  /** The folder that relative paths are relative to. */
  readonly folder: string;
  readonly env: Environment;
  /** The text the value was read from: lets a refusal say line and column. */
  readonly text?: string;
  /** The file's name for refusals, as the user gave it. */
  readonly file?: string;
}

/**
 * Reads the configuration at `path`. Throws `ToolgateError`: `config_unreadable` (no such file, not a file, too large,
 * not UTF-8 text), `config_invalid` (not JSON, or a value that does not belong there), `config_variable` (an unset
 * variable).
 */
export async function readConfig(path: string, env: Environment): Promise<Loaded> {
  const text = await readText(path);
  const parsed = parseStrictJson(text, { comments: true, whenEmpty: {} }); // config-4
  if (!parsed.ok) {
    const { line, column, problem } = parsed;
    throw new ToolgateError(
      "config_invalid",
      `${oneLine(path)}:${line}:${column}: ${problem}`,
      "correct the JSON there; comments and a trailing comma are taken",
      { data: { path, line, column } },
    );
  }
  return resolveConfig(parsed.value, { folder: dirname(resolve(path)), env, text, file: path });
}

/** Checks a configuration given as a value and fills in what it leaves out. Throws as `readConfig` does. */
export function resolveConfig(value: unknown, options: ResolveOptions): Loaded {
  const resolved = Config.safeParse(value);
  if (resolved.success) return { config: resolved.data, findings: [] }; // config-6
  const refuse = refusals(options);
  if (!isObject(value))
    throw refuse([], `a configuration must be an object, not ${typeOf(value)}`, "write `{}` for one without servers");
  if (isLoaded(value)) throw noLongerLoaded(resolved.error.issues, value, refuse); // config-6
  const { kept, disabled, findings } = withoutServersThatAreOff(value);
  const expanded = expandVariables(kept, options.env);
  if ("kind" in expanded) throw variableError(expanded, refuse);
  findings.push(...unknownFindings(kept, refuse));
  const file = checked(expanded.value, kept, refuse);
  checkSecrets(file, refuse);
  const servers = readServers(file, options.folder, findings, refuse);
  checkNames(Object.keys(servers), file, refuse);
  checkGrants(file, servers, refuse);
  const store = inPlace(file.store, options.folder);
  const { $schema, servers: _, mcpServers: __, model, lock, ...rest } = file;
  const config = Config.parse({
    ...rest,
    ...(model === undefined ? {} : { model: scripted(model, options.folder) }),
    mcpServers: servers,
    ...(disabled.length === 0 ? {} : { disabledServers: disabled }),
    store,
    ...lockOf(lock, options),
    ...secretsOf({
      used: expanded.used,
      servers: Object.values(servers),
      approvalSecrets: [file.approvals.secret, ...file.approvals.previousSecrets],
      databaseUrl: file.store.kind === "postgres" ? file.store.url : undefined,
    }),
    folder: resolve(options.folder),
  });
  return { config, findings };
}

/** The lock file that the configuration names; without a name the one that stands beside a file. A value has none beside it. */
function lockOf(lock: string | undefined, { folder, file }: ResolveOptions): Pick<Config, "lock"> {
  if (lock !== undefined) return { lock: { path: inFolder(folder, lock), required: true } };
  return file === undefined ? {} : { lock: { path: inFolder(folder, LOCK_FILE), required: false } };
}

/** The store with its paths made absolute. */
function inPlace(store: ConfigFile["store"], folder: string): Config["store"] {
  if (store.kind === "memory") return store;
  const mark = store.mark === undefined ? {} : { mark: inFolder(folder, store.mark) };
  return store.kind === "sqlite"
    ? { ...store, path: inFolder(folder, store.path), ...mark }
    : { kind: store.kind, url: store.url, prepared: store.prepared, max: store.max, ...mark };
}

/** What a load returned has these, and what a person writes has not. */
function isLoaded(value: Record<string, unknown>): boolean {
  return typeof value.folder === "string" && isObject(value.limits) && Array.isArray(value.secrets);
}

function noLongerLoaded(issues: readonly z.core.$ZodIssue[], value: unknown, refuse: Refuse): ToolgateError {
  const issue = issues[0] as z.core.$ZodIssue;
  const path = issue.path.filter((part) => typeof part !== "symbol");
  const unknown = issue.code === "unrecognized_keys" ? issue.keys[0] : undefined;
  const at = unknown === undefined ? path : [...path, unknown];
  const what = unknown === undefined ? describeIssue(issue, valueAt(value, path)) : "is a key it does not have";
  const hint = "change what the file says, or keep to the type `Config`";
  return refuse(at, `\`${pathText(at)}\` of a loaded configuration ${what}`, hint);
}

/** Warnings about unknown keys. Throws where one may have been meant to restrict something. (config-7) */
function unknownFindings(kept: unknown, refuse: Refuse): Finding[] {
  const unknown = unknownKeys(kept);
  const [first, ...others] = unknown.filter(({ restricts }) => restricts);
  if (first === undefined) return unknown.map(unknownKeyFinding);
  const more = others.length === 0 ? "" : `, and so would ${others.length} more`;
  const problem = `\`${pathText(first.path)}\` is no key of toolgate's, and what it restricts would not be restricted${more}`;
  const meant = first.meant === undefined ? "" : `did you mean \`${first.meant}\`? `;
  throw refuse(first.path, problem, `${meant}toolgate.schema.json lists every key; take out what is not needed`);
}

function variableError(problem: VariableProblem, refuse: Refuse): ToolgateError {
  const key = `\`${pathText(problem.path)}\``;
  const { name } = problem;
  switch (problem.kind) {
    case "unset": {
      const fallback =
        saysSecret(name) || saysSecret(String(problem.path.at(-1)))
          ? ""
          : `, or give a default: \`\${${name}:-default}\``;
      const hint = `set \`${name}\`${fallback}`;
      return refuse(problem.path, `${key} needs the variable \`${name}\`, which is not set`, hint, "config_variable");
    }
    case "foreign": {
      const hint = `write \`\${VAR}\` or \`\${VAR:-default}\`: variables of the environment are the only ones`;
      return refuse(problem.path, `${key} holds \`${name}\`, which toolgate cannot fill in`, hint, "config_variable");
    }
    case "shape":
      return refuse(problem.path, `${key} ${name}`, "a configuration is plain JSON");
  }
}

function checked(value: unknown, given: unknown, refuse: Refuse): ConfigFile {
  const result = ConfigFile.safeParse(value);
  if (result.success) return result.data;
  const { issues } = result.error;
  const issue = issues[0] as NonNullable<(typeof issues)[0]>;
  const path = issue.path.filter((part) => typeof part !== "symbol");
  const others = new Set(issues.map((other) => other.path.join("\n"))).size - 1;
  const more = others === 0 ? "" : `, and ${others} more ${others === 1 ? "key is" : "keys are"} wrong`;
  const problem = `\`${pathText(path)}\` ${describeIssue(issue, valueAt(given, path))}${more}`;
  throw refuse(path, problem, "toolgate.schema.json lists every key and what it takes");
}

function valueAt(value: unknown, path: Path): unknown {
  let at = value;
  for (const part of path) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, part)) return undefined;
    at = (at as Record<string | number, unknown>)[part];
  }
  return at;
}

function readServers(file: ConfigFile, folder: string, findings: Finding[], refuse: Refuse) {
  const servers: Record<string, ServerConfig> = {};
  for (const key of ["mcpServers", "servers"] as const) {
    for (const [name, server] of Object.entries(file[key])) {
      const path = [key, name];
      if (Object.hasOwn(servers, name))
        throw refuse(path, `\`${pathText(path)}\` is also in \`mcpServers\``, "keep one, or rename one");
      const result = readServer(server, folder);
      if ("problem" in result) {
        const at = [...path, ...result.key];
        throw refuse(at, `\`${pathText(at)}\` ${result.problem}`, result.hint);
      }
      servers[name] = result.server;
      findings.push(...serverFindings(name, pathText(path), server, result.ignored));
    }
  }
  return servers;
}

function checkNames(names: readonly string[], file: ConfigFile, refuse: Refuse): void {
  const { limits } = file.catalog;
  for (const key of ["serverName", "toolName"] as const) {
    const pattern = limits[key];
    if (pattern === undefined || isPattern(pattern)) continue;
    const path = ["catalog", "limits", key];
    throw refuse(
      path,
      `\`${pathText(path)}\` is not a regular expression`,
      "write one as in JavaScript, without slashes",
    );
  }
  const wrong = namesProblem(names, limits.serverName);
  if (wrong === undefined) return;
  const path = [Object.hasOwn(file.mcpServers, wrong.name) ? "mcpServers" : "servers", wrong.name];
  throw refuse(path, `server \`${oneLine(wrong.name, 60)}\` ${wrong.problem}`, wrong.hint);
}

function isPattern(text: string): boolean {
  try {
    new RegExp(`^(?:${text})$`, "u");
    return true;
  } catch {
    return false;
  }
}

function checkSecrets(file: ConfigFile, refuse: Refuse): void {
  const make = "node -e \"console.log(require('crypto').randomBytes(32).toString('base64url'))\"";
  const check = (path: readonly string[], secret: string | undefined) => {
    if (secret === undefined || secret.length >= SECRET_CHARS) return;
    const problem = `\`${pathText(path)}\` has ${secret.length} characters and needs at least ${SECRET_CHARS}`;
    throw refuse(path, problem, `make one with: ${make}`);
  };
  check(["approvals", "secret"], file.approvals.secret);
  for (const [n, secret] of file.approvals.previousSecrets.entries())
    check(["approvals", "previousSecrets", String(n)], secret);
  for (const key of ["mcpServers", "servers"] as const) {
    for (const [name, { grantSecret }] of Object.entries(file[key])) check([key, name, "grantSecret"], grantSecret);
  }
}

/** Refuses a grant whose server has no key: such a server could only refuse every grant. */
function checkGrants(file: ConfigFile, servers: Readonly<Record<string, ServerConfig>>, refuse: Refuse): void {
  if (file.approvals.secret !== undefined) return;
  for (const [key, { inject = {} }] of Object.entries(file.tools)) {
    if (!Object.values(inject).includes("grant")) continue;
    const about = Object.entries(servers).filter(([name]) => key.includes("*") || isAbout(key, name));
    const keyless = about.find(([, { grantSecret }]) => grantSecret === undefined);
    if (keyless === undefined) continue;
    const problem = `\`tools.${oneLine(key, 80)}.inject\` names a grant, and server \`${oneLine(keyless[0], 60)}\` has no key to check it with`;
    throw refuse(
      ["tools", key, "inject"],
      problem,
      "set `grantSecret` of that server, and give the server the same value",
    );
  }
}

/** `scripted:` paths become absolute; every other model name stays as it is. */
function scripted(model: string, folder: string): string {
  const path = /^scripted:(.+)$/s.exec(model)?.[1];
  return path === undefined ? model : `scripted:${inFolder(folder, path)}`;
}
