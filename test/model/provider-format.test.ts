import { AIMessage, HumanMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { formatProblems } from "../support/provider-format.js";

const human = new HumanMessage("hi");
const calls = (...ids: string[]) =>
  new AIMessage({ content: "", tool_calls: ids.map((id) => ({ id, name: "t", args: {} })) });
const answer = (id: string, content = "r") => new ToolMessage({ content, tool_call_id: id });

describe("the check of a conversation's format", () => {
  it("takes what every provider takes", () => {
    expect(formatProblems([])).toEqual([]);
    expect(formatProblems([new SystemMessage("s"), human, calls("a", "b"), answer("b"), answer("a"), human])).toEqual(
      [],
    );
    expect(formatProblems([human, calls("a"), answer("a"), calls("a"), answer("a"), new AIMessage("done")])).toEqual(
      [],
    );
  });

  it.each([
    ["a call without an answer", [human, calls("a")], "call `a` is not answered before message 2"],
    ["an answer after a new question", [calls("a"), human, answer("a")], "call `a` is not answered before message 1"],
    ["one of two answers", [calls("a", "b"), answer("a"), human], "call `b` is not answered before message 2"],
    ["a second answer", [calls("a"), answer("a"), answer("a")], "message 2 answers call `a` again"],
    [
      "an answer to nothing",
      [human, answer("x")],
      "message 1 answers call `x`, which does not stand directly before it",
    ],
    ["an empty answer", [calls("a"), answer("a", "")], "message 1 has no content"],
    ["a call without an id", [calls(""), answer("")], "message 0 has a call without an id"],
    ["one id twice", [calls("a", "a"), answer("a")], "message 0 has two calls with one id"],
  ])("finds %s", (_, messages, problem) => {
    expect(formatProblems(messages)).toContain(problem);
  });
});
