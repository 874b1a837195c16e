// The wall between two scopes over one store: one suite for every store, and for one host of two users as for two hosts.
// (G14) Effects are counted in the server's own log.

import type { BaseMessage } from "@langchain/core/messages";
import { Command } from "@langchain/langgraph";
import { expect, test } from "vitest";
import type { Toolgate } from "../../src/index.js";
import type { Bench } from "./agent.js";

/** One scope's way in. */
export interface Side {
  readonly toolgate: Toolgate;
  /** The configuration of a run or a look, as this side's caller comes in. */
  at(threadId: string, more?: object): { configurable: { thread_id: string } };
  /** The scope as a host names it that speaks for this side; nothing where it is the configuration's. */
  readonly options: { readonly scope?: string };
}

export type Sides = (config: object, steps: readonly object[]) => Promise<{ readonly mary: Side; readonly john: Side }>;

const pay = (text: string, id = "c1") => ({ name: "mcp__till__pay", args: { text }, id });
const PAYS = [{ calls: [pay("rent")] }, { say: "Paid." }, { calls: [pay("milk", "c2")] }, { say: "Paid again." }];
const tools = ["pay", "lose", "read"].map((name) => ({ name, inputSchema: { type: "object" } }));
const calls = {
  lose: { do: "answer", error: { code: -32603, message: "lost" } },
  read: { do: "answer", effect: false, result: { content: [{ type: "text", text: "of mary only. ".repeat(400) }] } },
};

export function configOf(b: Bench, rest: object = {}) {
  return {
    mcpServers: { till: b.server("hostile", { HOSTILE: JSON.stringify({ tools, calls }) }) },
    permissions: { allow: ["mcp__till__lose", "mcp__till__read"], ask: ["mcp__till__pay"] },
    tools: { mcp__till__read: { effect: "read" } },
    ...rest,
  };
}

export const say = ({ toolgate, at }: Side, threadId: string, text: string) =>
  toolgate.graph.invoke({ messages: [{ role: "user", content: text }] } as never, {
    ...at(threadId),
    durability: "sync",
  });
export const goOn = ({ toolgate, at }: Side, threadId: string, input: unknown = null) =>
  toolgate.graph.invoke(input as never, { ...at(threadId), durability: "sync" });
export const state = async ({ toolgate, at }: Side, threadId: string, more: object = {}) => {
  const { values, next, config, tasks } = await toolgate.graph.getState(at(threadId, more));
  const texts = ((values as { messages?: BaseMessage[] }).messages ?? []).map((one) => one.text);
  return { texts, next, config, asks: tasks.flatMap((task) => task.interrupts.map((one) => one.value)), values };
};
async function history({ toolgate, at }: Side, threadId: string) {
  const found = [];
  for await (const one of toolgate.graph.getStateHistory(at(threadId))) found.push(one);
  return found;
}
const statuses = async ({ toolgate, options }: Side, threadId: string) =>
  (await toolgate.ledger.operations(threadId, options)).map(({ callId, status }) => `${callId} ${status}`);

export function scopeWall(b: Bench, sides: Sides): void {
  const paid = () => b.log("effect").flatMap(({ tool, arguments: given }) => (tool === "pay" ? [given] : []));

  test("a question, its arguments, its thread and its state are not there for another scope (records-scope-1)", async () => {
    const { mary, john } = await sides(configOf(b), PAYS);
    await say(mary, "flat", "Pay the rent.");
    const [question] = await mary.toolgate.ledger.requests("flat", mary.options);
    expect(question).toMatchObject({ threadId: "flat", arguments: { text: "rent" } });

    const { ledger } = john.toolgate;
    expect(await ledger.requests(undefined, john.options)).toEqual([]);
    expect(await ledger.requests("flat", john.options)).toEqual([]);
    expect(await ledger.operations("flat", john.options)).toEqual([]);
    expect(await ledger.threads(john.options)).toEqual([]);
    expect(await john.toolgate.snapshot("flat", john.options)).toBeUndefined();
    expect(await mary.toolgate.snapshot("flat", mary.options)).toMatchObject({ tools: expect.anything() });
    expect(await state(john, "flat")).toMatchObject({ texts: [], next: [], asks: [], values: {} });
    expect(await history(john, "flat")).toEqual([]);
    const answer = ledger.answer(
      question?.approvalId as string,
      { type: "approve" },
      { approver: "john", ...john.options },
    );
    await expect(answer).rejects.toMatchObject({ code: "not_found", data: {} });

    const yes = { decisions: { [question?.approvalId as string]: { type: "approve" } } };
    await expect(goOn(john, "flat", new Command({ resume: yes }))).rejects.toMatchObject({ code: "already_decided" });
    await expect(goOn(john, "flat")).rejects.toMatchObject({ code: "empty_question" });
    expect(paid()).toEqual([]);

    const told = { approver: "mary", ...mary.options };
    expect(await mary.toolgate.ledger.answer(question?.approvalId as string, { type: "approve" }, told)).toMatchObject({
      threadId: "flat",
    });
    await goOn(mary, "flat");
    expect(paid()).toEqual([{ text: "rent" }]);
    expect(await mary.toolgate.ledger.threads(mary.options)).toEqual([{ threadId: "flat", status: "done" }]);
  });

  test("the same id in two scopes is two threads: two conversations, two records, and no guard of one sees the other (thread-key-1) (keyed-1)", async () => {
    const limits = { writes: 1 };
    const { mary, john } = await sides(configOf(b, { limits, permissions: { allow: ["mcp__till__*"] } }), PAYS);
    for (const side of [mary, john]) await say(side, "flat", "Pay the rent.");
    expect(paid()).toEqual([{ text: "rent" }, { text: "rent" }]); // neither is the other's repeat, nor counts in its budget
    await say(john, "flat", "And milk.");
    expect(await statuses(mary, "flat")).toEqual(["c1 ok"]);
    expect(await statuses(john, "flat")).toEqual(["c1 ok", "c2 ok"]);
    const { texts } = await state(mary, "flat");
    expect([texts.length, texts[0], texts.at(-1)]).toEqual([4, "Pay the rent.", "Paid."]);
    expect((await state(john, "flat")).texts).toContain("Paid again.");
    expect((await history(mary, "flat")).length).toBeLessThan((await history(john, "flat")).length);
  });

  test("callers see the id and never the key: in states, histories, streams and what an update returns (records-scope-2)", async () => {
    const { mary, john } = await sides(configOf(b), PAYS);
    const seen: unknown[] = [];
    const stream = await mary.toolgate.graph.stream(
      { messages: [{ role: "user", content: "Pay the rent." }] } as never,
      {
        ...mary.at("flat"),
        durability: "sync",
        streamMode: ["checkpoints", "debug", "tasks", "updates", "values"],
      } as never,
    );
    for await (const chunk of stream as AsyncIterable<unknown>) seen.push(chunk);
    const updated = await mary.toolgate.graph.updateState(mary.at("flat"), { note: "" }, "observe");
    seen.push(updated, await state(mary, "flat"), await history(mary, "flat"));
    expect(updated).toMatchObject({ configurable: { thread_id: "flat", checkpoint_id: expect.any(String) } });
    expect(
      (await history(mary, "flat")).map(({ metadata }) => (metadata as { thread_id?: string }).thread_id),
    ).toContain("flat");
    const text = JSON.stringify(seen, (key, value) => (key.startsWith("__") ? undefined : value));
    expect(text).toContain('"flat"');
    expect(text).not.toContain("\\u001f");

    // What came out of a stream or a history leads back to the same thread, and for another scope to none.
    const [newest] = await history(mary, "flat");
    const { checkpoint_id } = newest?.config.configurable ?? {};
    expect((await state(mary, "flat", { checkpoint_id })).texts).toContain("Pay the rent.");
    expect((await state(john, "flat", { checkpoint_id })).texts).toEqual([]);
    await expect(
      john.toolgate.graph.invoke(null as never, { ...john.at("flat", { checkpoint_id }), durability: "sync" }),
    ).rejects.toMatchObject({ code: "empty_question" });
    expect(paid()).toEqual([]);
  });

  test("a run that meets another of its thread is told the id; the other scope's thread is free", async () => {
    const { mary, john } = await sides(configOf(b), PAYS);
    const both = await Promise.allSettled([
      say(mary, "flat", "Pay."),
      say(mary, "flat", "Pay too."),
      say(john, "flat", "Pay."),
    ]);
    const failures = both.flatMap((one) => (one.status === "rejected" ? [one.reason] : []));
    expect(failures).toEqual([
      expect.objectContaining({
        code: "already_running",
        message: expect.stringContaining("thread `flat` is running elsewhere"),
        data: { threadId: "flat" },
      }),
    ]);
    expect(await john.toolgate.ledger.requests("flat", john.options)).toHaveLength(1);
  });

  test("a change of the state reaches the caller's own thread only", async () => {
    const { mary, john } = await sides(configOf(b), PAYS);
    await say(mary, "flat", "Pay the rent.");
    const before = await state(mary, "flat");
    await john.toolgate.graph.updateState(
      john.at("flat"),
      { messages: [{ role: "user", content: "Mine." }] },
      "observe",
    );
    expect(await state(mary, "flat")).toEqual(before);
    expect((await state(john, "flat")).texts).toEqual(["Mine."]);
  });

  test("an unknown write is settled and listed by its own scope, and halts its own thread only", async () => {
    const lose = { calls: [{ name: "mcp__till__lose", args: { text: "fees" }, id: "c1" }] };
    const { mary, john } = await sides(configOf(b, { haltScope: "server", permissions: { allow: ["mcp__till__*"] } }), [
      ({ messages }: { messages: readonly BaseMessage[] }) =>
        messages.some((one) => one.text === "Lose it.") ? lose : { calls: [pay("rent")] },
      { say: "Done." },
    ] as never);
    await say(mary, "flat", "Lose it.");
    const [unknown] = await mary.toolgate.ledger.unknowns("flat", mary.options);
    expect(unknown).toMatchObject({ threadId: "flat", alias: "mcp__till__lose" });
    expect(await john.toolgate.ledger.unknowns(undefined, john.options)).toEqual([]);
    expect(await john.toolgate.ledger.unknowns("flat", john.options)).toEqual([]);
    for (const type of ["happened", "did_not_happen", "leave"] as const) {
      const told = john.toolgate.ledger.resolve(unknown?.operationId as string, type, { by: "john", ...john.options });
      await expect(told).rejects.toMatchObject({ code: "not_found", data: {} });
    }
    await say(mary, "attic", "Pay the rent.");
    expect(await statuses(mary, "attic")).toEqual(["c1 rejected"]); // under `server` it halts the scope's other threads, too
    await say(john, "flat", "Pay the rent.");
    expect(await statuses(john, "flat")).toEqual(["c1 ok"]);
    expect(paid()).toEqual([{ text: "rent" }]);
    const told = { by: "mary", ...mary.options };
    expect(await mary.toolgate.ledger.resolve(unknown?.operationId as string, "happened", told)).toEqual({
      threadId: "flat",
    });
  });

  test("a stored result is read by its own scope only, in the thread of the same id, too", async () => {
    let ref = "";
    const reads = { calls: [{ name: "mcp__till__read", args: {}, id: "c1" }] };
    const page = () => ({ calls: [{ name: "read_result", args: { ref }, id: "page" }] });
    const { mary, john } = await sides(configOf(b, { limits: { resultBytes: 1_000 } }), [
      ({ messages }: { messages: readonly BaseMessage[] }) =>
        messages.some((one) => one.text === "Read.") ? reads : page(),
      ({ messages }: { messages: readonly BaseMessage[] }) => {
        if (!messages.some((one) => one.text === "Read.")) return { say: "Done." };
        ref = /read_result\(ref: "(\w+)"/.exec(messages.at(-1)?.text ?? "")?.[1] ?? "";
        return page();
      },
      { say: "Done." },
    ] as never);
    await say(mary, "flat", "Read.");
    expect(ref).not.toBe("");
    expect((await state(mary, "flat")).texts.at(-2)).toContain("of mary only.");
    await say(john, "flat", "Steal.");
    expect((await state(john, "flat")).texts.at(-2)).toContain("there is no result");
  });
}
