// Which servers could write what guards them: the configuration, its lock file, the store.
//
//   exposure-1. It is an error where a write of that server runs without a question, because a model could then undo its own bounds.
//               Where a person is asked about every write of it, it is a warning.
//   exposure-2. That a write is asked about must be shown by the rules. A rule with an argument test does not show it for an ask or a
//               deny, because it holds for some calls only.

import { aliasOf, type Config, type Finding, mapName } from "../../contracts/index.js";
import { compilePolicy, compileSettings, decide, isHidden, toolSettings } from "../../policy/index.js";
import { exposedBy } from "./roots.js";

/** Stands for what a `*` covers. No tool is called that. */
const ANYTHING = "zq9anything";

/** What the rules are about, apart from the configuration. */
export interface RuleContext {
  readonly servers: readonly string[];
  readonly localTools: readonly string[];
}

export function exposureFindings(name: string, config: Config, context: RuleContext): Finding[] {
  const server = config.mcpServers[name];
  if (server?.type !== "stdio") return [];
  const exposed = exposedBy(server, config);
  if (exposed.length === 0) return [];
  const level = writesUnasked(name, config, context) ? "error" : "warning"; // exposure-1
  return exposed.map(({ what, root }) => {
    const held = what === "store" ? "the store" : "this configuration and its lock file";
    const advice = "give it a folder of its own, or move them out";
    const message = `server \`${name}\` may write \`${root}\`, which holds ${held}: ${advice}`;
    return { level, code: "writable_by_server", message };
  });
}

/** Whether some tool that the server could have would be a write, offered, and run without a question. */
function writesUnasked(name: string, config: Config, context: RuleContext): boolean {
  const { policy } = compilePolicy(withoutTests(config.permissions), context);
  const { settings } = compileSettings(config.tools, config.mcpServers, context);
  const patterns = [...config.permissions.allow.map(patternOf), ...Object.keys(config.tools)];
  const tools = possibleTools(name, patterns);
  return tools.some((tool) => {
    const target = { alias: aliasOf(name, tool), server: name, tool };
    if (isHidden(settings, target) !== undefined) return false;
    return toolSettings(settings, target).effect === "write" && decide(policy, target, {}).kind === "allow";
  });
}

/** Permissions of which every allow may be met, and every ask or deny only where it always is. (exposure-2) */
function withoutTests({ allow, ask, deny, default: otherwise }: Config["permissions"]): Config["permissions"] {
  const always = (rules: readonly string[]) => rules.filter((rule) => patternOf(rule) === rule);
  return { allow: allow.map(patternOf), ask: always(ask), deny: always(deny), default: otherwise };
}

function patternOf(rule: string): string {
  return rule.replace(/\(.*\)$/s, "");
}

/** Names of tools, one at least for each way in which patterns about this server can overlap. */
function possibleTools(name: string, patterns: readonly string[]): string[] {
  const heads = [name, mapName(name)].map((form) => `mcp__${form}`);
  const globs = patterns.flatMap((pattern) => {
    if (heads.includes(pattern)) return ["*"];
    const head = heads.find((text) => pattern.startsWith(`${text}__`));
    return head === undefined ? [] : [pattern.slice(head.length + 2)];
  });
  const fill = (glob: string, text: string) => glob.replace(/\*+/g, text);
  const alone = globs.map((glob) => fill(glob, ANYTHING));
  const overlapping = globs.flatMap((glob) => (glob.includes("*") ? alone.map((other) => fill(glob, other)) : []));
  return [...new Set([...alone, ...overlapping])];
}
