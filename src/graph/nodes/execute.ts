// execute: the only node that calls tools. It trusts nothing that the state says of a call: the batch is judged again from the
// host's own stores, and the road of a call (execution/call.ts) checks the rest.
//
//   execute-1. While one call of the batch still needs a person, nothing of it is claimed.
//   execute-2. What the ledger has settled is answered from it and marked replayed.

import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { CONNECT_SERVER, LOCAL } from "../../contracts/index.js";
import { type CallResult, callTools } from "../../execution/call.js";
import { type Batch, judgeResponse, type ResponseShown } from "../../gate/batch.js";
import { leaseOf } from "../../langgraph/held-graph.js";
import { claimsOnly } from "../../langgraph/thread-lease.js";
import { lastResponse } from "../last-response.js";
import type { GraphPorts } from "../ports.js";
import { placeOf, runOf } from "../runtime.js";
import type { GraphState, GraphUpdate } from "../state.js";
import { calledViews, judgedViews } from "../views.js";

export function execute(ports: GraphPorts) {
  return async (state: GraphState, runtime: LangGraphRunnableConfig): Promise<GraphUpdate> => {
    const last = lastResponse(state, placeOf(ports, runtime));
    if (!last) return { operations: [] };
    const batch = await judgedNow(ports, last.shown);
    const is = (kind: string) => batch.calls.some((call) => call.judgement.kind === kind);
    if (is("ask")) return { operations: judgedViews(batch, () => false) }; // execute-1
    if (!is("run")) return called(batch, state, []);

    const held = leaseOf(runtime);
    if (held === undefined) await ports.ledger.verify(last.shown.threadId); // whoever takes a thread has looked already
    const lease = held ?? claimsOnly(ports);
    try {
      const done = await callTools(ports, batch, runOf(ports, state, runtime, lease));
      if (done.kind === "called") return called(batch, state, done.results);
      return { operations: await askedViews(ports, last.shown, done.operationIds) };
    } finally {
      if (lease !== held) await lease.close();
    }
  };
}

/** The batch, once what a dead process left in flight is settled. */
async function judgedNow(ports: GraphPorts, shown: ResponseShown): Promise<Batch> {
  const batch = await judgeResponse(ports, shown, "anew");
  if (!batch.abandoned) return batch;
  await ports.ledger.sweep({ threadId: shown.threadId, reads: false });
  return judgeResponse(ports, shown, "once");
}

/** The claim found what the judgement could not see yet: the batch goes back to a person. */
async function askedViews(ports: GraphPorts, shown: ResponseShown, ids: readonly string[]) {
  const views = judgedViews(await judgeResponse(ports, shown, "once"), () => false);
  return views.map((view) => (ids.includes(view.operationId) ? { ...view, status: "asked" as const } : view));
}

/** What each call came to, and which servers are connected now. (execute-2) */
function called(batch: Batch, state: GraphState, results: readonly CallResult[]): GraphUpdate {
  const operations = calledViews(batch, results);
  const ok = new Set(operations.filter(({ status }) => status === "ok").map(({ operationId }) => operationId));
  const fresh = batch.calls.flatMap(({ operation: { id, server, tool, arguments: args } }) =>
    server === LOCAL && tool === CONNECT_SERVER && ok.has(id) ? [String(args["name"])] : [],
  );
  const connected = [...new Set([...state.connected, ...fresh])];
  return { operations, ...(connected.length > state.connected.length ? { connected } : {}) };
}
