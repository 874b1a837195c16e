// The normal form of a model's message: what a provider's adapter puts into it, and what is judged and stored of it.

import { AIMessage, AIMessageChunk } from "@langchain/core/messages";
import { describe, expect, it, test } from "vitest";
import { parseStrictJson } from "../../src/adapters/config/strict-json.js";
import { normalise } from "../../src/graph/response.js";

const jsonProblem = (text: string) => {
  const parsed = parseStrictJson(text, {});
  return parsed.ok ? undefined : parsed.problem;
};
function normal(fields: object) {
  let made = 0;
  const ports = { newId: () => `new${++made}`, jsonProblem };
  return normalise(ports, fields as AIMessage, []);
}
/** The message of a provider as its adapter makes it. */
const ai = (fields: object) => new AIMessage(fields as ConstructorParameters<typeof AIMessage>[0]);
const call = (id: string, args: unknown, name = "pay") => ({ type: "tool_call", id, name, args });
const nested = (levels: number): unknown => (levels === 0 ? "end" : { a: nested(levels - 1) });

describe("a call that is said twice (response-4)", () => {
  const REVIVED = { lc: 1, type: "constructor", id: ["langchain_core", "messages", "HumanMessage"], kwargs: {} };

  // `tool_calls.args` was emptied and Anthropic's block beside it kept what no checkpointer could load.
  it.each([
    ["a key that is revived", REVIVED],
    ["one further in", { list: [{ to: "a" }, REVIVED] }],
    ["60 levels", nested(60)],
    ["a mark of LangChain's", { __lc_escaped__: { a: 1 } }],
    ["a lone surrogate", { text: "\ud800" }],
    ["a number that is none", { amount: Number.NaN }],
  ])("with %s: both copies are empty, and the call is kept and marked (same-calls-1)", (_what, args) => {
    const { message, calls } = normal(
      ai({
        content: [
          { type: "text", text: "I pay." },
          { type: "tool_use", id: "c1", name: "pay", input: args },
        ],
        tool_calls: [call("c1", args)],
      }),
    );
    expect(message.content).toEqual([
      { type: "text", text: "I pay." },
      { type: "tool_use", id: "c1", name: "pay", input: {} },
    ]);
    expect(message.tool_calls).toEqual([{ type: "tool_call", id: "c1", name: "pay", args: {} }]);
    expect(calls.map(({ callId, invalid }) => [callId, typeof invalid])).toEqual([["c1", "string"]]);
  });

  it.each([
    [
      "Anthropic's",
      { type: "tool_use", id: "c1", name: "pay", input: '{"to":"b"}' },
      { type: "tool_use", id: "c1", name: "pay", input: { to: "a" } },
    ],
    [
      "LangChain's",
      { type: "tool_call", id: "c1", name: "pay", args: { to: "b" } },
      { type: "tool_call", id: "c1", name: "pay", args: { to: "a" } },
    ],
    [
      "LangChain's of an invalid call",
      { type: "invalid_tool_call", id: "c1", name: "pay", args: "{", error: "no" },
      { type: "tool_call", id: "c1", name: "pay", args: { to: "a" } },
    ],
    [
      "OpenAI's",
      { type: "function_call", id: "fc_1", call_id: "c1", name: "pay", arguments: '{"to":"b"}' },
      { type: "function_call", id: "fc_1", call_id: "c1", name: "pay", arguments: '{"to":"a"}' },
    ],
    [
      "Google's",
      { functionCall: { name: "pay", args: { to: "b" } }, thoughtSignature: "s" },
      { functionCall: { name: "pay", args: { to: "a" } }, thoughtSignature: "s" },
    ],
  ])(
    "%s copy has the arguments that are judged, in the content and in what the adapter keeps",
    (_whose, copy, kept) => {
      const { message } = normal(
        ai({
          content: [copy],
          tool_calls: [call("c1", { to: "a" })],
          response_metadata: { output: [copy, { type: "message" }] },
        }),
      );
      expect(message.content).toEqual([kept]);
      expect(message.response_metadata).toEqual({ output: [kept, { type: "message" }] });
    },
  );

  // A call that stood in the content alone was sent back to the provider without an answer, and refused every time.
  test("a copy of a call that there is not is left out, and none comes back from it (same-calls-2)", () => {
    const { message, calls } = normal({
      content: [
        { type: "tool_call", id: "ghost", name: "wipe", args: {} },
        { type: "tool_use", id: "ghost2", name: "wipe", input: {} },
        { type: "server_tool_use", id: "s1", name: "web_search", input: { query: "a" } },
      ],
      tool_calls: [call("c1", { to: "a" })],
      response_metadata: { output_version: "v1" },
      additional_kwargs: {
        function_call: { name: "wipe", arguments: "{}" },
        tool_calls: [{ id: "ghost3" }],
        refusal: null,
      },
    });
    expect(calls.map(({ callId }) => callId)).toEqual(["c1"]);
    expect(message.tool_calls).toEqual([{ type: "tool_call", id: "c1", name: "pay", args: { to: "a" } }]);
    expect(JSON.stringify(message)).not.toContain("wipe");
    expect(JSON.stringify(message)).toContain("web_search");
    expect(message.additional_kwargs).toEqual({ refusal: null });
  });

  // Two calls had one id. The second was given another, and its block in the content kept the first one's.
  test("ids that are given anew are the same in each copy, in their order", () => {
    const block = (input: object) => ({ type: "tool_use", id: "same", name: "pay", input });
    const { message } = normal(
      ai({
        content: [block({ to: "a" }), block({ to: "b" })],
        tool_calls: [call("same", { to: "a" }), call("same", { to: "b" })],
      }),
    );
    expect(message.tool_calls?.map(({ id, args }) => [id, args])).toEqual([
      ["same", { to: "a" }],
      ["call_new1", { to: "b" }],
    ]);
    expect(message.content).toEqual([
      { type: "tool_use", id: "same", name: "pay", input: { to: "a" } },
      { type: "tool_use", id: "call_new1", name: "pay", input: { to: "b" } },
    ]);
  });

  test("what was streamed is the same as what was not", () => {
    const whole = ai({
      content: [
        { type: "text", text: "I pay." },
        { type: "tool_use", id: "c1", name: "pay", input: { to: "a" } },
      ],
      tool_calls: [call("c1", { to: "a" })],
      id: "m1",
    });
    const chunk = (content: object[], tool_call_chunks: object[] = []) =>
      new AIMessageChunk({ content, tool_call_chunks, id: "m1" } as never);
    const streamed = [
      chunk([{ type: "text", text: "I pay." }]),
      chunk(
        [{ type: "tool_use", index: 1, id: "c1", name: "pay", input: "" }],
        [{ type: "tool_call_chunk", index: 1, id: "c1", name: "pay", args: "" }],
      ),
      chunk(
        [{ type: "input_json_delta", index: 1, input: '{"to":' }],
        [{ type: "tool_call_chunk", index: 1, args: '{"to":' }],
      ),
      chunk(
        [{ type: "input_json_delta", index: 1, input: '"a"}' }],
        [{ type: "tool_call_chunk", index: 1, args: '"a"}' }],
      ),
    ].reduce((all, one) => all.concat(one));
    expect(normal(streamed)).toEqual(normal(whole));
    expect(normal(streamed).message.tool_calls).toEqual([
      { type: "tool_call", id: "c1", name: "pay", args: { to: "a" } },
    ]);
  });
});

describe("what is beside the calls (response-3)", () => {
  class Usage {
    input_tokens = 3;
    secretly() {}
  }
  const circle: Record<string, unknown> = { name: "round" };
  circle["self"] = circle;
  const thrower = Object.defineProperty({ kept: 1 }, "bad", {
    enumerable: true,
    get() {
      throw new Error("no");
    },
  });
  it.each<[string, unknown, unknown]>([
    [
      "what would be revived",
      { lc: 1, type: "secret", id: ["OPENAI_API_KEY"] },
      '{"lc":1,"type":"secret","id":["OPENAI_API_KEY"]}',
    ],
    ["a form of LangGraph's", { lc: 2, type: "undefined" }, '{"lc":2,"type":"undefined"}'],
    ["a big number", 12n, "12"],
    ["a number that is none", [Number.NaN, Number.POSITIVE_INFINITY], [null, null]],
    ["text of half a character", "a\ud800b\0c", "a\ufffdb\ufffdc"],
    ["a circle", circle, { name: "round", self: "[circular]" }],
    ["a getter that throws", thrower, { kept: 1 }],
    ["an object of a class", new Usage(), { input_tokens: 3 }],
    ["a date", new Date(0), "1970-01-01T00:00:00.000Z"],
    ["a map", new Map([["a", 1]]), [["a", 1]]],
    ["bytes", new Uint8Array([1, 2, 3]), "AQID"],
    ["what has no JSON", { f: () => 1, s: Symbol("s"), u: undefined, n: null }, { n: null }],
    ["a prototype", JSON.parse('{"__proto__":{"admin":true}}'), '{"__proto__":{"admin":true}}'],
  ])("%s is made plain in every part of the message", (_what, odd, plain) => {
    const { message } = normal({
      content: [{ type: "thinking", odd }],
      tool_calls: [],
      additional_kwargs: { odd },
      response_metadata: { odd },
      usage_metadata: { input_tokens: 1, odd },
    });
    expect(message.content).toEqual([{ type: "thinking", odd: plain }]);
    expect(message.additional_kwargs).toEqual({ odd: plain });
    expect(message.response_metadata).toEqual({ odd: plain });
    expect(message.usage_metadata).toEqual({ input_tokens: 1, odd: plain });
  });

  test("a part of the content that must not be data is a part of text; a key of the whole is left out", () => {
    const { message } = normal({
      content: [{ lc: 1, type: "text", text: "a" }, "b", 7, null, circle],
      tool_calls: undefined,
      additional_kwargs: { lc: 1, kept: true },
      response_metadata: null,
    });
    expect(message.content).toEqual([
      { type: "text", text: '{"lc":1,"type":"text","text":"a"}' },
      { type: "text", text: "b" },
      { type: "text", text: "7" },
      { name: "round", self: "[circular]" },
    ]);
    expect(message.additional_kwargs).toEqual({ kept: true });
    expect(message.response_metadata).toEqual({});
  });

  test("levels that no loader takes are text; so many that they have no text are said to be", () => {
    const { message } = normal({ content: [{ type: "thinking", deep: nested(60), deeper: nested(5_000) }] });
    const text = JSON.stringify(message.content);
    expect(text).toContain('"{\\"a\\":');
    let deepest = 0;
    for (
      let at: unknown = (message.content as unknown as { deep: unknown }[])[0]?.deep;
      typeof at === "object";
      deepest++
    )
      at = (at as { a: unknown }).a;
    expect(deepest).toBe(31);
  });

  test("arguments that change between two looks, or cannot be read, are none", () => {
    let looks = 0;
    const changing = Object.defineProperty({}, "to", {
      enumerable: true,
      get: () => (looks++ === 0 ? "a" : () => "b"),
    });
    const throwing = Object.defineProperty({}, "to", {
      enumerable: true,
      get() {
        throw new Error("no");
      },
    });
    const { message, calls } = normal({
      content: "",
      tool_calls: [
        call("c1", changing),
        call("c2", throwing),
        call("c3", "text"),
        call("c4", new Usage()),
        null,
        call("c\0", {}),
      ],
    });
    expect(message.tool_calls?.map(({ id, args }) => [id, args])).toEqual([
      ["c1", {}],
      ["c2", {}],
      ["c3", {}],
      ["c4", {}],
      ["call_new1", {}],
    ]);
    expect(calls.map(({ invalid }) => invalid !== undefined)).toEqual([false, true, true, true, false]);
  });

  test("text of two megabytes stays as it is", () => {
    const text = "a".repeat(2_000_000);
    expect(normal({ content: text }).message.content).toBe(text);
  });
});
