// `toolgate tools`: what the servers offer, and what the host decides about it.

import { onDemand, oneLine, ToolgateError, type ToolSnapshot, type ToolsReport } from "../../contracts/index.js";
import type { Toolgate } from "../../index.js";
import { EXIT } from "../exit.js";
import type { CommandResult, Context } from "../io.js";
import { blocks, lines, table } from "../layout.js";
import { withToolgate } from "../open-agent.js";
import { fitted } from "../wrap.js";

/** The tools as they are now, or those of a snapshot that was shown to a model. */
export function tools(context: Context, snapshotId: string | undefined): Promise<CommandResult> {
  return withToolgate(context, { starts: snapshotId === undefined }, async ({ toolgate }) => {
    const report = snapshotId === undefined ? await listed(toolgate) : await stored(toolgate, snapshotId);
    return { value: report, text: fitted(context.io.stdout, showTools(report)), exitCode: EXIT.done };
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
  const { servers } = assembled.snapshot;
  const connected = servers.filter(({ status }) => status === "connected").map(({ name }) => name);
  await host.accepted.keep(host.config.scope, connected); // somebody has seen this list
  await host.catalog.publish(assembled.snapshot);
  const report = await reported(host, assembled.snapshot);
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
  return reported(host, snapshot);
}

/** What makes the report is loaded here, because it loads LangChain, and the servers start before that. */
async function reported(host: Toolgate["host"], snapshot: ToolSnapshot): Promise<ToolsReport> {
  const { reportTools } = await import("../../report/report.js");
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
      offered.map(({ alias, effect, decision, rules, pinned, news }) => [
        alias,
        effect,
        decision,
        news?.kind ?? (pinned ? "pinned" : ""),
        rules.map((r) => oneLine(r)).join(", "),
      ]),
    ),
    lines(offered.flatMap(({ news }) => (news === undefined ? [] : [oneLine(news.text, 2_000)]))),
    lines(withheld.map(({ server, tool, reason }) => oneLine(`withheld: ${tool} of ${server}: ${reason}`, 1_000))),
  ]);
}
