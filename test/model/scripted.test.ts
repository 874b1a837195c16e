import { AIMessage, type BaseMessage, HumanMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { END, MessagesValue, START, StateGraph, StateSchema } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type Script, scriptedModel } from "../../src/testing.js";

const ask = new HumanMessage("hi");

describe("a scripted model", () => {
  it("answers the n-th request of a thread with step n, counted by the AI messages it is given (scripted-1)", async () => {
    const model = scriptedModel([{ say: "one" }, { say: "two" }]);
    expect((await model.invoke([ask])).content).toBe("one");
    expect((await model.invoke([ask])).content).toBe("one");
    expect((await model.invoke([new SystemMessage("s"), ask, new AIMessage("one"), ask])).content).toBe("two");
  });

  it("says when the script has ended (scripted-2)", async () => {
    expect((await scriptedModel([]).invoke([ask])).content).toBe("(script ended)");
    expect((await scriptedModel([{ say: "x" }]).invoke([ask, new AIMessage("x")])).content).toBe("(script ended)");
  });

  it("says that it is scripted", async () => {
    const model = scriptedModel([{ say: "x" }]);
    expect(model._llmType()).toBe("scripted");
    expect(model.model).toBe("scripted");
    expect((await model.invoke([ask])).response_metadata).toMatchObject({ model_name: "scripted" });
  });

  it("calls tools with ids that are unique in the thread and the same in every run (scripted-3)", async () => {
    const calls = [{ name: "a", args: { x: 1 } }, { name: "b" }, { name: "c", id: "mine" }];
    const model = scriptedModel([{ say: "first", calls }, { calls: [{ name: "a" }] }]);
    expect((await model.invoke([ask])).tool_calls).toEqual([
      { type: "tool_call", id: "call_1_1", name: "a", args: { x: 1 } },
      { type: "tool_call", id: "call_1_2", name: "b", args: {} },
      { type: "tool_call", id: "mine", name: "c", args: {} },
    ]);
    expect((await model.invoke([ask, new AIMessage("")])).tool_calls?.[0]?.id).toBe("call_2_1");
  });

  it("makes an invalid call of raw arguments that are no object or name a key twice, and never repairs them (script-1)", async () => {
    const raw = ['{"a":1}', '{"a":1,"a":2}', '{"a":1,"\\u0061":2}', '{"a":1', "[1]", ""];
    const model = scriptedModel([{ calls: raw.map((args) => ({ name: "t", args })) }]);
    const message = await model.invoke([ask]);
    expect(message.tool_calls).toEqual([{ type: "tool_call", id: "call_1_1", name: "t", args: { a: 1 } }]);
    expect(message.invalid_tool_calls?.map((call) => call.args)).toEqual(raw.slice(1));
    expect(message.invalid_tool_calls?.[0]?.error).toContain("stands twice in one object");
  });

  it("keeps invalid calls when a graph streams its messages", async () => {
    const model = scriptedModel([{ say: "two words", calls: [{ name: "t", args: '{"a":1' }, { name: "u" }] }]);
    const graph = new StateGraph(new StateSchema({ messages: MessagesValue }))
      .addNode("model", async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
      .addEdge(START, "model")
      .addEdge("model", END)
      .compile();
    let last: BaseMessage[] = [];
    for await (const [mode, data] of await graph.stream({ messages: [ask] }, { streamMode: ["messages", "values"] })) {
      if (mode === "values") last = data.messages;
    }
    const message = last.at(-1) as AIMessage;
    expect(message.content).toBe("two words");
    expect(message.tool_calls?.map((call) => call.id)).toEqual(["call_1_2"]);
    expect(message.invalid_tool_calls?.map((call) => [call.id, call.args])).toEqual([["call_1_1", '{"a":1']]);
  });

  it("records what it was sent, tools as they were bound", async () => {
    const model = scriptedModel([{ say: "x" }]);
    const schema = { type: "object", properties: { q: { type: "string" } }, required: ["q"] };
    const bound = model.bindTools([
      { type: "function", function: { name: "open", description: "as OpenAI takes it", parameters: schema } },
      { name: "plain", description: "as Anthropic takes it", input_schema: schema },
      tool(() => "", { name: "chain", description: "of LangChain", schema: z.object({ q: z.string() }) }),
    ]);
    await bound.invoke([ask]);
    await model.invoke("again");
    expect(model.requests.map((request) => request.messages.map((message) => message.content))).toEqual([
      ["hi"],
      ["again"],
    ]);
    expect(model.requests[0]?.tools.map(({ name, description }) => `${name}: ${description}`)).toEqual([
      "open: as OpenAI takes it",
      "plain: as Anthropic takes it",
      "chain: of LangChain",
    ]);
    expect(model.requests[0]?.tools[0]?.schema).toEqual(schema);
    expect(model.requests[0]?.tools[1]?.schema).toEqual(schema);
    expect(model.requests[0]?.tools[2]?.schema).toMatchObject(schema);
    expect(model.requests[1]?.tools).toEqual([]);
  });

  it("takes steps as functions, and fails where it is told to", async () => {
    const steps: Script = [
      ({ messages, tools }) => ({ say: `${messages.length} messages, ${tools.length} tools` }),
      { fail: "overloaded" },
    ];
    const model = scriptedModel(steps);
    expect((await model.invoke([ask])).content).toBe("1 messages, 0 tools");
    await expect(model.invoke([ask, new AIMessage("")])).rejects.toThrow("overloaded");
    expect(model.requests).toHaveLength(2);
  });

  it("streams words, then the calls, and joins to the same message", async () => {
    const model = scriptedModel([{ say: "two words", calls: [{ name: "t", args: { a: [1] } }] }]);
    const chunks: unknown[] = [];
    for await (const chunk of await model.stream([ask])) chunks.push(chunk.content);
    expect(chunks).toEqual(["two ", "words", ""]);
    const whole = await model.invoke([ask]);
    const streamed = await collect(model);
    expect([streamed.content, streamed.tool_calls]).toEqual([whole.content, whole.tool_calls]);
    expect(streamed.response_metadata).toEqual({ model_name: "scripted" });
  });

  it("streams through a graph, and its state has the whole messages", async () => {
    const model = scriptedModel([{ say: "let me see", calls: [{ name: "t", args: { a: 1 } }] }, { say: "done now" }]);
    const graph = new StateGraph(new StateSchema({ messages: MessagesValue }))
      .addNode("model", async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
      .addNode("tools", ({ messages }) => ({
        messages: [
          new ToolMessage({ content: "r", tool_call_id: (messages.at(-1) as AIMessage).tool_calls?.[0]?.id ?? "" }),
        ],
      }))
      .addEdge(START, "model")
      .addConditionalEdges("model", ({ messages }) =>
        (messages.at(-1) as AIMessage).tool_calls?.length ? "tools" : END,
      )
      .addEdge("tools", "model")
      .compile();
    const words: unknown[] = [];
    let last: BaseMessage[] = [];
    for await (const [mode, data] of await graph.stream({ messages: [ask] }, { streamMode: ["messages", "values"] })) {
      if (mode === "messages" && data[0].getType() === "ai") words.push(data[0].content);
      if (mode === "values") last = data.messages;
    }
    expect(words).toEqual(["let ", "me ", "see", "", "done ", "now", ""]);
    expect(last.map((message) => message.content)).toEqual(["hi", "let me see", "r", "done now"]);
    expect((last[1] as AIMessage).tool_calls).toEqual([
      { type: "tool_call", id: "call_1_1", name: "t", args: { a: 1 } },
    ]);
  });
});

async function collect(model: ReturnType<typeof scriptedModel>) {
  const chunks = [];
  for await (const chunk of await model.stream([ask])) chunks.push(chunk);
  return chunks.reduce((joined, chunk) => joined.concat(chunk));
}
