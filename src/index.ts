// The public door.
//
//   const toolgate = await createToolgate({ config: "toolgate.json" });
//   await toolgate.graph.invoke({ messages: [{ role: "user", content: "…" }] }, { configurable: { thread_id: "t1" } });
//   await toolgate.close();

export type { PersonAnswer } from "./approval/index.js";
export {
  ApprovalItem,
  Config,
  Decision,
  ERROR_CODES,
  type ErrorCode,
  Finding,
  Operation,
  OperationItem,
  OperationState,
  Outcome,
  OutcomeBy,
  OutcomeStatus,
  RejectedReason,
  RunReport,
  SettledReason,
  ToolEntry,
  ToolgateError,
  ToolSnapshot,
  ToolsReport,
  UnknownItem,
} from "./contracts/index.js";
export { loadConfig } from "./create/load-config.js";
export type { Toolgate, ToolgateOptions } from "./create/options.js";
export { keptSecret, withKeptSecret } from "./create/secret.js";
export { createToolgate } from "./create/toolgate.js";
export type { Decide, DecideAnswer, DecideCall } from "./gate/host-decision.js";
export type { Identity } from "./gate/identity.js";
export type { Ledger } from "./ledger/port.js";
export type { InScope, Records } from "./report/records.js";
