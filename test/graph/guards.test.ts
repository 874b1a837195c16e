// The two guards before a write: an identical one was made before, or the thread has writes that this branch of it has not
// seen. Neither is a rule's to allow; a yes covers the writes it was shown and no others.

import { HumanMessage } from "@langchain/core/messages";
import { Command } from "@langchain/langgraph";
import { describe, expect, test } from "vitest";
import type { Agent, Turn } from "../support/agent.js";
import { bench } from "../support/in-process.js";
import {
  asked,
  checkpoints,
  effects,
  outcomes,
  type Saved,
  server,
  start,
  stateBefore,
  thread,
  yes,
} from "./branches.js";

const b = bench();

const ask = (words: string) => ({ messages: [new HumanMessage(words)] });
const BEFORE = /^earlier writes bear on this one: /;
/** What a question says came before, as `alias (state)`. */
const named = (why: string | undefined) =>
  (why ?? "")
    .replace(BEFORE, "")
    .split("; ")
    .map((one) => one.replace(/^mcp__/, "").replace(/, [0-9a-f]{12}\)$/, ")"));
const repeat = (kind: "allow" | "ask" | "deny") => ({
  tools: { mcp__hostile__act: { repeat: kind }, mcp__hostile__look: { effect: "read" } },
});

/** Runs a checkpoint again with other words of the user; resolves with what is asked, when something is. */
async function fork(agent: Agent, from: Saved, words: string | undefined): Promise<Pick<Turn, "interrupt">> {
  const { graph } = agent.toolgate;
  const config = words === undefined ? from.config : await graph.updateState(from.config as never, ask(words) as never);
  return asTurn(await graph.invoke(null as never, config as never));
}
const asTurn = (result: unknown): Pick<Turn, "interrupt"> => ({
  interrupt: (result as { __interrupt__?: { value: Record<string, unknown> }[] }).__interrupt__?.[0]?.value,
});
const resume = async (agent: Agent, value: object) =>
  asTurn(await agent.toolgate.graph.invoke(new Command({ resume: value }) as never, thread()));

describe("repeat guard: an identical write in the thread", () => {
  test.each([
    ["in the next response's turn", ["do act:a", "do act:a"], "c3.1"],
    ["behind other turns", ["do act:a", "do pay", "hello", "do act:a"], "c6.1"],
  ])("%s is asked about although it is allowed, and named", async (_, turns, id) => {
    const agent = await start(b);
    const asks = [];
    for (const words of turns) asks.push(await agent.ask(words));
    const question = asks.at(-1) as Turn;
    expect(asks.slice(0, -1).flatMap(asked)).toEqual([]);
    expect(asked(question).map((one) => [one.toolCallId, named(one.why)])).toEqual([[id, ["hostile__act (ok)"]]]);
    expect(effects(b).filter((one) => one === "act:a")).toHaveLength(1);
    const turn = await agent.resume(yes(question));
    expect(turn.report.status).toBe("done");
    expect(effects(b).filter((one) => one === "act:a")).toHaveLength(2);
  });

  test.each([
    ["other arguments", "do act:b"],
    ["another tool", "do pay:a"],
    ["a read", "do look:a"],
  ])("%s is no repeat", async (_, words) => {
    const agent = await start(b);
    await agent.ask("do act:a");
    await agent.ask("do look:a");
    const turn = await agent.ask(words);
    expect([asked(turn), turn.report.status]).toEqual([[], "done"]);
  });

  test("of another thread is none, and what was refused before it was sent is none", async () => {
    const agent = await start(b, { permissions: { allow: ["mcp__hostile__act"], deny: ["mcp__hostile__pay"] } });
    await agent.ask("do act:a pay:a", "t1");
    expect(asked(await agent.ask("do act:a", "t2"))).toEqual([]);
    expect(outcomes(await agent.ask("do pay:a", "t1"))).toEqual(["c3.1 rejected denied"]);
    expect(effects(b)).toEqual(["act:a", "act:a"]);
  });

  test("of another server under the same name is none", async () => {
    const agent = await start(b, { mcpServers: { one: server(b), two: server(b) } });
    await agent.ask("do one.act:a");
    expect(asked(await agent.ask("do two.act:a"))).toEqual([]);
    expect(effects(b)).toEqual(["act:a", "act:a"]);
  });

  test("within one message the second and third are asked about, nothing runs before the answer, a no is for one", async () => {
    const agent = await start(b);
    const question = await agent.ask("do act:a act:b act:a act:a");
    expect(asked(question).map((one) => [one.toolCallId, named(one.why)])).toEqual([
      ["c1.3", ["hostile__act (in the same message)"]],
      ["c1.4", ["hostile__act (in the same message)", "hostile__act (in the same message)"]],
    ]);
    expect(effects(b)).toEqual([]);
    const [third, fourth] = asked(question);
    const turn = await agent.resume({
      decisions: {
        [third?.approvalId as string]: { type: "approve" },
        [fourth?.approvalId as string]: { type: "reject" },
      },
    });
    expect(outcomes(turn)).toEqual(["c1.1 ok success", "c1.2 ok success", "c1.3 ok success", "c1.4 rejected person"]);
    expect(effects(b)).toEqual(["act:a", "act:b", "act:a"]);
  });

  test("repeat: allow runs it; repeat: deny refuses it without a question, within one message too", async () => {
    b.onDisk();
    const free = await start(b, repeat("allow"));
    await free.ask("do act:a act:a", "t1");
    await free.ask("do act:a", "t1");
    expect(effects(b)).toEqual(["act:a", "act:a", "act:a"]);
    await free.toolgate.close();
    const strict = await start(b, repeat("deny"));
    const turn = await strict.ask("do act:b act:b", "t2");
    expect(outcomes(turn)).toEqual(["c1.1 ok success", "c1.2 rejected denied"]);
    const next = await strict.ask("do act:b", "t2");
    expect(outcomes(next)).toEqual(["c3.1 rejected denied"]);
    expect(next.messages.filter((one) => one.getType() === "tool").at(-1)?.text).toMatch(
      /an identical write was made before: mcp__hostile__act \(ok, [0-9a-f]{12}\)/,
    );
    expect(effects(b).filter((one) => one === "act:b")).toHaveLength(1);
  });

  test("an identical write that only a person said had happened is named, too", async () => {
    const agent = await start(b);
    const turn = await agent.ask("do lost:a");
    const [id] = turn.report.unknowns.map((one) => one.operationId);
    await agent.resume({ resolutions: { [id as string]: { type: "happened" } } });
    const question = await agent.ask("do lost:a");
    expect(asked(question).map((one) => named(one.why))).toEqual([["hostile__lost (ok)"]]);
    expect(effects(b)).toEqual(["lost:a"]);
  });
});

describe("after a fork that asks the model again", () => {
  const words = "do act:a";

  test("from every checkpoint before the model: the identical write is asked about, the earlier one named, nothing sent", async () => {
    const agent = await start(b);
    await agent.ask(words);
    const states = (await checkpoints(agent)).filter((state) => ["discover", "model"].includes(state.next[0] ?? ""));
    const asks = [];
    for (const state of states.slice(0, 2)) asks.push(await fork(agent, state, undefined));
    expect(asks.map((one) => asked(one).map(({ why }) => named(why)))).toEqual([
      [["hostile__act (ok)"]],
      [["hostile__act (ok)"]],
    ]);
    expect(effects(b)).toEqual(["act:a"]);
    const done = await resume(agent, yes(asks[1] as Turn));
    expect(asked(done)).toEqual([]);
    expect(effects(b)).toEqual(["act:a", "act:a"]); // a person said that it shall be made twice
  });

  test.each([
    ["allow", "asked, since the branch has not seen it"],
    ["deny", "refused"],
  ] as const)("under repeat: %s it is %s", async (kind, _) => {
    const agent = await start(b, repeat(kind));
    await agent.ask(words);
    const question = await fork(agent, await stateBefore(agent, "model"), undefined);
    expect(asked(question).map(({ why }) => named(why))).toEqual(kind === "allow" ? [["hostile__act (ok)"]] : []);
    const rows = await agent.toolgate.ledger.operations("t1");
    expect(rows.map((row) => `${row.status} ${row.reason}`)).toEqual([
      "ok success",
      kind === "allow" ? "proposed null" : "rejected denied",
    ]);
    expect(effects(b)).toEqual(["act:a"]);
  });

  test("a fork from behind the write has seen it: another write is not asked about", async () => {
    const agent = await start(b);
    await agent.ask("do act:a");
    const seen = (await checkpoints(agent)).at(-1) as Saved;
    await agent.ask("do pay:b");
    const from = await agent.toolgate.graph.updateState(seen.config as never, ask("do pay:c") as never, "__start__");
    const question = asTurn(await agent.toolgate.graph.invoke(null as never, from as never));
    expect(asked(question).map(({ why }) => named(why))).toEqual([["hostile__pay (ok)"]]); // pay:b alone, not act:a
    expect(effects(b)).toEqual(["act:a", "pay:b"]);
  });

  test("an edited ledgerSeq skips the branch guard alone: the identical write is still asked about", async () => {
    const agent = await start(b);
    await agent.ask("do act:a");
    const { config } = await stateBefore(agent, "model");
    for (const [text, expected] of [
      ["do act:a", 1],
      ["do act:b", 0],
    ] as const) {
      const edited = { ...ask(text), ledgerSeq: 99 };
      const forked = await agent.toolgate.graph.updateState(config as never, edited as never);
      const question = asTurn(await agent.toolgate.graph.invoke(null as never, forked as never));
      expect([text, asked(question).length]).toEqual([text, expected]);
    }
    expect(effects(b)).toEqual(["act:a", "act:b"]);
  });
});

describe("a yes covers the writes it showed", () => {
  test("another write in between, in another branch: the question is asked once more, with both named", async () => {
    const agent = await start(b);
    await agent.ask("do act:a");
    const from = await stateBefore(agent, "model");
    const question = await fork(agent, from, "do act:b");
    expect(asked(question).map(({ why }) => named(why))).toEqual([["hostile__act (ok)"]]);
    const waiting = await agent.toolgate.graph.getState(thread());

    const other = await fork(agent, from, "do pay:c");
    await resume(agent, yes(other));
    expect(effects(b)).toEqual(["act:a", "pay:c"]);

    const again = asTurn(
      await agent.toolgate.graph.invoke(new Command({ resume: yes(question) }) as never, waiting.config as never),
    );
    expect(asked(again).map(({ why }) => named(why))).toEqual([["hostile__act (ok)", "hostile__pay (ok)"]]);
    expect(asked(again)[0]?.approvalId).not.toBe(asked(question)[0]?.approvalId);
    expect(effects(b)).toEqual(["act:a", "pay:c"]);
    await resume(agent, yes(again));
    expect(effects(b)).toEqual(["act:a", "pay:c", "act:b"]);
  });

  test("a yes to one write of a batch says nothing of its siblings", async () => {
    const agent = await start(b);
    await agent.ask("do act:a");
    const question = await fork(agent, await stateBefore(agent, "model"), "do act:b pay:c look");
    expect(asked(question).map((one) => one.toolCallId)).toEqual(["c1.1", "c1.2"]);
    const [first] = asked(question);
    const half = await resume(agent, { decisions: { [first?.approvalId as string]: { type: "approve" } } });
    expect(asked(half).map((one) => one.toolCallId)).toEqual(["c1.2"]);
    expect(effects(b)).toEqual(["act:a"]);
    const done = await resume(agent, { decisions: { [asked(half)[0]?.approvalId as string]: { type: "reject" } } });
    expect(asked(done)).toEqual([]);
    expect(effects(b)).toEqual(["act:a", "act:b"]);
  });
});
