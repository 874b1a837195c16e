// Conversation: what is read from the messages of a thread, and how a message of it is written.
//
//   conversation-1. A proposal is the last AI message; its calls are answered by the tool messages directly behind it.
//   conversation-2. Ids of tool messages are `tool:<operationId>`: writing one again replaces it, never adds a second (G8).

import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import type { JsonObject, MessageCall } from "../contracts/index.js";

/** What `model` writes on every AI message. A claim, not a proof: the ledger is asked. */
export interface ToolgateMetadata {
  readonly proposalId?: string;
  readonly snapshotId?: string;
}

/** The last AI message, when it has calls. */
export function lastProposal(messages: readonly BaseMessage[]): { message: AIMessage; at: number } | undefined {
  for (let at = messages.length - 1; at >= 0; at--) {
    const message = messages[at] as BaseMessage;
    if (!AIMessage.isInstance(message)) continue;
    return (message.tool_calls?.length ?? 0) > 0 ? { message, at } : undefined;
  }
  return undefined;
}

export function callsOf(message: AIMessage): MessageCall[] {
  return (message.tool_calls ?? []).map((call, index) => ({
    index,
    callId: call.id ?? "",
    alias: call.name,
    arguments: (call.args ?? {}) as JsonObject,
  }));
}

export function metadataOf(message: AIMessage): ToolgateMetadata {
  const { toolgate } = (message.response_metadata ?? {}) as { toolgate?: unknown };
  if (typeof toolgate !== "object" || toolgate === null) return {};
  const { proposalId, snapshotId } = toolgate as Record<string, unknown>;
  return {
    ...(typeof proposalId === "string" ? { proposalId } : {}),
    ...(typeof snapshotId === "string" ? { snapshotId } : {}),
  };
}

/** Id of the user message a position in the conversation belongs to; "" before the first. */
export function turnOf(messages: readonly BaseMessage[], before = messages.length): string {
  for (let at = before - 1; at >= 0; at--) {
    const message = messages[at] as BaseMessage;
    if (message.type === "human") return message.id ?? "";
  }
  return "";
}

/** The same AI message with other arguments for some calls (by index): same ids, in every form a provider reads. */
export function withArguments(message: AIMessage, changed: ReadonlyMap<number, JsonObject>): AIMessage {
  const calls = message.tool_calls ?? [];
  const byId = new Map(
    calls.flatMap((call, index) => (changed.has(index) && call.id ? [[call.id, changed.get(index)]] : [])),
  );
  const content = Array.isArray(message.content)
    ? message.content.map((block) => {
        const { type, id } = block as { type?: unknown; id?: unknown };
        if (type === "tool_use" && byId.has(id as string)) return { ...block, input: byId.get(id as string) };
        if (type === "tool_call" && byId.has(id as string)) return { ...block, args: byId.get(id as string) };
        return block;
      })
    : message.content;
  return new AIMessage({
    content: content as AIMessage["content"],
    ...(message.id === undefined ? {} : { id: message.id }),
    ...(message.name === undefined ? {} : { name: message.name }),
    additional_kwargs: message.additional_kwargs,
    response_metadata: message.response_metadata,
    ...(message.usage_metadata === undefined ? {} : { usage_metadata: message.usage_metadata }),
    tool_calls: calls.map((call, index) => ({ ...call, args: changed.get(index) ?? call.args })),
    invalid_tool_calls: [],
  } as ConstructorParameters<typeof AIMessage>[0]);
}

export function toolMessageId(operationId: string): string {
  return `tool:${operationId}`;
}
