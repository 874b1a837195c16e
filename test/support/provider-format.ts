// What every provider demands of a conversation: each call answered directly after its message, exactly once.

import { AIMessage, type BaseMessage, ToolMessage } from "@langchain/core/messages";

/** What a provider would refuse about these messages; empty when nothing. */
export function formatProblems(messages: readonly BaseMessage[]): string[] {
  const problems: string[] = [];
  let open = new Map<string, number>();
  let direct = false;
  const close = () => {
    for (const [id, answers] of open) if (answers !== 1) problems.push(`call ${id} has ${answers} answers`);
    open = new Map();
  };
  for (const message of messages) {
    if (ToolMessage.isInstance(message)) {
      const id = message.tool_call_id;
      if (!direct || !open.has(id)) problems.push(`tool message ${id} does not stand directly behind its call`);
      else open.set(id, (open.get(id) as number) + 1);
      continue;
    }
    close();
    direct = AIMessage.isInstance(message);
    if (AIMessage.isInstance(message)) {
      const ids = (message.tool_calls ?? []).map((call) => call.id ?? "");
      if (new Set(ids).size !== ids.length || ids.includes(""))
        problems.push(`call ids are not unique: ${ids.join(", ")}`);
      open = new Map(ids.map((id) => [id, 0]));
    }
  }
  close();
  return problems;
}
