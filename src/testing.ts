// The side door for tests: a model that says what it was told to say, and an agent over servers that are no processes.

import type { Servers } from "./contracts/index.js";
import type { Toolgate, ToolgateOptions } from "./create/options.js";
import { assembleToolgate } from "./create/toolgate.js";

export type { ScriptCall, ScriptStep } from "./adapters/model/script.js";
export {
  type Script,
  type ScriptedModel,
  type ScriptedRequest,
  type ScriptedTool,
  scriptedModel,
} from "./adapters/model/scripted.js";
export type {
  Call,
  CallEvidence,
  CallRequest,
  ConnectResult,
  ListPage,
  RawResponse,
  ServerConnection,
  Servers,
} from "./contracts/index.js";

export interface TestToolgateOptions extends ToolgateOptions {
  /** Stands in the place of every server that the configuration names. Its `close` is called by the agent's. */
  readonly servers: Servers;
}

/**
 * The same agent as `createToolgate` makes, over servers that the test brings: nothing is started. What a real transport
 * guarantees (at most one send for a call, evidence of what was seen) is then the test's to keep.
 */
export async function createTestToolgate({ servers, ...options }: TestToolgateOptions): Promise<Toolgate> {
  return assembleToolgate(options, () => servers, { ownServers: true });
}
