// The scripted model: a chat model whose answers are written down beforehand. It stands in for a real model in tests,
// examples and demonstrations. It proves how messages flow and which permissions apply, not how a model judges.
//
//   scripted-1. Step n answers the n-th model request of the thread, counted by the AI messages it is given. The model keeps
//               no counter of its own, so a replay, a fork or a second process gets the same answers.
//   scripted-2. After the last step it says `(script ended)`.
//   scripted-3. Default call ids are unique within a thread and the same in every run.

import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import type { BaseLanguageModelInput } from "@langchain/core/language_models/base";
import {
  BaseChatModel,
  type BaseChatModelCallOptions,
  type BindToolsInput,
} from "@langchain/core/language_models/chat_models";
import { AIMessage, AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import { ChatGenerationChunk, type ChatResult } from "@langchain/core/outputs";
import type { Runnable } from "@langchain/core/runnables";
import { convertToOpenAITool } from "@langchain/core/utils/function_calling";
import { readArguments, type ScriptStep } from "./script.js";

/** The `model_name` of a scripted model. */
const SCRIPTED = "scripted";

/** A tool as the model was given it. */
export interface ScriptedTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of its parameters. */
  readonly schema: unknown;
}

/** One request the model was sent. */
export interface ScriptedRequest {
  readonly messages: readonly BaseMessage[];
  readonly tools: readonly ScriptedTool[];
}

/** In code a step may also be a function of the request. **Contract:** may throw; then the request fails. */
export type Script = readonly (ScriptStep | ((request: ScriptedRequest) => ScriptStep))[];

interface ScriptedOptions extends BaseChatModelCallOptions {
  tools?: BindToolsInput[];
}

/** A chat model that answers from a script. `requests` holds every request it was sent, oldest first. */
export function scriptedModel(steps: Script): ScriptedModel {
  return new ScriptedModel(steps);
}

export class ScriptedModel extends BaseChatModel<ScriptedOptions> {
  readonly model = SCRIPTED;
  readonly requests: ScriptedRequest[] = [];
  readonly #steps: Script;

  constructor(steps: Script) {
    super({});
    this.#steps = steps;
  }

  override _llmType(): string {
    return SCRIPTED;
  }

  override bindTools(
    tools: BindToolsInput[],
    options: Partial<ScriptedOptions> = {},
  ): Runnable<BaseLanguageModelInput, AIMessageChunk, ScriptedOptions> {
    return this.withConfig({ ...options, tools });
  }

  override async _generate(messages: BaseMessage[], options: this["ParsedCallOptions"]): Promise<ChatResult> {
    const fields = this.#answer(messages, options);
    return { generations: [{ text: fields.content, message: new AIMessage(fields) }] };
  }

  /** Yields the text word by word, then all calls in one chunk, because LangChain repairs arguments that it joins from chunks. */
  override async *_streamResponseChunks(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
    manager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    const { content, ...rest } = this.#answer(messages, options);
    // Everything in one chunk when there are invalid calls: joining chunks would lose them.
    const pieces = rest.invalid_tool_calls.length > 0 ? [] : (content.match(/\s*\S+\s*/g) ?? []);
    const last = { ...rest, content: pieces.length > 0 ? "" : content };
    for (const fields of [...pieces.map((content) => ({ content })), last]) {
      const message = new AIMessageChunk(fields);
      // The constructor of a chunk derives invalid calls from repaired arguments, so ours are set afterwards.
      message.invalid_tool_calls = fields === last ? rest.invalid_tool_calls : [];
      const chunk = new ChatGenerationChunk({ text: fields.content, message });
      yield chunk;
      await manager?.handleLLMNewToken(fields.content, undefined, undefined, undefined, undefined, { chunk });
    }
  }

  #answer(messages: readonly BaseMessage[], options: ScriptedOptions) {
    const request: ScriptedRequest = { messages: [...messages], tools: (options.tools ?? []).map(toolOf) };
    this.requests.push(request);
    const number = messages.filter((message) => message.getType() === "ai").length + 1; // scripted-1
    const entry = this.#steps[number - 1];
    const step = typeof entry === "function" ? entry(request) : (entry ?? { say: "(script ended)" }); // scripted-2
    if (step.fail !== undefined) throw new Error(step.fail);
    return fieldsOf(step, number);
  }
}

function fieldsOf(step: ScriptStep, number: number) {
  const tool_calls = [];
  const invalid_tool_calls = [];
  for (const [index, call] of (step.calls ?? []).entries()) {
    const id = call.id ?? `call_${number}_${index + 1}`; // scripted-3
    const args = readArguments(call.args);
    if (args.ok) tool_calls.push({ type: "tool_call" as const, id, name: call.name, args: args.value });
    else {
      const { raw, problem } = args;
      invalid_tool_calls.push({ type: "invalid_tool_call" as const, id, name: call.name, args: raw, error: problem });
    }
  }
  return { content: step.say ?? "", tool_calls, invalid_tool_calls, response_metadata: { model_name: SCRIPTED } };
}

function toolOf(tool: BindToolsInput): ScriptedTool {
  const converted: unknown = convertToOpenAITool(tool);
  const outer = converted as { function?: Record<string, unknown> } & Record<string, unknown>;
  const { name, description, parameters, input_schema } = outer.function ?? outer;
  return { name: String(name), description: String(description ?? ""), schema: parameters ?? input_schema ?? {} };
}
