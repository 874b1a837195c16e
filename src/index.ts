// The public door: a composition root that reads a configuration, chooses adapters and hands out the graph.

import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { StructuredToolInterface } from "@langchain/core/tools";
import { toJsonSchema } from "@langchain/core/utils/json_schema";
import { type BaseCheckpointSaver, type LangGraphRunnableConfig, MemorySaver } from "@langchain/langgraph";
import Database from "better-sqlite3";
import { checkConfig } from "./adapters/config/check.js";
import { parseStrictJson } from "./adapters/config/json.js";
import { type Loaded, readConfig, resolveConfig } from "./adapters/config/load.js";
import { createMemoryLedger } from "./adapters/memory/tables.js";
import { createOwner } from "./adapters/process/owner.js";
import { createSqliteLedger, sqliteHolds } from "./adapters/sqlite/ledger.js";
import { createServers } from "./adapters/mcp/servers.js";
import { resolveModel } from "./adapters/model/resolve.js";
import { openPostgres } from "./adapters/postgres/open.js";
import { createSchemaChecker } from "./adapters/schema/checker.js";
import { CheckpointSerializer } from "./langgraph/serde.js";
import { openCheckpointer } from "./adapters/sqlite/checkpointer.js";
import { makeFolder } from "./adapters/sqlite/folder.js";
import { createMemoryResults } from "./adapters/memory/results.js";
import { createSqliteResults } from "./adapters/sqlite/results.js";
import { GRANT_START } from "./approval/index.js";
import type { LocalTool } from "./catalog/index.js";
import { type Config, type Finding, type JsonObject, ToolgateError, type ToolSnapshot } from "./contracts/index.js";
import type { Ledger, LedgerDeps } from "./ledger/port.js";
import {
  BUILT_INS,
  buildGraph,
  createCatalog,
  type Host,
  type OperationView,
  type Records,
  recordsOf,
} from "./graph/index.js";
import { openRedactor, type ResultStore } from "./observation/index.js";
import { compilePolicy, compileSettings, toolSettings } from "./policy/index.js";

export type { PersonAnswer } from "./approval/index.js";
export {
  ApprovalItem,
  Config,
  Decision,
  ERROR_CODES,
  type ErrorCode,
  Finding,
  Operation,
  OperationItem,
  OperationState,
  Outcome,
  OutcomeBy,
  OutcomeStatus,
  RejectedReason,
  RunReport,
  SettledReason,
  ToolEntry,
  ToolgateError,
  ToolSnapshot,
  ToolsReport,
  UnknownItem,
} from "./contracts/index.js";
export type { Ledger } from "./ledger/port.js";
export type { Records } from "./graph/index.js";

export interface ToolgateOptions {
  /** A path to `toolgate.json`, or its content. */
  readonly config: string | Config | Readonly<Record<string, unknown>>;
  /** Any LangChain chat model that binds tools. @default the configuration's `model` */
  readonly model?: BaseChatModel;
  /** @default a saver in the configured store */
  readonly checkpointer?: BaseCheckpointSaver;
  /** @default the configured store */
  readonly ledger?: Ledger;
  /** The host's own tools, offered beside the servers'. */
  readonly tools?: readonly StructuredToolInterface[];
  /** Who answers questions in a run. **Contract:** may throw or return undefined; then nobody is identified. @default the run's `langgraph_auth_user` */
  readonly identify?: (runtime: LangGraphRunnableConfig) => string | undefined;
  /**
   * Names this machine among those that share a store: whether a process of another machine still lives is decided by its
   * lease alone. Set it where containers or virtual machines share a machine id. @default the operating system's id
   */
  readonly machine?: string;
  /** The clock, in epoch milliseconds, for expiry, leases and the ledger's times. @default Date.now */
  readonly now?: () => number;
}

export interface Toolgate {
  /** The compiled graph: invoke, stream, getState, getStateHistory. */
  readonly graph: ReturnType<typeof buildGraph>;
  readonly ledger: Records;
  readonly config: Config;
  /** What is odd about the configuration, without having started anything. */
  readonly findings: readonly Finding[];
  /** What the graph's nodes are given; for the command and the service. */
  readonly host: Host;
  /** The current snapshot (of a thread); undefined before the first discovery. */
  snapshot(threadId?: string): Promise<ToolSnapshot | undefined>;
  /** Ends every process that was started, after calls in flight and late answers were waited for. Idempotent. */
  close(): Promise<void>;
}

/** Reads a configuration file. Throws `config_unreadable`, `config_invalid` and `config_variable`. */
export async function loadConfig(path: string): Promise<Config> {
  return (await readConfig(path, process.env)).config;
}

/** Puts the agent together. Starts no server; the first `discover` does. Throws the errors of `loadConfig`, and `store_failed`. */
export async function createToolgate(options: ToolgateOptions): Promise<Toolgate> {
  const { config, findings } = await configure(options);
  const tools = new Map((options.tools ?? []).map((tool) => [tool.name, tool]));
  const locals = (options.tools ?? []).map(localTool);
  refuseClashes(options.tools ?? []);
  const context = {
    servers: [...Object.keys(config.mcpServers), ...(config.disabledServers ?? [])],
    localTools: [...tools.keys(), ...BUILT_INS],
  };
  const policy = compilePolicy(config.permissions, context);
  const settings = compileSettings(config.tools, config.mcpServers, context);
  const all = [...findings, ...policy.findings, ...settings.findings];
  const wrong = all.find((finding) => finding.level === "error");
  if (wrong)
    throw new ToolgateError(
      "config_invalid",
      wrong.message,
      "mend the configuration; `toolgate check` lists everything at once",
    );

  const now = options.now ?? Date.now;
  const owners = ownersOf(options.machine);
  const stores = openStores(config, { now, liveness: owners.liveness }, options.ledger === undefined);
  const ledger = options.ledger ?? stores.ledger;
  const { redact, hide } = openRedactor(config.secrets, [GRANT_START]);
  const servers = createServers(config.mcpServers, { now, redact, lateAnswerMs: config.lateAnswerMs });
  const checker = createSchemaChecker();
  const late = new Map<string, Promise<unknown>>();
  const injected = (server: string, tool: string) =>
    Object.keys(toolSettings(settings.settings, { alias: "", server, tool }).inject ?? {});
  const catalog = createCatalog({ config, servers, ledger, locals, injected, redact });
  const host: Host = {
    config,
    ledger,
    results: stores.results,
    servers,
    catalog,
    checker,
    policy: policy.policy,
    settings: settings.settings,
    model: once(async () => options.model ?? (await resolveModel(config.model))),
    tools,
    newOwner: owners.next,
    secret: config.approvals.secret ?? randomBytes(32).toString("base64url"),
    identify: options.identify ?? authenticatedUser,
    now,
    steady: () => performance.now(),
    newId: () => randomBytes(16).toString("hex"),
    every,
    after,
    background: (work, operationId) => {
      late.set(
        operationId,
        work.catch(() => undefined).finally(() => late.delete(operationId)),
      ); // one send, one wait
    },
    quiet: async (operationId) => {
      await late.get(operationId);
    },
    redact,
    hide,
    jsonProblem: (text) => {
      const parsed = parseStrictJson(text);
      return parsed.ok ? undefined : parsed.problem;
    },
  };
  const graph = buildGraph(host, options.checkpointer ?? stores.checkpointer);
  return {
    graph,
    ledger: recordsOf(host, async (threadId) => {
      const state = await graph.getState({ configurable: { thread_id: threadId } });
      if (state.config.configurable?.["checkpoint_id"] === undefined) return undefined;
      return (state.values as { operations?: OperationView[] }).operations ?? [];
    }),
    config,
    findings: all,
    host,
    async snapshot(threadId) {
      if (threadId === undefined) return catalog.latest();
      const state = await graph.getState({ configurable: { thread_id: threadId } });
      const id = (state.values as { snapshot?: { id: string } }).snapshot?.id;
      return id === undefined ? undefined : catalog.snapshot(id);
    },
    close: once(async () => {
      await Promise.all([servers.close(), Promise.allSettled([...late.values()])]);
      await checker.close();
      await ledger.close();
      await stores.close();
      owners.end();
    }),
  };
}

async function configure({ config: given, model }: ToolgateOptions): Promise<Loaded> {
  const loaded =
    typeof given === "string"
      ? await readConfig(given, process.env)
      : isResolved(given)
        ? { config: given, findings: [] }
        : resolveConfig(given, { folder: process.cwd(), env: process.env });
  const checked = checkConfig(loaded.config).filter(isForNow);
  const findings = [...loaded.findings, ...checked.filter(({ code }) => !(model && code === "model_missing"))];
  return { config: loaded.config, findings };
}

/** A server that cannot start is told at discovery, and the others go on; without its store nothing does. */
function isForNow({ level, code }: Finding): boolean {
  return level === "warning" || code.startsWith("store_");
}

/** A configuration that `loadConfig` returned has a folder; what a person writes has none. */
function isResolved(given: Exclude<ToolgateOptions["config"], string>): given is Config {
  return typeof (given as Partial<Config>).folder === "string" && typeof (given as Partial<Config>).limits === "object";
}

interface Stores {
  readonly ledger: Ledger;
  readonly results: ResultStore;
  readonly checkpointer: BaseCheckpointSaver;
  readonly close: () => Promise<void>;
}

/** `itsLedger`: the threads are held by the store's own ledger, so its checkpointer can ask whose they are. */
function openStores(config: Config, deps: LedgerDeps, itsLedger: boolean): Stores {
  switch (config.store.kind) {
    case "memory":
      return {
        ledger: createMemoryLedger(deps),
        results: createMemoryResults(),
        checkpointer: new MemorySaver(new CheckpointSerializer()),
        close: async () => undefined,
      };
    case "sqlite": {
      const db = openDatabase(config.store.path);
      return {
        ledger: createSqliteLedger(db, deps),
        results: createSqliteResults(db),
        checkpointer: openCheckpointer(db, itsLedger ? sqliteHolds(db) : undefined),
        close: async () => {
          db.close();
        },
      };
    }
    case "postgres":
      return openPostgres(config.store.url, deps, { fenced: itsLedger });
  }
}

/** One file holds ledger, results and checkpoints: what belongs together is backed up together. */
function openDatabase(folder: string): Database.Database {
  const file = join(folder, "toolgate.sqlite");
  try {
    makeFolder(folder);
    return new Database(file, { timeout: 5_000 });
  } catch (cause) {
    throw new ToolgateError(
      "store_failed",
      `the store \`${file}\` cannot be opened: ${(cause as Error).message}`,
      "check that `store.path` is a folder you may write to",
      { cause },
    );
  }
}

function localTool(tool: StructuredToolInterface): LocalTool {
  return { name: tool.name, description: tool.description, inputSchema: toJsonSchema(tool.schema) as JsonObject };
}

function refuseClashes(tools: readonly StructuredToolInterface[]): void {
  const seen = new Set<string>(BUILT_INS);
  for (const { name } of tools) {
    if (seen.has(name)) {
      throw new ToolgateError(
        "config_invalid",
        `two tools are named \`${name}\``,
        `rename the host's tool; ${BUILT_INS.join(" and ")} are built in`,
      );
    }
    seen.add(name);
  }
}

/** One owner a run, forgotten when it holds nothing any more. */
function ownersOf(machine: string | undefined) {
  const { liveness, end } = createOwner(machine);
  end(); // only its eyes are used
  const living = new Set<ReturnType<typeof createOwner>>();
  return {
    liveness,
    next() {
      const handle = createOwner(machine);
      const held = new Set<string>();
      living.add(handle);
      return {
        owner: handle.owner,
        hold(operationId: string) {
          held.add(operationId);
          handle.hold(operationId);
        },
        release(operationId: string) {
          held.delete(operationId);
          handle.release(operationId);
          if (held.size > 0) return;
          handle.end();
          living.delete(handle);
        },
      };
    },
    end() {
      for (const handle of living) handle.end();
    },
  };
}

function authenticatedUser(runtime: LangGraphRunnableConfig): string | undefined {
  const user = (runtime.configurable as { langgraph_auth_user?: { identity?: unknown } } | undefined)
    ?.langgraph_auth_user;
  return typeof user?.identity === "string" ? user.identity : undefined;
}

function every(ms: number, tick: () => void): () => void {
  const timer = setInterval(tick, ms);
  timer.unref();
  return () => clearInterval(timer);
}

function after(ms: number): { elapsed: Promise<void>; cancel: () => void } {
  let cancel = () => {};
  const elapsed = new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms);
    cancel = () => {
      clearTimeout(timer);
      resolve();
    };
  });
  return { elapsed, cancel };
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}
