// What the tests of replays, forks and halts share: a model that does what its user's words name, so that any branch of a
// thread proposes what the test says, and a look at a thread's checkpoints.

import type { BaseMessage } from "@langchain/core/messages";
import type { Agent, Bench, Steps, Turn } from "../support/agent.js";

/** `act`, `act:text` or `server.act:text`, several with spaces between. */
const WORD = /^(?:(\w+)\.)?([a-z]+)(?::(\w+))?$/;

/**
 * Answers `do <words>` with one call for each word and everything else with `Done.`; call ids are `c<n>.<m>`, the m-th call
 * of the n-th response. It keeps no place of its own.
 */
export const obeys: Steps = Array.from(
  { length: 40 },
  (_, n) =>
    ({ messages }: { messages: readonly BaseMessage[] }) => {
      const last = messages.at(-1);
      if (last?.getType() !== "human" || !last.text.startsWith("do ")) return { say: "Done." };
      const calls = last.text
        .slice(3)
        .split(" ")
        .map((word, m) => {
          const [, server = "hostile", tool, text] = WORD.exec(word) ?? [];
          return {
            name: `mcp__${server}__${tool}`,
            args: text === undefined ? {} : { text },
            id: `c${n + 1}.${m + 1}`,
          };
        });
      return { calls };
    },
);

/** What a tool of these tests does when it is called: `lost` had its effect and answers with an error nobody can trust. */
const CALLS = {
  lost: { do: "answer", error: { code: -32603, message: "lost" } },
  look: { do: "answer", effect: false },
};

/** A server with the tools `act` and `pay` (writes), `lost` (a write whose outcome stays unknown) and `look` (a read). */
export function server(b: Bench) {
  const tools = ["act", "pay", "lost", "look"].map((name) => ({
    name,
    inputSchema: { type: "object", properties: { text: { type: "string" } } },
  }));
  return b.server("hostile", { HOSTILE: JSON.stringify({ tools, calls: CALLS }) });
}

/** An agent on that server, or on those of `config`; all of its tools are allowed, and `look` is a read. */
export function start(b: Bench, config: Record<string, unknown> = {}, options: object = {}): Promise<Agent> {
  const mcpServers = (config["mcpServers"] as Record<string, object> | undefined) ?? { hostile: server(b) };
  const names = Object.keys(mcpServers);
  return b.start({
    config: {
      mcpServers,
      permissions: { allow: names.map((name) => `mcp__${name}`) },
      tools: Object.fromEntries(names.map((name) => [`mcp__${name}__look`, { effect: "read" }])),
      ...config,
    },
    steps: obeys,
    options,
  });
}

export interface Saved {
  readonly values: { readonly messages: readonly BaseMessage[] } & Readonly<Record<string, unknown>>;
  readonly next: readonly string[];
  readonly config: { readonly configurable: { readonly thread_id: string; readonly checkpoint_id: string } };
}

export const thread = (threadId = "t1") => ({ configurable: { thread_id: threadId } });

/** Every checkpoint of a thread, oldest first. */
export async function checkpoints(agent: Agent, threadId = "t1"): Promise<Saved[]> {
  const all: Saved[] = [];
  for await (const state of agent.toolgate.graph.getStateHistory(thread(threadId))) all.unshift(state as never);
  return all;
}

/** The first checkpoint from which this node runs. */
export async function stateBefore(agent: Agent, node: string, threadId = "t1"): Promise<Saved> {
  const found = (await checkpoints(agent, threadId)).find((state) => state.next[0] === node);
  if (!found) throw new Error(`no checkpoint of \`${threadId}\` is before \`${node}\``);
  return found;
}

/** `callId status reason`, in order of the calls. */
export const outcomes = (turn: Pick<Turn, "report">) =>
  turn.report.operations.map(({ callId, status, reason }) => `${callId} ${status} ${reason}`);

/** The calls a question is about. */
export const asked = (turn: Pick<Turn, "interrupt">) =>
  (turn.interrupt as { actionRequests?: { approvalId: string; toolCallId: string; why: string }[] } | undefined)
    ?.actionRequests ?? [];

/** A yes to everything that is asked. */
export const yes = (turn: Pick<Turn, "interrupt">) => ({
  decisions: Object.fromEntries(asked(turn).map((one) => [one.approvalId, { type: "approve" }])),
});

/** Tools that had their effect, in order, with the text they were given. */
export const effects = (b: Bench) =>
  b.log("effect").map((event) => `${event.tool}:${(event.arguments as { text?: string }).text ?? ""}`);

/** Something one side waits for and the other opens. */
export function latch(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
