// The configuration file as a person writes it. `toolgate.schema.json`, which editors read, is generated from here.
//
// What the file shares with the resolved `Config` is taken from the contracts, so limits and defaults are declared once; a
// key that is added there does not compile until it is described here. Milliseconds that become a timer stay below 2^31,
// because a longer timer fires at once.
//
//   file-1. Values are checked strictly. Unknown keys pass here; `unknownKeys` finds them.

import { z } from "zod";
import {
  ApprovalSettings,
  CatalogLimits,
  DEFAULT_SCOPE,
  Limits,
  Permissions,
  Scope,
  StdioServer,
  ToolConfig,
} from "../../contracts/index.js";
import { HIDE_KEYS, OFFER_SHAPE, SHOW_KEYS, SWITCH_KEYS } from "./offer-keys.js";

/** The longest time a timer can hold. */
const MAX_TIMER_MS = 2_147_483_647;

const timerMs = z.number().int().positive().max(MAX_TIMER_MS);
const strings = z.array(z.string());
const DEFAULT_STORE = { kind: "sqlite" as const, path: ".toolgate" };

/** Every spelling of a transport, and what it means. */
export const TRANSPORTS = {
  stdio: "stdio",
  http: "http",
  sse: "sse",
  "streamable-http": "http",
  streamableHttp: "http",
  streamable_http: "http",
} as const;

const transport = z.enum(Object.keys(TRANSPORTS) as [keyof typeof TRANSPORTS, ...(keyof typeof TRANSPORTS)[]]);

/** An object schema in which every field has a description. */
function described<S extends z.core.$ZodShape>(shape: S, texts: Record<keyof S, string>): z.ZodObject<S> {
  const entries = Object.entries(shape) as [keyof S & string, z.ZodType][];
  const fields = Object.fromEntries(entries.map(([key, schema]) => [key, schema.describe(texts[key])]));
  return z.object(fields as unknown as S);
}

export const FileServer = described(
  {
    type: transport.optional(),
    transport: transport.optional(),
    command: z.string().min(1).optional(),
    args: strings.optional(),
    env: z.record(z.string(), z.string()).optional(),
    cwd: z.string().min(1).optional(),
    url: z.string().min(1).optional(),
    headers: z.record(z.string(), z.string()).optional(),
    connect: StdioServer.shape.connect,
    required: StdioServer.shape.required,
    protocol: StdioServer.shape.protocol,
    verify: StdioServer.shape.verify,
    errors: StdioServer.shape.errors,
    ...OFFER_SHAPE,
    timeout: timerMs.optional(),
    grantSecret: z.string().optional(),
    credentialId: StdioServer.shape.credentialId,
    autoApprove: z.unknown().optional(),
    alwaysAllow: z.unknown().optional(),
  },
  {
    type: "Transport; `streamable-http` and its spellings mean `http`. Unset: `stdio` with a command, `http` with a url.",
    transport: "Another name for `type`.",
    command: "Program of a stdio server, started without a shell. Without a slash it is looked up on PATH.",
    args: "Arguments of the program, handed over as they are.",
    env: "Environment of the program, added to a short default list. Nothing else of toolgate's own is passed on.",
    cwd: "Folder the program starts in, relative to this file. Unset: this file's folder.",
    url: "Address of an HTTP server: https, or http on this machine.",
    headers: "Headers of each HTTP request. Their values never reach the model, a log or an error text.",
    connect: "`on-demand`: not connected until the model asks for it with `connect_server`.",
    required: "Whether a failed discovery of this server fails the run.",
    protocol: "MCP protocol version: negotiated (`auto`) or pinned.",
    verify: "When definitions are checked again before a call. Unset: `each-call` for writes, `on-change` for reads.",
    errors: "`honest`: you vouch that an error answer of this server means that nothing was changed.",
    ...SHOW_KEYS,
    ...HIDE_KEYS,
    ...SWITCH_KEYS,
    timeout: "Milliseconds a call may take where `tools` does not say otherwise.",
    grantSecret:
      "Key of the grants for this server, which it has too; at least 32 characters. Unset: `approvals.secret`.",
    credentialId:
      "Names who the server is called as. Under one name, changed credentials (secret arguments, variables, headers) do not ask again about calls that were approved. Unset: they do.",
    autoApprove: "Key of other hosts. Allows nothing here; the rules it suggests are reported.",
    alwaysAllow: "Key of other hosts. Allows nothing here; the rules it suggests are reported.",
  },
).meta({ oneOf: [{ required: ["command"] }, { required: ["url"] }] });
export type FileServer = z.infer<typeof FileServer>;

const FilePermissions = described(Permissions.shape, {
  allow: "Rules for calls that run without a question. The server part is literal: `mcp__docs__*`.",
  ask: "Rules for calls a person is asked about. Beats `allow`.",
  deny: "Rules for calls that are refused. Beats `ask` and `allow`.",
  default: "What becomes of a call that no rule names.",
});

const FileTool = described(
  { ...ToolConfig.shape, timeoutMs: timerMs.optional() },
  {
    effect: "What the tool does to the world. Unset: `write`.",
    timeoutMs: "Milliseconds from the send to our deadline. Unset: 30000 for a read, 60000 for a write.",
    repeat: "What becomes of a write identical to an earlier one of the thread. Unset: `ask`.",
    errors: "`honest`: you vouch that an error answer of this tool means that nothing was changed.",
    contract: "`status`: the tool reports its own outcome in `structuredContent.status`.",
    outputMismatch: "A success that breaks its output schema: `unknown` outcome, or `flag` it and take it.",
    verify: "When the definition is checked again before a call. Unset: as the server's.",
    inject:
      "Parameters hidden from the model and filled in at the send: `grant` (signed, for this call) or `operationId`.",
    reconcile:
      "A read that tells whether an operation was carried out; `$operationId` stands for its id, `$arguments.NAME` for an argument.",
  },
);

const FileLimits = described(
  { ...Limits.shape, wallMs: timerMs.default(600_000) },
  {
    calls: "Calls sent in one user turn.",
    writes: "Writes sent in one user turn.",
    modelRequests: "Model requests of one user turn.",
    wallMs: "Milliseconds of a turn spent in model requests and calls; waiting for people does not count.",
    argumentBytes: "Canonical JSON bytes of one call's arguments.",
    argumentChars: "Characters of any one string among the arguments.",
    resultBytes: "Above this the model reads an excerpt and a reference.",
    hardResultBytes: "Above this a result is not taken at all.",
    resultBlocks: "Content blocks of one result.",
    resultChars: "Characters of one result's text.",
    resultKinds: "`text`: only non-empty text blocks and no structured content.",
    parallelReads: "Reads that run side by side.",
  },
);

const FileCatalogLimits = described(CatalogLimits.shape, {
  pages: "Pages of one server's tool list.",
  tools: "Tools of one server.",
  servers: "Servers.",
  pageBytes: "Bytes of one page of a tool list.",
  toolBytes: "Bytes of one tool's definition.",
  cursorChars: "Characters of a page cursor.",
  descriptionChars: "Characters of a tool's description.",
  schemaDepth: "Nesting of a tool's schema.",
  schemaNodes: "Nodes of a tool's schema.",
  parameters: "Parameters of one tool.",
  toolName: "A regular expression that every whole tool name must match.",
  serverName: "A regular expression that every whole server name must match.",
  schema: "`strings-only`: tools take an object of required string fields and nothing else.",
  refs: "`refuse`: tools whose schemas hold a `$ref` are bad definitions. Unset: references within the schema are taken.",
});

const FileCatalog = described(
  {
    onInvalid: z.enum(["withhold", "refuse"]).default("withhold"),
    limits: FileCatalogLimits.prefault({}),
  },
  {
    onInvalid: "A bad definition: `withhold` that tool, or `refuse` the whole catalog and keep the old one.",
    limits: "Bounds on what servers may list.",
  },
);

const FileApprovals = described(
  { ...ApprovalSettings.shape, secret: z.string().optional(), previousSecrets: z.array(z.string()).default([]) },
  {
    secret:
      "Key of the seals on answers and on the ledger's rows, at least 32 characters, best from a variable. Unset: kept in the store's folder; with Postgres random per process.",
    previousSecrets: "Secrets that were `secret` before. What was sealed with them still holds.",
    ttlMs: "Milliseconds from a batch's last answer to its sending.",
    requestTtlMs: "Milliseconds an open question stays open.",
    positional: "Whether a list of answers without ids is taken in order.",
    requireIdentity: "Refuses answers and resolutions of people who are not identified.",
    identity:
      "`langgraph-auth`: people are who LangGraph's server says. Only where its `auth` is set up, since clients could say it themselves otherwise.",
  },
);

const FileStore = z.discriminatedUnion("kind", [
  described(
    { kind: z.literal("sqlite"), path: z.string().min(1).default(".toolgate"), mark: z.string().min(1).optional() },
    {
      kind: "Files in a folder.",
      path: "The folder, relative to this file.",
      mark: "A file outside of that folder, relative to this file, by which a store that was set back is noticed.",
    },
  ),
  described(
    {
      kind: z.literal("postgres"),
      url: z.string().min(1),
      prepared: z.boolean().default(false),
      max: z.number().int().positive().default(10),
      mark: z.string().min(1).optional(),
    },
    {
      kind: "A Postgres database.",
      url: "Connection string.",
      prepared: "Names statements, so that each connection plans them once. Not with a pooler in transaction mode.",
      max: "Connections of one host at most, as in pg's Pool.",
      mark: "A file of this host, relative to this file, by which it notices that a thread was set back.",
    },
  ),
  described({ kind: z.literal("memory") }, { kind: "Nothing outlives the process." }),
]);

const server = "A server's name, and how to reach it.";

/** The whole file. */
export const ConfigFile = described(
  {
    $schema: z.string().optional(),
    model: z.string().min(1).optional(),
    mcpServers: z.record(z.string(), FileServer).prefault({}),
    servers: z.record(z.string(), FileServer).prefault({}),
    permissions: FilePermissions.prefault({}),
    tools: z.record(z.string(), FileTool).prefault({}),
    catalog: FileCatalog.prefault({}),
    limits: FileLimits.prefault({}),
    lateAnswerMs: z.number().int().nonnegative().max(MAX_TIMER_MS).default(5_000),
    leaseMs: timerMs.default(15_000),
    haltScope: z.enum(["thread", "server"]).default("thread"),
    approvals: FileApprovals.prefault({}),
    scope: Scope.default(DEFAULT_SCOPE),
    store: FileStore.default(DEFAULT_STORE),
    lock: z.string().min(1).optional(),
    retention: described(
      { days: z.number().positive() },
      { days: "Days without use after which a thread is forgotten, if nothing of it waits or is unknown." },
    ).optional(),
  },
  {
    $schema: "Where editors find the schema of this file.",
    model: 'A model such as "openai:gpt-5.1", or "scripted:" and the path of a script, relative to this file.',
    mcpServers: `MCP servers, in the shape other hosts use. ${server}`,
    servers: `Read like \`mcpServers\`, as in VS Code's files. ${server}`,
    permissions: "Which calls run, which are asked about, which are refused.",
    tools: "What you say of tools. Keys match like rules: `mcp__docs__*`; an exact key beats a glob.",
    catalog: "What servers may list.",
    limits: "Budgets of a user turn and bounds of arguments and results.",
    lateAnswerMs: "Milliseconds toolgate keeps listening for an answer after a write's deadline.",
    leaseMs: "Milliseconds a claim holds when its owner gives no sign of life.",
    haltScope:
      "What an unknown write halts: further writes of its thread, or also those of the scope's other threads to its server.",
    approvals: "How people's answers are taken.",
    scope:
      "Name that keeps the threads and records of one user or tenant apart from others'. It is that of every run of which `identify` names no other.",
    store: "Where threads, operations and results are kept.",
    lock: "The lock file that `toolgate pin` writes, relative to this file. Unset: `toolgate.lock.json` beside this file.",
    retention: "When the contents of threads are forgotten. Unset: never.",
  },
);
export type ConfigFile = z.infer<typeof ConfigFile>;

/** The JSON Schema of the file, for editors. Draft 7: the one editors know best. */
export function configJsonSchema(): Record<string, unknown> {
  const { $schema, ...schema } = z.toJSONSchema(ConfigFile, { io: "input", target: "draft-7" });
  return { $schema, title: "toolgate configuration", description: "What toolgate.json may say.", ...schema };
}
