// A model that asks for as many calls of one tool as it was told to and then says that it is done. It does not read the
// conversation, so its own time does not grow with it.

import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage } from "@langchain/core/messages";
import type { ChatResult } from "@langchain/core/outputs";

export class CallingModel extends BaseChatModel {
  /** How many calls it still asks for. */
  left = 0;
  /** Awaited before each answer. */
  before: () => Promise<void> = async () => undefined;
  #made = 0;

  constructor(readonly tool: string) {
    super({});
  }

  override _llmType(): string {
    return "calling";
  }

  override bindTools(): this {
    return this;
  }

  override async _generate(): Promise<ChatResult> {
    await this.before();
    const message = this.left > 0 ? this.#call() : new AIMessage("Done.");
    return { generations: [{ text: "", message }] };
  }

  #call(): AIMessage {
    this.left -= 1;
    this.#made += 1;
    const call = { id: `call_${this.#made}`, name: this.tool, args: { environment: `e${this.#made}` } };
    return new AIMessage({ content: "", tool_calls: [{ type: "tool_call", ...call }] });
  }
}
