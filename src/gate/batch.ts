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
  type JsonObject,
  nearest,
  type Operation,
  sameInjects,
  sha256,
  type ToolEntry,
  type ToolSnapshot,
  type Verdict,
} from "../contracts/index.js";
import type { Asked, Standing } from "../ledger/port.js";
import { type CallFacts, type Judgement, judge, type ToolSettings } from "../policy/index.js";
import { isBuiltIn } from "../execution/built-ins.js";
import { argumentProblem, injectsOf, locate, route } from "./call.js";
import type { Host } from "../graph/host.js";
import { callsOf, lastProposal, type MessageCall, metadataOf, turnOf } from "../graph/messages.js";
import type { GraphState } from "../graph/state.js";

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
      const covers = holds && sameInjects(question.verdict?.injects, injectsOf(one).injects);
      const yes = covers && question.verdict?.type === "approve" ? question.verdict : undefined;
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
                expired: question.expired,
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
