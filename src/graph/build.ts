// Build: the seven nodes and the routes between them. Routes are static or conditional edges, never `Command({ goto })`:
// a fork loses those.

import { AIMessage } from "@langchain/core/messages";
import { type BaseCheckpointSaver, END, type LangGraphRunnableConfig, START, StateGraph } from "@langchain/langgraph";
import { serversInUse, ToolgateError } from "../contracts/index.js";
import { held, leaseOf } from "../langgraph/held-graph.js";
import { light, route } from "../langgraph/light.js";
import { narrow } from "../langgraph/narrow.js";
import { lapsed } from "../langgraph/thread-lease.js";
import { redactedError } from "../observation/index.js";
import { approval } from "./nodes/approval.js";
import { discover } from "./nodes/discover.js";
import { execute } from "./nodes/execute.js";
import { gate } from "./nodes/gate.js";
import { model } from "./nodes/model.js";
import { observe } from "./nodes/observe.js";
import { resultUnknown } from "./nodes/result_unknown.js";
import type { GraphPorts } from "./ports.js";
import { scopeOf, threadOf } from "./runtime.js";
import { changesOf, type GraphState, type GraphUpdate, Public, STATE_VERSION, State } from "./state.js";

/** Compiles the graph. Starts no server and needs no model: drawing it is free. */
export function buildGraph(ports: GraphPorts, checkpointer: BaseCheckpointSaver | undefined) {
  const ours = (node: Node) => oursOf(ports, node);
  const graph = new StateGraph({ state: State, input: Public, output: Public })
    .addNode("discover", ours(discover(ports)))
    .addNode("model", ours(model(ports)))
    .addNode("gate", light("gate", ours(gate(ports))))
    .addNode("approval", ours(approval(ports)))
    .addNode("execute", ours(execute(ports)))
    .addNode("observe", light("observe", ours(observe(ports))))
    .addNode("result_unknown", ours(resultUnknown(ports)))
    .addEdge(START, "discover")
    .addEdge("discover", "model")
    .addConditionalEdges("model", route(afterModel), ["gate", END])
    .addConditionalEdges("gate", route(afterGate), ["approval", "execute", "observe"])
    .addConditionalEdges("approval", route(afterApproval), ["approval", "execute"])
    .addConditionalEdges("execute", route(afterExecute), ["approval", "observe"])
    .addConditionalEdges("observe", route(afterObserve(ports), "afterObserve"), ["result_unknown", "discover", "model"])
    .addConditionalEdges("result_unknown", route(afterResultUnknown), ["result_unknown", "model"]);
  narrow(graph, ROUTED_BY);
  const compiled = graph.compile({ name: "toolgate", ...(checkpointer ? { checkpointer } : {}) });
  return held(compiled, ports, (config) => scopeOf(ports, config)).withConfig({
    recursionLimit: recursionLimit(ports.config.limits.modelRequests),
  });
}

/** What the edges behind a node read. The edge behind `model` looks at the messages. */
const ROUTED_BY = {
  gate: ["operations"],
  approval: ["operations"],
  execute: ["operations"],
  observe: ["operations", "connected", "snapshot"],
  result_unknown: ["operations"],
} as const;

/** What the edge behind a node is given. */
type Seen<Node extends keyof typeof ROUTED_BY> = Pick<GraphState, (typeof ROUTED_BY)[Node][number]>;

type Node = (state: GraphState, runtime: LangGraphRunnableConfig) => Promise<GraphUpdate> | GraphUpdate;

/**
 * A node that refuses a thread of a later version, wherever the thread was stopped, before anything is asked or sent; and
 * that acts no more once the lease of its run has passed: the thread may be another's by now.
 */
function oursOf(ports: GraphPorts, node: Node): Node {
  return async (state, runtime) => {
    if (leaseOf(runtime)?.valid() === false) throw lapsed(threadOf(ports, runtime).threadId);
    if ((state.stateVersion ?? STATE_VERSION) <= STATE_VERSION) {
      try {
        return changesOf(state, await node(state, runtime));
      } catch (error) {
        throw redactedError(error, ports.redact); // LangGraph stores it with the checkpoint and tells every handler
      }
    }
    throw new ToolgateError(
      "store_version",
      `this thread was saved by a later version of toolgate (state version ${state.stateVersion})`,
      "open it with that version, or start a new thread",
    );
  };
}

/** Budgets end a turn; the recursion limit must not. */
export function recursionLimit(modelRequests: number): number {
  return Math.max(100, 6 * modelRequests + 10) + 2 * modelRequests;
}

function afterModel(state: GraphState): "gate" | typeof END {
  const last = state.messages.at(-1);
  return AIMessage.isInstance(last) && (last.tool_calls?.length ?? 0) > 0 ? "gate" : END;
}

function afterGate(state: Seen<"gate">): "approval" | "execute" | "observe" {
  if (state.operations.some((view) => view.status === "asked")) return "approval";
  return state.operations.some((view) => view.status === "ready") ? "execute" : "observe";
}

function afterApproval(state: Seen<"approval">): "approval" | "execute" {
  return state.operations.some((view) => view.status === "asked") ? "approval" : "execute";
}

function afterExecute(state: Seen<"execute">): "approval" | "observe" {
  return state.operations.some((view) => view.status === "asked") ? "approval" : "observe";
}

/** Whether a write of this batch is unknown and nobody has said anything about it. */
function openUnknown(state: Pick<GraphState, "operations">): boolean {
  return state.operations.some((view) => view.effect === "write" && view.status === "result_unknown" && !view.left);
}

function afterObserve(ports: GraphPorts) {
  return (state: Seen<"observe">): "result_unknown" | "discover" | "model" => {
    if (openUnknown(state)) return "result_unknown";
    const names = serversInUse(ports.config, state.connected);
    return ports.catalog.moved(state.snapshot?.id, names) ? "discover" : "model";
  };
}

function afterResultUnknown(state: Seen<"result_unknown">): "result_unknown" | "model" {
  return openUnknown(state) ? "result_unknown" : "model";
}
