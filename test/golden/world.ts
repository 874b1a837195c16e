// What golden stores are written and opened with. Everything here is part of what they were written with: a change would make
// their calls calls of another tool. New needs get a new server beside this one.

import { HumanMessage } from "@langchain/core/messages";
import type { Toolgate, ToolgateOptions } from "../../src/index.js";
import { scriptedModel } from "../../src/testing.js";

/** When golden stores are written, and a minute later, when they are opened: nothing in them has expired by then. */
export const WRITTEN_AT = Date.parse("2026-11-30T00:00:00Z");
export const OPENED_AT = WRITTEN_AT + 60_000;

/** How each thread was left. */
export const THREADS = ["finished", "waiting", "unknown", "claimed", "dispatching"] as const;

const tools = ["act", "pay", "lost", "look"].map((name) => ({
  name,
  description: `Golden ${name}.`,
  inputSchema: { type: "object", properties: { text: { type: "string" } } },
}));
const calls = {
  lost: { do: "answer", error: { code: -32603, message: "lost" } },
  look: { do: "answer", effect: false, result: { content: [{ type: "text", text: "what was looked at" }] } },
};

/** `act` and `look` run by rule, `pay` by a person's yes, and what became of `lost` stays unknown. */
export function goldenConfig(folder: string, command: object, serverLog: string): Record<string, unknown> {
  return {
    store: { kind: "sqlite", path: folder },
    approvals: { secret: "the-secret-that-the-golden-stores-are-sealed-with" },
    mcpServers: {
      golden: { ...command, env: { SERVER_LOG: serverLog, HOSTILE: JSON.stringify({ tools, calls }) } },
    },
    permissions: { allow: ["mcp__golden__act", "mcp__golden__lost", "mcp__golden__look"], ask: ["mcp__golden__pay"] },
    tools: { mcp__golden__look: { effect: "read" } },
  };
}

/** Says `do <tool> …` with calls whose text is the thread's, and everything else with `Done.` */
export const goldenModel = (): NonNullable<ToolgateOptions["model"]> =>
  scriptedModel(
    Array.from({ length: 20 }, (_, n) => ({ messages }) => {
      const last = messages.at(-1);
      if (last?.getType() !== "human" || !last.text.startsWith("do ")) return { say: "Done." };
      const names = last.text.slice(3).split(" ");
      return {
        calls: names.map((name, m) => ({ name: `mcp__golden__${name}`, args: { text: last.text }, id: `c${n}.${m}` })),
      };
    }),
  );

export const thread = (threadId: string) => ({ configurable: { thread_id: threadId }, durability: "sync" as const });

export async function say(toolgate: Toolgate, threadId: string, text: string): Promise<void> {
  const messages = [new HumanMessage({ id: `${threadId}: ${text}`, content: text })];
  await toolgate.graph.invoke({ messages } as never, thread(threadId));
}
