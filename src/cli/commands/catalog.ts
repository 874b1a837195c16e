// `toolgate tools` and `check`: what the servers offer and what the host decides about it; what is wrong with the
// configuration.

import { checkConfig } from "../../adapters/config/check.js";
import {
  BUILT_INS,
  type Config,
  type Finding,
  oneLine,
  ToolgateError,
  type ToolsReport,
} from "../../contracts/index.js";
import { onDemand } from "../../execution/built-ins.js";
import type { Toolgate } from "../../index.js";
import {
  compilePolicy,
  compileSettings,
  unfitReadBacks,
  unmatchedReadBacks,
  unmatchedRules,
} from "../../policy/index.js";
import { reportTools } from "../../report/report.js";
import { EXIT } from "../exit.js";
import { failureOf } from "../failure.js";
import type { Context, Outcome } from "../io.js";
import { configOf, withToolgate } from "../open.js";
import { blocks, lines, table } from "../show.js";

/** The tools as they are now, or those of a snapshot that was shown to a model. */
export function tools(context: Context, snapshotId: string | undefined): Promise<Outcome> {
  return withToolgate(context, {}, async ({ toolgate }) => {
    const report = snapshotId === undefined ? await listed(toolgate) : await stored(toolgate, snapshotId);
    return { value: report, text: showTools(report), exitCode: EXIT.done };
  });
}

/** Connects the servers that are connected at the start. The snapshot is kept, so that its id can be asked for. */
async function listed({ host }: Toolgate): Promise<ToolsReport> {
  const { mcpServers } = host.config;
  const waiting = onDemand(host.config);
  const names = Object.keys(mcpServers).filter((name) => !waiting.includes(name));
  const assembled = await host.catalog.assemble(names, undefined);
  if (!assembled.ok)
    throw new ToolgateError(
      "server_failed",
      assembled.problem,
      "mend that server, or set `catalog.onInvalid` to `withhold` to go on without the tool",
    );
  await host.catalog.publish(assembled.snapshot);
  const report = reportTools(host, assembled.snapshot);
  const later = waiting.map((name) => ({ name, status: "not_connected" as const, protocol: null, toolCount: 0 }));
  return { ...report, servers: [...report.servers, ...later] };
}

async function stored({ host }: Toolgate, snapshotId: string): Promise<ToolsReport> {
  const snapshot = await host.catalog.snapshot(snapshotId);
  if (snapshot === undefined)
    throw new ToolgateError(
      "not_found",
      `there is no snapshot \`${snapshotId}\``,
      "a run's report names its snapshot; without --snapshot the servers are listed now",
    );
  return reportTools(host, snapshot);
}

function showTools({ snapshotId, servers, tools: offered, withheld }: ToolsReport): string {
  return blocks([
    `snapshot ${snapshotId}`,
    lines(
      servers.map(({ name, status, protocol, toolCount, problem }) =>
        oneLine(
          [`${name}: ${status}`, ...(protocol === null ? [] : [protocol]), `${toolCount} tools`, problem ?? ""].join(
            " ",
          ),
          1_000,
        ),
      ),
    ),
    table(
      offered.map(({ alias, effect, decision, rules }) => [
        alias,
        effect,
        decision,
        rules.map((r) => oneLine(r)).join(", "),
      ]),
    ),
    lines(withheld.map(({ server, tool, reason }) => oneLine(`withheld: ${tool} of ${server}: ${reason}`, 1_000))),
  ]);
}

/**
 * Everything wrong with the configuration at once. Starts no server, unless `connect` asks to see also what only their
 * lists can tell.
 */
export async function check(context: Context, connect: boolean): Promise<Outcome> {
  const problems = await findings(context, connect);
  const wrong = problems.some(({ level }) => level === "error");
  const text = problems.map(({ level, code, message }) => [level, code, oneLine(message, 1_000)]);
  return {
    value: { problems },
    text: problems.length === 0 ? "The configuration is in order." : table(text),
    exitCode: wrong ? EXIT.error : EXIT.done,
  };
}

async function findings(context: Context, connect: boolean): Promise<Finding[]> {
  let config: Config;
  let found: Finding[];
  try {
    const read = await configOf(context);
    config = read.config;
    found = [...read.findings];
  } catch (error) {
    if (!(error instanceof ToolgateError)) throw error;
    const { code, message, hint } = failureOf(error);
    return [{ level: "error", code, message: `${message}; ${hint}` }]; // what cannot be read has no further findings
  }
  const rules = { servers: Object.keys(config.mcpServers), localTools: [...BUILT_INS] };
  const { findings: ofPolicy } = compilePolicy(config.permissions, rules);
  const { findings: ofSettings } = compileSettings(config.tools, config.mcpServers, rules);
  // The command keeps a secret beside an SQLite store, so none is missing there.
  const kept = config.store.kind === "sqlite";
  const ofConfig = checkConfig(config, context.io.env).filter(({ code }) => !(kept && code === "secret_missing"));
  const all = [...ofConfig, ...ofPolicy, ...ofSettings, ...found];
  const wrong = all.some(({ level }) => level === "error");
  const listing = connect && !wrong ? await listingFindings(context) : [];
  return [...all, ...listing].sort((a, b) => Number(a.level === "warning") - Number(b.level === "warning"));
}

/** What only the servers' lists can tell: what is down, what is withheld, which rules match nothing. */
function listingFindings(context: Context): Promise<Finding[]> {
  return withToolgate({ ...context, note: () => undefined }, {}, async ({ toolgate }) => {
    const { host } = toolgate;
    const waiting = onDemand(host.config);
    const names = Object.keys(host.config.mcpServers);
    const assembled = await host.catalog.assemble(names, undefined);
    if (!assembled.ok) return [{ level: "error", code: "catalog_refused", message: assembled.problem }];
    const { servers, tools: offered, withheld } = assembled.snapshot;
    const down = servers.filter(({ status }) => status === "failed");
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
      ...withheld.map(
        ({ server, tool, reason }): Finding => ({
          level: "warning",
          code: "tool_withheld",
          message: `\`${oneLine(tool)}\` of \`${server}\` is withheld: ${reason}`,
        }),
      ),
      ...unmatchedRules(host.policy, offered, connected),
      ...unmatchedReadBacks(host.settings, offered, connected),
      ...unfitReadBacks(host.settings, offered),
    ];
  });
}
