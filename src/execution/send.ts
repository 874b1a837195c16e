// Send: the way out of one claimed operation, to a server, a built-in or a tool of the host's own.

import { mintGrant } from "../approval/index.js";
import {
  type Call,
  type CallEvidence,
  isBuiltIn,
  type JsonObject,
  LOCAL,
  type Operation,
  sha256,
  type ToolEntry,
  threadOfKey,
} from "../contracts/index.js";
import type { BatchCall } from "../gate/batch.js";
import { localResult, resultProblem } from "../observation/index.js";
import { runBuiltIn } from "./built-in-tools.js";
import type { Findings, Terms } from "./classify.js";
import { localCall } from "./local.js";
import type { ExecutionPorts, Run } from "./ports.js";

/** What the host offers an operation id under, in `_meta` (spec 2025-11-25, basic, "_meta": a prefix and a name). */
const OPERATION_META = "toolgate/operationId";

/** Milliseconds that a call may take, and for which its answer is listened for after that: 0 for reads. */
export interface Times {
  readonly deadlineMs: number;
  readonly keepListeningMs: number;
}

/** A claimed operation with its way out. */
export interface Dispatch {
  readonly operation: Operation;
  readonly fence: number;
  readonly terms: Terms;
  readonly times: Times;
  /**
   * Starts the one send, unless `maySend`, asked just before the first byte, says that it comes too late.
   * **Contract:** called at most once, after `dispatching` is on disk; must not throw.
   */
  readonly send: (signal: AbortSignal | undefined, maySend: () => boolean) => Call;
  /** What is wrong with a result that came, beyond what its shape says. **Contract:** must not throw. */
  readonly inspect: (result: unknown) => Promise<Findings>;
}

/** Builds the one send of a claimed operation. */
export function dispatchOf(ports: ExecutionPorts, call: BatchCall, fence: number, run: Run): Dispatch {
  const { operation } = call;
  const settings = call.settings as NonNullable<typeof call.settings>; // a claimed operation has a tool
  const terms: Terms = {
    effect: settings.effect,
    errors: operation.server === LOCAL ? "conservative" : settings.errors,
    contract: settings.contract,
    outputMismatch: settings.outputMismatch,
  };
  return {
    operation,
    fence,
    terms,
    times: timesOf(ports, call),
    send: (signal, maySend) => send(ports, call, run, signal, maySend),
    inspect: (result) => (isBuiltIn(operation) ? Promise.resolve({}) : inspectResult(ports, call.entry, result)),
  };
}

function timesOf({ config }: Pick<ExecutionPorts, "config">, { settings }: BatchCall): Times {
  const { timeoutMs, effect } = settings as NonNullable<typeof settings>; // a claimed operation has a tool
  return { deadlineMs: timeoutMs, keepListeningMs: effect === "write" ? config.lateAnswerMs : 0 };
}

/** Fills in what the host adds and sends. A grant that cannot be made sends nothing. */
function send(
  ports: ExecutionPorts,
  call: BatchCall,
  run: Run,
  signal: AbortSignal | undefined,
  maySend: () => boolean,
): Call {
  const sent = injectedInto(ports, call, run).then(
    (injected) => {
      const args = { ...call.operation.arguments, ...injected };
      return call.operation.server === LOCAL
        ? sendLocal(ports, call, args, run, signal, maySend)
        : sendRemote(ports, call, args, signal, maySend);
    },
    (error: unknown) => nothingSent(`no grant could be made: ${(error as Error).message}`),
  );
  const late = sent.then((call) => call.late);
  late.catch(() => undefined); // told by `evidence`
  return { evidence: sent.then((call) => call.evidence), late };
}

function sendRemote(
  ports: ExecutionPorts,
  call: BatchCall,
  args: JsonObject,
  signal: AbortSignal | undefined,
  maySend: () => boolean,
): Call {
  const { operation, entry } = call;
  const connection = operation.server === null ? undefined : ports.servers.connection(operation.server);
  if (!connection || !entry) return nothingSent("the connection was closed before the send");
  return connection.call({
    tool: entry.tool,
    arguments: args,
    meta: { [OPERATION_META]: operation.id },
    inputSchema: entry.inputSchema,
    ...timesOf(ports, call),
    maxBytes: ports.config.limits.hardResultBytes,
    maySend,
    ...(signal ? { signal } : {}),
  });
}

/** What the host fills in at the send, beside the approved arguments and never among them. */
async function injectedInto(ports: ExecutionPorts, call: BatchCall, run: Run): Promise<JsonObject> {
  const injected: JsonObject = {};
  for (const [name, what] of Object.entries(call.settings?.inject ?? {})) {
    switch (what) {
      case "operationId":
        injected[name] = call.operation.id;
        break;
      case "grant":
        injected[name] = await grantFor(ports, call, run);
    }
  }
  return injected;
}

async function grantFor(
  ports: ExecutionPorts,
  { operation, entry, yes }: BatchCall,
  { threadId, scope }: Run,
): Promise<string> {
  const { server, tool, digest } = entry as NonNullable<typeof entry>; // a claimed operation has a tool
  if (server === LOCAL) throw new Error("a grant is for a server, and this is a tool of the host");
  const secret = ports.config.mcpServers[server]?.grantSecret ?? ports.secret;
  const { id, argumentsDigest } = operation;
  const about = { operationId: id, argumentsDigest, server, tool, toolDigest: digest };
  const claims = { ...about, threadId: threadOfKey(threadId), scope, approver: yes?.approver ?? null };
  const grant = await mintGrant(claims, secret, { now: ports.now(), ttlMs: ports.config.approvals.ttlMs });
  for (const part of grant.split(".").slice(1)) ports.hide(part); // a server's error text may hold any part of it
  return grant;
}

function sendLocal(
  ports: ExecutionPorts,
  call: BatchCall,
  args: JsonObject,
  run: Run,
  signal: AbortSignal | undefined,
  maySend: () => boolean,
): Call {
  const { operation } = call;
  if (!maySend()) return nothingSent("the lease or the time limit passed before the call began");
  const options = { ...timesOf(ports, call), after: ports.after, signal };
  if (isBuiltIn(operation))
    return localCall(
      () => runBuiltIn(ports, operation.tool as string, operation.arguments, run),
      (result) => result,
      options,
    );
  const tool = ports.tools.get(operation.tool ?? "");
  if (!tool) return nothingSent("the host no longer has this tool");
  return localCall(() => tool.invoke(structuredClone(args), run.toolConfig(signal)), localResult, options);
}

/** Findings about a result that arrived: the host's limits first, then the schema the server declared for it. */
export async function inspectResult(
  ports: ExecutionPorts,
  entry: ToolEntry | undefined,
  result: unknown,
): Promise<Findings> {
  const limit = resultProblem(result, ports.config.limits);
  return { limit, outputSchema: limit === undefined ? await outputProblem(ports, entry, result) : undefined };
}

/** Spec 2025-11-25, server/tools, "Output Schema": a tool that declares one must return structured results that conform. */
async function outputProblem(
  ports: ExecutionPorts,
  entry: ToolEntry | undefined,
  result: unknown,
): Promise<string | undefined> {
  if (entry?.outputSchema === undefined) return undefined;
  const { structuredContent, isError } = (result ?? {}) as { structuredContent?: unknown; isError?: unknown };
  if (isError === true) return undefined;
  if (structuredContent === undefined) return "the result lacks the structured content its tool declares";
  const verdict = await ports.checker.check(
    sha256(`${entry.digest} output`),
    entry.outputSchema,
    structuredContent,
    entry.server,
  );
  if (verdict.valid || "unusable" in verdict) return undefined; // where the schema cannot be checked, the result passes
  return `the result breaks the output schema its tool declares: ${verdict.problems.join("; ")}`;
}

function nothingSent(detail: string): Call {
  const evidence: CallEvidence = { attempted: false, refused: false, how: "error", detail };
  return { evidence: Promise.resolve(evidence), late: Promise.resolve(undefined) };
}
