// Questions to a person, their answers, and what may never count as a yes.

import { Command } from "@langchain/langgraph";
import { describe, expect, test } from "vitest";
import type { Agent, Steps } from "../support/agent.js";
import { bench } from "../support/in-process.js";
import { formatProblems } from "../support/provider-format.js";

const b = bench();

const trigger = (environment: string, id: string) => ({ name: "mcp__deploy__trigger", args: { environment }, id });
const status = (id: string) => ({ name: "mcp__deploy__status", args: {}, id });
const DONE = { say: "Done." };

interface Question {
  kind: string;
  note?: string;
  actionRequests: { name: string; args: object; approvalId: string; toolCallId: string; operationId: string }[];
}

function start(steps: Steps, config: Record<string, unknown> = {}, options: object = {}): Promise<Agent> {
  return b.start({
    config: {
      mcpServers: { deploy: b.server("deploy") },
      permissions: { allow: ["mcp__deploy__status"], ask: ["mcp__deploy__trigger"] },
      tools: { mcp__deploy__status: { effect: "read" } },
      ...config,
    },
    steps,
    options,
  });
}

const effects = () => b.log("effect").length;
const asked = (turn: { interrupt: unknown }) => (turn.interrupt as unknown as Question).actionRequests;
const approve = (question: { interrupt: unknown }) => ({
  decisions: Object.fromEntries(asked(question).map((one) => [one.approvalId, { type: "approve" }])),
});
const outcomes = (turn: { report: { operations: { callId: string; status: string; reason: string | null }[] } }) =>
  turn.report.operations.map(({ callId, status, reason }) => `${callId} ${status} ${reason}`);

describe("approval", () => {
  test("a yes runs exactly what was shown, once (G4)", async () => {
    const agent = await start([{ calls: [trigger("staging", "c1")] }, DONE]);
    const question = await agent.ask("deploy");
    expect(question.report).toMatchObject({
      status: "awaiting_approval",
      approvals: [{ callId: "c1", arguments: { environment: "staging" } }],
    });
    expect(effects()).toBe(0);
    const turn = await agent.resume(approve(question));
    expect(turn.report).toMatchObject({ status: "done", answer: "Done.", approvals: [] });
    expect(b.log("accepted").map(({ tool, arguments: args, operationId }) => [tool, args, operationId])).toEqual([
      ["trigger", { environment: "staging" }, turn.report.operations[0]?.operationId],
    ]);
    expect(effects()).toBe(1);
  });

  // Of several calls that waited for a person only the first was shown.
  test("everything that needs a yes is one question, nothing runs before it is answered (approval-node-1)", async () => {
    const agent = await start([
      { calls: [status("c0"), trigger("a", "c1"), trigger("b", "c2"), trigger("c", "c3")] },
      DONE,
    ]);
    const question = await agent.ask("deploy");
    expect(asked(question).map((one) => one.toolCallId)).toEqual(["c1", "c2", "c3"]);
    expect(b.log("accepted")).toEqual([]);
    const turn = await agent.resume(approve(question));
    expect(b.log("accepted").map((event) => event.tool)).toEqual(["status", "trigger", "trigger", "trigger"]);
    expect(turn.report.status).toBe("done");
  });

  test("partial answers: each is kept, the rest is asked again, the batch runs when it is complete (execute-1)", async () => {
    const agent = await start([{ calls: [trigger("a", "c1"), trigger("b", "c2")] }, DONE]);
    const question = await agent.ask("deploy");
    const [first, second] = asked(question) as [Question["actionRequests"][0], Question["actionRequests"][0]];
    const half = await agent.resume({ decisions: { [first.approvalId]: { type: "approve" } } });
    expect(asked(half).map((one) => one.toolCallId)).toEqual(["c2"]);
    expect(effects()).toBe(0);
    const turn = await agent.resume({ decisions: { [second.approvalId]: { type: "reject", message: "not b" } } });
    expect(outcomes(turn)).toEqual(["c1 ok success", "c2 rejected person"]);
    expect(effects()).toBe(1);
    expect(formatProblems([...turn.messages])).toEqual([]);
  });

  // After a rejection the free call beside it had no tool message, and the provider refused the conversation.
  // A rejected call stayed in the message's list of calls, and an executor that walked the list ran it.
  test("a rejected call does not run, its siblings do, and every call has one tool message", async () => {
    const agent = await start([{ calls: [trigger("a", "c1"), status("c2")] }, DONE]);
    const question = await agent.ask("deploy");
    const turn = await agent.resume({
      decisions: [{ type: "reject", message: "no", approvalId: asked(question)[0]?.approvalId }],
    });
    expect(outcomes(turn).sort()).toEqual(["c1 rejected person", "c2 ok success"]);
    expect(b.log("accepted").map((event) => event.tool)).toEqual(["status"]);
    expect(formatProblems([...turn.messages])).toEqual([]);
  });

  // Answers were matched by their position and only their number was checked; other shapes took other ways.
  test("whatever is not a clear answer asks again with a reason and never means yes (approval-node-3)", async () => {
    const agent = await start([{ calls: [trigger("a", "c1"), trigger("b", "c2")] }, DONE]);
    let question = await agent.ask("deploy");
    const [one] = asked(question) as [Question["actionRequests"][0]];
    for (const odd of [
      "yes",
      true,
      1,
      {},
      [],
      { decisions: [] },
      { decisions: [{ type: "approve" }] },
      { decisions: { nobody: { type: "approve" } } },
      { decisions: { [one.approvalId]: { type: "APPROVE" } } },
      { decisions: { [one.approvalId]: { type: "edit", editedAction: { name: "mcp__deploy__status", args: {} } } } },
      { type: "approve" },
    ]) {
      question = await agent.resume(odd);
      expect([
        odd,
        (question.interrupt as unknown as Question | undefined)?.kind,
        (question.interrupt as unknown as Question).note === undefined,
      ]).toEqual([odd, "approval", false]);
    }
    expect(b.log("accepted")).toEqual([]);
    const turn = await agent.resume(approve(question));
    expect(turn.report.status).toBe("done");
    expect(effects()).toBe(2);
  });

  // The same interrupt could be resumed twice, with different answers, from the same checkpoint.
  test("the first answer wins; the same checkpoint resumed again sends nothing", async () => {
    const agent = await start([{ calls: [trigger("a", "c1")] }, DONE, DONE]);
    const question = await agent.ask("deploy");
    const paused = await agent.toolgate.graph.getState({ configurable: { thread_id: "t1" } });
    const answer = new Command({ resume: approve(question) });
    await agent.toolgate.graph.invoke(answer as never, paused.config as never);
    await agent.toolgate.graph.invoke(answer as never, paused.config as never);
    const [one] = asked(question) as [Question["actionRequests"][0]];
    await agent.toolgate.graph.invoke(
      new Command({ resume: { decisions: { [one.approvalId]: { type: "reject" } } } }) as never,
      paused.config as never,
    );
    expect(effects()).toBe(1);
    await expect(agent.toolgate.ledger.answer(one.approvalId, { type: "reject" })).rejects.toMatchObject({
      code: "already_decided",
    });
  });

  test("two answers at once: one is stored, one is told already_decided, one effect", async () => {
    const agent = await start([{ calls: [trigger("a", "c1")] }, DONE]);
    const question = await agent.ask("deploy");
    const [one] = asked(question) as [Question["actionRequests"][0]];
    const results = await Promise.allSettled([
      agent.toolgate.ledger.answer(one.approvalId, { type: "approve" }),
      agent.toolgate.ledger.answer(one.approvalId, { type: "approve" }),
    ]);
    expect(results.map((result) => (result.status === "rejected" ? result.reason.code : "stored"))).toEqual([
      "stored",
      "already_decided",
    ]);
    const runs = await Promise.allSettled([agent.ask(undefined), agent.ask(undefined)]);
    expect(runs.some((run) => run.status === "fulfilled")).toBe(true);
    for (const run of runs) if (run.status === "rejected") expect(run.reason.code).toBe("already_running");
    expect(effects()).toBe(1);
  });

  test("the first answer stands: a yes is neither taken back, nor edited, nor renewed by another person (G4)", async () => {
    let now = Date.parse("2026-01-01T00:00:00Z");
    const agent = await start([{ calls: [trigger("a", "c1"), trigger("b", "c2")] }, DONE], {}, { now: () => now });
    const question = await agent.ask("deploy");
    const first = asked(question)[0]?.approvalId as string;
    const { ledger } = agent.toolgate;
    await ledger.answer(first, { type: "approve" }, { approver: "alice" });
    now += 61_000;
    for (const answer of [
      { type: "reject" },
      { type: "approve" },
      { type: "edit", arguments: { environment: "x" } },
    ] as const) {
      await expect(ledger.answer(first, answer, { approver: "mallory" })).rejects.toMatchObject({
        code: "already_decided",
      });
    }
    now += 61_000;
    const turn = await agent.ask(undefined);
    expect(asked(turn).map((one) => one.toolCallId)).toEqual(["c2"]);
    expect(effects()).toBe(0);
  });

  test("a question of a branch the thread has left is not listed, and its answer is refused, not swallowed", async () => {
    const agent = await start([{ calls: [trigger("a", "c1")] }, DONE]);
    const question = await agent.ask("deploy");
    const { graph, ledger } = agent.toolgate;
    const states = [];
    for await (const state of graph.getStateHistory({ configurable: { thread_id: "t1" } })) states.push(state);
    const beforeModel = states.find((state) => state.next[0] === "model");
    await graph.invoke(null as never, beforeModel?.config as never); // the model is asked again: another question
    const open = await ledger.requests("t1");
    expect(open).toHaveLength(1);
    expect(open[0]?.approvalId).not.toBe(asked(question)[0]?.approvalId);
    const late = ledger.answer(asked(question)[0]?.approvalId as string, { type: "approve" });
    await expect(late).rejects.toMatchObject({ code: "already_decided" });
    expect(effects()).toBe(0);
  });

  test("an answer given outside the run counts when the thread goes on without one (approval-node-4)", async () => {
    const agent = await start([{ calls: [trigger("a", "c1")] }, DONE]);
    const question = await agent.ask("deploy");
    await agent.toolgate.ledger.answer(
      asked(question)[0]?.approvalId as string,
      { type: "approve" },
      { approver: "ann" },
    );
    const turn = await agent.ask(undefined);
    expect(turn.report.status).toBe("done");
    expect(effects()).toBe(1);
  });

  // Edits of arguments were not honoured; only a plain yes worked.
  test("an edit is what is sent; the original stays in the ledger; the message has the edited arguments (batch-2)", async () => {
    const agent = await start([{ calls: [trigger("a", "c1")] }, DONE]);
    const question = await agent.ask("deploy");
    const edit = { type: "edit", editedAction: { name: "mcp__deploy__trigger", args: { environment: "b" } } };
    const turn = await agent.resume({ decisions: { [asked(question)[0]?.approvalId as string]: edit } });
    expect(outcomes(turn)).toEqual(["c1 rejected edited", "c1 ok success"]);
    expect(b.log("accepted").map((event) => event.arguments)).toEqual([{ environment: "b" }]);
    const ai = turn.messages.find(
      (message) => (message as { tool_calls?: unknown[] }).tool_calls?.length,
    ) as unknown as { tool_calls: object[] };
    expect(ai.tool_calls).toMatchObject([{ id: "c1", args: { environment: "b" } }]);
    expect(formatProblems([...turn.messages])).toEqual([]);
  });

  test("an edit that the schema or a rule refuses is rejected, nothing is sent", async () => {
    b.onDisk();
    const permissions = { ask: ["mcp__deploy__trigger"], deny: ["mcp__deploy__trigger(environment:production)"] };
    for (const [args, reason] of [
      [{ environment: 5 }, "invalid_arguments"],
      [{ environment: "production" }, "denied"],
    ] as const) {
      const agent = await start([{ calls: [trigger("a", "c1")] }, DONE], { permissions });
      const question = await agent.ask("deploy", reason);
      const turn = await agent.resume(
        {
          decisions: {
            [asked(question)[0]?.approvalId as string]: {
              type: "edit",
              editedAction: { name: "mcp__deploy__trigger", args },
            },
          },
        },
        reason,
      );
      expect(outcomes(turn)).toEqual(["c1 rejected edited", `c1 rejected ${reason}`]);
    }
    expect(b.log("accepted")).toEqual([]);
  });

  // A message typed while a question was open started a new run instead of answering it.
  test("a new message withdraws the question; nothing runs; the history is one a provider accepts (discover-1) (G8)", async () => {
    const agent = await start([{ calls: [trigger("a", "c1"), status("c2")] }, { say: "Hello." }]);
    const question = await agent.ask("deploy");
    const turn = await agent.ask("hello");
    expect(turn.report).toMatchObject({ status: "done", answer: "Hello.", approvals: [] });
    expect(turn.messages.map((message) => message.getType())).toEqual(["human", "ai", "tool", "tool", "human", "ai"]);
    expect(formatProblems([...turn.messages])).toEqual([]);
    expect(b.log("accepted")).toEqual([]);
    const late = agent.toolgate.ledger.answer(asked(question)[0]?.approvalId as string, { type: "approve" });
    await expect(late).rejects.toMatchObject({ code: "already_decided" });
  });

  // A fork with an edited state went on along the wrong branch when it was resumed.
  test("arguments edited in state are asked about anew; the old yes runs nothing (G9)", async () => {
    const agent = await start([{ calls: [trigger("a", "c1")] }, DONE]);
    const question = await agent.ask("deploy");
    await agent.toolgate.ledger.answer(asked(question)[0]?.approvalId as string, { type: "approve" });
    const state = await agent.state();
    const ai = (state.values["messages"] as { id: string; tool_calls: object[] }[]).at(-1) as {
      id: string;
      tool_calls: object[];
    };
    const forged = {
      ...JSON.parse(JSON.stringify(ai)),
      type: "ai",
      id: ai.id,
      content: "",
      tool_calls: [{ ...trigger("production", "c1"), type: "tool_call" }],
    };
    await agent.toolgate.graph.updateState({ configurable: { thread_id: "t1" } }, { messages: [forged] }, "gate");
    const turn = await agent.ask(undefined);
    expect(effects()).toBe(0);
    expect(asked(turn).map((one) => one.args)).toEqual([{ environment: "production" }]);
  });

  // One approval could be used again, or for another call.
  test("one yes is for one call: not for another, not from another thread, not twice", async () => {
    const agent = await start([{ calls: [trigger("a", "c1")] }, { calls: [trigger("a", "c2")] }, DONE]);
    const question = await agent.ask("deploy", "t1");
    const other = await agent.ask("deploy", "t2");
    const stolen = { decisions: { [asked(question)[0]?.approvalId as string]: { type: "approve" } } };
    expect(((await agent.resume(stolen, "t2")).interrupt as unknown as Question).kind).toBe("approval");
    expect(effects()).toBe(0);
    const next = await agent.resume(approve(question), "t1");
    expect(effects()).toBe(1);
    const again = await agent.resume(stolen, "t1"); // the model asked for the same deployment once more
    expect(asked(next)[0]?.toolCallId).toBe("c2");
    expect((again.interrupt as unknown as Question).kind).toBe("approval");
    expect(effects()).toBe(1);
    expect(asked(other)).toHaveLength(1);
  });

  // The expiry of an approval was stored and never checked, so that a yes worked for ever.
  // The model was told that the call would run once approved, although the question had expired.
  test("a yes is good for its time and no longer, checked when it is claimed", async () => {
    let now = Date.parse("2026-01-01T00:00:00Z");
    const agent = await start([{ calls: [trigger("a", "c1")] }, DONE], {}, { now: () => now });
    const question = await agent.ask("deploy");
    await agent.toolgate.ledger.answer(asked(question)[0]?.approvalId as string, { type: "approve" });
    now += 61_000;
    const turn = await agent.ask(undefined);
    expect(outcomes(turn)).toEqual(["c1 rejected expired"]);
    expect(turn.messages.find((message) => message.getType() === "tool")?.text).toContain("not run");
    expect(effects()).toBe(0);
  });

  test("a question nobody answers in seven days is closed, not answered", async () => {
    let now = Date.parse("2026-01-01T00:00:00Z");
    const agent = await start([{ calls: [trigger("a", "c1")] }, DONE], {}, { now: () => now });
    const question = await agent.ask("deploy");
    now += 7 * 24 * 3_600_000 + 1;
    await expect(
      agent.toolgate.ledger.answer(asked(question)[0]?.approvalId as string, { type: "approve" }),
    ).rejects.toMatchObject({ code: "already_decided" });
    const turn = await agent.ask(undefined);
    expect(outcomes(turn)).toEqual(["c1 rejected expired"]);
    expect(effects()).toBe(0);
  });

  // With a context object the resumed run asked again for ever.
  test("extra configuration and context do not change the answer", async () => {
    const agent = await start([{ calls: [trigger("a", "c1")] }, DONE]);
    const question = await agent.ask("deploy", "t1", { context: { user: "x" } });
    const result = await agent.toolgate.graph.invoke(
      new Command({ resume: approve(question) }) as never,
      {
        configurable: { thread_id: "t1", anything: "else" },
        context: { interruptOn: {} },
      } as never,
    );
    expect((result as { messages: { text: string }[] }).messages.at(-1)?.text).toBe("Done.");
    expect(effects()).toBe(1);
  });

  test("a sealed yes from a process whose key is gone is asked for again", async () => {
    b.onDisk();
    const agent = await start([{ calls: [trigger("a", "c1")] }, DONE]);
    const question = await agent.ask("deploy");
    await agent.toolgate.ledger.answer(asked(question)[0]?.approvalId as string, { type: "approve" });
    await agent.toolgate.close();
    const other = await start([{ calls: [trigger("a", "c1")] }, DONE], {
      approvals: {
        secret: "another-secret-that-is-long-enough-too",
        previousSecrets: ["a-secret-for-tests-that-is-long-enough"], // of the rows; an answer is given again
      },
    });
    const again = await other.ask(undefined);
    expect(again.report).toMatchObject({ status: "awaiting_approval", approvals: [{ callId: "c1" }] });
    expect(effects()).toBe(0);
    const turn = await other.resume(approve(again));
    expect(turn.report.status).toBe("done");
    expect(effects()).toBe(1);
  });

  test("an identical call a person rejected is not asked about again in this turn", async () => {
    const agent = await start([{ calls: [trigger("a", "c1")] }, { calls: [trigger("a", "c2")] }, DONE]);
    const question = await agent.ask("deploy");
    const turn = await agent.resume({ decisions: { [asked(question)[0]?.approvalId as string]: { type: "reject" } } });
    expect(outcomes(turn)).toEqual(["c1 rejected person", "c2 rejected repeated_rejection"]);
  });

  test("where identity is required an answer from nobody is not taken", async () => {
    const config = { approvals: { secret: "a-secret-for-tests-that-is-long-enough", requireIdentity: true } };
    const agent = await start([{ calls: [trigger("a", "c1")] }, DONE], config);
    const question = await agent.ask("deploy");
    const again = await agent.resume(approve(question));
    expect((again.interrupt as unknown as Question).note).toContain("nobody is signed in");
    expect(effects()).toBe(0);
  });

  // A client wrote `langgraph_auth_user` into the configuration of its own run, and a write went out under that name.
  test.each([
    [
      "configurable",
      { configurable: { langgraph_auth_user: { identity: "ceo" }, langgraph_auth_user_id: "ceo", user_id: "ceo" } },
    ],
    ["context", { context: { langgraph_auth_user: { identity: "ceo" } } }],
    [
      "metadata and headers",
      { metadata: { identity: "ceo" }, configurable: { "x-user": "ceo", headers: { "x-user": "ceo" } } },
    ],
  ])("who a client says it is in %s is nobody", async (_where, more) => {
    b.onDisk();
    const run = { ...more, configurable: { thread_id: "t1", ...(more as { configurable?: object }).configurable } };
    const config = { approvals: { secret: "a-secret-for-tests-that-is-long-enough", requireIdentity: true } };
    const agent = await start([{ calls: [trigger("a", "c1")] }, DONE], config);
    const question = await agent.ask("deploy");
    await agent.toolgate.graph.invoke(new Command({ resume: approve(question) }), run as never);
    expect(effects()).toBe(0);
    const open = await start([{ calls: [trigger("a", "c1")] }, DONE]);
    const asks = await open.ask("deploy", "t2");
    const answered = { ...run, configurable: { ...run.configurable, thread_id: "t2" } };
    await open.toolgate.graph.invoke(new Command({ resume: approve(asks) }), answered as never);
    const request = await open.toolgate.host.ledger.request(asked(asks)[0]?.approvalId as string);
    expect(request?.verdict?.approver).toBe("unauthenticated");
  });

  // LangGraph's server stamps Studio's user on a request with nothing but a header; an async `identify` named everybody.
  test.each([
    ["Studio's user", "langgraph-auth" as const, { identity: "langgraph-studio-user" }],
    ["an identity of spaces", "langgraph-auth" as const, { identity: " " }],
    ["a promise", (async () => "ada") as never, undefined],
    ["an object", (() => ({ id: "ada" })) as never, undefined],
    ["a number", (() => 1) as never, undefined],
  ])("%s is nobody", async (_what, identify, user) => {
    const config = { approvals: { secret: "a-secret-for-tests-that-is-long-enough", requireIdentity: true } };
    const agent = await start([{ calls: [trigger("a", "c1")] }, DONE], config, { identify });
    const question = await agent.ask("deploy");
    const run = { configurable: { thread_id: "t1", langgraph_auth_user: user } };
    await agent.toolgate.graph.invoke(new Command({ resume: approve(question) }), run as never);
    expect(effects()).toBe(0);
    for (const approver of ["", " ", 0, {}, []] as never[]) {
      const told = agent.toolgate.ledger.answer(
        asked(question)[0]?.approvalId as string,
        { type: "approve" },
        { approver },
      );
      await expect(told).rejects.toMatchObject({ code: "invalid_answer" });
    }
  });

  test.each([{ identify: "langgraph-auth" as const }, {}])(
    "where the host says that LangGraph's server has auth, the caller is who it says: %j",
    async (options) => {
      const identity = "identify" in options ? {} : { identity: "langgraph-auth" };
      const approvals = { secret: "a-secret-for-tests-that-is-long-enough", requireIdentity: true, ...identity };
      const agent = await start([{ calls: [trigger("a", "c1")] }, DONE], { approvals }, options);
      const question = await agent.ask("deploy");
      const run = { configurable: { thread_id: "t1", langgraph_auth_user: { identity: "ada" } } };
      await agent.toolgate.graph.invoke(new Command({ resume: approve(question) }), run as never);
      const request = await agent.toolgate.host.ledger.request(asked(question)[0]?.approvalId as string);
      expect([request?.verdict?.approver, effects()]).toEqual(["ada", 1]);
    },
  );

  // Nobody in particular said that an unknown write had not happened, and the identical write went out.
  test("where identity is required, nobody in particular answers, edits or settles anything, at whichever door", async () => {
    b.onDisk();
    const config = {
      approvals: { secret: "a-secret-for-tests-that-is-long-enough", requireIdentity: true },
      permissions: { allow: ["mcp__hostile__act"] },
      tools: { mcp__hostile__act: { timeoutMs: 200 } },
      lateAnswerMs: 0,
      mcpServers: { hostile: b.server("hostile", { HOSTILE: JSON.stringify({ calls: { act: { do: "silent" } } }) }) },
    };
    const call = { name: "mcp__hostile__act", args: { text: "a" }, id: "c1" };
    const agent = await b.start({ config, steps: [{ calls: [call] }, DONE] });
    const turn = await agent.ask("go");
    const id = turn.report.unknowns[0]?.operationId as string;
    for (const type of ["happened", "did_not_happen", "leave"] as const) {
      await expect(agent.toolgate.ledger.resolve(id, type)).rejects.toMatchObject({ code: "invalid_answer" });
      const again = await agent.resume({ resolutions: { [id]: { type } } });
      expect((again.interrupt as unknown as Question).note).toContain("nobody is signed in");
    }
    expect((await agent.toolgate.ledger.operations("t1")).map(({ status }) => status)).toEqual(["result_unknown"]);
    await agent.toolgate.ledger.resolve(id, "happened", { by: "ada" });

    const asking = await start([{ calls: [trigger("a", "c1")] }, DONE], { approvals: config.approvals });
    const open = asked(await asking.ask("deploy", "t2"))[0]?.approvalId as string;
    for (const answer of [
      { type: "approve" },
      { type: "reject" },
      { type: "edit", arguments: { environment: "b" } },
    ] as const) {
      await expect(asking.toolgate.ledger.answer(open, answer)).rejects.toMatchObject({ code: "invalid_answer" });
    }
    await asking.toolgate.ledger.answer(open, { type: "reject" }, { approver: "ada" });
  });

  // A host of another scope listed the question with its arguments, and its yes ran the write.
  test("questions, answers, outcomes and unknown writes of another scope do not exist", async () => {
    b.onDisk();
    const hostile = { calls: { act: { do: "silent" } } };
    const config = {
      mcpServers: { deploy: b.server("deploy"), hostile: b.server("hostile", { HOSTILE: JSON.stringify(hostile) }) },
      permissions: { allow: ["mcp__hostile__act"], ask: ["mcp__deploy__trigger"] },
      tools: { mcp__hostile__act: { timeoutMs: 200 } },
      lateAnswerMs: 0,
    };
    const host = (scope: string, call: object) =>
      b.start({ config: { ...config, scope }, steps: [{ calls: [call] } as Steps[number], DONE] });
    const alice = await host("alice", trigger("a", "c1"));
    const acting = await host("alice", { name: "mcp__hostile__act", args: {}, id: "c2" });
    const bob = (await b.start({ config: { ...config, scope: "bob" } })).toolgate.ledger;
    const approvalId = asked(await alice.ask("deploy", "t1"))[0]?.approvalId as string;
    const unknown = (await acting.ask("act", "t2")).report.unknowns[0]?.operationId as string;

    for (const threadId of ["t1", "t2", undefined]) {
      expect([await bob.requests(threadId), await bob.unknowns(threadId)]).toEqual([[], []]);
    }
    expect([await bob.operations("t1"), await bob.operations("t2")]).toEqual([[], []]);
    expect((await bob.threads()).map(({ status }) => status)).toEqual([]);
    for (const answer of [
      { type: "approve" },
      { type: "reject" },
      { type: "edit", arguments: { environment: "b" } },
    ] as const) {
      const told = bob.answer(approvalId, answer, { approver: "bob" });
      await expect(told).rejects.toMatchObject({ code: "not_found", data: {} });
    }
    for (const type of ["happened", "did_not_happen", "leave"] as const) {
      await expect(bob.resolve(unknown, type, { by: "bob" })).rejects.toMatchObject({ code: "not_found" });
    }
    const before = effects();
    expect(await alice.toolgate.ledger.requests("t1")).toHaveLength(1);
    expect(await alice.toolgate.ledger.unknowns("t2")).toHaveLength(1);
    await alice.toolgate.ledger.answer(approvalId, { type: "approve" }, { approver: "alice" });
    await alice.ask(undefined, "t1");
    expect(effects()).toBe(before + 1);
  });
});
