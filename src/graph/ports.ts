// What the graph's nodes are given. One such object belongs to one `createToolgate`; nodes hold nothing of their own.

import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import type { Servers } from "../contracts/index.js";
import type { ExecutionPorts } from "../execution/ports.js";
import type { GatePorts } from "../gate/ports.js";
import type { HeldPorts } from "../langgraph/held-graph.js";
import type { Ledger } from "../ledger/port.js";
import type { Accepted } from "../listings/accepted.js";
import type { Catalog } from "../listings/catalog.js";
import type { ReportPorts } from "../report/ports.js";

export interface GraphPorts extends GatePorts, ExecutionPorts, HeldPorts, ReportPorts {
  readonly config: ExecutionPorts["config"];
  readonly ledger: Ledger;
  readonly catalog: Catalog;
  readonly accepted: Accepted;
  readonly servers: Servers;
  readonly checker: GatePorts["checker"];
  /** Whether the host is being closed: a run that has not come to the model yet ends. */
  readonly closing: () => boolean;
  /** Resolved at the first request: drawing the graph needs no model. */
  readonly model: () => Promise<BaseChatModel>;
  /** Who answers in this run, and in which scope it is (gate/identity.ts). **Contract:** may throw; then nobody is identified. */
  readonly identify: (runtime: LangGraphRunnableConfig) => unknown;
  /** Says why JSON text cannot be taken as it stands (duplicate keys and the like); undefined when it can. */
  readonly jsonProblem: (text: string) => string | undefined;
}
