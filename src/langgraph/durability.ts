// Durability: whether the checkpoint that a task runs from is stored. If the process died before that, the proposal that a
// write belongs to would be forgotten, and the model, asked again, would propose the write anew.
//
// Under `sync` it is stored already, under `async` it is stored soon, and under `exit` never, so writes are refused there.
//
// It reads LangGraph's internal key `__pregel_checkpointer`: there is no public way to the saver of a running task.

import type { BaseCheckpointSaver, LangGraphRunnableConfig } from "@langchain/langgraph";
import { type HeldPorts, storedByRun } from "./held-graph.js";

const POLL_MS = 20;

type Clock = Pick<HeldPorts, "steady" | "after">;

/** Whether the checkpoint that a task runs from is stored, at the latest after so many milliseconds. */
export async function checkpointStored(
  ports: Clock,
  runtime: LangGraphRunnableConfig,
  withinMs: number,
): Promise<boolean> {
  const saver = saverOf(runtime);
  const info = runtime.executionInfo;
  if (!saver || !info?.threadId) return false;
  if (storedByRun(runtime, info.checkpointId)) return true; // asks the store nothing
  const config = {
    configurable: {
      thread_id: info.threadId,
      checkpoint_ns: graphNamespace(info.checkpointNs ?? ""),
      checkpoint_id: info.checkpointId,
    },
  };
  const until = ports.steady() + withinMs;
  for (;;) {
    if (await isStored(saver, config, info.checkpointId)) return true;
    if (ports.steady() >= until) return false;
    await ports.after(POLL_MS).elapsed;
  }
}

function saverOf({ configurable }: LangGraphRunnableConfig): BaseCheckpointSaver | undefined {
  return (configurable as Record<string, unknown> | undefined)?.["__pregel_checkpointer"] as
    | BaseCheckpointSaver
    | undefined;
}

/** The namespace of the graph a task belongs to: the task's own (`outer:id|node:id`) without its last part. */
function graphNamespace(taskNamespace: string): string {
  return taskNamespace.split("|").slice(0, -1).join("|");
}

/** A saver that can tell whether a checkpoint is stored without loading it, as those of our stores can. */
export interface ProbingSaver {
  isStored(config: Place): Promise<boolean>;
}

interface Place {
  readonly configurable: { readonly thread_id: string; readonly checkpoint_ns: string; readonly checkpoint_id: string };
}

async function isStored(saver: BaseCheckpointSaver, config: Place, checkpointId: string): Promise<boolean> {
  const probing = saver as Partial<ProbingSaver>;
  if (typeof probing.isStored === "function") return probing.isStored(config);
  return (await saver.getTuple(config))?.checkpoint.id === checkpointId;
}
