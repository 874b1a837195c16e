// Runtime: what a node takes from LangGraph's runtime of the run, in the words of the rooms below.

import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import type { Run } from "../execution/ports.js";
import type { RunPlace } from "../gate/batch.js";
import { identityFrom, UNAUTHENTICATED } from "../gate/identity.js";
import { cleanCallbacks } from "../langgraph/clean-callbacks.js";
import { checkpointStored } from "../langgraph/durability.js";
import { placeOfRun } from "../langgraph/held-graph.js";
import type { Lease } from "../langgraph/thread-lease.js";
import type { GraphPorts } from "./ports.js";
import type { GraphState } from "./state.js";

/** Where a run is, and whose it is where the host's `decide` is told of it. */
export function placeOf(ports: GraphPorts, runtime: LangGraphRunnableConfig): RunPlace {
  const place = threadOf(ports, runtime);
  return ports.hostDecision === undefined ? place : { ...place, identity: whoAnswers(ports, runtime) };
}

/** A run's thread, by the key, and its scope, as the graph's door found them. */
export function threadOf({ config }: Pick<GraphPorts, "config">, runtime: LangGraphRunnableConfig): RunPlace {
  const place = placeOfRun(runtime);
  if (place !== undefined) return { threadId: place.key, scope: place.scope };
  const configured = (runtime.configurable as { thread_id?: unknown } | undefined)?.thread_id;
  return { threadId: String(runtime.executionInfo?.threadId ?? configured ?? ""), scope: config.scope };
}

/** The scope of a run, or of a look at a thread. Throws `config_invalid` where the host named one that cannot be used. */
export function scopeOf(ports: Pick<GraphPorts, "identify" | "config">, runtime: LangGraphRunnableConfig): string {
  return identityFrom(() => ports.identify(runtime), ports.config.scope).scope;
}

/** Who answers in this run; `unauthenticated` when nobody is known, or somebody of another scope than the run's. */
export function whoAnswers(ports: GraphPorts, runtime: LangGraphRunnableConfig): string {
  const { id, scope } = identityFrom(() => ports.identify(runtime), ports.config.scope);
  return scope === threadOf(ports, runtime).scope ? id : UNAUTHENTICATED;
}

/** The run as the road of a call must know it. */
export function runOf(ports: GraphPorts, state: GraphState, runtime: LangGraphRunnableConfig, lease: Lease): Run {
  return {
    ...threadOf(ports, runtime),
    lease,
    ledgerSeq: state.ledgerSeq,
    connected: state.connected,
    snapshotId: state.snapshot?.id,
    signal: runtime.signal,
    stored: (withinMs) => checkpointStored(ports, runtime, withinMs),
    toolConfig: (signal) => ({ ...toolConfig(runtime, signal), ...cleanCallbacks(runtime.callbacks, ports.redact) }),
    tell: (event) => runtime.writer?.(event),
  };
}

/**
 * What a host's tool is told of the run. LangChain hands it the whole run by itself otherwise: with the run's signal a
 * write would be cancelled in flight, and with the run's checkpointer an `interrupt()` of the tool would take somebody's
 * answer to another question for its own.
 */
function toolConfig({ configurable = {} }: LangGraphRunnableConfig, signal: AbortSignal | undefined) {
  const theirs = Object.entries(configurable).filter(([key]) => !/^(__pregel_|__toolgate_|checkpoint_)/.test(key));
  return { configurable: Object.fromEntries(theirs), signal: signal ?? new AbortController().signal };
}
