// Last response: the calls of the last AI message of a conversation, judged.

import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { type Batch, judgeResponse } from "../gate/batch.js";
import { callsOf, lastProposal, metadataOf, turnOf, withArguments } from "../observation/conversation.js";
import type { GraphPorts } from "./ports.js";
import type { GraphState } from "./state.js";

/** A judged batch with the message whose calls it holds. */
export interface LastResponse extends Batch {
  readonly message: AIMessage;
}

/** Looks up and judges the calls of the last AI message; undefined when it has none. */
export async function judgeLastResponse(
  ports: GraphPorts,
  state: Pick<GraphState, "messages" | "ledgerSeq" | "snapshot">,
  threadId: string,
): Promise<LastResponse | undefined> {
  const found = lastProposal(state.messages);
  if (!found) return undefined;
  const { message, at } = found;
  const { proposalId, snapshotId = state.snapshot?.id } = metadataOf(message);
  const batch = await judgeResponse(ports, {
    threadId,
    messageId: message.id,
    calls: callsOf(message),
    proposalId,
    snapshotId,
    turnId: turnOf(state.messages, at),
    ledgerSeq: state.ledgerSeq,
  });
  return { ...batch, message };
}

/** The message with the arguments that a person gave; nothing where nobody changed any. */
export function editedMessage({ message, edited }: LastResponse): BaseMessage[] {
  return edited.size > 0 ? [withArguments(message, edited)] : [];
}
