// gate: judges the whole batch before anything of it runs. It reads and writes nothing.

import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { judgeResponse } from "../../gate/batch.js";
import { lastResponse } from "../last-response.js";
import type { GraphPorts } from "../ports.js";
import { threadOf } from "../runtime.js";
import type { GraphState, GraphUpdate } from "../state.js";
import { haltOf, judgedViews, ownUnknown } from "../views.js";

export function gate(ports: GraphPorts) {
  return async (state: GraphState, runtime: LangGraphRunnableConfig): Promise<GraphUpdate> => {
    const last = lastResponse(state, threadOf(runtime));
    if (!last) return { operations: [] };
    const batch = await judgeResponse(ports, last.shown);
    return {
      operations: judgedViews(batch, () => true), // what is settled before it was even judged, another run settled
      halt: haltOf(ownUnknown(batch.standing)),
      note: "",
    };
  };
}
