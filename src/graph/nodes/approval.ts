// approval: asks a person, once, about everything in the batch that needs a yes.
//
//   Q1. One interrupt in one run of the node, with every undecided call; never a second, never inside try/catch.
//   Q2. Requests are rows before they are shown; answers are verdicts before anything is decided by them.
//   Q3. An answer that cannot be read asks again with the reason. It never counts as a yes and never wedges the thread.
//   Q4. What was answered elsewhere counts: the node asks the ledger first, so a run with no answer at all goes on too.

import { interrupt, type LangGraphRunnableConfig } from "@langchain/langgraph";
import { approvalPayload, type Question, readAnswer } from "../../approval/index.js";
import type { NewRequest } from "../../ledger/port.js";
import { type OpenQuestion, refusedAnswer, storeAnswers, whoAnswers } from "../../gate/answer.js";
import { type Batch, type BatchCall, loadBatch, threadOf } from "../../gate/batch.js";
import { injectsOf } from "../../gate/call.js";
import { leaseOf } from "../../langgraph/held-graph.js";
import { type Host, UNAUTHENTICATED } from "../host.js";
import { withArguments } from "../messages.js";
import type { GraphState, GraphUpdate } from "../state.js";
import { viewsOf } from "../views.js";

export function approval(host: Host) {
  return async (state: GraphState, runtime: LangGraphRunnableConfig): Promise<GraphUpdate> => {
    const threadId = threadOf(runtime);
    const batch = await loadBatch(host, state, threadId);
    if (!batch) return { operations: [], note: "" };
    const open = batch.calls.filter((call) => call.judgement.kind === "ask");
    if (open.length === 0) return update(batch, ""); // Q4

    const asked = await host.ledger.ask(
      open.map((call) => newRequest(host, batch, call)),
      leaseOf(runtime)?.owner,
    ); // Q2
    const questions = open.map((call, index): Question => {
      const { request } = asked[index] as (typeof asked)[number];
      const earlier = call.judgement.kind === "ask" ? call.judgement.earlier : [];
      return {
        request,
        operation: call.operation,
        tool: call.entry as NonNullable<typeof call.entry>, // a call without a tool is refused, never asked
        earlier: earlier.map((write) => `${write.alias} (${write.state})`),
      };
    });
    const answer: unknown = interrupt(approvalPayload(questions, state.note === "" ? undefined : state.note)); // Q1

    const read = readAnswer(answer, questions, { now: host.now(), positional: host.config.approvals.positional });
    if (read.kind === "again") return { note: read.reason }; // Q3
    const approver = whoAnswers(host, runtime);
    if (host.config.approvals.requireIdentity && approver === UNAUTHENTICATED) {
      return {
        note: "the answer was not taken: nobody is signed in, and this host takes answers from known people only",
      };
    }
    const rows = new Map((await host.ledger.rows(batch.proposalId)).map((row) => [row.operation.id, row]));
    const answers = asked.flatMap((one) => {
      const person = read.answers.get(one.request.approvalId);
      const row = rows.get(one.request.operationId);
      return person && row ? [{ question: { asked: one, row } satisfies OpenQuestion, answer: person }] : [];
    });
    const results = await storeAnswers(host, answers, approver);
    const refused = results.flatMap((result) => refusedAnswer(result) ?? []);
    const after = await loadBatch(host, state, threadId);
    return after ? update(after, [...new Set(refused)].join("; ")) : { note: "" };
  };
}

/** State follows the ledger: views, and the arguments a person changed. */
function update(batch: Batch, note: string): GraphUpdate {
  const message = batch.messages[batch.at];
  const edited =
    batch.edited.size > 0 ? [withArguments(message as Parameters<typeof withArguments>[0], batch.edited)] : [];
  return { operations: viewsOf(batch, () => false), note, ...(edited.length > 0 ? { messages: edited } : {}) };
}

function newRequest(host: Host, batch: Batch, call: BatchCall): NewRequest {
  const earlier = call.judgement.kind === "ask" ? call.judgement.earlier : [];
  return {
    approvalId: host.newId(),
    operation: call.operation,
    turnId: batch.turnId,
    threadId: batch.threadId,
    scope: host.config.scope,
    toolDigest: (call.entry as NonNullable<typeof call.entry>).digest,
    ...injectsOf(call),
    why: call.operation.decision?.reason ?? "no rule names this tool",
    seen: earlier.map((write) => write.operationId),
    ttlMs: host.config.approvals.requestTtlMs,
  };
}
