// One operation, one effect: whatever is run again, forked, jumped to, copied or renamed, what was sent is not sent
// again.
// What an operation came to is answered from the ledger and marked replayed; what a model proposes anew is another
// operation, and a person is asked about it with the first one named.

import { join } from "node:path";
import { AIMessage, type BaseMessage, RemoveMessage } from "@langchain/core/messages";
import { Command } from "@langchain/langgraph";
import Database from "better-sqlite3";
import { describe, expect, test } from "vitest";
import { openCheckpointer } from "../../src/adapters/sqlite/checkpointer.js";
import { threadKey } from "../../src/contracts/index.js";
import type { Agent } from "../support/agent.js";
import { bench } from "../support/in-process.js";
import { formatProblems } from "../support/provider-format.js";
import { asked, checkpoints, effects, outcomes, type Saved, start, thread, yes } from "./branches.js";

const b = bench();

const NODES = ["discover", "model", "gate", "approval", "execute", "observe", "result_unknown"] as const;
const DONE = ["act:a", "act:b", "pay:c"];
/** `act` runs by rule, `pay` by a person's yes. */
const permissions = { allow: ["mcp__hostile__act", "mcp__hostile__look", "mcp__hostile__lost"] };

/** A thread with two turns and three writes, two of them by rule and one by a person's yes. */
async function finished(config: object = {}, options: object = {}): Promise<Agent> {
  const agent = await start(b, { permissions, ...config }, options);
  await agent.ask("do act:a look act:b");
  const turn = await agent.resume(yes(await agent.ask("do pay:c")));
  expect(turn.report.status).toBe("done");
  expect(effects(b)).toEqual(DONE);
  return agent;
}

type Result = { messages?: BaseMessage[]; __interrupt__?: { value: Record<string, unknown> }[] };

/** What running from a checkpoint came to: who is asked about what, or how the last batch's calls were answered. */
function said(result: unknown): string {
  const { messages = [], __interrupt__ } = result as Result;
  const question = asked({ interrupt: __interrupt__?.[0]?.value });
  if (question.length > 0) {
    const why = question.map((one) => `${one.toolCallId}${/^earlier writes bear on/.test(one.why) ? " again" : ""}`);
    return `asks ${why.join(", ")}`;
  }
  const last = messages.findLastIndex((message) => ((message as AIMessage).tool_calls?.length ?? 0) > 0);
  const answers = messages.slice(last + 1).flatMap((message) => {
    const { artifact } = message as { artifact?: { status: string; reason?: string; replayed?: boolean } };
    return artifact === undefined ? [] : [`${artifact.status}${artifact.replayed ? " replayed" : ""}`];
  });
  return `answers ${answers.join(", ")}`;
}

/** Runs the thread on from a checkpoint, as Studio's "re-run from here" does. */
async function run(agent: Agent, config: unknown, more: object = {}): Promise<string> {
  try {
    return said(await agent.toolgate.graph.invoke(null as never, { ...(config as object), ...more } as never));
  } catch (error) {
    return `throws ${(error as { code?: string }).code ?? String(error)}`;
  }
}

/** What stands at a checkpoint: the node that runs next, and how many calls the model has made by then. */
const place = ({ next, values }: Saved) =>
  `${next[0] ?? "end"} ${values.messages.filter((one) => one.getType() === "ai").length}`;

/** What each checkpoint of the finished run comes to, as often as it is run. */
const CAME = {
  "__start__ 0": "asks c1.1 again, c1.3 again",
  "discover 0": "asks c1.1 again, c1.3 again",
  "model 0": "asks c1.1 again, c1.3 again",
  "gate 1": "answers ok replayed, ok replayed, ok replayed",
  "execute 1": "answers ok replayed, ok replayed, ok replayed",
  "observe 1": "answers ok, ok, ok",
  "model 1": "answers ok, ok, ok",
  "end 2": "answers ok, ok, ok",
  "__start__ 2": "asks c3.1 again",
  "discover 2": "asks c3.1 again",
  "model 2": "asks c3.1 again",
  "gate 3": "answers ok replayed",
  "approval 3": "answers ok replayed",
  "execute 3": "answers ok replayed",
  "observe 3": "answers ok",
  "model 3": "answers ok",
  "end 4": "answers ok",
};

describe("every checkpoint of a finished run (G6)", () => {
  test("run again, and again: nothing is sent; what was settled is answered from the ledger, what is proposed anew is asked", async () => {
    const agent = await finished();
    for (const _ of ["once", "twice"]) {
      const came: Record<string, string> = {};
      for (const state of (await checkpoints(agent)).slice(0, Object.keys(CAME).length)) {
        came[place(state)] = await run(agent, state.config);
        expect([place(state), effects(b)]).toEqual([place(state), DONE]);
      }
      expect(came).toEqual(CAME);
    }
    const next = await agent.ask("hello");
    expect(formatProblems([...next.messages])).toEqual([]);
  });

  test.each([
    ["null", null, {}],
    ["{}", {}, { "__start__ 0": "throws empty_question", "__start__ 2": "answers ok, ok, ok" }], // the message was the input
  ])("forked with %s as its update, then run: the same", async (_, update, otherwise) => {
    const agent = await finished();
    const came: Record<string, string> = {};
    for (const state of await checkpoints(agent)) {
      const fork = await agent.toolgate.graph.updateState(state.config as never, update as never);
      came[place(state)] = await run(agent, fork);
      expect([place(state), effects(b)]).toEqual([place(state), DONE]);
    }
    expect(came).toEqual({ ...CAME, ...otherwise });
  });
});

describe("forks with a changed state (G6) (G9)", () => {
  const calls = (state: Saved) =>
    state.values.messages.filter((one) => (one as AIMessage).tool_calls?.length) as AIMessage[];
  /** The conversation with other arguments in the last proposal, which keeps its ids and names. */
  const otherArguments = (state: Saved) => {
    const { id, response_metadata, tool_calls = [] } = calls(state).at(-1) as AIMessage;
    const changed = tool_calls.map((call, n) => ({ ...call, args: { text: `z${n}` } }));
    return new AIMessage({ content: "", response_metadata, ...(id ? { id } : {}), tool_calls: changed });
  };
  /** The update is written as if by this node: what follows the node runs. By `model` first: nothing has closed the calls. */
  const AS_IF = process.env.LONG_TESTS ? (["model", ...NODES] as const) : (["model", "gate"] as const);
  const allowed = { kind: "allow", rules: ["mcp__hostile"], reason: "allow by `mcp__hostile`" };
  const forged = (state: Saved) =>
    ((state.values["operations"] ?? []) as object[]).map((view) => ({ ...view, status: "ready", decision: allowed }));

  test.each<[string, (state: Saved) => object | undefined]>([
    [
      "other arguments in the proposal, the branch guard skipped",
      (state) => (calls(state).length > 0 ? { messages: [otherArguments(state)], ledgerSeq: 99 } : undefined),
    ],
    [
      "the proposal's origin taken away, the branch guard skipped",
      (state) => {
        const last = calls(state).at(-1);
        if (!last) return undefined;
        const { id, tool_calls = [] } = last;
        return { messages: [new AIMessage({ content: "", ...(id ? { id } : {}), tool_calls })], ledgerSeq: 99 };
      },
    ],
    [
      "the tool messages taken out",
      (state) => ({
        messages: state.values.messages.flatMap((one) =>
          one.getType() === "tool" ? [new RemoveMessage({ id: one.id as string })] : [],
        ),
      }),
    ],
    [
      "operations made ready, the halt lifted, ledgerSeq raised",
      (state) => ({ operations: forged(state), halt: { halted: false, operations: [] }, ledgerSeq: 99 }),
    ],
    [
      "everything but the conversation emptied",
      () => ({ operations: [], halt: { halted: false, operations: [] }, ledgerSeq: 0, connected: [], note: "" }),
    ],
  ])("%s, from every checkpoint: nothing is sent", async (_, change) => {
    const agent = await finished();
    const states = await checkpoints(agent);
    const came = new Set<string>();
    for (const state of states) {
      const update = change(state);
      if (update === undefined) continue;
      for (const node of new Set([...AS_IF, state.next[0] ?? "model"])) {
        const fork = await agent.toolgate.graph.updateState(state.config as never, update as never, node);
        came.add((await run(agent, fork)).split(" ").slice(0, 2).join(" "));
        expect([place(state), node, effects(b)]).toEqual([place(state), node, DONE]);
      }
    }
    // No words to answer, or no snapshot yet to answer them with: said as such, with nothing begun.
    for (const one of came) expect(one).toMatch(/^(asks c\d\.\d,?|answers .*|throws (empty_question|store_failed))$/);
    expect(came.size).toBeGreaterThan(1);
    expect(formatProblems([...(await agent.ask("hello")).messages])).toEqual([]);
  });
});

describe("jumps (G6) (G8)", () => {
  test.each(["after the run", "while a question is open", "while an outcome is unknown"])(
    "to each node, %s: nothing is sent",
    async (when) => {
      const agent = await finished();
      if (when === "while a question is open") await agent.ask("do pay:d");
      if (when === "while an outcome is unknown") await agent.ask("do lost:d");
      const sent = effects(b);
      for (const goto of [...NODES, "approval", "execute"]) {
        const jump = new Command({ goto, update: { operations: [], ledgerSeq: 99 } });
        await agent.toolgate.graph.invoke(jump as never, thread()).catch(() => undefined);
        expect([goto, effects(b)]).toEqual([goto, sent]);
      }
      const next = await agent.ask("hello");
      expect(next.report.answer).toBe("Done.");
      expect(formatProblems([...next.messages])).toEqual([]);
      expect(effects(b)).toEqual(sent);
    },
  );
});

describe("answers and runs that come again (G6)", () => {
  test("the same yes a second time, late, and after another turn: one effect", async () => {
    const agent = await start(b, { permissions });
    const { graph } = agent.toolgate;
    const question = await agent.ask("do pay:c");
    const waiting = await graph.getState(thread());
    const answer = new Command({ resume: yes(question) });
    await graph.invoke(answer as never, thread());
    for (const words of ["hello", "and again"]) {
      await expect(graph.invoke(answer as never, thread())).rejects.toMatchObject({ code: "already_decided" });
      await graph.invoke(answer as never, waiting.config as never); // the checkpoint that asks still stands
      expect(effects(b)).toEqual(["pay:c"]);
      await agent.ask(words);
    }
    expect(effects(b)).toEqual(["pay:c"]);
  });

  test("durability async with a saver that is slow: each write once, and once only from every checkpoint", async () => {
    const saver = openCheckpointer(":memory:");
    const put = saver.put.bind(saver);
    saver.put = async (...args) => {
      await new Promise((resolve) => setTimeout(resolve, 30)); // slow, as a store across a network
      return put(...args);
    };
    const agent = await start(b, { permissions }, { checkpointer: saver });
    await agent.ask("do act:a look act:b", "t1", { durability: "async" });
    const question = await agent.ask("do pay:c", "t1", { durability: "async" });
    await agent.resume(yes(question));
    expect(effects(b)).toEqual(DONE);
    const came: Record<string, string> = {};
    for (const state of await checkpoints(agent)) {
      came[place(state)] = await run(agent, state.config, { durability: "async" });
      expect([place(state), effects(b)]).toEqual([place(state), DONE]);
    }
    expect(came).toEqual(CAME);
  });
});

describe("two hosts on one file (G6)", () => {
  test("the other one runs every checkpoint of this one's thread: nothing is sent, the answers are the same", async () => {
    b.onDisk();
    const agent = await finished();
    const other = await start(b, { permissions });
    const came: Record<string, string> = {};
    for (const state of await checkpoints(other)) came[place(state)] = await run(other, state.config);
    expect(came).toEqual(CAME);
    expect(effects(b)).toEqual(DONE);
    expect((await agent.ask("hello")).report.answer).toBe("Done.");
  });

  test("both resume one question at once: one effect; the other is told that it runs or was decided, or finds it done", async () => {
    b.onDisk();
    const first = await start(b, { permissions });
    const second = await start(b, { permissions });
    for (const n of [1, 2, 3]) {
      const question = await first.ask(`do pay:${n}`, `t${n}`);
      const both = await Promise.allSettled([first, second].map((agent) => agent.resume(yes(question), `t${n}`)));
      const codes = both.flatMap((one) => (one.status === "rejected" ? [one.reason.code] : []));
      expect(codes.filter((code) => code !== "already_running" && code !== "already_decided")).toEqual([]);
      expect(codes.length).toBeLessThan(2);
    }
    expect(effects(b).sort()).toEqual(["pay:1", "pay:2", "pay:3"]);
  });
});

describe("a copied thread and a renamed scope (G6) (G9)", () => {
  /** The checkpoints under another thread's name, as the development server copies a thread. The ledger is no part of it. */
  function copy(from: string, to: string): void {
    const db = new Database(join(b.folder(), "store", "toolgate.sqlite"));
    for (const table of ["checkpoints", "writes"]) {
      const columns = (db.pragma(`table_info(${table})`) as { name: string }[]).map(({ name }) => name);
      const taken = columns.map((name) => (name === "thread_id" ? "@to" : name));
      db.prepare(`INSERT INTO ${table} (${columns}) SELECT ${taken} FROM ${table} WHERE thread_id = @from`).run({
        from,
        to,
      });
    }
    db.close();
  }
  /** Where calls of a proposal stand to be run or answered. */
  const atCalls = (state: Saved) => ["gate", "approval", "execute", "observe"].includes(state.next[0] ?? "");
  const FOREIGN = {
    "gate 1": "answers rejected, rejected, rejected",
    "execute 1": "answers rejected, rejected, rejected",
    "observe 1": "answers rejected, rejected, rejected",
    "gate 3": "answers rejected",
    "approval 3": "answers rejected",
    "execute 3": "answers rejected",
    "observe 3": "answers rejected",
  };
  const reasons = async (agent: Agent, threadId: string) =>
    [...new Set((await agent.toolgate.ledger.operations(threadId)).map((row) => row.reason))].sort();

  test("calls of a copied thread are another thread's: refused at every checkpoint, and the original is as it was", async () => {
    b.onDisk();
    const agent = await finished();
    const before = JSON.stringify(await agent.toolgate.ledger.operations("t1"));
    copy("t1", "copy");
    const came: Record<string, string> = {};
    for (const state of (await checkpoints(agent, "copy")).filter(atCalls))
      came[place(state)] = await run(agent, state.config);
    expect(came).toEqual(FOREIGN);
    expect(await reasons(agent, "copy")).toEqual(["other_thread"]);
    expect(effects(b)).toEqual(DONE);
    expect(JSON.stringify(await agent.toolgate.ledger.operations("t1"))).toBe(before);
    expect(await run(agent, (await checkpoints(agent, "t1")).find((state) => place(state) === "gate 3")?.config)).toBe(
      "answers ok replayed",
    );
  });

  test("a copy of a waiting thread: the yes runs nothing there, and still runs its own call once", async () => {
    b.onDisk();
    const agent = await start(b, { permissions });
    const question = await agent.ask("do pay:c");
    copy("t1", "copy");
    const there = await agent.resume(yes(question), "copy");
    expect(there.interrupt).toBeUndefined();
    expect(await reasons(agent, "copy")).toEqual(["other_thread"]);
    expect(effects(b)).toEqual([]);
    const here = await agent.resume(yes(question));
    expect(outcomes(here)).toEqual(["c1.1 ok success"]);
    expect((await agent.resume(yes(question), "copy").catch(() => undefined))?.interrupt).toBeUndefined();
    expect(effects(b)).toEqual(["pay:c"]);
    expect(formatProblems([...(await agent.ask("hello", "copy")).messages])).toEqual([]);
  });

  test("under another scope the thread is not there; in a copy of it calls of before are refused", async () => {
    b.onDisk();
    const agent = await finished();
    const question = await agent.ask("do pay:d");
    await agent.toolgate.close();
    const renamed = await start(b, { permissions, scope: "renamed" });
    await expect(renamed.resume(yes(question))).rejects.toMatchObject({ code: "already_decided" });
    expect(await checkpoints(renamed)).toEqual([]);
    copy("t1", threadKey("renamed", "t1"));
    expect(said((await renamed.resume(yes(question))) as never)).toBe("answers rejected");
    expect((await renamed.toolgate.ledger.operations("t1")).at(-1)).toMatchObject({
      status: "rejected",
      reason: "other_thread",
    });
    const came: Record<string, string> = {};
    for (const state of (await checkpoints(renamed)).filter(atCalls).slice(0, Object.keys(FOREIGN).length))
      came[place(state)] = await run(renamed, state.config);
    expect(Object.values(came).every((what) => /^answers rejected(, rejected)*$/.test(what))).toBe(true);
    expect(Object.keys(came).length).toBeGreaterThan(4);
    expect(effects(b)).toEqual(DONE);
  });
});
