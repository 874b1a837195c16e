// Host: the real graph with everything around it fake. One of them is one process.

import type { MemorySaver } from "@langchain/langgraph";
import type { SchemaChecker } from "../../src/catalog/index.js";
import type { Config, OperationView } from "../../src/contracts/index.js";
import { Config as ConfigSchema } from "../../src/contracts/index.js";
import type { Servers } from "../../src/contracts/mcp-port.js";
import { builtInTools } from "../../src/execution/built-in-tools.js";
import { buildGraph, type GraphPorts } from "../../src/graph/index.js";
import { createCatalog } from "../../src/listings/catalog.js";
import type { ResultStore } from "../../src/observation/index.js";
import { compilePolicy, compileSettings, toolSettings } from "../../src/policy/index.js";
import { type Records, recordsOf } from "../../src/report/records.js";
import type { SharedLedger } from "./ledger.js";
import { PlannedModel } from "./model.js";
import type { Plan } from "./plan.js";
import { PortedSaver } from "./saver.js";
import { aliasOf, FATE, SERVER, type Server } from "./server.js";
import { type AtSend, createServers } from "./servers.js";
import type { Process, World } from "./world.js";

/** What outlives every host. */
export interface Shared {
  readonly ledger: SharedLedger;
  readonly saver: MemorySaver;
  readonly results: ResultStore;
  readonly server: Server;
  readonly atSend: AtSend;
  /** Puts a broken transport in the place of the right one. */
  readonly breaksServers?: ((servers: Servers) => Servers) | undefined;
}

export interface Running {
  readonly process: Process;
  readonly graph: ReturnType<typeof buildGraph>;
  readonly records: Records;
  /** Whether a run of this process has a key (an operation, a thread) in hand. */
  readonly holds: (instance: string, key: string) => boolean;
}

export function startHost(world: World, process: Process, shared: Shared, config: Config): Running {
  const held = new Map<string, Set<string>>();
  const late = new Map<string, Promise<unknown>>();
  const ledger = shared.ledger.of(process);
  const right = createServers(world, process, shared.server, shared.atSend);
  const servers = shared.breaksServers ? shared.breaksServers(right) : right;
  const context = { servers: Object.keys(config.mcpServers), localTools: [] };
  const { settings } = compileSettings(config.tools, config.mcpServers, context);
  const injected = (server: string, tool: string) =>
    Object.keys(toolSettings(settings, { alias: "", server, tool }).inject ?? {});
  const model = new PlannedModel(world, process);
  const catalog = createCatalog({
    config,
    servers,
    ledger,
    locals: builtInTools(config),
    injected,
    hidden: () => undefined,
    redact: (text) => text,
    pause: async () => undefined,
    steady: process.steady,
  });
  const parts = {
    config,
    ledger,
    results: {
      put: (threadId: string, body: string) => process.port("results.put", () => shared.results.put(threadId, body)),
      read: (threadId: string, ref: string) => process.port("results.read", () => shared.results.read(threadId, ref)),
    },
    servers,
    catalog,
    // The rules of a plan name each tool, so that nothing could be new.
    accepted: { newsOf: async () => undefined, keep: async () => undefined, isPinned: () => false },
    checker: CHECKER,
    policy: compilePolicy(config.permissions, context).policy,
    settings,
    destinationOf: () => undefined,
    model: async () => model,
    tools: new Map(),
    newOwner: () => {
      const instance = world.newId("owner");
      const keys = new Set<string>();
      held.set(instance, keys);
      const { machine, pid, name } = process;
      return {
        owner: { machine, pid, started: name, instance },
        hold: (key: string) => void keys.add(key),
        release: (key: string) => void keys.delete(key),
      };
    },
    secret: config.approvals.secret as string,
    identify: () => "someone",
    now: process.now,
    steady: process.steady,
    uptime: process.steady,
    newId: () => world.newId("id"),
    every: (ms: number, tick: () => void) => {
      let ticket = process.wake(ms, again);
      function again() {
        ticket = process.wake(ms, again);
        tick();
      }
      return () => ticket.cancel();
    },
    after: (ms: number) => {
      let cancel = () => {};
      const elapsed = new Promise<void>((resolve) => {
        const ticket = process.wake(ms, resolve);
        cancel = () => {
          ticket.cancel();
          resolve();
        };
      });
      return { elapsed, cancel };
    },
    background: (work: Promise<unknown>, operationId: string) => {
      const over = work.catch(() => undefined).finally(() => late.delete(operationId));
      late.set(operationId, over);
    },
    quiet: async (operationId: string) => {
      await late.get(operationId);
    },
    redact: (text: string) => text,
    hide: () => undefined,
    closing: () => false,
    jsonProblem: () => undefined,
  };
  const host: GraphPorts = parts;
  const graph = buildGraph(host, new PortedSaver(shared.saver, process, world.plan.saverMs));
  const records = recordsOf(host, async (threadId) => {
    const state = await graph.getState({ configurable: { thread_id: threadId } });
    return (state.values as { operations?: OperationView[] }).operations ?? [];
  });
  return { process, graph, records, holds: (instance, key) => held.get(instance)?.has(key) === true };
}

export function configOf({ tools, haltScope }: Plan): Config {
  const named = (decision: "allow" | "ask" | "deny") =>
    tools.filter((tool) => tool.decision === decision).map((tool) => aliasOf(tool.name));
  const reconcile = { tool: aliasOf(FATE), arguments: { operation_id: "$operationId" } };
  return ConfigSchema.parse({
    mcpServers: { [SERVER]: { type: "stdio", command: "none", cwd: "/" } },
    permissions: { allow: named("allow"), ask: named("ask"), deny: named("deny"), default: "deny" },
    tools: Object.fromEntries([
      [aliasOf(FATE), { effect: "read" }],
      ...tools.map((tool) => [
        aliasOf(tool.name),
        {
          effect: tool.effect,
          repeat: tool.repeat,
          errors: tool.errors,
          ...(tool.contract ? { contract: "status" } : {}),
          ...(tool.keyed ? { inject: { operation_id: "operationId" } } : {}),
          ...(tool.readBack ? { reconcile } : {}),
        },
      ]),
    ]),
    haltScope,
    approvals: { secret: "a-secret-for-simulated-runs-of-enough-length" },
    store: { kind: "memory" },
    folder: "/",
  });
}

/** Looks at types of an object's own properties and at nothing else: all that the fake server's schemas say. */
const CHECKER: SchemaChecker = {
  check: async (_key, schema, value) => {
    const { required = [], properties = {} } = schema as {
      required?: string[];
      properties?: Record<string, { type?: string }>;
    };
    const given = (value ?? {}) as Record<string, unknown>;
    const missing = required.filter((name) => !Object.hasOwn(given, name)).map((name) => `/${name} is missing`);
    const wrong = Object.entries(properties).flatMap(([name, { type }]) =>
      Object.hasOwn(given, name) && typeof given[name] !== type ? [`/${name} is no ${type}`] : [],
    );
    const problems = [...missing, ...wrong];
    return problems.length === 0 ? { valid: true } : { valid: false, problems };
  },
  close: async () => undefined,
};
