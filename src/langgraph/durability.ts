// Durability: whether the checkpoint a task runs from is stored. Before that, a crash would forget the proposal that a
// write belongs to, and the model, asked again, would propose it anew.
//
// `sync` has stored it already; `async` stores it soon; `exit` never does, so writes are refused there.
//
// Reads an internal key of LangGraph (`__pregel_checkpointer`): there is no public way to the saver of a running task.

import type { BaseCheckpointSaver, LangGraphRunnableConfig } from "@langchain/langgraph";
import type { Host } from "../graph/host.js";

/** Milliseconds we wait for the checkpoint to be stored. */
export const DURABLE_WITHIN_MS = 3_000;
const POLL_MS = 20;

export async function checkpointStored(host: Host, runtime: LangGraphRunnableConfig): Promise<boolean> {
  const saver = (runtime.configurable as Record<string, unknown> | undefined)?.["__pregel_checkpointer"] as
    | BaseCheckpointSaver
    | undefined;
  const info = runtime.executionInfo;
  if (!saver || !info?.threadId) return false;
  const config = {
    configurable: {
      thread_id: info.threadId,
      checkpoint_ns: graphNamespace(info.checkpointNs ?? ""),
      checkpoint_id: info.checkpointId,
    },
  };
  const until = host.now() + DURABLE_WITHIN_MS;
  for (;;) {
    const tuple = await saver.getTuple(config);
    if (tuple?.checkpoint.id === info.checkpointId) return true;
    if (host.now() >= until) return false;
    await host.after(POLL_MS).elapsed;
  }
}

/** The namespace of the graph a task belongs to: the task's own (`outer:id|node:id`) without its last part. */
function graphNamespace(taskNamespace: string): string {
  return taskNamespace.split("|").slice(0, -1).join("|");
}
