// The side door for tests: a model that says what it was told to say.

export type { ScriptCall, ScriptStep } from "./adapters/model/script.js";
export {
  type Script,
  type ScriptedModel,
  type ScriptedRequest,
  type ScriptedTool,
  scriptedModel,
} from "./adapters/model/scripted.js";
