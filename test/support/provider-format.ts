// What every provider demands of a conversation, as a check: a tool call is answered where it stands, once, by its id.

import { AIMessage, type BaseMessage, ToolMessage } from "@langchain/core/messages";

/** What a provider would refuse; empty when it would take the messages. */
export function formatProblems(messages: readonly BaseMessage[]): string[] {
  const problems: string[] = [];
  let open: string[] = [];
  let answered: string[] = [];
  const close = (at: number) => {
    for (const id of open) problems.push(`call \`${id}\` is not answered before message ${at}`);
    open = [];
    answered = [];
  };
  for (const [at, message] of messages.entries()) {
    if (ToolMessage.isInstance(message)) {
      const id = message.tool_call_id;
      if (open.includes(id)) {
        open = open.filter((other) => other !== id);
        answered.push(id);
      } else if (answered.includes(id)) problems.push(`message ${at} answers call \`${id}\` again`);
      else problems.push(`message ${at} answers call \`${id}\`, which does not stand directly before it`);
      if (isEmpty(message)) problems.push(`message ${at} has no content`);
      continue;
    }
    close(at);
    if (!AIMessage.isInstance(message)) continue;
    open = callIds(message);
    if (open.includes("")) problems.push(`message ${at} has a call without an id`);
    if (new Set(open).size < open.length) problems.push(`message ${at} has two calls with one id`);
    const invalid = message.invalid_tool_calls?.length ?? 0;
    if (invalid > 0) problems.push(`message ${at} has ${invalid} invalid calls`);
  }
  close(messages.length);
  return problems;
}

function callIds(message: AIMessage): string[] {
  return (message.tool_calls ?? []).map((call) => call.id ?? "");
}

function isEmpty(message: BaseMessage): boolean {
  return message.content.length === 0;
}
