// gate: judges the whole batch before anything of it runs. Reads, writes nothing.

import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { loadBatch, threadOf } from "../../gate/batch.js";
import type { Host } from "../host.js";
import type { GraphState, GraphUpdate } from "../state.js";
import { haltOf, ownUnknown, viewsOf } from "../views.js";

export function gate(host: Host) {
  return async (state: GraphState, runtime: LangGraphRunnableConfig): Promise<GraphUpdate> => {
    const batch = await loadBatch(host, state, threadOf(runtime));
    if (!batch) return { operations: [] };
    return {
      operations: viewsOf(batch, () => true), // what is settled before it was even judged, another run settled
      halt: haltOf(ownUnknown(batch.standing)),
      note: "",
    };
  };
}
