// Batch: the calls of the last AI message, each with what the host's own stores know of it, judged.
//
//   A1. Route, definition, effect, decision and verdict come from the ledger, the snapshot store and the config, read
//       now; state contributes only the message whose calls are looked at (G9).
//   A2. A call that a person edited is, from then on, the edited call: in whatever message it is met.
//   A3. A message whose proposal the ledger does not hold for this thread has unproposed calls: asked, never allowed.

import type { BaseMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { sealed } from "../approval/index.js";
import {
  canonicalBytes,
  digest,
  type JsonObject,
  LOCAL,
  nearest,
  notHashable,
  type Operation,
  type OperationRow,
  operationId,
  type Proposal,
  sha256,
  type ToolEntry,
  type ToolSnapshot,
  type Verdict,
} from "../contracts/index.js";
import type { Asked, Standing } from "../execution/ledger.js";
import { type CallFacts, decide, type Judgement, judge, type ToolSettings, toolSettings } from "../policy/index.js";
import { isBuiltIn } from "./builtins.js";
import type { Host } from "./host.js";
import { callsOf, lastProposal, type MessageCall, metadataOf, turnOf } from "./messages.js";
import type { GraphState } from "./state.js";

/** One call with everything known of it. */
export interface BatchCall {
  readonly call: MessageCall;
  readonly operation: Operation;
  readonly entry: ToolEntry | undefined;
  readonly settings: ToolSettings | undefined;
  readonly asked: Asked | undefined;
  /** The stored verdict, when it is a yes that verifies. */
  readonly yes: Verdict | undefined;
  /** MAC of a stored verdict whose key is gone: it must be given again. */
  readonly unusable: string | undefined;
  readonly judgement: Judgement;
}

export interface Batch {
  readonly at: number;
  readonly messages: readonly BaseMessage[];
  readonly threadId: string;
  readonly turnId: string;
  readonly proposalId: string;
  readonly snapshot: ToolSnapshot | undefined;
  readonly calls: readonly BatchCall[];
  readonly standing: Standing;
  /** Arguments that differ from the message's because a person edited them, by index. */
  readonly edited: ReadonlyMap<number, JsonObject>;
}

/** The thread a run belongs to. */
export function threadOf(runtime: LangGraphRunnableConfig): string {
  return String(
    runtime.executionInfo?.threadId ?? (runtime.configurable as { thread_id?: unknown } | undefined)?.thread_id ?? "",
  );
}

/** Loads and judges the batch of the last AI message; undefined when it has no calls. */
export async function loadBatch(
  host: Host,
  state: Pick<GraphState, "messages" | "ledgerSeq" | "snapshot">,
  threadId: string,
): Promise<Batch | undefined> {
  const found = lastProposal(state.messages);
  if (!found) return undefined;
  const { message, at } = found;
  const { scope } = host.config;
  const claimed = metadataOf(message);
  const stored = claimed.proposalId === undefined ? undefined : await host.ledger.proposal(claimed.proposalId);
  const foreign = stored !== undefined && (stored.threadId !== threadId || stored.scope !== scope);
  const proposal = foreign ? undefined : stored; // A3
  const proposalId =
    proposal?.proposalId ?? `unproposed-${sha256(JSON.stringify([threadId, message.id, claimed.proposalId]))}`;
  const turnId = proposal?.turnId ?? turnOf(state.messages, at);
  const snapshotId = proposal?.snapshotId ?? claimed.snapshotId ?? state.snapshot?.id;
  const snapshot = snapshotId === undefined ? undefined : await host.catalog.snapshot(snapshotId);

  const rows = new Map((await host.ledger.rows(proposalId)).map((row) => [row.operation.id, row]));
  const located = callsOf(message).map((call) => locate(call, proposal, proposalId, rows));
  const routed = located.map((one) => route(host, one, proposalId, snapshot));
  const standing = await host.ledger.standing({
    threadId,
    scope,
    turnId,
    proposalId,
    ledgerSeq: state.ledgerSeq,
    haltScope: host.config.haltScope,
    writes: routed.flatMap(({ operation: { id, server, tool, argumentsDigest, effect } }) =>
      effect === "write" && server !== null && tool !== null
        ? [{ operationId: id, server, tool, argumentsDigest }]
        : [],
    ),
  });
  const asked = new Map(
    (await host.ledger.asked(routed.map(({ operation }) => operation.id))).map((one) => [one.request.operationId, one]),
  );

  const known = await Promise.all(
    routed.map(async (one) => {
      const row = rows.get(one.operation.id);
      const question = asked.get(one.operation.id);
      const holds = question?.verdict !== undefined && sealed(question.verdict, host.secret);
      const yes = holds && question.verdict?.type === "approve" ? question.verdict : undefined;
      const invalid = await argumentProblem(host, one);
      const facts: CallFacts = {
        operation: one.operation,
        proposed: one.proposed,
        foreign,
        ...(one.entry === undefined
          ? { unknown: { near: nearest(one.call.alias, snapshot?.tools.map((tool) => tool.alias) ?? []) } }
          : {}),
        ...(invalid === undefined ? {} : { invalid }),
        builtIn: isBuiltIn(one.operation),
        repeat: one.settings?.repeat ?? "ask",
        ...(row === undefined ? {} : { row }),
        ...(question === undefined
          ? {}
          : {
              question: {
                seen: question.request.seen,
                approved: yes !== undefined,
                expired: host.now() > question.request.expiresAt,
              },
            }),
      };
      return {
        ...one,
        row,
        asked: question,
        yes,
        unusable: question?.verdict && !holds ? question.verdict.mac : undefined,
        facts,
      };
    }),
  );
  const judgements = judge(
    known.map(({ facts }) => facts),
    standing,
    host.config.limits,
    host.config.haltScope,
  );
  const calls = known.map(({ call, operation, entry, settings, asked: question, yes, unusable }, index): BatchCall => {
    const judgement = judgements[index] as Judgement;
    return {
      call,
      operation: judgement.operation ?? operation,
      entry,
      settings,
      asked: question,
      yes,
      unusable,
      judgement,
    };
  });
  const edited = new Map(located.flatMap((one) => (one.edited ? [[one.call.index, one.arguments] as const] : [])));
  return { at, messages: state.messages, threadId, turnId, proposalId, snapshot, calls, standing, edited };
}

interface Located {
  readonly call: MessageCall;
  readonly arguments: JsonObject;
  readonly argumentsDigest: string;
  readonly proposed: boolean;
  readonly edited: boolean;
  readonly replaces: string | undefined;
  readonly invalid: string | undefined;
}

/** Which call this is, by the ledger: the model's own, a person's edit of it (A2), or neither (A3). */
function locate(
  call: MessageCall,
  proposal: Proposal | undefined,
  proposalId: string,
  rows: ReadonlyMap<string, OperationRow>,
): Located {
  const unhashable = notHashable(call.arguments);
  const argumentsDigest =
    unhashable === undefined ? digest(call.arguments) : sha256(JSON.stringify(call.arguments) ?? "");
  const made = proposal?.calls.find(
    (one) => one.index === call.index && one.callId === call.callId && one.alias === call.alias,
  );
  const own = made !== undefined && made.argumentsDigest === argumentsDigest;
  const first = rows.get(operationId(proposalId, call.index, argumentsDigest));
  const sameCall =
    first === undefined || (first.operation.callId === call.callId && first.operation.alias === call.alias);
  const target = sameCall && first?.operation.replaces !== undefined;
  const edit = sameCall ? lastEdit(first, rows) : undefined;
  return {
    call,
    arguments: edit?.operation.arguments ?? call.arguments,
    argumentsDigest: edit?.operation.argumentsDigest ?? argumentsDigest,
    proposed: own || target,
    edited: edit !== undefined,
    replaces: (edit ?? (target ? first : undefined))?.operation.replaces,
    invalid: edit === undefined ? (unhashable ?? (own ? made.invalid : undefined)) : undefined,
  };
}

/** The edit that stands in an operation's place, followed to the last; undefined when nobody edited it. */
function lastEdit(row: OperationRow | undefined, rows: ReadonlyMap<string, OperationRow>): OperationRow | undefined {
  const next = row?.replacedBy === undefined ? undefined : rows.get(row.replacedBy);
  return next === undefined ? undefined : (lastEdit(next, rows) ?? next);
}

interface Routed extends Located {
  readonly operation: Operation;
  readonly entry: ToolEntry | undefined;
  readonly settings: ToolSettings | undefined;
}

function route(host: Host, one: Located, proposalId: string, snapshot: ToolSnapshot | undefined): Routed {
  const { call } = one;
  const entry = snapshot?.tools.find((tool) => tool.alias === call.alias);
  const settings = entry === undefined ? undefined : toolSettings(host.settings, entry);
  const operation: Operation = {
    id: operationId(proposalId, call.index, one.argumentsDigest),
    proposalId,
    index: call.index,
    callId: call.callId,
    alias: call.alias,
    server: entry?.server ?? null,
    tool: entry?.tool ?? null,
    arguments: one.arguments,
    argumentsDigest: one.argumentsDigest,
    effect: settings?.effect ?? "write",
    decision: entry === undefined || one.invalid !== undefined ? null : decide(host.policy, entry, one.arguments),
    ...(one.replaces === undefined ? {} : { replaces: one.replaces }),
  };
  return { ...one, operation, entry, settings };
}

/** Why the arguments cannot be used: not JSON we can digest, too large, a hidden parameter named, or not what the schema takes. */
async function argumentProblem(host: Host, one: Routed): Promise<string | undefined> {
  const { entry, settings } = one;
  if (one.invalid !== undefined) return `the arguments cannot be used: ${one.invalid}`;
  if (entry === undefined || settings === undefined) return undefined;
  const { argumentBytes, argumentChars } = host.config.limits;
  const bytes = canonicalBytes(one.arguments);
  if (bytes > argumentBytes) return `the arguments are ${bytes} bytes long; at most ${argumentBytes} are taken`;
  if (argumentChars !== undefined && longestString(one.arguments) > argumentChars) {
    return `an argument is longer than ${argumentChars} characters`;
  }
  const own = Object.keys(settings.inject ?? {}).find((name) => Object.hasOwn(one.arguments, name));
  if (own !== undefined) return `\`${own}\` is filled in by the host; leave it out`;
  const verdict = await host.checker.check(inputKey(entry), entry.inputSchema, one.arguments);
  if (verdict.valid) return undefined;
  if ("unusable" in verdict) return `the arguments could not be checked: ${verdict.unusable}`;
  return `the arguments do not fit the tool's schema: ${verdict.problems.join("; ")}`;
}

/** Cache key of a schema: the model-facing one differs from the server's by what is injected, so its own content is the key. */
export function inputKey(entry: ToolEntry): string {
  return entry.server === LOCAL
    ? digest(entry.inputSchema)
    : sha256(`${entry.digest} input ${JSON.stringify(entry.inputSchema)}`);
}

function longestString(value: unknown): number {
  let longest = 0;
  const pending = [value];
  while (pending.length > 0) {
    const item = pending.pop();
    if (typeof item === "string") longest = Math.max(longest, [...item].length);
    else if (typeof item === "object" && item !== null) pending.push(...Object.values(item));
  }
  return longest;
}
