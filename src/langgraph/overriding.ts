// Overriding: a checkpointer in which some methods are others. Everything else is that of the checkpointer itself, bound to it,
// because LangGraph's own savers keep private state.

import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";

/** The same checkpointer, with these ways in place of its own. */
export function overriding(saver: BaseCheckpointSaver, ways: Readonly<Record<string, unknown>>): BaseCheckpointSaver {
  return new Proxy(saver, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return Object.hasOwn(ways, name) ? ways[name as string] : value.bind(target);
    },
  });
}
