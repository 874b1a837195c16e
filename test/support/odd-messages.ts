// Messages as adapters of models might make them, drawn at random, and what must hold of a thread after each.

import { AIMessage, AIMessageChunk, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import type { BaseCheckpointSaver } from "@langchain/langgraph";
import fc from "fast-check";
import { expect } from "vitest";
import type { Bench } from "./agent.js";
import { formatProblems } from "./provider-format.js";
import { SayingModel } from "./saying-model.js";

const nested = (levels: number): unknown => (levels === 0 ? "end" : { a: nested(levels - 1) });
function circle(): object {
  const round: Record<string, unknown> = {};
  round["self"] = [round];
  return round;
}

/** Data that some store, serializer or loader takes for something else, or does not take at all. */
const odd = fc.oneof(
  fc.constantFrom<() => unknown>(
    () => ({ lc: 1 }),
    () => ({
      lc: 1,
      type: "constructor",
      id: ["langchain_core", "messages", "HumanMessage"],
      kwargs: { content: "x" },
    }),
    () => ({ lc: 1, type: "constructor", id: ["nowhere", "Nothing"], kwargs: {} }),
    () => ({ lc: 1, type: "secret", id: ["HOME"] }),
    () => ({ lc: 1, type: "not_implemented", id: ["a"] }),
    () => ({ lc: 2, type: "constructor", id: ["Set"], args: [[1]] }),
    () => ({ lc: 2, type: "undefined" }),
    () => ({ __lc_escaped__: { lc: 1 } }),
    () => JSON.parse('{"__proto__":{"lc":1}}'),
    () => nested(60),
    () => nested(3_000),
    circle,
    () => "\ud800 and \0",
    () => ({ "\udfff": "\0" }),
    () => 12n,
    () => Number.NaN,
    () => Number.NEGATIVE_INFINITY,
    () => new Date(0),
    () => new Map([["lc", { lc: 1 }]]),
    () => new Set([1]),
    () => new Uint8Array(3),
    () => new Error("boom"),
    () => /a/,
    () => () => 1,
    () => Symbol("s"),
    () => undefined,
    () => "x".repeat(100_000),
    () => new HumanMessage("inner"),
    () => ({ lg_name: "Send", node: "execute", args: {} }),
  ),
  fc.jsonValue({ maxDepth: 3 }).map((value) => () => value),
);
const held = odd.chain((make) =>
  fc.constantFrom(
    make,
    () => ({ to: "a", inner: make() }),
    () => [make(), { deep: make() }],
  ),
);

/** One call of a message: how its arguments come, and how they stand in the content. */
const call = fc.record({
  id: fc.constantFrom("c1", "c2", "c1", "", "c\ud800", "toolu_1"),
  name: fc.constantFrom("mcp__hostile__look", "mcp__hostile__look", "nope", "", "a\0b"),
  args: fc.oneof(
    fc.constant(() => ({ text: "a" })),
    held,
  ),
  copy: fc.constantFrom("tool_use", "tool_call", "function_call", "none"),
  valid: fc.boolean(),
});
export const oddMessage = fc.record({
  calls: fc.array(call, { minLength: 1, maxLength: 3 }),
  ghost: fc.boolean(),
  v1: fc.boolean(),
  streamed: fc.boolean(),
  text: fc.constantFrom("", "I look.", "\ud800\0"),
  beside: held,
});
export type OddMessage = typeof oddMessage extends fc.Arbitrary<infer T> ? T : never;

function blockOf({ id, name, args, copy }: OddMessage["calls"][number]): object[] {
  if (copy === "none") return [];
  if (copy === "function_call") return [{ type: copy, id: "fc", call_id: id, name, arguments: "{" }];
  return [{ type: copy, id, name, [copy === "tool_use" ? "input" : "args"]: args() }];
}

function messageOf(drawn: OddMessage): AIMessage | AIMessageChunk[] {
  const blocks = drawn.calls.flatMap(blockOf);
  const ghost = drawn.ghost ? [{ type: "tool_use", id: "ghost", name: "mcp__hostile__look", input: {} }] : [];
  const fields = {
    content: [{ type: "text", text: drawn.text }, { type: "thinking", held: drawn.beside() }, ...blocks, ...ghost],
    tool_calls: drawn.calls.filter(({ valid }) => valid).map(({ id, name, args }) => ({ id, name, args: args() })),
    invalid_tool_calls: drawn.calls
      .filter(({ valid }) => !valid)
      .map(({ id, name }) => ({ id, name, args: "{", error: "\0" })),
    additional_kwargs: { beside: drawn.beside(), function_call: { name: "wipe", arguments: "{}" } },
    usage_metadata: { input_tokens: 1, output_tokens: 1, total_tokens: 2, held: drawn.beside() },
  };
  const metadata = { beside: drawn.beside(), output: [...blocks, ...ghost] };
  const message = drawn.streamed ? new AIMessageChunk(fields as never) : new AIMessage(fields as never);
  message.invalid_tool_calls = fields.invalid_tool_calls as never; // a chunk makes its own
  message.response_metadata = drawn.v1 ? { ...metadata, output_version: "v1" } : metadata;
  return drawn.streamed ? [message as AIMessageChunk] : (message as AIMessage);
}

/** An agent whose model says what was drawn for a thread, and one more message when its calls are answered. */
export async function oddAgent(b: Bench, options: { checkpointer?: BaseCheckpointSaver; store?: object }) {
  const said = new Map<string, OddMessage>();
  const model = new SayingModel((messages) => {
    const last = messages.at(-1);
    const drawn = last?.getType() === "human" ? said.get(last.text) : undefined;
    return drawn === undefined ? new AIMessage("Done.") : messageOf(drawn);
  });
  const agent = await b.start({
    config: {
      mcpServers: { hostile: b.server("hostile", { HOSTILE: JSON.stringify({ tools: [LOOK] }) }) },
      permissions: { allow: ["mcp__hostile__look"] },
      tools: { mcp__hostile__look: { effect: "read" } },
      ...(options.store === undefined ? {} : { store: options.store }),
    },
    options: { model, ...(options.checkpointer === undefined ? {} : { checkpointer: options.checkpointer }) },
  });
  const { graph } = agent.toolgate;
  let threads = 0;

  /** Runs a thread with the message and loads it. One in five is gone on with, loaded again and forked. */
  return async function outlives(drawn: OddMessage): Promise<void> {
    const threadId = `thread ${threads++}`;
    const config = { configurable: { thread_id: threadId }, durability: "sync" as const };
    said.set(threadId, drawn);
    const ask = (content: string) => graph.invoke({ messages: [{ role: "user", content }] } as never, config);
    if (drawn.streamed)
      for await (const _ of await graph.stream(input(threadId), { ...config, streamMode: "messages" })) void _;
    else await ask(threadId);
    const first = await messagesOf(config);
    const count = drawn.calls.length;
    expect(first.map((message) => message.getType())).toEqual(["human", "ai", ...Array(count).fill("tool"), "ai"]);
    expect(formatProblems([...first])).toEqual([]);
    const calls = (first[1] as AIMessage).tool_calls ?? [];
    expect(
      copiesOf(first[1] as AIMessage).filter(
        ({ id, args }) => !calls.some((one) => one.id === id && same(one.args, args)),
      ),
    ).toEqual([]);
    if (threads % 5 !== 1) return; // what follows takes longest
    await ask(`${threadId} again`); // it goes on
    const later = await messagesOf(config);
    expect(later.slice(0, first.length).map(plain)).toEqual(first.map(plain)); // what is loaded twice is the same
    expect(later.slice(first.length).map((message) => message.text)).toEqual([`${threadId} again`, "Done."]);
    const history = [];
    for await (const state of graph.getStateHistory(config)) history.push(state);
    const before = history.find((state) => state.next.includes("gate"));
    await graph.invoke(null, { ...config, ...before?.config } as never); // a fork from where the message was stored
    expect(formatProblems(await messagesOf(config))).toEqual([]);
  };

  async function messagesOf(config: object): Promise<BaseMessage[]> {
    const state = await graph.getState(config as never);
    return (state.values as { messages: BaseMessage[] }).messages;
  }
}

const LOOK = { name: "look", inputSchema: { type: "object" } };
const input = (content: string) => ({ messages: [{ role: "user", content }] }) as never;
const plain = (message: BaseMessage) => JSON.parse(JSON.stringify(message));
const same = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);

/** The copies of calls in content and metadata. */
function copiesOf({ content, response_metadata }: AIMessage): { id: unknown; args: unknown }[] {
  const parts = [...(Array.isArray(content) ? content : []), ...((response_metadata["output"] ?? []) as object[])];
  return (parts as Record<string, unknown>[]).flatMap((part) => {
    if (part["type"] === "tool_use") return [{ id: part["id"], args: part["input"] }];
    if (part["type"] === "tool_call") return [{ id: part["id"], args: part["args"] }];
    if (part["type"] === "function_call") return [{ id: part["call_id"], args: JSON.parse(String(part["arguments"])) }];
    return [];
  });
}
