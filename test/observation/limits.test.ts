import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Limits } from "../../src/contracts/index.js";
import { resultProblem } from "../../src/observation/index.js";
import { text } from "./fixtures.js";

describe("the host's limits on results", () => {
  const strict = Limits.parse({ resultBlocks: 4, resultChars: 2_000, resultKinds: "text" });
  const image = { type: "image", data: "AAAA", mimeType: "image/png" };

  it.each([
    ["one text block", text("fine"), undefined],
    ["2,000 characters", text("x".repeat(2_000)), undefined],
    ["2,000 characters outside the basic plane", text("😀".repeat(2_000)), undefined],
    ["four blocks", text("a", "b", "c", "d"), undefined],
    ["2,001 characters", text("x".repeat(2_001)), "the result has 2001 characters, at most 2000 are taken"],
    ["2,001 in two blocks", text("x".repeat(2_000), "y"), "the result has 2001 characters, at most 2000 are taken"],
    ["five blocks", text("a", "b", "c", "d", "e"), "the result has 5 content blocks, at most 4 are taken"],
    ["an image", { content: [image] }, "the result has a block that is not text"],
    ["text and an image", { content: [...text("a").content, image] }, "the result has a block that is not text"],
    [
      "structured content",
      { ...text("a"), structuredContent: {} },
      "the result has structured content, only text is taken",
    ],
    ["no content", { content: [] }, "the result is empty, at least one text block is expected"],
    ["content that is no list", { content: null }, "the result is empty, at least one text block is expected"],
    ["an empty block", text("a", " "), "the result has an empty text block"],
  ])("%s", (_, result, problem) => {
    expect(resultProblem(result, strict)).toBe(problem);
  });

  it("are none unless the host sets them", () => {
    const open = Limits.parse({});
    expect(resultProblem({ content: [image], structuredContent: { a: "x".repeat(9_999) } }, open)).toBeUndefined();
    expect(resultProblem({}, open)).toBeUndefined();
  });

  it("count embedded text and structured content", () => {
    const few = Limits.parse({ resultChars: 10 });
    const resource = { type: "resource", resource: { uri: "x", text: "12345678901" } };
    expect(resultProblem({ content: [resource] }, few)).toBe("the result has 11 characters, at most 10 are taken");
    expect(resultProblem({ content: [], structuredContent: { a: "12345" } }, few)).toBe(
      "the result has 13 characters, at most 10 are taken",
    );
  });

  it("never throw (property)", () => {
    fc.assert(
      fc.property(fc.anything(), (result) => {
        expect(["string", "undefined"]).toContain(typeof resultProblem(result, strict));
      }),
    );
  });
});
