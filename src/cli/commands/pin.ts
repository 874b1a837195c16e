// `toolgate pin`: accepts the tools that the servers list now. From then on what is new or changed of them is asked about.

import { readLock, writePins } from "../../adapters/config/lock.js";
import { differenceOf } from "../../catalog/index.js";
import { type KnownTool, oneLine, ToolgateError } from "../../contracts/index.js";
import type { Toolgate } from "../../index.js";
import { UsageError } from "../error-report.js";
import { EXIT } from "../exit.js";
import type { CommandResult, Context } from "../io.js";
import { blocks, lines } from "../layout.js";
import { withToolgate } from "../open-agent.js";

interface PinnedServer {
  readonly name: string;
  readonly status: "pinned" | "failed";
  readonly toolCount: number;
  /** Beside what was pinned before. */
  readonly added: readonly string[];
  readonly changed: readonly { readonly tool: string; readonly difference: string }[];
  readonly removed: readonly string[];
  readonly problem?: string;
}

/** Connects one server, or all of them, and pins what they list. A server that cannot be listed keeps its pins. */
export function pin(context: Context, server: string | undefined): Promise<CommandResult> {
  return withToolgate(context, { unpinned: true }, async ({ toolgate, lock }) => {
    const { mcpServers } = toolgate.config;
    if (lock === undefined) throw new UsageError("this configuration has no lock file", "set `lock` in it");
    if (server !== undefined && !Object.hasOwn(mcpServers, server))
      throw unknownServer(server, Object.keys(mcpServers));
    const names = server === undefined ? Object.keys(mcpServers) : [server];
    const listed = await Promise.all(names.map((name) => listOf(toolgate, name)));
    const pins = listed.flatMap(({ name, tools }) => (tools === undefined ? [] : [[name, { tools }] as const]));
    const before =
      pins.length === 0
        ? await readLock({ path: lock.path, required: false }) // a damaged file is said, also where nothing is written
        : await writePins(lock.path, Object.fromEntries(pins));
    const servers = listed.map(({ name, tools, problem }) =>
      tools === undefined
        ? { ...NOTHING, name, status: "failed" as const, problem: problem ?? "it could not be listed" }
        : comparedTo(before?.servers[name]?.tools ?? [], name, tools),
    );
    const failed = servers.some(({ status }) => status === "failed");
    return {
      value: { lock: lock.path, servers },
      text: showPins(lock.path, servers),
      exitCode: failed ? EXIT.error : EXIT.done,
    };
  });
}

const NOTHING = { toolCount: 0, added: [], changed: [], removed: [] };

function unknownServer(server: string, names: readonly string[]): ToolgateError {
  const known = names.map((name) => `\`${oneLine(name, 60)}\``).join(", ");
  return new ToolgateError(
    "not_found",
    `there is no server \`${oneLine(server, 60)}\``,
    names.length === 0 ? "the configuration has no servers" : `the configuration has ${known}`,
  );
}

async function listOf({ host }: Toolgate, name: string) {
  const { status, problem } = await host.catalog.list(name);
  return { name, problem, tools: status === "connected" ? host.catalog.known(name) : undefined };
}

function comparedTo(before: readonly KnownTool[], name: string, now: readonly KnownTool[]): PinnedServer {
  const was = new Map(before.map((tool) => [tool.name, tool]));
  const is = new Set(now.map((tool) => tool.name));
  return {
    name,
    status: "pinned",
    toolCount: now.length,
    added: now.filter((tool) => !was.has(tool.name)).map((tool) => tool.name),
    changed: now.flatMap((tool) => {
      const old = was.get(tool.name);
      if (old === undefined || old.digest === tool.digest) return [];
      return [{ tool: tool.name, difference: differenceOf(old, tool) }];
    }),
    removed: before.filter((tool) => !is.has(tool.name)).map((tool) => tool.name),
  };
}

function showPins(path: string, servers: readonly PinnedServer[]): string {
  return blocks([
    ...servers.map(({ name, status, toolCount, added, changed, removed, problem }) =>
      lines([
        oneLine(status === "pinned" ? `${name}: ${toolCount} tools pinned` : `${name}: not pinned: ${problem}`, 1_000),
        ...added.map((tool) => `  new: ${oneLine(tool, 200)}`),
        ...changed.map(({ tool, difference }) => `  changed: ${oneLine(`${tool}: ${difference}`, 2_000)}`),
        ...removed.map((tool) => `  no longer listed: ${oneLine(tool, 200)}`),
      ]),
    ),
    servers.some(({ status }) => status === "pinned") ? `Written to ${path}` : "Nothing was pinned.",
  ]);
}
