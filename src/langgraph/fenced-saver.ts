// Fenced saver: a run saves checkpoints while the thread is its own, and no longer. If a host that was stopped or cut off
// saved after another host took over, its checkpoint would be the newest one, and the other host's turns and its open
// question would be gone from the thread.
//
//   fenced-1. Once the run's lease has passed, or the run is over, nothing more of it is saved. This is asked before
//             every save.
//   fenced-2. A checkpointer of the ledger's own store is told whose run saves (`underRun`) and looks itself, in the
//             transaction that saves, whether the thread is still that run's. For any other checkpointer only fenced-1 holds.
//   fenced-3. A run is over when everything it began to save is saved: LangGraph stops waiting at the first save that fails.

import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { underRun } from "../contracts/index.js";
import { overriding } from "./overriding.js";
import { type Lease, lapsed } from "./thread-lease.js";

/** What one run saves. */
export interface Saves {
  /** A checkpointer, for this run. */
  through(saver: BaseCheckpointSaver): BaseCheckpointSaver;
  /** Whether the last checkpoint that the checkpointer took from this run is this one. */
  isLast(checkpointId: string): boolean;
  /** Waits for what is being saved, and for what follows it; refuses whatever comes later. (fenced-3) */
  end(): Promise<void>;
}

/** `pause` lets go of the event loop: what was waiting for a save may begin the next one. */
export function savesOf(threadId: string, lease: Lease, pause: () => Promise<void>): Saves {
  const pending = new Set<Promise<unknown>>();
  let over = false;
  let last: string | undefined;
  const save = async <T>(config: RunnableConfig, store: (named: RunnableConfig) => Promise<T>): Promise<T> => {
    if (over || !lease.valid()) throw lapsed(threadId); // fenced-1
    const saving = store(underRun(config, lease.owner)); // fenced-2
    pending.add(saving);
    return saving.finally(() => pending.delete(saving));
  };
  return {
    through: (saver) => {
      const saves: Pick<BaseCheckpointSaver, "put" | "putWrites"> = {
        put: async (config, checkpoint, ...rest) => {
          const place = await save(config, (named) => saver.put(named, checkpoint, ...rest));
          last = checkpoint.id;
          return place;
        },
        putWrites: (config, ...rest) => save(config, (named) => saver.putWrites(named, ...rest)),
      };
      return overriding(saver, { ...saves });
    },
    isLast: (checkpointId) => checkpointId === last,
    end: async () => {
      while (pending.size > 0) {
        await Promise.allSettled([...pending]);
        await pause();
      }
      over = true;
    },
  };
}
