// The host's configuration after loading: defaults filled in, variables expanded, paths absolute.
//
// The file a person writes is described by `src/adapters/config`; this is what every room reads.

import { z } from "zod";
import { DecisionKind, EffectClass } from "./operation.js";
import { JsonObject } from "./snapshot.js";
import { DEFAULT_SCOPE, isScope, SCOPE_RULE } from "./thread-id.js";

const count = z.number().int().nonnegative();
const positive = z.number().int().positive();

export const ErrorsMode = z.enum(["conservative", "honest"]);
export const VerifyMode = z.enum(["each-call", "on-change"]);
export type VerifyMode = z.infer<typeof VerifyMode>;

/** Values expected at JSON pointers (RFC 6901); all must be there. */
export const Facts = z
  .record(
    z.string().regex(/^(\/([^~/]|~[01])*)+$/, "must be a JSON pointer such as `/data/state`"),
    z.union([z.string(), z.number(), z.boolean(), z.null()]),
  )
  .refine((facts) => Object.keys(facts).length > 0, "names nothing that could be met");
export type Facts = z.infer<typeof Facts>;

/** The name of a scope. */
export const Scope = z.string().min(1).max(255).refine(isScope, `must be ${SCOPE_RULE}`);

const serverCommon = {
  /** `on-demand` servers wait until the model asks for them with `connect_server`. */
  connect: z.enum(["start", "on-demand"]).default("start"),
  /** Whether a failed discovery of this server fails the run. */
  required: z.boolean().default(false),
  /** The MCP protocol version: negotiated, or pinned. */
  protocol: z.enum(["auto", "2026-07-28", "2025-11-25"]).default("auto"),
  /** When definitions are checked again before a call. Unset: `each-call` for writes, `on-change` for reads. */
  verify: VerifyMode.optional(),
  /** `honest`: the host vouches that an error answer means that nothing was changed. */
  errors: ErrorsMode.default("conservative"),
  /** Milliseconds from the send to our deadline, for calls of this server's tools that no `tools` entry gives one. */
  timeoutMs: positive.optional(),
  /** Key of the grants for this server, shared with it. @default `approvals.secret` */
  grantSecret: z.string().min(32).optional(),
  /**
   * Names who the server is called as. Under one name, changed credentials (secret arguments, variables, headers) do not ask
   * again about calls that were approved. @default approvals hold for the credentials themselves
   */
  credentialId: z.string().min(1).max(200).optional(),
  /** Globs: only tools that match one of them are offered. @default every tool */
  show: z.array(z.string()).optional(),
  /** Globs: no tool that matches one of them is offered. @default none */
  hide: z.array(z.string()).optional(),
};

export const StdioServer = z.strictObject({
  type: z.literal("stdio"),
  command: z.string().min(1),
  args: z.array(z.string()).default([]),
  env: z.record(z.string(), z.string()).default({}),
  /** Absolute once loaded. */
  cwd: z.string(),
  ...serverCommon,
});
export type StdioServer = z.infer<typeof StdioServer>;

export const HttpServer = z.strictObject({
  type: z.enum(["http", "sse"]),
  url: z.string(),
  headers: z.record(z.string(), z.string()).default({}),
  ...serverCommon,
});
export type HttpServer = z.infer<typeof HttpServer>;

export const ServerConfig = z.discriminatedUnion("type", [StdioServer, HttpServer]);
export type ServerConfig = z.infer<typeof ServerConfig>;

/**
 * A read-back: which read to make when a write's outcome is unknown, and which of its answers settle it. In `arguments`
 * the text `$operationId` stands for the operation's id, `$arguments.NAME` for an argument of the write.
 */
export const Reconcile = z.strictObject({
  /** One tool of one server. */
  tool: z.string(),
  arguments: JsonObject,
  /** JSON pointers into the structured content, with the value that says that it happened. @default {"/data/carried_out": true} */
  happened: Facts.optional(),
  /**
   * The same for: it did not happen, and will not any more. The host vouches for the second half: "not there yet" is none.
   * @default {"/data/carried_out": false, "/data/final": true}
   */
  didNotHappen: Facts.optional(),
});
export type Reconcile = z.infer<typeof Reconcile>;

/** What a host says of a tool. Every key is optional: `toolSettings` merges those that match. */
export const ToolConfig = z.strictObject({
  effect: EffectClass.optional(),
  /** Milliseconds from the send to our deadline. @default 30000 for a read, 60000 for a write */
  timeoutMs: positive.optional(),
  /** What becomes of a write identical to an earlier one. @default "ask" */
  repeat: DecisionKind.optional(),
  errors: ErrorsMode.optional(),
  /** `status`: the tool reports its own outcome in `structuredContent.status`. */
  contract: z.literal("status").optional(),
  /** A success that breaks its output schema: `unknown` outcome, or `flag` it and take it. @default "unknown" */
  outputMismatch: z.enum(["unknown", "flag"]).optional(),
  verify: VerifyMode.optional(),
  /** Parameters hidden from the model and filled in at the send: a signed grant, or the operation's id. */
  inject: z.record(z.string(), z.enum(["grant", "operationId"])).optional(),
  /** A read that tells whether an operation was carried out. */
  reconcile: Reconcile.optional(),
});
export type ToolConfig = z.infer<typeof ToolConfig>;

export const Permissions = z.strictObject({
  allow: z.array(z.string()).default([]),
  ask: z.array(z.string()).default([]),
  deny: z.array(z.string()).default([]),
  default: z.enum(["ask", "deny"]).default("ask"),
});
export type Permissions = z.infer<typeof Permissions>;

/** Bounds on what servers may list. A bound that is hit fails that server's discovery or withholds the tool. */
export const CatalogLimits = z.strictObject({
  pages: positive.default(64),
  /** Tools of one server. */
  tools: positive.default(512),
  servers: positive.default(64),
  pageBytes: positive.default(4_194_304),
  toolBytes: positive.default(131_072),
  cursorChars: positive.default(4_096),
  descriptionChars: positive.default(16_384),
  schemaDepth: positive.default(32),
  schemaNodes: positive.default(4_096),
  /** Parameters of one tool. @default none */
  parameters: positive.optional(),
  /** A pattern the whole tool name must match. @default none */
  toolName: z.string().optional(),
  /** A pattern the whole server name must match. @default none */
  serverName: z.string().optional(),
  /** `strings-only`: an object of required string fields named `[a-z][a-z0-9_]{0,31}` and nothing else. */
  schema: z.enum(["full", "strings-only"]).default("full"),
  /** `refuse`: no `$ref` at all. Remote ones are refused either way. */
  refs: z.enum(["local", "refuse"]).default("local"),
});
export type CatalogLimits = z.infer<typeof CatalogLimits>;

/** Budgets of a user turn and bounds of arguments and results. */
export const Limits = z.strictObject({
  calls: count.default(25),
  writes: count.default(10),
  modelRequests: positive.default(50),
  /** Milliseconds of a turn spent in model requests and calls; waiting for people does not count. */
  wallMs: positive.default(600_000),
  /** Canonical JSON bytes of one call's arguments. */
  argumentBytes: positive.default(32_000),
  /** Characters of any one string among the arguments. @default none */
  argumentChars: positive.optional(),
  /** Above this the model reads an excerpt and a `ref`. */
  resultBytes: positive.default(32_000),
  /** Above this a result is not taken at all. */
  hardResultBytes: positive.default(8_388_608),
  resultBlocks: positive.optional(),
  resultChars: positive.optional(),
  /** `text`: only non-empty text blocks and no structured content. */
  resultKinds: z.enum(["any", "text"]).default("any"),
  parallelReads: positive.default(4),
});
export type Limits = z.infer<typeof Limits>;

export const ApprovalSettings = z.strictObject({
  /** Key of the seal on verdicts. Unset: random per process. */
  secret: z.string().min(32).optional(),
  /** Secrets that were `secret` before: what was sealed with them still holds. */
  previousSecrets: z.array(z.string().min(32)).default([]),
  /** Milliseconds from a batch's last verdict to its claim. */
  ttlMs: positive.default(60_000),
  /** Milliseconds an open question stays open. */
  requestTtlMs: positive.default(7 * 24 * 3_600_000),
  /** Whether a list of answers without ids is taken in order. */
  positional: z.enum(["accept", "refuse"]).default("accept"),
  /** Refuses answers and resolutions of `unauthenticated`. */
  requireIdentity: z.boolean().default(false),
  /**
   * `langgraph-auth`: LangGraph's server has `auth` set up and stamps who calls it (`langgraph_auth_user`). Without `auth`
   * a client could write that itself. @default nobody is identified
   */
  identity: z.literal("langgraph-auth").optional(),
});
export type ApprovalSettings = z.infer<typeof ApprovalSettings>;

export const StoreConfig = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("sqlite"),
    path: z.string(),
    /** A file outside of `path` by which a store that was set back is noticed. @default none */
    mark: z.string().optional(),
  }),
  z.strictObject({
    kind: z.literal("postgres"),
    url: z.string(),
    /** Names statements, so that each connection plans them once. Only without a pooler in transaction mode. */
    prepared: z.boolean().default(false),
    /** Connections of this process at most, as in pg's `Pool`. */
    max: positive.default(10),
    /** A file of this host by which it notices that a thread it sent writes for was set back. @default none */
    mark: z.string().optional(),
  }),
  z.strictObject({ kind: z.literal("memory") }),
]);
export type StoreConfig = z.infer<typeof StoreConfig>;

export const Config = z.strictObject({
  /** An `initChatModel` name, or `scripted:` and an absolute path. */
  model: z.string().optional(),
  mcpServers: z.record(z.string(), ServerConfig).default({}),
  /** Names of servers the file leaves out (`disabled: true`, `enabled: false`): rules may still name them. */
  disabledServers: z.array(z.string()).optional(),
  permissions: Permissions.default(Permissions.parse({})),
  /** Keyed by tool pattern. */
  tools: z.record(z.string(), ToolConfig).default({}),
  catalog: z
    .strictObject({
      onInvalid: z.enum(["withhold", "refuse"]).default("withhold"),
      limits: CatalogLimits.default(CatalogLimits.parse({})),
    })
    .default({ onInvalid: "withhold", limits: CatalogLimits.parse({}) }),
  limits: Limits.default(Limits.parse({})),
  /** Milliseconds we keep listening for an answer after a write's deadline. */
  lateAnswerMs: count.default(5_000),
  /** Milliseconds a claim holds without a heartbeat. */
  leaseMs: positive.default(15_000),
  haltScope: z.enum(["thread", "server"]).default("thread"),
  approvals: ApprovalSettings.default(ApprovalSettings.parse({})),
  /** Of every run of which `identify` says no other. */
  scope: Scope.default(DEFAULT_SCOPE),
  store: StoreConfig,
  /** Threads that nobody has used for so many days are forgotten. @default never */
  retention: z.strictObject({ days: z.number().positive() }).optional(),
  /** Where the pins of servers stand. `required`: the configuration names the file, so that it must be there. */
  lock: z.strictObject({ path: z.string(), required: z.boolean() }).optional(),
  /** Values that never leave the process in text: expanded variables, the approval secret, and the parts of both. */
  secrets: z.array(z.string()).default([]),
  /** Secrets that are written in the configuration itself. They are taken out of text and leave definitions as they are. */
  literalSecrets: z.array(z.string()).default([]),
  /** The folder the configuration came from; what relative paths were relative to. */
  folder: z.string(),
});
export type Config = z.infer<typeof Config>;

/** Names of the servers that wait to be connected. */
export function onDemand({ mcpServers }: Pick<Config, "mcpServers">): string[] {
  return Object.keys(mcpServers).filter((name) => mcpServers[name]?.connect === "on-demand");
}

/** Servers that a branch of a thread uses: those connected at the start, and those the model asked for. */
export function serversInUse({ mcpServers }: Pick<Config, "mcpServers">, connected: readonly string[]): string[] {
  return Object.keys(mcpServers).filter((name) => mcpServers[name]?.connect === "start" || connected.includes(name));
}
