// Last response: the calls of the last AI message of a conversation, as the gate is asked about them.

import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import type { Batch, ResponseShown, RunPlace } from "../gate/batch.js";
import { callsOf, lastProposal, metadataOf, turnOf, withArguments } from "../observation/conversation.js";
import type { GraphState } from "./state.js";

/** The last AI message with what it shows. */
export interface LastResponse {
  readonly message: AIMessage;
  readonly shown: ResponseShown;
}

/** The last AI message, if it has calls. */
export function lastResponse(
  state: Pick<GraphState, "messages" | "ledgerSeq" | "snapshot">,
  place: RunPlace,
): LastResponse | undefined {
  const found = lastProposal(state.messages);
  if (!found) return undefined;
  const { message, at } = found;
  const { proposalId, snapshotId = state.snapshot?.id } = metadataOf(message);
  const turnId = turnOf(state.messages, at);
  const { ledgerSeq } = state;
  const shown = { ...place, messageId: message.id, calls: callsOf(message), proposalId, snapshotId, turnId, ledgerSeq };
  return { message, shown };
}

/** The message with the arguments that a person gave; nothing where nobody changed any. */
export function editedMessage({ message }: LastResponse, { edited }: Batch): BaseMessage[] {
  return edited.size > 0 ? [withArguments(message, edited)] : [];
}
