// What the hostile servers can be told to do: the JSON that `hostile.ts` and `hostile-http.ts` read at their start.
//
// Env (both servers):
//   HOSTILE           this file's `HostileConfig` as JSON; `{}` when unset
//   HOSTILE_FILE      a file with that JSON instead, for configs above the 128 KB that one env value may have
//   HOSTILE_PROTOCOL  overrides `protocol`
//   SERVER_LOG        the effect log (log.ts)
//
//   hostile-config-1. Tools, pages, results and errors are sent as they stand here, however wrong: nothing is checked
//                     or repaired. On
//        2026-07-28 what that revision demands (resultType, on lists ttlMs and cacheScope) is added where it is absent.
//   hostile-config-2. An unknown key or value ends the server at once with a message on stderr: a test never runs
//                     another case than it says.

import { readFileSync } from "node:fs";
import { z } from "zod";

const Ms = z.number().int().min(0);
const Bytes = z.number().int().min(1);
const RpcError = z.object({ code: z.number(), message: z.string(), data: z.unknown().optional() });
/** What a call or a page is answered with: a raw result, a raw error, or `resultText`, JSON text that is sent unparsed. */
const Reply = { result: z.unknown().optional(), resultText: z.string().optional(), error: RpcError.optional() };
/** How the server dies: `SIGKILL` of itself, or `process.exit(1)`. */
const Death = z.enum(["SIGKILL", "exit"]);
const By = Death.default("SIGKILL");
/** Whether the call changes the world (a line `effect` in the log). */
const Effect = { effect: z.boolean().default(true) };

/** What a tools/call does. `accepted` is logged first in every case; a behaviour that answers logs `finished` before it. */
export const Behaviour = z.discriminatedUnion("do", [
  /** Effect, then the answer. Without a reply: one text block `done`. */
  z.strictObject({ do: z.literal("answer"), ...Effect, ...Reply }),
  /** Effect at once, the answer `ms` later. Never honours a cancel. */
  z.strictObject({ do: z.literal("slow"), ms: Ms, ...Effect, ...Reply }),
  /** Effect and answer only after `ms`. Never honours a cancel. */
  z.strictObject({ do: z.literal("late"), ms: Ms, ...Effect, ...Reply }),
  /** Effect, never an answer. */
  z.strictObject({ do: z.literal("silent"), ...Effect }),
  /** Progress every `everyMs`, for ever, or until the answer after `ms`. */
  z.strictObject({ do: z.literal("progress"), everyMs: Ms, ms: Ms.optional(), ...Effect, ...Reply }),
  /** Dies without an effect. */
  z.strictObject({ do: z.literal("dieBefore"), by: By }),
  /** Effect, then dies without an answer. */
  z.strictObject({ do: z.literal("dieAfter"), by: By, ms: Ms.default(0) }),
  /** Effect, half of the answer's bytes, then dies. */
  z.strictObject({ do: z.literal("halfLine"), by: By, ...Effect }),
  /** Effect, text that is no answer (`lines`, then one line of `bytes`), then the answer. */
  z.strictObject({
    do: z.literal("noise"),
    lines: z.array(z.string()).default(["Starting...", "[1,2]", "null", '{"level":"info"}']),
    bytes: Bytes.optional(),
    ...Effect,
    ...Reply,
  }),
  /** Effect, a result whose one text block has `bytes` letters. */
  z.strictObject({ do: z.literal("huge"), bytes: Bytes, ...Effect }),
  /** Effect, the same answer twice; with `second`, another one the second time. */
  z.strictObject({ do: z.literal("twice"), second: z.unknown().optional(), ...Effect, ...Reply }),
  /** Effect, an answer under an id nobody asked with (default `nobody`), and no other. */
  z.strictObject({ do: z.literal("wrongId"), id: z.unknown().default("nobody"), ...Effect, ...Reply }),
  /** Effect, `text` and `bytes` letters on stderr, then the answer once they have been read. */
  z.strictObject({
    do: z.literal("stderrFlood"),
    text: z.string().default(""),
    bytes: z.number().int().min(0).default(0),
    ...Effect,
    ...Reply,
  }),
  /** Effect, an answer whose text holds bytes that are no UTF-8. */
  z.strictObject({ do: z.literal("badUtf8"), ...Effect }),
  /** Effect, a right answer written in two parts, `ms` apart, cut inside a multi-byte character. */
  z.strictObject({ do: z.literal("split"), ms: Ms.default(50), ...Effect }),
  /** Effect, a request to the client (`reply` logs its answer), then the answer to the call. Over HTTP by `sse` only. */
  z.strictObject({ do: z.literal("ask"), method: z.string(), params: z.unknown().optional(), ...Effect, ...Reply }),
  /** No effect; answers with the environment, arguments and folder of the process, as JSON text. */
  z.strictObject({ do: z.literal("env") }),
  /** No effect; looks in the log whether the operation named in `argument` had its effect, and gives the one or other result. */
  z.strictObject({
    do: z.literal("lookup"),
    argument: z.string().default("operation_id"),
    happened: z.unknown(),
    absent: z.unknown(),
  }),
  /** HTTP only: a status instead of an answer. `{{authorization}}` in the body is the request's own header. */
  z.strictObject({
    do: z.literal("status"),
    status: z.number().int().min(200).max(599),
    /** Whether the effect has happened by then. */
    effect: z.boolean().default(false),
    headers: z.record(z.string(), z.string()).default({}),
    body: z.string().default(""),
    /** Adds a Location header; `{{own}}` and `{{other}}` stand for the server's url and for its url on another origin. */
    location: z.string().optional(),
  }),
  /** HTTP only: cuts the connection: nothing sent, headers sent, or half of the answer sent. The server lives on. */
  z.strictObject({ do: z.literal("drop"), when: z.enum(["before-headers", "after-headers", "half-body"]), ...Effect }),
]);
export type Behaviour = z.infer<typeof Behaviour>;

/** One page. `{{n}}` anywhere in it is the number of the page within its walk, from 1. */
export const Page = z.strictObject({
  tools: z.unknown().optional(),
  /** Sent as it is, whatever its type; left out when absent. */
  nextCursor: z.unknown().optional(),
  /** JSON text that is sent, unparsed, as the result. */
  resultText: z.string().optional(),
  /** Answered instead of the page. */
  error: RpcError.optional(),
  /** Dies instead of answering. */
  die: Death.optional(),
  /** Never answers. */
  silent: z.boolean().default(false),
  /** Waits before answering. */
  ms: Ms.default(0),
  /** HTTP only: this status instead of the page. */
  status: z.number().int().optional(),
});
export type Page = z.infer<typeof Page>;

/**
 * The list as it stands from some moment on. The last entry whose conditions all hold is current. A request without
 * a cursor starts a walk at the first page; each further request gets the next page, the last one again and again.
 */
export const Listing = z.strictObject({
  pages: z.array(Page).min(1),
  /** Current once this many tools/call have been accepted. */
  afterCalls: Ms.default(0),
  /** Current once this many walks have been started; the walk that reaches the number still sees the former list. */
  afterListings: Ms.default(0),
  /** Sends notifications/tools/list_changed when it becomes current. */
  notify: z.boolean().default(false),
});

export const DuringStart = z.discriminatedUnion("do", [
  /** Exits: before it reads anything, or just after it answered initialize (server/discover) or the first list. */
  z.strictObject({
    do: z.literal("exit"),
    code: z.number().int().default(1),
    after: z.enum(["spawn", "initialize", "list"]).default("spawn"),
  }),
  /** Answers initialize after `ms`. */
  z.strictObject({ do: z.literal("slow"), ms: Ms }),
  /** Never answers initialize. */
  z.strictObject({ do: z.literal("silent") }),
  /** Writes lines that are no protocol, then one line of `bytes`, then serves. */
  z.strictObject({
    do: z.literal("noise"),
    lines: z.array(z.string()).default(["Starting...", "[1,2]", "null", '{"level":"info"}']),
    bytes: Bytes.optional(),
  }),
  /** Answers initialize with this error. */
  z.strictObject({ do: z.literal("error"), error: RpcError }),
  /** Answers initialize with this result. */
  z.strictObject({ do: z.literal("result"), result: z.unknown() }),
]);

const defaultTool = {
  name: "act",
  description: "Changes one thing.",
  inputSchema: { type: "object", properties: { text: { type: "string" } } },
};

export const HostileConfig = z.strictObject({
  capabilities: z.record(z.string(), z.unknown()).default({ tools: { listChanged: true } }),
  serverInfo: z.unknown().default({ name: "hostile", version: "1.0.0" }),
  /** The one revision that the server speaks. @default "2025-11-25" */
  protocol: z.enum(["2025-11-25", "2026-07-28"]).default("2025-11-25"),
  instructions: z.string().optional(),
  /** Short for one list of one page. @default one tool, `act`, with an optional string `text` */
  tools: z.unknown().optional(),
  /** Short for one list. */
  pages: z.array(Page).min(1).optional(),
  lists: z.array(Listing).min(1).optional(),
  /** By tool name, `*` for the rest. In an array the k-th call gets the k-th entry, and the last one from then on. */
  calls: z.record(z.string(), z.union([Behaviour, z.array(Behaviour).min(1)])).default({}),
  duringStart: DuringStart.optional(),
  /** Whether an operation id that already had its effect has no second one, also after a restart (read from the log). */
  idempotent: z.boolean().default(false),
  /** Stays on after the end of stdin and on SIGTERM, SIGINT and SIGHUP. */
  stubborn: z.boolean().default(false),
  /** Starts a process of its own (logged as `grandchild` with its pid) that outlives it unless the group is ended. */
  grandchild: z
    .strictObject({ ignoresSigterm: z.boolean().default(false), holdsStdout: z.boolean().default(false) })
    .optional(),
  /** `stubborn` and `grandchild` processes end themselves after this time, so that a broken test leaves nothing behind. */
  lifeMs: Ms.default(120_000),
  http: z
    .strictObject({
      /** How answers to POST come. @default "json" */
      format: z.enum(["json", "sse"]).default("json"),
      /** `stateful` issues Mcp-Session-Id and answers 404 to ids it does not know; 2026-07-28 has no sessions. */
      session: z.enum(["stateful", "none"]).default("stateful"),
      /** Forgets all sessions once this many tools/call have been accepted, once. */
      forgetSessionsAfterCalls: z.number().int().min(1).optional(),
      /** Whether GET opens a stream for notifications, or is answered 405. */
      get: z.enum(["stream", "405"]).default("stream"),
      /** Refuses requests without this exact Authorization header with 401. */
      authorization: z.string().optional(),
      /** Answers initialize (server/discover) with this status instead. */
      initializeStatus: z.number().int().optional(),
    })
    .prefault({}),
});
export type HostileConfig = Omit<z.infer<typeof HostileConfig>, "tools" | "pages" | "lists"> & {
  readonly lists: readonly z.infer<typeof Listing>[];
};

/** What only one transport can do; meeting it over the other ends the server (hostile-config-2). */
const only: Readonly<Record<"stdio" | "http", readonly string[]>> = {
  stdio: ["call split", "start noise", "stubborn", "grandchild"],
  http: ["call status", "call drop", "http"],
};

/** The config by the environment. Throws on anything it does not know or that `transport` cannot do (hostile-config-2). */
export function hostileConfig(
  env: Readonly<Record<string, string | undefined>>,
  transport: "stdio" | "http",
): HostileConfig {
  const text = env.HOSTILE_FILE === undefined ? (env.HOSTILE ?? "{}") : readFileSync(env.HOSTILE_FILE, "utf8");
  const given = JSON.parse(text) as Record<string, unknown>;
  const protocol = env.HOSTILE_PROTOCOL === undefined ? {} : { protocol: env.HOSTILE_PROTOCOL };
  const { tools, pages, lists, ...rest } = HostileConfig.parse({ ...given, ...protocol });
  if ([tools, pages, lists].filter((way) => way !== undefined).length > 1)
    throw new Error("give one of `tools`, `pages` and `lists`");

  const used = [
    ...Object.values(rest.calls).map((behaviours) => [behaviours].flat().map((one) => `call ${one.do}`)),
    `start ${rest.duringStart?.do}`,
    ...Object.keys(given),
  ].flat();
  const wrong = used.filter((name) => only[transport === "stdio" ? "http" : "stdio"].includes(name));
  if (wrong.length > 0) throw new Error(`not over ${transport}: ${wrong.join(", ")}`);

  if (lists !== undefined) return { ...rest, lists };
  return { ...rest, lists: [Listing.parse({ pages: pages ?? [{ tools: tools ?? [defaultTool] }] })] };
}
