// Repair: a conversation that every provider accepts, whatever became of the state (G8).
//
//   repair-1. Each AI message's calls are answered by tool messages directly behind it, one for each call.
//   repair-2. What is missing is what the ledger says, or `rejected (withdrawn)`: nothing will run it any more.
//   repair-3. A tool message that answers no call there, or answers one twice, was written by nobody who may, and is taken out.

import { type AIMessage, type BaseMessage, RemoveMessage, ToolMessage } from "@langchain/core/messages";
import type { Owner } from "../contracts/index.js";
import { judgeResponse, type RunPlace } from "../gate/batch.js";
import { withArguments } from "../observation/conversation.js";
import { highestSeq, settleAll, toolMessageOf } from "./closing.js";
import { lastResponse } from "./last-response.js";
import type { GraphPorts } from "./ports.js";
import type { GraphState, GraphUpdate } from "./state.js";
import { haltOf, ownUnknown, unknownWritesOf } from "./views.js";

/** AI messages whose calls are not all answered, by position, with the ids that are open; and tool messages out of place. */
export interface Gaps {
  readonly open: ReadonlyMap<number, ReadonlySet<string>>;
  readonly strays: ReadonlySet<BaseMessage>;
}

/** Finds what a provider would refuse. Pure. */
export function gapsIn(messages: readonly BaseMessage[]): Gaps {
  const open = new Map<number, Set<string>>();
  const strays = new Set<BaseMessage>();
  let last: { readonly at: number; ids: readonly string[] } | undefined;
  const close = () => last && last.ids.length > 0 && open.set(last.at, new Set(last.ids));
  for (let at = 0; at < messages.length; at++) {
    const message = messages[at] as BaseMessage;
    if (message.type === "tool") {
      const { tool_call_id: answered } = message as ToolMessage;
      if (last?.ids.includes(answered)) last.ids = last.ids.filter((id) => id !== answered);
      else strays.add(message); // repair-3
      continue;
    }
    close();
    const calls = message.type === "ai" ? (message as AIMessage).tool_calls : undefined;
    last = calls === undefined || calls.length === 0 ? undefined : { at, ids: calls.map(({ id = "" }) => id) };
  }
  close();
  return { open, strays };
}

/**
 * Closes every open call and puts each message in its place; undefined when nothing is amiss. `messages` is the whole
 * conversation as it will be. Throws `already_running` when another run still holds a call.
 */
export async function repair(
  ports: GraphPorts,
  state: GraphState,
  place: RunPlace,
  run: Owner | undefined,
): Promise<{ readonly messages: readonly BaseMessage[]; readonly update: GraphUpdate } | undefined> {
  const { open, strays } = gapsIn(state.messages);
  if (open.size === 0 && strays.size === 0) return undefined;
  await ports.ledger.sweep({ threadId: place.threadId, reads: true });
  const answers = new Map<number, BaseMessage[]>();
  const edits = new Map<number, BaseMessage>();
  let { ledgerSeq } = state;
  let halted = state.halt.operations;
  for (const [at, ids] of open) {
    const last = lastResponse({ ...state, messages: state.messages.slice(0, at + 1) }, place);
    if (!last) continue;
    const batch = await judgeResponse(ports, last.shown);
    const rows = await settleAll(ports, batch, "it was withdrawn: the conversation went on; it was not run", run); // repair-2
    const unanswered = batch.calls.filter(({ call }) => ids.has(call.callId));
    const settled = unanswered.flatMap(({ operation }) => rows.get(operation.id) ?? []);
    answers.set(at, await Promise.all(settled.map((row) => toolMessageOf(ports, batch, row, false))));
    if (batch.edited.size > 0) edits.set(at, withArguments(last.message, batch.edited));
    ledgerSeq = highestSeq(ledgerSeq, rows.values());
    halted = [...ownUnknown(batch.standing), ...unknownWritesOf(rows.values())];
  }
  const messages = inPlace(state.messages, strays, answers, edits);
  const kept = samePrefix(state.messages, messages);
  const moved = state.messages.slice(kept);
  return {
    messages,
    update: {
      messages: [
        ...moved.flatMap((message) => (message.id ? [new RemoveMessage({ id: message.id })] : [])),
        ...messages.slice(kept),
      ],
      operations: [],
      ledgerSeq,
      halt: haltOf(halted),
      note: "",
    },
  };
}

/** Strays out, edited proposals in, and each proposal's missing answers behind those it has. */
function inPlace(
  messages: readonly BaseMessage[],
  strays: ReadonlySet<BaseMessage>,
  answers: ReadonlyMap<number, readonly BaseMessage[]>,
  edits: ReadonlyMap<number, BaseMessage>,
): BaseMessage[] {
  const placed: BaseMessage[] = [];
  let waiting: readonly BaseMessage[] = [];
  for (const [at, message] of messages.entries()) {
    if (strays.has(message)) continue;
    if (!ToolMessage.isInstance(message)) {
      placed.push(...waiting);
      waiting = answers.get(at) ?? [];
    }
    placed.push(edits.get(at) ?? message);
  }
  return [...placed, ...waiting];
}

function samePrefix(before: readonly BaseMessage[], after: readonly BaseMessage[]): number {
  let length = 0;
  while (length < before.length && before[length] === after[length]) length += 1;
  return length;
}
