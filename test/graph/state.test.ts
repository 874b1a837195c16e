// What a step stores of an update.

import { AIMessage } from "@langchain/core/messages";
import { expect, test } from "vitest";
import { changesOf, type GraphState } from "../../src/graph/state.js";

const state = {
  messages: [],
  operations: [],
  halt: { halted: true, operations: ["a"] },
  ledgerSeq: 3,
  connected: [],
  note: "read it again",
  stateVersion: 1,
} as unknown as GraphState;

test("a value that the state has already is not stored again, and whatever differs is", () => {
  const same = { halt: { halted: true, operations: ["a"] }, ledgerSeq: 3, operations: [], note: "read it again" };
  expect(changesOf(state, same)).toEqual({});
  const other = { halt: { halted: true, operations: ["a", "b"] }, ledgerSeq: 4, note: "", connected: ["x"] };
  expect(changesOf(state, { ...same, ...other })).toEqual(other);
});

// A version that was only ever a default was in no checkpoint of Postgres, and an older host ran a later version's thread.
test("the version of the state is stored although it is the default", () => {
  expect(changesOf(state, { stateVersion: 1 })).toEqual({ stateVersion: 1 });
});

test("messages are always stored: what a list of messages does is the reducer's to say", () => {
  expect(changesOf(state, { messages: [] })).toEqual({ messages: [] });
  const messages = [new AIMessage({ content: "again", id: "known" })];
  expect(changesOf(state, { messages })).toEqual({ messages });
});
