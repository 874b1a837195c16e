// result_unknown: settles, with a person, writes of this batch that may or may not have happened.
//
//   U1. The ledger is read first, then the read-back the host declared is made: a late answer, a resolution given
//       elsewhere or a server that knows needs no question. Also when an answer has come: a server's record beats a guess.
//   U2. A settled outcome replaces the tool message by its id; there is never a second one.
//   U3. An answer that cannot be read asks again. What was left is not asked about again.

import { interrupt, type LangGraphRunnableConfig } from "@langchain/langgraph";
import { z } from "zod";
import { oneLine, ResolutionType } from "../../contracts/index.js";
import { whoAnswers } from "../../gate/answer.js";
import { type Batch, loadBatch, threadOf } from "../../gate/batch.js";
import type { Host } from "../host.js";
import { toUnknownItem } from "../../report/items.js";
import { toolMessageId } from "../messages.js";
import { readBack } from "../../execution/reconcile.js";
import type { GraphState, GraphUpdate } from "../state.js";
import { haltOf, ownUnknown, settledPart, viewOf } from "../views.js";
import { messageOf } from "./observe.js";

const Answer = z.object({
  resolutions: z.record(z.string(), z.object({ type: ResolutionType, note: z.string().max(2_000).optional() })),
});

export function resultUnknown(host: Host) {
  return async (state: GraphState, runtime: LangGraphRunnableConfig): Promise<GraphUpdate> => {
    const threadId = threadOf(runtime);
    await host.ledger.sweep({ threadId, reads: false });
    const batch = await readBackFirst(host, state, runtime);
    if (!batch) return { operations: [] };
    const open = openUnknowns(batch);
    if (open.length === 0) return follow(host, state, batch, ""); // U1

    const answer: unknown = interrupt({
      kind: "result_unknown",
      ...(state.note === "" ? {} : { note: state.note }),
      unknowns: open.map(toUnknownItem),
    });

    const read = Answer.safeParse(answer);
    if (!read.success) return { note: `the answer could not be read: ${oneLine(z.prettifyError(read.error))}` }; // U3
    const known = new Set(batch.calls.map(({ operation }) => operation.id)); // one that was settled meanwhile is no stray
    const stray = Object.keys(read.data.resolutions).find((id) => !known.has(id));
    if (stray !== undefined) return { note: `\`${oneLine(stray, 80)}\` is not among the operations asked about` };
    const by = whoAnswers(host, runtime);
    const notes: string[] = [];
    for (const [operationId, { type, note }] of Object.entries(read.data.resolutions)) {
      const result = await host.ledger.resolve(operationId, type, { by, ...(note === undefined ? {} : { note }) });
      if (result.kind === "owner_alive")
        notes.push("it may still be running: it cannot be called `did_not_happen` yet");
      if (result.kind === "already_settled") notes.push("it was settled meanwhile");
    }
    const after = await loadBatch(host, state, threadId);
    return after ? follow(host, state, after, notes.join("; ")) : { operations: [] };
  };
}

/** The batch, once the host's declared read-backs have been made. (U1) */
async function readBackFirst(
  host: Host,
  state: GraphState,
  runtime: LangGraphRunnableConfig,
): Promise<Batch | undefined> {
  const threadId = threadOf(runtime);
  const batch = await loadBatch(host, state, threadId);
  if (!batch) return undefined;
  const made = await readBack(host, openUnknowns(batch), batch.snapshot, runtime.writer);
  return made ? loadBatch(host, state, threadId) : batch;
}

function openUnknowns(batch: Batch) {
  return batch.calls.flatMap(({ judgement }) =>
    judgement.kind === "settled" &&
    judgement.row.operation.effect === "write" &&
    judgement.row.outcome?.status === "result_unknown" &&
    !judgement.row.resolution
      ? [judgement.row]
      : [],
  );
}

/** State follows the ledger: tool messages of what is settled now (U2), views, halt. */
async function follow(host: Host, state: GraphState, batch: Batch, note: string): Promise<GraphUpdate> {
  const shown = new Map(state.messages.map((message) => [message.id, message]));
  const settled = batch.calls.flatMap(({ judgement }) => (judgement.kind === "settled" ? [judgement.row] : []));
  const changed = settled.filter((row) => {
    const message = shown.get(toolMessageId(row.operation.id)) as { artifact?: { status?: unknown } } | undefined;
    return message?.artifact?.status === "result_unknown" && row.outcome?.status !== "result_unknown";
  });
  const replayed = new Set(state.operations.filter((view) => view.replayed).map((view) => view.operationId));
  return {
    messages: await Promise.all(changed.map((row) => messageOf(host, batch, row, false))),
    operations: batch.calls.map((call) => ({
      ...viewOf(call),
      ...(call.judgement.kind === "settled" ? settledPart(call.judgement.row) : { status: "ready" as const }),
      ...(replayed.has(call.operation.id) ? { replayed: true } : {}),
    })),
    halt: haltOf(ownUnknown(batch.standing)),
    note,
  };
}
