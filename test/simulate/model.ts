// Model: a chat model that follows the plan. It keeps no place of its own: what it answers depends on the conversation it
// is given, so that a run from an earlier checkpoint gets the calls of that step again.

import type { BaseLanguageModelInput } from "@langchain/core/language_models/base";
import { BaseChatModel, type BindToolsInput } from "@langchain/core/language_models/chat_models";
import { AIMessage, type AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import type { ChatResult } from "@langchain/core/outputs";
import type { Runnable } from "@langchain/core/runnables";
import type { JsonObject } from "../../src/contracts/index.js";
import { canonical } from "./facts.js";
import type { CallPlan } from "./plan.js";
import { aliasOf } from "./server.js";
import type { Process, World } from "./world.js";

export class PlannedModel extends BaseChatModel {
  readonly #world: World;
  readonly #process: Process;

  constructor(world: World, process: Process) {
    super({});
    this.#world = world;
    this.#process = process;
  }

  override _llmType(): string {
    return "planned";
  }

  override bindTools(_tools: BindToolsInput[]): Runnable<BaseLanguageModelInput, AIMessageChunk> {
    return this as unknown as Runnable<BaseLanguageModelInput, AIMessageChunk>;
  }

  override _generate(messages: BaseMessage[]): Promise<ChatResult> {
    return this.#process.port("model", () => this.#answer(messages), 300);
  }

  #answer(messages: readonly BaseMessage[]): ChatResult {
    const { plan, history, newId } = this.#world;
    const asked = messages.findLastIndex((message) => message.getType() === "human");
    const turn = Number(messages[asked]?.text.match(/turn (\d+)/)?.[1] ?? -1);
    const step = messages.slice(asked).filter((message) => message.getType() === "ai").length;
    const calls = (plan.turns[turn]?.steps[step] ?? []).map((call) => this.#call(call));
    const said = calls.map(({ name, args }) => `${name} ${canonical(args)}`).join(", ");
    history.say("model", `step ${step + 1} of turn ${turn}: ${said || "done"}`);
    const message = new AIMessage({ content: calls.length > 0 ? "" : "done", id: newId("ai"), tool_calls: calls });
    return { generations: [{ text: "", message }] };
  }

  #call({ tool, n }: CallPlan) {
    const { facts, newId } = this.#world;
    const id = newId("call");
    const args: JsonObject = { n: n === "fresh" ? 100 + Number(id.slice(5)) : n === "bad" ? "x" : n };
    facts.made.add(canonical([aliasOf(tool), args]));
    return { type: "tool_call" as const, id, name: aliasOf(tool), args };
  }
}
