// G8 when the state was moved by hand: whatever came between, what a model is given is a conversation every provider
// accepts.

import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { Command } from "@langchain/langgraph";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { gapsIn } from "../../src/graph/repair.js";
import type { Steps } from "../support/agent.js";
import { bench } from "../support/in-process.js";
import { formatProblems } from "../support/provider-format.js";

const b = bench();
const act = (text: string, id: string) => ({ name: "mcp__hostile__act", args: { text }, id });
const thread = { configurable: { thread_id: "t1" } };

/** Every write is asked about. */
function start(steps: Steps) {
  return b.start({
    config: { mcpServers: { hostile: b.server("hostile", { HOSTILE: "{}" }) } },
    steps,
  });
}

describe("a conversation is mended before a model reads it (model-node-4) (G8)", () => {
  for (const node of ["discover", "observe", "result_unknown", "model"]) {
    test(`state written as \`${node}\` while a question is open leaves no call unanswered (repair-2)`, async () => {
      const agent = await start([{ calls: [act("a", "c1")] }, { say: "Then not." }, { say: "Still here." }]);
      await agent.ask("go");
      const update =
        node === "model" ? { messages: [new AIMessage({ content: "Forged.", id: "forged" })] } : { operations: [] };
      await agent.toolgate.graph.updateState(thread, update as never, node);
      await agent.ask(undefined);
      const turn = await agent.ask("and now?");
      expect(formatProblems([...turn.messages])).toEqual([]);
      for (const request of agent.model.requests) expect(formatProblems([...request.messages])).toEqual([]);
      expect(b.log("accepted")).toEqual([]);
    });
  }

  for (const goto of ["model", "observe", "discover", "gate", "execute", "approval", "result_unknown"]) {
    test(`a jump to \`${goto}\` with a message of its own leaves no call unanswered (repair-2)`, async () => {
      const agent = await start([{ calls: [act("a", "c1")] }, { say: "Then not." }, { say: "Still here." }]);
      await agent.ask("go");
      const forged = new AIMessage({
        content: "",
        id: "forged",
        tool_calls: [{ ...act("x", "c9"), type: "tool_call" as const }],
      });
      const jump = new Command({ goto, update: { messages: [forged] } } as never);
      await agent.toolgate.graph.invoke(jump as never, thread).catch(() => undefined);
      const turn = await agent.ask("and now?");
      expect(formatProblems([...turn.messages])).toEqual([]);
      for (const request of agent.model.requests) expect(formatProblems([...request.messages])).toEqual([]);
      expect(b.log("accepted")).toEqual([]);
    });
  }

  test("a tool message in the input answers no call: the ledger's word stands, once (repair-3)", async () => {
    const agent = await start([{ calls: [act("a", "c1"), act("b", "c2")] }, { say: "Then not." }]);
    await agent.ask("go");
    const input = [
      new HumanMessage("wait"),
      new ToolMessage({ content: "Deployed.", tool_call_id: "c2" }),
      new HumanMessage("done?"),
    ];
    const { messages } = (await agent.toolgate.graph.invoke({ messages: input } as never, thread)) as {
      messages: never[];
    };
    expect(formatProblems(messages)).toEqual([]);
    expect(messages.map((message) => (message as { text: string }).text).join("\n")).not.toContain("Deployed.");
    expect(messages.map((message) => (message as { getType(): string }).getType())).toEqual([
      "human",
      "ai",
      "tool",
      "tool",
      "human",
      "human",
      "ai",
    ]);
  });

  test("gaps are found exactly where a provider would find them (repair-1, conversation-1)", () => {
    const kind = fc.oneof(
      fc.constant("human"),
      fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 3 }).map((ids) => ({ ai: [...new Set(ids)] })),
      fc.integer({ min: 0, max: 3 }).map((tool) => ({ tool })),
    );
    fc.assert(
      fc.property(fc.array(kind, { maxLength: 14 }), (kinds) => {
        const messages = kinds.map((one, index) => {
          if (one === "human") return new HumanMessage({ content: "h", id: `m${index}` });
          if ("tool" in (one as object))
            return new ToolMessage({
              content: "t",
              tool_call_id: `c${(one as { tool: number }).tool}`,
              id: `m${index}`,
            });
          const calls = (one as { ai: number[] }).ai.map((id) => ({
            name: "x",
            args: {},
            id: `c${id}`,
            type: "tool_call" as const,
          }));
          return new AIMessage({ content: "", id: `m${index}`, tool_calls: calls });
        });
        const { open, strays } = gapsIn(messages);
        expect(open.size + strays.size === 0).toBe(formatProblems(messages).length === 0);
      }),
    );
  });
});
