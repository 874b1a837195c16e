// Pattern: reads which tools a text such as `mcp__docs__get_*` means. Rules and the keys of `tools` are read only here.
//
// It is pure and never throws.
//
//   pattern-1. A pattern is matched against a server and a tool. The server is found by comparing the text with the configured
//              names, never by splitting it at `__`, because names may hold any separator.
//   pattern-2. A narrow pattern permits something. It needs one literal server, and its glob must cover both the tool's own
//              name and its mapped name, so that a name which nobody sees cannot let a tool in.
//   pattern-3. A wide pattern restricts something. It applies to every literal server that its text can name or, when it names
//              none, to every server that its stars can cover. It is enough that it covers one of the tool's two names.
//              A loose one is a wide one that does not mind capitals and other forms of the same letters in a tool's name.
//   pattern-4. A text that can match nothing is reported as a problem.

import { ALIAS_CHARS, aliasOf, type Finding, hasHidden, LOCAL, mapName, nearest, oneLine } from "../contracts/index.js";
import { canBegin, type Glob, matches, nameGlob } from "./glob.js";
import { fold } from "./spelling.js";

/** One tool: the server's configured name and the tool's own name. `alias` is never looked at. */
export interface Target {
  readonly alias: string;
  readonly server: string;
  readonly tool: string;
}

export interface PolicyContext {
  /** Names of the configured servers. */
  readonly servers: readonly string[];
  /** Own names of the host's tools and of the built-ins. */
  readonly localTools: readonly string[];
}

/** Codes of the findings of this room. */
export const POLICY_FINDINGS = [
  /** The text is no pattern, or the part in parentheses is no argument test. */
  "rule_malformed",
  /** It can match no tool of any configured server. */
  "rule_no_server",
  /** A bare name that is none of the host's own tools. */
  "rule_no_tool",
  /** It permits something, and it has no literal server. */
  "rule_server_glob",
  /** It permits something, and it can be read in more than one way. */
  "rule_ambiguous",
  /** An allow whose argument test no value can meet. */
  "rule_futile",
  /** It matches no tool that its server lists. */
  "rule_unmatched",
  /** The tools it matches have no argument that its condition can be tested on, or none that can meet it. */
  "rule_unfit",
  /** A read-back that names a write. */
  "read_back_writes",
  /** A grant for a tool of the host's own. */
  "inject_local",
] as const;
export type PolicyFinding = (typeof POLICY_FINDINGS)[number];
const WARNINGS: ReadonlySet<PolicyFinding> = new Set(["rule_futile", "rule_unmatched", "rule_unfit"]);

export type Reach = "narrow" | "wide" | "loose";

/** One way to read a pattern. Without a glob the text names one tool; without a server it may be on any. */
type Reading =
  | { readonly server: string; readonly glob?: undefined }
  | { readonly server: string; readonly glob: Glob }
  | { readonly server?: undefined; readonly glob: Glob };

export interface ToolPattern {
  readonly text: string;
  readonly reach: Reach;
  readonly readings: readonly Reading[];
  /** Servers whose tools it can match, `local` among them. */
  readonly servers: readonly string[];
}

/** Whether a text without `*` names this tool: by alias, by its own name, or by its mapped uncut name. */
export function namesTool(text: string, { server, tool }: Omit<Target, "alias">): boolean {
  if (server === LOCAL) return text === tool;
  return text === aliasOf(server, tool) || fullNames(server, tool).includes(text);
}

function foldedGlob({ tokens }: Glob): Glob {
  return nameGlob(fold(tokens.join("")));
}

/** Says how a pattern applies to a tool: it names the tool, or its glob covers it. Undefined when it does not apply. */
export function meets(pattern: ToolPattern, target: Target): "name" | "glob" | undefined {
  const hits = pattern.readings.filter((reading) => readingMeets(pattern, reading, target));
  if (hits.length === 0) return undefined;
  return hits.some((reading) => reading.glob === undefined) ? "name" : "glob";
}

function readingMeets({ text, reach }: ToolPattern, { server, glob }: Reading, target: Target): boolean {
  const covers = (name: string) => matches(glob as Glob, reach === "loose" ? fold(name) : name);
  if (server === undefined) return namesAnywhere(target.server, target.tool).some(covers);
  if (server !== target.server) return false; // pattern-1
  if (glob === undefined) return namesTool(text, target) || (reach === "loose" && looselyNames(text, target));
  const names = [target.tool, mapName(target.tool)];
  return reach === "narrow" ? names.every(covers) : names.some(covers);
}

function looselyNames(text: string, { server, tool }: Target): boolean {
  return (server === LOCAL ? [tool] : fullNames(server, tool)).some((name) => fold(name) === fold(text));
}

/** A glob that names no server is read against the pair joined, so its stars may cover the separator. (pattern-3) */
function namesAnywhere(server: string, tool: string): string[] {
  if (server === LOCAL) return [tool];
  return [...fullNames(server, tool), ...forms(server).map((form) => `mcp__${form}`)];
}

/** Reads a pattern, or says why it is none. `where` names the key of the config it stands under. */
export function readPattern(text: string, reach: Reach, context: PolicyContext, where: string): ToolPattern | Finding {
  const servers = context.servers.filter((name) => name !== LOCAL);
  const problem = (code: PolicyFinding, message: string): Finding => ruleProblem(code, where, text, message);
  const reached = (reading: Reading): Reading =>
    reach === "loose" && reading.glob !== undefined ? { ...reading, glob: foldedGlob(reading.glob) } : reading;

  if (!wellFormed(text)) return problem("rule_malformed", "is not `mcp__server`, `mcp__server__tool` or a bare name");
  const readings: Reading[] = servers.flatMap((server) => readingsOn(server, text));
  if (context.localTools.includes(text)) readings.push({ server: LOCAL });
  const starred = text.includes("*");

  if (reach === "narrow" && readings.length !== 1) {
    if (readings.length > 1) return problem("rule_ambiguous", `can mean ${readings.map(describe).join(" or ")}`);
    if (starred) return problem("rule_server_glob", "needs a literal server: only the tool's part may hold a `*`");
  }
  if (readings.length > 0) {
    const servers = readings.map((reading) => reading.server as string);
    return { text, reach, readings: readings.map(reached), servers };
  }
  if (starred) {
    const glob = nameGlob(text);
    const possible = servers.filter((server) => canMeet(glob, server));
    if (context.localTools.some((tool) => matches(glob, tool))) possible.push(LOCAL);
    if (possible.length > 0) return { text, reach, readings: [reached({ glob })], servers: possible };
  }
  if (starred || text.startsWith("mcp__")) {
    return problem("rule_no_server", `can match no configured server; ${known("configured", servers)}`); // pattern-4
  }
  const near = nearest(text, [...context.localTools, ...servers.map((server) => `mcp__${server}`)]);
  return problem("rule_no_tool", `is none of the host's own tools; ${known("near", near)}`); // pattern-4
}

/** A finding about one rule, in the user's own words. */
export function ruleProblem(code: PolicyFinding, where: string, text: string, message: string): Finding {
  const level = WARNINGS.has(code) ? "warning" : "error";
  return { level, code, message: `${where}: \`${oneLine(text)}\` ${message}` };
}

function wellFormed(text: string): boolean {
  return text !== "" && text === text.trim() && !/[\p{Cc}()]/u.test(text) && !hasHidden(text);
}

/** How the text can be read if its server is this one. (pattern-1) */
function readingsOn(server: string, text: string): Reading[] {
  for (const form of forms(server)) {
    if (form.includes("*")) continue; // pattern-2: a star in the server's part is never literal
    const head = `mcp__${form}`;
    if (text === head) return [{ server, glob: nameGlob("*") }];
    if (text.startsWith(`${head}__`) && text.length > head.length + 2) {
      const tool = text.slice(head.length + 2);
      return [tool.includes("*") ? { server, glob: nameGlob(tool) } : { server }];
    }
  }
  return mayBeCutAlias(server, text) ? [{ server }] : [];
}

/** The alias of a long server name can be cut within that name; the hash at its end still names one tool. */
function mayBeCutAlias(server: string, text: string): boolean {
  if (text.length !== ALIAS_CHARS || !/_[0-9a-f]{8}$/.test(text)) return false;
  return mapName(`mcp__${server}__`).startsWith(text.slice(0, ALIAS_CHARS - 9));
}

function canMeet(glob: Glob, server: string): boolean {
  return forms(server).some((form) => matches(glob, `mcp__${form}`) || canBegin(glob, `mcp__${form}__`));
}

function fullNames(server: string, tool: string): string[] {
  return forms(server).flatMap((left) => forms(tool).map((right) => `mcp__${left}__${right}`));
}

/** A name as it is and as an alias shows it. */
function forms(name: string): string[] {
  const mapped = mapName(name);
  return mapped === name ? [name] : [name, mapped];
}

function describe({ server, glob }: Reading): string {
  if (server === LOCAL) return "a tool of the host";
  return glob === undefined ? `a tool of \`${server}\`` : `tools of \`${server}\``;
}

function known(what: string, names: readonly string[]): string {
  return names.length === 0 ? `none ${what}` : `${what}: ${names.map((name) => `\`${oneLine(name)}\``).join(", ")}`;
}
