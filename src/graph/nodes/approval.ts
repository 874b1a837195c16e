// approval: asks a person, once, about everything in the batch that needs a yes.
//
//   approval-node-1. One interrupt in one run of the node, with every undecided call; never a second, never inside try/catch.
//   approval-node-3. An answer that cannot be read asks again with the reason. It never counts as a yes and never leaves
//                    the thread without a way on.
//   approval-node-4. What was answered elsewhere counts: the node asks the ledger first, so that a run with no answer at
//                    all goes on, too.
//   approval-node-6. What the host's `decide` denied beside a question is settled before the question is asked: people take their
//                    time, and whoever goes on then may be another process, to which `decide` says something else.
//   approval-node-5. A call that a person edited outside of any run, and that is asked about again, is stored in the state
//                    before anybody is asked: reports find the open questions of a thread by what its state shows.
//
// Requests are stored in the ledger before they are shown, and answers before anything is decided by them.

import { interrupt, type LangGraphRunnableConfig } from "@langchain/langgraph";
import { approvalPayload, type PersonAnswer, type Question, readAnswer, reasked } from "../../approval/index.js";
import { mistakable, type Owner, serverKey, toolKey } from "../../contracts/index.js";
import { type Batch, type BatchCall, judgeResponse } from "../../gate/batch.js";
import { injectsOf } from "../../gate/routed-call.js";
import { refusedAnswer, storeAnswers, unheard } from "../../gate/verdicts.js";
import { leaseOf } from "../../langgraph/held-graph.js";
import type { Asked, NewRequest } from "../../ledger/port.js";
import { editedMessage, type LastResponse, lastResponse } from "../last-response.js";
import type { GraphPorts } from "../ports.js";
import { placeOf, whoAnswers } from "../runtime.js";
import type { GraphState, GraphUpdate } from "../state.js";
import { judgedViews } from "../views.js";

export function approval(ports: GraphPorts) {
  return async (state: GraphState, runtime: LangGraphRunnableConfig): Promise<GraphUpdate> => {
    const last = lastResponse(state, placeOf(ports, runtime));
    if (!last) return { operations: [], note: "" };
    const batch = await judgeResponse(ports, last.shown, "once");
    const open = batch.calls.filter((call) => call.judgement.kind === "ask");
    if (open.length === 0) return update(last, batch, ""); // approval-node-4
    if (open.some((call) => isNewEdit(call, state))) return update(last, batch, state.note); // approval-node-5

    await closeHostDenied(ports, batch, leaseOf(runtime)?.owner);
    const requests = open.map((call) => newRequest(ports, batch, call));
    const asked = await ports.ledger.ask(requests, leaseOf(runtime)?.owner); // stored before anybody is asked
    const names = mistakable(Object.keys(ports.config.mcpServers), batch.snapshot?.tools ?? []);
    const questions = open.map((call, index) => questionAbout(call, asked[index] as Asked, names));
    const answer: unknown = interrupt(approvalPayload(questions, state.note === "" ? undefined : state.note)); // approval-node-1

    const { approvals } = ports.config;
    const read = readAnswer(answer, questions, { now: ports.now(), positional: approvals.positional });
    if (read.kind === "again") return { note: read.reason }; // approval-node-3
    const approver = whoAnswers(ports, runtime);
    const refused = unheard(approvals, approver);
    if (refused !== undefined) return { note: `the answer was not taken: ${refused}` };
    const note = await store(ports, batch.proposalId, asked, read.answers, approver);
    return update(last, await judgeResponse(ports, last.shown, "once"), note);
  };
}

/** approval-node-6 */
async function closeHostDenied(ports: GraphPorts, batch: Batch, run: Owner | undefined): Promise<void> {
  const { threadId, turnId, scope } = batch;
  const denied = batch.calls.flatMap(({ operation, entry, judgement }) =>
    judgement.kind === "refuse" && judgement.outcome.reason === "denied" && ports.hostDecision !== undefined
      ? [{ threadId, turnId, scope, operation, toolDigest: entry?.digest ?? null, outcome: judgement.outcome }]
      : [],
  );
  if (denied.length > 0) await ports.ledger.refuse(denied, run);
}

/** Whether it is a person's edit that the state does not show as asked about yet. */
function isNewEdit({ operation: { id, replaces } }: BatchCall, { operations }: GraphState): boolean {
  return replaces !== undefined && !operations.some((view) => view.operationId === id && view.status === "asked");
}

/** Stores the answers; returns why some were not taken, for the next question. */
async function store(
  ports: GraphPorts,
  proposalId: string,
  asked: readonly Asked[],
  given: ReadonlyMap<string, PersonAnswer>,
  approver: string,
): Promise<string> {
  const rows = new Map((await ports.ledger.rows(proposalId)).map((row) => [row.operation.id, row]));
  const answers = asked.flatMap((one) => {
    const answer = given.get(one.request.approvalId);
    const row = rows.get(one.request.operationId);
    return answer && row ? [{ question: { asked: one, row }, answer }] : [];
  });
  const results = await storeAnswers(ports, answers, approver);
  return [...new Set(results.flatMap((result) => refusedAnswer(result) ?? []))].join("; ");
}

/** State follows the ledger: views, and the arguments that a person changed. */
function update(last: LastResponse, batch: Batch, note: string): GraphUpdate {
  const messages = editedMessage(last, batch);
  return { operations: judgedViews(batch, () => false), note, ...(messages.length > 0 ? { messages } : {}) };
}

function questionAbout(call: BatchCall, { request }: Asked, names: ReadonlyMap<string, string>): Question {
  const { server, tool } = call.operation;
  const ofTool = names.get(toolKey(server ?? "", tool ?? ""));
  const ofServer = names.get(serverKey(server ?? ""));
  return {
    request,
    operation: call.operation,
    tool: call.entry as NonNullable<typeof call.entry>, // a call without a tool is refused, never asked
    earlier: earlierOf(call).map((write) => `${write.alias} (${write.state})`),
    mistakable: [
      ...(ofTool === undefined ? [] : [ofTool]),
      ...(ofServer === undefined ? [] : [`is of a server that ${ofServer}`]),
    ],
  };
}

function newRequest({ newId, config }: GraphPorts, batch: Batch, call: BatchCall): NewRequest {
  const { turnId, threadId, scope } = batch;
  const name = call.operation.server ?? "";
  const server = { name, credentialId: config.mcpServers[name]?.credentialId };
  const { destination, why } = reasked(call.destination, call.asked?.request, server);
  const reason = call.operation.decision?.reason ?? "no rule names this tool";
  return {
    approvalId: newId(),
    operation: call.operation,
    turnId,
    threadId,
    scope,
    toolDigest: (call.entry as NonNullable<typeof call.entry>).digest,
    ...injectsOf(call),
    ...(destination === undefined ? {} : { destination }),
    why: why === undefined ? reason : `${reason}; ${why}`,
    seen: earlierOf(call).map((write) => write.operationId),
    ttlMs: config.approvals.requestTtlMs,
  };
}

function earlierOf({ judgement }: BatchCall) {
  return judgement.kind === "ask" ? judgement.earlier : [];
}
