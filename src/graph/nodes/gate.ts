// gate: judges the whole batch before anything of it runs. It stores nothing, and asks servers for nothing but the list that
// the claim of a batch needs which may run as it is.

import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { LOCAL } from "../../contracts/index.js";
import { type Batch, judgeResponse } from "../../gate/batch.js";
import { leaseOf } from "../../langgraph/held-graph.js";
import { lastResponse } from "../last-response.js";
import type { GraphPorts } from "../ports.js";
import { placeOf } from "../runtime.js";
import type { GraphState, GraphUpdate } from "../state.js";
import { haltOf, judgedViews, ownUnknown } from "../views.js";

export function gate(ports: GraphPorts) {
  return async (state: GraphState, runtime: LangGraphRunnableConfig): Promise<GraphUpdate> => {
    const last = lastResponse(state, placeOf(ports, runtime));
    if (!last) return { operations: [] };
    const batch = await judgeResponse(ports, last.shown, "anew");
    const operations = judgedViews(batch, () => true); // what is settled before it was even judged, another run settled
    if (!operations.some(({ status }) => status === "asked")) {
      ports.catalog.verifyAhead(verifiedServers(batch), { run: leaseOf(runtime), proposalId: batch.proposalId });
    }
    return {
      operations,
      halt: haltOf(ownUnknown(batch.standing)),
      note: "",
    };
  };
}

/** Servers that are listed again before the calls of the batch are claimed. */
function verifiedServers({ calls }: Batch): string[] {
  return calls.flatMap(({ operation: { server }, settings, judgement }) =>
    judgement.kind === "run" && settings?.verify === "each-call" && server !== null && server !== LOCAL ? [server] : [],
  );
}
