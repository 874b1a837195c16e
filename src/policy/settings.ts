// Settings: resolves for one tool what the host declares of its tools.
//
// It is pure and never throws.
//
//   settings-1. A tool that nobody declares to be a read is a write. A server's annotations do not count (G3).
//   settings-2. A key that declares a read is matched like an allow: it needs a literal server, and its glob must cover both
//               names of the tool.
//   settings-3. A key that names the tool beats a glob. Among keys of one rank the more careful value wins, whatever their
//               order.
//   settings-4. Settings with an error declare nothing.
//   settings-5. Built-ins are reads.

import {
  type Config,
  type EffectClass,
  type Finding,
  isBuiltIn,
  LOCAL,
  mapName,
  oneLine,
  type ServerConfig,
  type ToolConfig,
  type ToolEntry,
  type VerifyMode,
} from "../contracts/index.js";
import { meets, type PolicyContext, readPattern, ruleProblem, type Target, type ToolPattern } from "./pattern.js";

/** Everything that is set for a tool, defaults filled in. */
export interface ToolSettings {
  /** @default "write" */
  readonly effect: EffectClass;
  /** Milliseconds from the send to our deadline. @default the server's; unset there, 30000 for a read, 60000 for a write */
  readonly timeoutMs: number;
  /** @default "ask" */
  readonly repeat: NonNullable<ToolConfig["repeat"]>;
  /** @default the server's, which is "conservative" */
  readonly errors: NonNullable<ToolConfig["errors"]>;
  readonly contract?: "status";
  /** @default "unknown" */
  readonly outputMismatch: NonNullable<ToolConfig["outputMismatch"]>;
  /** @default the server's; unset there, "each-call" for a write and "on-change" for a read */
  readonly verify: VerifyMode;
  /** @default {} */
  readonly inject: NonNullable<ToolConfig["inject"]>;
  readonly reconcile?: NonNullable<ToolConfig["reconcile"]>;
}

interface Key {
  readonly pattern: ToolPattern;
  readonly config: ToolConfig;
}

/** Compiled `tools`, with what servers set for theirs. */
export interface Settings {
  readonly keys: readonly Key[];
  /** The tools that read-backs name, by the key they stand under. */
  readonly readBacks: readonly { readonly key: string; readonly pattern: ToolPattern }[];
  readonly servers: ReadonlyMap<
    string,
    Pick<ToolConfig, "errors" | "verify" | "timeoutMs"> & Pick<ServerConfig, "show" | "hide">
  >;
}

/** Compiles `tools`. A finding of level `error` is a load error; until it is mended every tool is a plain write. */
export function compileSettings(
  tools: Config["tools"],
  servers: Config["mcpServers"],
  context: PolicyContext,
): { readonly settings: Settings; readonly findings: readonly Finding[] } {
  const keys: Key[] = [];
  const readBacks: { key: string; pattern: ToolPattern }[] = [];
  const findings: Finding[] = [];
  for (const [text, config] of Object.entries(tools)) {
    const pattern = readPattern(text, config.effect === "read" ? "narrow" : "wide", context, "tools"); // settings-2
    if ("level" in pattern) findings.push(pattern);
    else keys.push({ pattern, config });
    if (!("level" in pattern) && hasGrant(config) && pattern.servers.every((server) => server === LOCAL)) {
      findings.push(
        ruleProblem("inject_local", `tools.${text}.inject`, "grant", "is for servers, and this is the host's own"),
      );
    }
    if (config.reconcile === undefined) continue;
    const named = readBackPattern(text, config.reconcile.tool, context);
    if ("level" in named) findings.push(named);
    else readBacks.push({ key: text, pattern: named });
  }
  for (const readBack of readBacks) findings.push(...writeBehind(readBack, keys));
  // The longest pattern stands last: where values cannot be ranked, it decides, whatever the order of the keys. (settings-3)
  keys.sort((a, b) => a.pattern.text.length - b.pattern.text.length || (a.pattern.text < b.pattern.text ? -1 : 1));
  const none = findings.length > 0; // settings-4
  const settings = {
    keys: none ? [] : keys,
    readBacks: none ? [] : readBacks,
    servers: new Map(Object.entries(servers)),
  };
  return { settings, findings };
}

/** Resolves the settings of one tool. */
export function toolSettings(settings: Settings, target: Target): ToolSettings {
  const builtIn = isBuiltIn(target);
  const matching = (how: "name" | "glob"): ToolConfig[] =>
    settings.keys.filter(({ pattern }) => meets(pattern, target) === how).map(({ config }) => config);
  const set = { ...(builtIn ? {} : mostCareful(matching("glob"))), ...mostCareful(matching("name")) }; // settings-3
  const server = settings.servers.get(target.server);
  const effect = builtIn ? "read" : (set.effect ?? "write"); // settings-1, settings-5
  return {
    effect,
    timeoutMs: set.timeoutMs ?? server?.timeoutMs ?? (effect === "read" ? 30_000 : 60_000),
    repeat: set.repeat ?? "ask",
    errors: set.errors ?? server?.errors ?? "conservative",
    outputMismatch: set.outputMismatch ?? "unknown",
    verify: set.verify ?? server?.verify ?? (effect === "read" ? "on-change" : "each-call"),
    inject: set.inject ?? {},
    ...(set.contract && { contract: set.contract }),
    ...(set.reconcile && { reconcile: set.reconcile }),
  };
}

/** Read-backs that name no tool of their server, as far as it is connected. */
export function unmatchedReadBacks(
  { readBacks }: Settings,
  tools: readonly Target[],
  connectedServers: readonly string[],
): readonly Finding[] {
  return readBacks
    .filter(({ pattern }) => pattern.servers.every((server) => connectedServers.includes(server)))
    .filter(({ pattern }) => !tools.some((target) => meets(pattern, target) !== undefined))
    .map(({ key, pattern: { text } }) =>
      ruleProblem("rule_unmatched", whereReadBack(key), text, "is no tool that its server lists"),
    );
}

/** Read-backs whose arguments their tool does not take, as far as its schema's own list of parameters says. */
export function unfitReadBacks({ readBacks, keys }: Settings, tools: readonly ToolEntry[]): readonly Finding[] {
  return readBacks.flatMap(({ key, pattern }) => {
    const entry = tools.find((tool) => meets(pattern, tool) !== undefined);
    const given = keys.find((one) => one.pattern.text === key)?.config.reconcile?.arguments;
    if (entry === undefined || given === undefined) return [];
    const { properties = {}, required = [], additionalProperties } = entry.inputSchema as Parameters;
    const missing = required.find((name) => !Object.hasOwn(given, name));
    const unknown = Object.keys(given).find(
      (name) => additionalProperties === false && !Object.hasOwn(properties, name),
    );
    const problem =
      missing !== undefined
        ? `needs the argument \`${oneLine(missing, 80)}\``
        : unknown && `takes no argument \`${oneLine(unknown, 80)}\``;
    return problem ? [ruleProblem("rule_unmatched", whereReadBack(key), pattern.text, problem)] : [];
  });
}

interface Parameters {
  readonly properties?: object;
  readonly required?: readonly string[];
  readonly additionalProperties?: unknown;
}

/** Merges keys of one rank. A value that no key sets stays unset. (settings-3) */
function mostCareful(configs: readonly ToolConfig[]): ToolConfig {
  const first = <K extends keyof ToolConfig>(key: K, order: readonly ToolConfig[K][]): Pick<ToolConfig, K> => {
    const value = order.find((wanted) => configs.some((config) => config[key] === wanted));
    return (value === undefined ? {} : { [key]: value }) as Pick<ToolConfig, K>;
  };
  const timeouts = configs.flatMap(({ timeoutMs }) => timeoutMs ?? []);
  const injects = configs.flatMap(({ inject }) => (inject ? [inject] : []));
  const reconcile = configs.findLast((config) => config.reconcile)?.reconcile;
  return {
    ...first("effect", ["write", "read"]),
    ...first("repeat", ["deny", "ask", "allow"]),
    ...first("errors", ["conservative", "honest"]),
    ...first("outputMismatch", ["unknown", "flag"]),
    ...first("verify", ["each-call", "on-change"]),
    ...first("contract", ["status"]),
    ...(timeouts.length > 0 && { timeoutMs: Math.min(...timeouts) }),
    ...(injects.length > 0 && { inject: Object.assign({}, ...injects) }),
    ...(reconcile && { reconcile }),
  };
}

function hasGrant({ inject = {} }: ToolConfig): boolean {
  return Object.values(inject).includes("grant");
}

/** A read-back is made without asking, so it must not be a tool that the host calls a write, nor the write itself. */
function writeBehind({ key, pattern }: Settings["readBacks"][number], keys: readonly Key[]): Finding[] {
  const write = keys.find(
    (other) => (other.config.effect === "write" || other.config.reconcile) && covers(other.pattern, pattern),
  );
  if (write === undefined) return [];
  const why = `is a write by \`tools\` \`${write.pattern.text}\`; a read-back must be a read`;
  return [ruleProblem("read_back_writes", whereReadBack(key), pattern.text, why)];
}

/** Whether a key applies to the one tool that a read-back names, as far as the names show. */
function covers(key: ToolPattern, { text, servers }: ToolPattern): boolean {
  if (key.text === text) return true;
  return servers.some((server) => {
    return meets(key, { alias: text, server, tool: toolPart(text, server) }) !== undefined;
  });
}

/** The part that follows the server's name, in a text that names one of its tools. */
export function toolPart(text: string, server: string): string {
  const head = [server, mapName(server)].map((form) => `mcp__${form}__`).find((form) => text.startsWith(form));
  return head === undefined ? text : text.slice(head.length);
}

/** A read-back is sent without asking: it must name one tool, of one configured server. */
function readBackPattern(key: string, tool: string, context: PolicyContext): ToolPattern | Finding {
  const where = whereReadBack(key);
  const pattern = readPattern(tool, "narrow", context, where);
  if ("level" in pattern) return pattern;
  const oneTool = pattern.readings.every((reading) => reading.glob === undefined);
  return oneTool ? pattern : ruleProblem("rule_malformed", where, tool, "must name exactly one tool");
}

const whereReadBack = (key: string): string => `tools.${key}.reconcile`;
