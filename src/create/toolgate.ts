// Composition: reads a configuration, chooses the adapters and gives each room the ports that it needs.

import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { parseStrictJson } from "../adapters/config/strict-json.js";
import { createServers, type McpDeps } from "../adapters/mcp/pool.js";
import { steadyMs, uptimeMs } from "../adapters/process/clock.js";
import { createSchemaChecker } from "../adapters/schema/checker.js";
import { GRANT_START } from "../approval/index.js";
import { type Config, type OperationView, type ToolEntry, ToolgateError, threadOfKey } from "../contracts/index.js";
import type { Servers } from "../contracts/mcp-port.js";
import { builtInTools } from "../execution/built-in-tools.js";
import { type HostDecision, hostDecision } from "../gate/host-decision.js";
import type { ShownCalls } from "../gate/verdicts.js";
import { buildGraph, type GraphPorts } from "../graph/index.js";
import { isOurSaver } from "../langgraph/keyed-saver.js";
import { spokenFor } from "../langgraph/place.js";
import { createAccepted } from "../listings/accepted.js";
import { createCatalog } from "../listings/catalog.js";
import { createNameRedactor, createRedactor, openRedactor } from "../observation/index.js";
import { withLastBodies } from "../observation/last-bodies.js";
import { isHidden, toolSettings, withheldByDeny } from "../policy/index.js";
import { recordsOf, scopeNamed } from "../report/records.js";
import { type Background, createBackground } from "./background.js";
import { newId, sealsOf, secretOf } from "./chance.js";
import { type Configured, configure } from "./configure.js";
import { destinationsOf } from "./destinations.js";
import { forgetter, forgettingSaver, forgetWhatIsOver, startRetention } from "./forget.js";
import { notingGroups } from "./groups.js";
import { endAll, once, takeEvery } from "./once.js";
import type { Toolgate, ToolgateOptions } from "./options.js";
import { createOwners, type Owners } from "./owners.js";
import { withoutSecretsInPrint } from "./print.js";
import { guardsOf, openStores, type Stores } from "./stores.js";
import { after, every, pause } from "./timers.js";

/** How the servers of a configuration are reached. */
export type OpenServers = (config: Config, deps: McpDeps) => Servers;

const overMcp: OpenServers = (config, deps) =>
  createServers(config.mcpServers, { ...deps, noteGroup: notingGroups(config) });

/** Puts the agent together. Starts no server; the first `discover` does. Throws the errors of `loadConfig`, `store_failed` and `store_version`. */
export async function createToolgate(options: ToolgateOptions): Promise<Toolgate> {
  return assembleToolgate(options, overMcp);
}

/** The same, with servers that are reached in a way of the caller's. */
export async function assembleToolgate(
  options: ToolgateOptions,
  openServers: OpenServers,
  around: { readonly ownServers?: boolean } = {},
): Promise<Toolgate> {
  const configured = await configure(options, around);
  const findings = [...configured.findings];
  const owners = createOwners(options.machine);
  const guards = guardsOf(configured.config);
  const deps = { now: options.now ?? Date.now, steady: steadyMs, liveness: owners.liveness, ...guards };
  const used = { ledger: options.ledger === undefined, checkpointer: options.checkpointer === undefined };
  const stores = await openStores(configured.config, deps, used, (finding) => void findings.push(finding));
  try {
    return connectRooms(options, { ...configured, findings }, stores, owners, openServers);
  } catch (error) {
    await stores.close();
    throw error;
  }
}

function connectRooms(
  options: ToolgateOptions,
  configured: Configured,
  stores: Stores,
  owners: Owners,
  openServers: OpenServers,
): Toolgate {
  const { config, findings } = configured;
  const background = createBackground();
  const closed = new AbortController();
  const ports = portsOf(options, configured, stores, { owners, background, openServers, closed: closed.signal });
  const { servers, checker } = ports; // what was opened here is closed here
  const given = options.checkpointer ?? stores.checkpointer;
  const forget = forgetter(ports, given);
  const saver = isOurSaver(given) ? forgettingSaver(given, config.scope, forget) : given;
  const graph = buildGraph(ports, saver);
  const speaksFor = (scope: string) => typeof options.identify === "function" || scope === config.scope;
  const retention = startRetention(ports, (stopped) => forgetWhatIsOver(ports, forget, speaksFor, stopped));
  return withoutSecretsInPrint({
    graph,
    ledger: recordsOf(ports, shownBy(graph)),
    config,
    findings,
    host: ports,
    async snapshot(threadId, options = {}) {
      if (threadId === undefined) return ports.catalog.latest();
      const scope = scopeNamed(ports, options);
      const { values } = await graph.getState(spokenFor(threadId, scope));
      const id = (values as { snapshot?: { id: string } }).snapshot?.id;
      return id === undefined ? undefined : ports.catalog.snapshot(id);
    },
    forget: (threadId, options = {}) => forget.thread(threadId, scopeNamed(ports, options)),
    close: once(() => {
      closed.abort();
      return takeEvery([
        () => retention.end(),
        () => endAll([servers.close(), background.allQuiet()]),
        () => checker.close(),
        () => stores.ledger.close(),
        () => stores.close(),
        () => owners.end(),
      ]);
    }),
  });
}

/** Reads from the newest checkpoint of a thread which calls it is showing. */
export function shownBy(graph: Toolgate["graph"]): ShownCalls {
  return async (key, scope) => {
    const state = await graph.getState(spokenFor(threadOfKey(key), scope)).catch(unlessMissing);
    if (state === undefined) return undefined;
    if (state.config.configurable?.["checkpoint_id"] === undefined) return undefined;
    return (state.values as { operations?: OperationView[] }).operations ?? [];
  };
}

/** A thread that is another scope's shows nothing. */
function unlessMissing(error: unknown): undefined {
  if (!(error instanceof ToolgateError) || error.code !== "not_found") throw error;
}

/** One object that satisfies the ports of every room. */
function portsOf(
  options: ToolgateOptions,
  { config, policy, settings, tools, locals, lock }: Configured,
  stores: Stores,
  made: {
    readonly owners: Owners;
    readonly background: Background;
    readonly openServers: OpenServers;
    readonly closed: AbortSignal;
  },
) {
  const now = options.now ?? Date.now;
  const steady = steadyMs;
  const ledger = options.ledger ?? stores.ledger;
  const { redact, hide, ...definitions } = redactors(config);
  const servers = made.openServers(config, { now, redact, lateAnswerMs: config.lateAnswerMs });
  const catalog = createCatalog({
    config,
    servers,
    ledger,
    pause,
    steady,
    ...offered({ config, policy, settings, locals }),
    redact: definitions.redactDefinitions,
    redactNames: definitions.redactNames,
  });
  return {
    config,
    ledger,
    results: withLastBodies(stores.results),
    servers,
    catalog,
    accepted: createAccepted({ ledger, seals: sealsOf(config), lock, listed: catalog.known }),
    checker: createSchemaChecker(),
    policy,
    settings,
    hostDecision: hostDecisionOf(options, redact),
    destinationOf: destinationsOf(config),
    closing: () => made.closed.aborted,
    model: once(async () => options.model ?? (await configuredModel(config.model))),
    tools,
    newOwner: made.owners.next,
    secret: secretOf(config),
    identify: identifyBy(options.identify ?? config.approvals.identity),
    now,
    steady,
    uptime: uptimeMs,
    newId,
    every,
    after,
    background: made.background.add,
    quiet: made.background.quiet,
    redact,
    hide,
    jsonProblem,
  } satisfies GraphPorts;
}

/** What takes secrets out of text. `hide` adds a grant that was sent: it is a secret wherever it comes back. */
function redactors(config: Config) {
  const all = openRedactor([...config.secrets, ...config.literalSecrets], [GRANT_START]);
  const grants = openRedactor([], [GRANT_START]);
  const definitions = createRedactor(config.secrets); // without what the configuration itself says (secrets-4)
  const names = createNameRedactor(config.secrets);
  return {
    redact: all.redact,
    redactDefinitions: (text: string) => definitions(grants.redact(text)),
    redactNames: (text: string) => names(grants.redact(text)),
    hide(value: string) {
      all.hide(value);
      grants.hide(value);
    },
  };
}

/** What of the servers' and the host's tools a model is shown, and in which words. */
function offered({ config, policy, settings, locals }: Pick<Configured, "config" | "locals" | "policy" | "settings">) {
  return {
    locals: [...builtInTools(config), ...locals],
    injected: (server: string, tool: string) =>
      Object.keys(toolSettings(settings, { alias: "", server, tool }).inject ?? {}),
    hidden: (server: string, tool: string) => isHidden(settings, { server, tool }),
    keptBack: (entry: ToolEntry) => withheldByDeny(policy, entry),
  };
}

/** The host's `decide` with its deadline. What it says is text for people and models: secrets are taken out. */
function hostDecisionOf(
  { decide, decideTimeoutMs = 10_000 }: ToolgateOptions,
  redact: (text: string) => string,
): HostDecision | undefined {
  if (decide === undefined) return undefined;
  return hostDecision(decide, { timeoutMs: decideTimeoutMs, after, redact });
}

/** Loading a model loads its provider's package, so it is done at the first request. */
async function configuredModel(name: string | undefined) {
  const { resolveModel } = await import("../adapters/model/resolve.js");
  return resolveModel(name);
}

function jsonProblem(text: string): string | undefined {
  const parsed = parseStrictJson(text);
  return parsed.ok ? undefined : parsed.problem;
}

/** Who a run's answers come from. By itself nobody is identified: what a run is configured with, clients may have written. */
function identifyBy(identify: ToolgateOptions["identify"]): (runtime: LangGraphRunnableConfig) => unknown {
  if (identify === undefined) return () => undefined;
  return identify === "langgraph-auth" ? authenticatedUser : identify;
}

/** Whom LangGraph's server stamps on a request that says it comes from Studio, unless `auth.disable_studio_auth` is set. */
const STUDIO_USER = "langgraph-studio-user";

/** Who LangGraph's server stamped on the run. A header alone makes somebody Studio's user, so that one is nobody. */
function authenticatedUser(runtime: LangGraphRunnableConfig): string | undefined {
  const user = (runtime.configurable as { langgraph_auth_user?: { identity?: unknown } } | undefined)
    ?.langgraph_auth_user;
  return typeof user?.identity === "string" && user.identity !== STUDIO_USER ? user.identity : undefined;
}
