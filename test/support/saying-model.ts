// A chat model that answers with the messages a test made, whatever is in them: what a provider's adapter might return.

import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { AIMessage, AIMessageChunk, BaseMessage } from "@langchain/core/messages";
import { ChatGenerationChunk, type ChatResult } from "@langchain/core/outputs";

/** The answer to a conversation: one message, or the chunks of one. */
export type Say = (messages: readonly BaseMessage[]) => AIMessage | readonly AIMessageChunk[];

export class SayingModel extends BaseChatModel {
  readonly requests: BaseMessage[][] = [];
  readonly #say: Say;

  constructor(say: Say) {
    super({});
    this.#say = say;
  }

  override _llmType(): string {
    return "saying";
  }

  override bindTools() {
    return this;
  }

  override async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    const said = this.#answer(messages);
    const message = Array.isArray(said)
      ? (said as AIMessageChunk[]).reduce((all, chunk) => all.concat(chunk) as AIMessageChunk)
      : (said as AIMessage);
    return { generations: [{ text: "", message }] };
  }

  override async *_streamResponseChunks(messages: BaseMessage[]): AsyncGenerator<ChatGenerationChunk> {
    const said = this.#answer(messages);
    for (const message of (Array.isArray(said) ? said : [said]) as AIMessageChunk[]) {
      yield new ChatGenerationChunk({ text: "", message });
    }
  }

  #answer(messages: readonly BaseMessage[]) {
    this.requests.push([...messages]);
    return this.#say(messages);
  }
}
