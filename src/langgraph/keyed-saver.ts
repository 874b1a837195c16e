// Keyed saver: one of our own checkpointers, for the runs of one scope. LangGraph, and everything behind it, names a thread
// by its id; what is stored stands under the thread's key, so that the same id in two scopes is two threads.
//
//   keyed-1. Every way to read or write of a checkpointer names the thread by its key, and every answer names it by its
//            id again. In the default scope key and id are one, and the checkpointer is used as it is.

import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseCheckpointSaver, CheckpointTuple } from "@langchain/langgraph-checkpoint";
import { DEFAULT_SCOPE, threadKey, threadOfKey } from "../contracts/index.js";
import { overriding } from "./overriding.js";

const ours = new WeakSet<object>();

/** Says that a checkpointer is one of our stores', which may keep threads by their keys. */
export function ourSaver<Saver extends BaseCheckpointSaver>(saver: Saver): Saver {
  ours.add(saver);
  return saver;
}

/** Whether a checkpointer is one of our stores', and not a host's own. */
export function isOurSaver(saver: unknown): boolean {
  return typeof saver === "object" && saver !== null && ours.has(saver);
}

type Keyed = Pick<
  BaseCheckpointSaver,
  "get" | "getTuple" | "list" | "put" | "putWrites" | "deleteThread" | "getDeltaChannelHistory"
> &
  Probing;

/** What the savers of our stores can do beside (durability.ts). */
interface Probing {
  isStored(at: RunnableConfig): Promise<boolean>;
}

/** The checkpointer for one scope. (keyed-1) */
export function keyedSaver(saver: BaseCheckpointSaver, scope: string): BaseCheckpointSaver {
  if (scope === DEFAULT_SCOPE) return saver;
  const inside = <Config extends RunnableConfig>(config: Config): Config =>
    renamed(config, (id) => threadKey(scope, id));
  const ways: Keyed = {
    get: (config) => saver.get(inside(config)),
    getTuple: async (config) => {
      const tuple = await saver.getTuple(inside(config));
      return tuple && outside(tuple);
    },
    list: async function* (config, options) {
      for await (const tuple of saver.list(inside(config), options)) yield outside(tuple);
    },
    put: async (config, ...rest) => renamed(await saver.put(inside(config), ...rest), threadOfKey),
    putWrites: (config, ...rest) => saver.putWrites(inside(config), ...rest),
    deleteThread: (threadId) => saver.deleteThread(threadKey(scope, threadId)),
    getDeltaChannelHistory: ({ config, ...rest }) => saver.getDeltaChannelHistory({ ...rest, config: inside(config) }),
    isStored: (at) => (saver as BaseCheckpointSaver & Probing).isStored(inside(at)),
  };
  return overriding(saver, { ...ways });
}

function outside(tuple: CheckpointTuple): CheckpointTuple {
  const { config, parentConfig } = tuple;
  return {
    ...tuple,
    config: renamed(config, threadOfKey),
    ...(parentConfig === undefined ? {} : { parentConfig: renamed(parentConfig, threadOfKey) }),
  };
}

/** A configuration under another name of its thread. Symbols, such as the one that says whose run saves, stay in it. */
function renamed<Config extends RunnableConfig>(config: Config, name: (thread: string) => string): Config {
  const thread: unknown = config.configurable?.["thread_id"];
  if (typeof thread !== "string") return config;
  return { ...config, configurable: { ...config.configurable, thread_id: name(thread) } };
}
