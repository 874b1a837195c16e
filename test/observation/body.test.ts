import { AIMessage, ToolMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fromBody, localResult, plainOrText, survives, toBody } from "../../src/observation/index.js";

function nested(levels: number): unknown {
  let value: unknown = "bottom";
  for (let level = 0; level < levels; level++) value = [value];
  return value;
}

describe("a body", () => {
  it("brings back what JSON can hold (property, body-3)", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (structuredContent) => {
        const body = toBody({ content: [], structuredContent });
        expect(fromBody(body)).toEqual({
          content: [],
          structuredContent: JSON.parse(JSON.stringify(structuredContent)),
        });
      }),
    );
  });

  it("exists for every value (property, body-1)", () => {
    const anything = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withTypedArray: true,
    });
    fc.assert(
      fc.property(anything, (value) => {
        expect(typeof JSON.parse(toBody(value))).toBeTypeOf("string");
        expect(Array.isArray(fromBody(toBody(value)).content)).toBe(true);
      }),
    );
  });

  // Half of an emoji made every later request of a conversation invalid JSON.
  // Postgres cannot store U+0000, and a saver left it in the text as an escape.
  it("holds NUL and half characters as escapes, and gives them back (body-2)", () => {
    const body = toBody({ content: [{ type: "text", text: "a\u0000b\ud83d" }] });
    expect(body).toBe('{"content":[{"type":"text","text":"a\\u0000b\\ud83d"}]}');
    expect(fromBody(body).content).toEqual([{ type: "text", text: "a\u0000b\ud83d" }]);
  });

  // JSON that is nested too deeply can be parsed but not written again, so a result could not be saved.
  it("cuts what is nested too deeply, with a mark (body-2)", () => {
    const body = toBody({ content: [], structuredContent: nested(10_000) });
    expect(body.length).toBeLessThan(300);
    expect(body).toContain("[nested deeper than 64]");
    const foreign = `{"content":[],"structuredContent":${"[".repeat(10_000)}${"]".repeat(10_000)}}`;
    expect(JSON.stringify(fromBody(foreign))).toContain("[nested deeper than 64]");
  });

  it("replaces what JSON cannot hold (body-1)", () => {
    const circular: Record<string, unknown> = { name: "c" };
    circular.self = circular;
    const value = {
      circular,
      big: 10n,
      nan: Number.NaN,
      date: new Date(0),
      bytes: new Uint8Array([1, 2, 3]),
      map: new Map([["k", 1]]),
      set: new Set([1]),
      error: new TypeError("bad"),
      run: () => 1,
      gone: undefined,
      hole: [1, undefined],
      bad: {
        get x() {
          throw new Error("no");
        },
      },
    };
    expect(JSON.parse(toBody(value))).toEqual({
      circular: { name: "c", self: "[circular]" },
      big: "10",
      nan: "NaN",
      date: "1970-01-01T00:00:00.000Z",
      bytes: "AQID",
      map: [["k", 1]],
      set: [1],
      error: { name: "TypeError", message: "bad" },
      run: "[function]",
      hole: [1, null],
      bad: "[unreadable]",
    });
  });

  it("keeps a key named __proto__ a key", () => {
    expect(toBody(JSON.parse('{"__proto__":{"x":1}}'))).toBe('{"__proto__":{"x":1}}');
    expect(({} as { x?: number }).x).toBeUndefined();
  });

  // Results without content crashed clients, and an error without text was taken for none.
  it("reads content that is missing, null or no list as empty, and text that is no body as text", () => {
    expect(fromBody("{}")).toEqual({ content: [] });
    expect(fromBody('{"content":null}')).toEqual({ content: [] });
    expect(fromBody('{"isError":true}')).toEqual({ content: [], isError: true });
    expect(fromBody("null")).toEqual({ content: [] });
    expect(fromBody("plain")).toEqual({ content: [{ type: "text", text: "plain" }] });
  });
});

describe("what a tool of the host returned", () => {
  it("becomes the shape of an MCP result", () => {
    expect(localResult("text")).toEqual({ content: [{ type: "text", text: "text" }] });
    expect(localResult(undefined)).toEqual({ content: [] });
    expect(localResult(7)).toEqual({ content: [{ type: "text", text: "7" }] });
    expect(localResult([1, 2])).toEqual({ content: [{ type: "text", text: "[1,2]" }] });
    expect(localResult({ a: 1 })).toEqual({
      content: [{ type: "text", text: '{"a":1}' }],
      structuredContent: { a: 1 },
    });
  });

  it("is read from a tool message, with its status", () => {
    const message = new ToolMessage({ content: "no such file", tool_call_id: "c", status: "error" });
    expect(localResult(message)).toEqual({ content: [{ type: "text", text: "no such file" }], isError: true });
    expect(localResult(new AIMessage("hi"))).toEqual({ content: [{ type: "text", text: "hi" }] });
  });

  it("is read from LangChain's content blocks, old and standard", () => {
    const blocks = [
      { type: "text", text: "t" },
      { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
      { type: "image", mimeType: "image/png", data: "AAAA" },
      { type: "file", mime_type: "text/csv", data: "AAAA" },
      { type: "image_url", image_url: { url: "https://example.org/x.png" } },
    ];
    expect(localResult(blocks)).toEqual({
      content: [
        { type: "text", text: "t" },
        { type: "image", data: "AAAA", mimeType: "image/png" },
        { type: "image", data: "AAAA", mimeType: "image/png" },
        { type: "resource", resource: { uri: "", blob: "AAAA", mimeType: "text/csv" } },
        { type: "text", text: '{"type":"image_url","image_url":{"url":"https://example.org/x.png"}}' },
      ],
    });
  });
});

describe("data for the graph's state", () => {
  it("stays as it is unless a loader would give it a meaning or refuse its depth", () => {
    const data = { a: [{ b: 1 }], type: "constructor", id: [] };
    expect(plainOrText(data)).toBe(data);
    expect(plainOrText({ x: { lc: 1 } })).toBe('{"x":{"lc":1}}');
    expect(plainOrText({ __lc_escaped__: 1 })).toBe('{"__lc_escaped__":1}');
    expect(survives(JSON.parse('{"__proto__":1}'))).toBe(false);
    expect(survives(nested(32))).toBe(true);
    expect(survives(nested(33))).toBe(false);
  });
});
