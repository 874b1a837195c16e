// Runtime: what a node takes from LangGraph's runtime of the run, in the words of the rooms below.

import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import type { Run } from "../execution/ports.js";
import { identified, UNAUTHENTICATED } from "../gate/verdicts.js";
import { checkpointStored } from "../langgraph/durability.js";
import type { Lease } from "../langgraph/thread-lease.js";
import type { GraphPorts } from "./ports.js";
import type { GraphState } from "./state.js";

/** The thread a run belongs to. */
export function threadOf(runtime: LangGraphRunnableConfig): string {
  const configured = (runtime.configurable as { thread_id?: unknown } | undefined)?.thread_id;
  return String(runtime.executionInfo?.threadId ?? configured ?? "");
}

/** Who answers in this run; `unauthenticated` when nobody is known. */
export function whoAnswers(ports: GraphPorts, runtime: LangGraphRunnableConfig): string {
  try {
    return identified(ports.identify(runtime));
  } catch {
    return UNAUTHENTICATED;
  }
}

/** The run as the road of a call must know it. */
export function runOf(ports: GraphPorts, state: GraphState, runtime: LangGraphRunnableConfig, lease: Lease): Run {
  return {
    threadId: threadOf(runtime),
    lease,
    ledgerSeq: state.ledgerSeq,
    connected: state.connected,
    snapshotId: state.snapshot?.id,
    signal: runtime.signal,
    stored: (withinMs) => checkpointStored(ports, runtime, withinMs),
    toolConfig: (signal) => toolConfig(runtime, signal),
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
