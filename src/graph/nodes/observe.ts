// observe: outcomes become tool messages, exactly one for each call of the batch (G8).
//
// A call that was refused before it could be claimed has no row until this node writes it: the batch is judged once more,
// and what the state says of a call is not believed (G9).

import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import type { SettledRow } from "../../contracts/index.js";
import { callEvent } from "../../execution/call-events.js";
import { judgeResponse } from "../../gate/batch.js";
import { leaseOf } from "../../langgraph/held-graph.js";
import { highestSeq, settleAll, toolMessageOf } from "../closing.js";
import { lastResponse } from "../last-response.js";
import type { GraphPorts } from "../ports.js";
import { placeOf } from "../runtime.js";
import type { GraphState, GraphUpdate } from "../state.js";
import { haltOf, ownUnknown, replayedIn, settledViews, unknownWritesOf } from "../views.js";

export function observe(ports: GraphPorts) {
  return async (state: GraphState, runtime: LangGraphRunnableConfig): Promise<GraphUpdate> => {
    const last = lastResponse(state, placeOf(ports, runtime));
    if (!last) return { operations: [] };
    const batch = await judgeResponse(ports, last.shown);
    const rows = await settleAll(ports, batch, "it was not run", leaseOf(runtime)?.owner);
    for (const { operation, judgement } of batch.calls) {
      if (judgement.kind === "refuse") runtime.writer?.(callEvent("refused", operation, judgement.outcome));
    }
    const replayed = replayedIn(state.operations);
    const messages = batch.calls.map(({ operation: { id } }) =>
      toolMessageOf(ports, batch, rows.get(id) as SettledRow, replayed.has(id)),
    );
    return {
      messages: await Promise.all(messages),
      operations: settledViews(batch, rows, state.operations),
      ledgerSeq: highestSeq(state.ledgerSeq, rows.values()),
      halt: haltOf([...ownUnknown(batch.standing), ...unknownWritesOf(rows.values())]),
      note: "",
    };
  };
}
