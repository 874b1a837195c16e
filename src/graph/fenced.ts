// Fenced: a run saves checkpoints while the thread is its own, and no longer. What a host that was stopped or cut off saved
// after another took over would be the newest checkpoint: the other's turns and its open question would be gone.
//
//   S1. Once the run's lease has passed nothing more of it is saved; asked before every save.
//   S2. A checkpointer of the ledger's own store is told whose run saves (`RUN`), and looks itself, in the transaction that
//       saves, whether the thread is still that run's. Any other one is held to S1 alone.

import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { RUN, takenOver } from "../contracts/index.js";
import type { Lease } from "./lease.js";

/** The same checkpointer, for one run. */
export function fenced(saver: BaseCheckpointSaver, threadId: string, lease: Lease): BaseCheckpointSaver {
  const named = (config: RunnableConfig): RunnableConfig => {
    if (!lease.good()) throw takenOver(threadId); // S1
    return { ...config, configurable: { ...config.configurable, [RUN]: lease.owner } }; // S2
  };
  const saves: Pick<BaseCheckpointSaver, "put" | "putWrites"> = {
    put: async (config, ...rest) => saver.put(named(config), ...rest),
    putWrites: async (config, ...rest) => saver.putWrites(named(config), ...rest),
  };
  return new Proxy(saver, {
    get(target, name) {
      if (name === "put" || name === "putWrites") return saves[name];
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
