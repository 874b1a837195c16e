// result_unknown: settles, with a person, writes of this batch that may or may not have happened.
//
//   unknown-node-1. The ledger is read first, then the read-back that the host declared is made: a late answer, a resolution
//                   given elsewhere or a server that knows needs no question. This also holds when an answer has come: a
//                   server's record is better evidence than a person's guess.
//   unknown-node-2. A settled outcome replaces the tool message by its id; there is never a second one.
//   unknown-node-3. An answer that cannot be read asks again. What was left is not asked about again.

import { interrupt, type LangGraphRunnableConfig } from "@langchain/langgraph";
import { z } from "zod";
import { isUnknownWrite, oneLine, ResolutionType, type SettledRow } from "../../contracts/index.js";
import { readBack } from "../../execution/reconcile.js";
import { type Batch, judgeResponse, type ResponseShown } from "../../gate/batch.js";
import { unheard } from "../../gate/verdicts.js";
import { toolMessageId } from "../../observation/conversation.js";
import { toUnknownItem } from "../../report/items.js";
import { toolMessageOf } from "../closing.js";
import { lastResponse } from "../last-response.js";
import type { GraphPorts } from "../ports.js";
import { threadOf, whoAnswers } from "../runtime.js";
import type { GraphState, GraphUpdate } from "../state.js";
import { haltOf, ownUnknown, settledViews } from "../views.js";

const Answer = z.object({
  resolutions: z.record(z.string(), z.object({ type: ResolutionType, note: z.string().max(2_000).optional() })),
});
type Resolutions = z.infer<typeof Answer>["resolutions"];

export function resultUnknown(ports: GraphPorts) {
  return async (state: GraphState, runtime: LangGraphRunnableConfig): Promise<GraphUpdate> => {
    const last = lastResponse(state, threadOf(ports, runtime));
    if (!last) return { operations: [] };
    const batch = await readBackFirst(ports, last.shown, runtime);
    const open = openUnknowns(batch);
    if (open.length === 0) return follow(ports, state, batch, ""); // unknown-node-1

    const answer: unknown = interrupt({
      kind: "result_unknown",
      ...(state.note === "" ? {} : { note: state.note }),
      unknowns: open.map(toUnknownItem),
    });

    const read = Answer.safeParse(answer);
    if (!read.success) return { note: `the answer could not be read: ${oneLine(z.prettifyError(read.error))}` }; // unknown-node-3
    const known = new Set(batch.calls.map(({ operation }) => operation.id)); // one that was settled meanwhile is no stray
    const stray = Object.keys(read.data.resolutions).find((id) => !known.has(id));
    if (stray !== undefined) return { note: `\`${oneLine(stray, 80)}\` is not among the operations asked about` };
    const by = whoAnswers(ports, runtime);
    const refused = unheard(ports.config.approvals, by);
    if (refused !== undefined) return { note: `the answer was not taken: ${refused}` };
    const note = await resolveAll(ports, read.data.resolutions, by);
    return follow(ports, state, await judgeResponse(ports, last.shown), note);
  };
}

/** Stores the resolutions; returns why some were not taken, for the next question. */
async function resolveAll(ports: GraphPorts, resolutions: Resolutions, by: string): Promise<string> {
  const notes: string[] = [];
  for (const [operationId, { type, note }] of Object.entries(resolutions)) {
    const result = await ports.ledger.resolve(operationId, type, { by, ...(note === undefined ? {} : { note }) });
    if (result.kind === "owner_alive") notes.push("it may still be running: it cannot be called `did_not_happen` yet");
    if (result.kind === "already_settled") notes.push("it was settled meanwhile");
  }
  return notes.join("; ");
}

/** The batch, once the read-backs that the host declared have been made. (unknown-node-1) */
async function readBackFirst(
  ports: GraphPorts,
  shown: ResponseShown,
  runtime: LangGraphRunnableConfig,
): Promise<Batch> {
  await ports.ledger.sweep({ threadId: shown.threadId, reads: false });
  const batch = await judgeResponse(ports, shown);
  const made = await readBack(ports, openUnknowns(batch), batch.snapshot, runtime.writer);
  return made ? judgeResponse(ports, shown) : batch;
}

function openUnknowns(batch: Batch): SettledRow[] {
  return batch.calls.flatMap(({ judgement }) =>
    judgement.kind === "settled" && isUnknownWrite(judgement.row) && !judgement.row.resolution ? [judgement.row] : [],
  );
}

/** State follows the ledger: tool messages of what is settled now, views, halt. (unknown-node-2) */
async function follow(ports: GraphPorts, state: GraphState, batch: Batch, note: string): Promise<GraphUpdate> {
  const shown = new Map(state.messages.map((message) => [message.id, message]));
  const rows = batch.calls.flatMap(({ judgement }) => (judgement.kind === "settled" ? [judgement.row] : []));
  const changed = rows.filter((row) => {
    const message = shown.get(toolMessageId(row.operation.id)) as { artifact?: { status?: unknown } } | undefined;
    return message?.artifact?.status === "result_unknown" && row.outcome.status !== "result_unknown";
  });
  const byId = new Map(rows.map((row) => [row.operation.id, row]));
  return {
    messages: await Promise.all(changed.map((row) => toolMessageOf(ports, batch, row, false))),
    operations: settledViews(batch, byId, state.operations),
    halt: haltOf(ownUnknown(batch.standing)),
    note,
  };
}
