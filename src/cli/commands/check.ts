// `toolgate check`: what is wrong with the configuration. Only with `--connect` does it load the agent and start servers.

import { dirname, resolve } from "node:path";
import { examine } from "../../adapters/config/findings.js";
import { readLock } from "../../adapters/config/lock.js";
import {
  type Finding,
  mistakable,
  onDemand,
  oneLine,
  type ToolEntry,
  ToolgateError,
  toolKey,
} from "../../contracts/index.js";
import {
  idleEntries,
  isHiding,
  isWithheldByDeny,
  type OfferTerms,
  unfitReadBacks,
  unfitRules,
  unmatchedReadBacks,
  unmatchedRules,
} from "../../policy/index.js";
import { failureOf } from "../error-report.js";
import { EXIT } from "../exit.js";
import type { CommandResult, Context } from "../io.js";
import { table } from "../layout.js";
import { configOf } from "../read-config.js";
import { fitted } from "../wrap.js";

/**
 * Everything wrong with the configuration at once. Starts no server, unless `connect` asks to see also what only their
 * lists can tell.
 */
export async function check(context: Context, connect: boolean): Promise<CommandResult> {
  const problems = await findings(context, connect);
  const wrong = problems.some(({ level }) => level === "error");
  const text = problems.map(({ level, code, message }) => [level, code, oneLine(message, 1_000)]);
  return {
    value: { problems },
    text: problems.length === 0 ? "The configuration is in order." : fitted(context.io.stdout, table(text)),
    exitCode: wrong ? EXIT.error : EXIT.done,
  };
}

async function findings(context: Context, connect: boolean): Promise<Finding[]> {
  let loaded: Awaited<ReturnType<typeof configOf>>;
  try {
    loaded = await configOf(context);
    await readLock(loaded.config.lock);
  } catch (error) {
    if (!(error instanceof ToolgateError)) throw error;
    const { code, message, hint } = failureOf(error);
    // A configuration that cannot be read has no further findings.
    return [{ level: "error", code, message: `${message}; ${hint}` }];
  }
  const { options, io } = context;
  const folders = [io.cwd, dirname(resolve(io.cwd, options.config))];
  const { findings: all } = examine(loaded, { env: io.env, folders });
  const wrong = all.some(({ level }) => level === "error");
  const listing = connect && !wrong ? await listingFindings(context) : [];
  return [...all, ...listing].sort((a, b) => Number(a.level === "warning") - Number(b.level === "warning"));
}

/** What only the servers' lists can tell: what is down, what is withheld, which rules match nothing. */
async function listingFindings(context: Context): Promise<Finding[]> {
  const { withToolgate } = await import("../open-agent.js"); // heavy: the graph, the MCP client and the stores
  return withToolgate({ ...context, note: () => undefined }, {}, async ({ toolgate }) => {
    const { host } = toolgate;
    const waiting = onDemand(host.config);
    const names = Object.keys(host.config.mcpServers);
    const assembled = await host.catalog.assemble(names, undefined);
    if (!assembled.ok) return [{ level: "error", code: "catalog_refused", message: assembled.problem }];
    const { servers, tools: offered, withheld } = assembled.snapshot;
    const down = servers.filter(({ status }) => status === "failed");
    const byHost = withheld.filter((row) => isHiding(row) || isWithheldByDeny(row)); // a rule about such a tool does match one
    const leftOut = byHost.map(({ server, tool }) => ({ alias: "", server, tool }));
    const listed = [...offered, ...withheld];
    const connected = servers.filter(({ status }) => status === "connected").map(({ name }) => name);
    return [
      ...down.map(({ name, problem }): Finding => {
        const level = host.config.mcpServers[name]?.required && !waiting.includes(name) ? "error" : "warning";
        return {
          level,
          code: "server_failed",
          message: `server \`${name}\` is not available: ${problem ?? "no reason"}`,
        };
      }),
      ...withheld
        .filter((row) => !isHiding(row))
        .map(
          ({ server, tool, reason }): Finding => ({
            level: "warning",
            code: "tool_withheld",
            message: `\`${oneLine(tool)}\` of \`${server}\` is withheld: ${reason}`,
          }),
        ),
      ...lookAlikes(offered),
      ...unmatchedRules(host.policy, [...offered, ...leftOut], connected),
      ...unfitRules(host.policy, offered),
      ...connected.flatMap((name) => idleOf(name, host.config.mcpServers[name] ?? {}, listed)),
      ...unmatchedReadBacks(host.settings, offered, connected),
      ...unfitReadBacks(host.settings, offered),
    ];
  });
}

/** Tools whose names a person can take for one another. */
function lookAlikes(offered: readonly ToolEntry[]): Finding[] {
  const said = mistakable([], offered);
  return offered.flatMap(({ server, tool }) => {
    const what = said.get(toolKey(server, tool));
    if (what === undefined) return [];
    return [
      { level: "warning", code: "look_alike", message: `\`${oneLine(tool)}\` of \`${server}\` ${oneLine(what)}` },
    ];
  });
}

/** What `show` and `hide` name that the server does not list: a tool that was to be hidden may be called something else. */
function idleOf(name: string, terms: OfferTerms, listed: readonly { server: string; tool: string }[]): Finding[] {
  const tools = listed.filter(({ server }) => server === name).map(({ tool }) => tool);
  return idleEntries(terms, name, tools).map(({ key, text }) => {
    const message = `\`${key}\` of server \`${name}\`: \`${oneLine(text)}\` matches no tool that it lists`;
    return { level: "warning", code: "rule_unmatched", message };
  });
}
