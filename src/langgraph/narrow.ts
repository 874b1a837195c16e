// Narrow: conditional edges that read only the channels they choose by. LangGraph reads the whole state anew for each edge,
// and rebuilds a messages channel that the node wrote to from all of the thread's messages.
//
// It replaces the reader that LangGraph gives to a branch (`Branch.run`), which reads by `__pregel_read`: there is no
// public way to say what an edge reads.

import type { RunnableConfig } from "@langchain/core/runnables";

type Read = (channels: readonly string[], fresh: boolean) => unknown;
type Reader = (config: RunnableConfig) => unknown;

interface Branch {
  run(writer: never, reader?: Reader): unknown;
}

/** A graph before it is compiled. */
interface Uncompiled {
  readonly branches: Readonly<Record<string, Readonly<Record<string, object>>>>;
}

/** Lets the conditional edges of the named nodes see these channels and no others. Call it before `compile`. */
export function narrow(graph: Uncompiled, reads: Readonly<Record<string, readonly string[]>>): void {
  for (const [node, channels] of Object.entries(reads)) {
    for (const branch of Object.values(graph.branches[node] ?? {}) as Branch[]) {
      const run = branch.run.bind(branch);
      const reader: Reader = (config) => readOf(config)(channels, true);
      branch.run = (writer) => run(writer, reader);
    }
  }
}

function readOf({ configurable = {} }: RunnableConfig): Read {
  return configurable["__pregel_read"] as Read;
}
