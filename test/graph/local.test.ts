// The host's own tools: the same gate, ledger and observation as a server's, and no way round them.

import { tool } from "@langchain/core/tools";
import { interrupt } from "@langchain/langgraph";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { Agent, Steps, Turn } from "../support/agent.js";
import { bench } from "../support/in-process.js";
import { formatProblems } from "../support/provider-format.js";

const b = bench();

type Body = (args: { text: string }, options: { signal?: AbortSignal }) => unknown;

const DONE = { say: "Done." };
const note = (text: string, id: string, name = "note") => ({ name, args: { text }, id });

/** A host tool that takes one string; what it did is in `seen`. */
function hostTool(name: string, body: Body, seen: string[] = []) {
  return tool(
    async (args: { text: string }, config) => {
      seen.push(args.text);
      return body(args, config as { signal?: AbortSignal });
    },
    { name, description: `Does ${name}.`, schema: z.object({ text: z.string() }) },
  );
}

function start(
  steps: Steps,
  tools: ReturnType<typeof hostTool>[],
  config: Record<string, unknown> = {},
): Promise<Agent> {
  return b.start({ config: { mcpServers: {}, permissions: { allow: ["note"] }, ...config }, steps, tools });
}

const READ = { tools: { note: { effect: "read" } } };
const outcomes = (turn: Turn) => turn.report.operations.map((one) => `${one.callId} ${one.status} ${one.reason}`);
const toolTexts = (turn: Turn) => turn.messages.filter((one) => one.getType() === "tool").map((one) => one.text);
const approve = (turn: Turn) => ({
  decisions: Object.fromEntries(turn.report.approvals.map((one) => [one.approvalId, { type: "approve" }])),
});

describe("host tools", () => {
  test("allowed runs, unnamed is asked, denied is refused; each has a ledger row under `local` (G3)", async () => {
    const seen: string[] = [];
    const tools = ["note", "send", "wipe"].map((name) => hostTool(name, () => `${name} done`, seen));
    const agent = await start(
      [
        { calls: [note("a", "c1")] },
        { calls: [note("b", "c2", "send")] },
        { calls: [note("c", "c3", "wipe")] },
        { calls: [note("d", "c4", "send")] },
        DONE,
      ],
      tools,
      { permissions: { allow: ["note"], deny: ["wipe"] } },
    );
    const question = await agent.ask("go");
    expect(agent.model.requests[0]?.tools.map((one) => one.name)).toEqual(["note", "read_result", "send", "wipe"]);
    expect(seen).toEqual(["a"]);
    expect(question.report.approvals).toMatchObject([
      { callId: "c2", alias: "send", server: "local", tool: "send", arguments: { text: "b" }, effect: "write" },
    ]);
    const second = await agent.resume(approve(question));
    expect(seen).toEqual(["a", "b"]);
    const [approvalId] = second.report.approvals.map((one) => one.approvalId);
    const turn = await agent.resume({ decisions: { [approvalId as string]: { type: "reject", message: "no" } } });
    expect(seen).toEqual(["a", "b"]);
    expect(outcomes(turn)).toEqual(["c1 ok success", "c2 ok success", "c3 rejected denied", "c4 rejected person"]);
    expect(toolTexts(turn).slice(0, 2)).toEqual(["note done", "send done"]);
    expect(formatProblems([...turn.messages])).toEqual([]);
    expect((await agent.toolgate.ledger.operations("t1")).map((one) => [one.server, one.tool, one.sent])).toEqual([
      ["local", "note", true],
      ["local", "send", true],
      ["local", "wipe", false],
      ["local", "send", false],
    ]);
  });

  // After a rejection the free call beside it had no tool message, and the provider refused the conversation.
  test("rejections touch no sibling: what was approved beside them runs; the next writes of the turn do not", async () => {
    const seen: string[] = [];
    const texts = ["a", "b", "c", "d", "d"];
    const next = [note("e", "c9", "send")];
    const agent = await start(
      [{ calls: texts.map((text, index) => note(text, `c${index}`, "send")) }, { calls: next }, DONE],
      [hostTool("send", () => "sent", seen)],
      { permissions: {} },
    );
    const question = await agent.ask("go");
    const ids = question.report.approvals.map((one) => one.approvalId);
    const yes = new Set([ids[0], ids[3]]);
    const turn = await agent.resume({
      decisions: Object.fromEntries(ids.map((id) => [id, { type: yes.has(id) ? "approve" : "reject" }])),
    });
    expect(outcomes(turn)).toEqual([
      "c0 ok success",
      "c1 rejected person",
      "c2 rejected person",
      "c3 ok success",
      "c4 rejected person",
      "c9 rejected repeated_rejection",
    ]);
    expect(seen).toEqual(["a", "d"]);
  });

  test("what the schema does not take never reaches the tool", async () => {
    const seen: string[] = [];
    const calls = [
      { name: "note", args: { text: 5 }, id: "c1" },
      { name: "note", args: {}, id: "c2" },
    ];
    const agent = await start([{ calls } as Steps[number], DONE], [hostTool("note", () => "ok", seen)]);
    expect(outcomes(await agent.ask("go"))).toEqual(["c1 rejected invalid_arguments", "c2 rejected invalid_arguments"]);
    expect(seen).toEqual([]);
  });

  test("data, messages and blocks come out as text the model reads; nothing comes out as done without content", async () => {
    const values: Record<string, unknown> = { a: { sum: 3 }, b: [1, 2], c: undefined, d: 7n };
    const agent = await start(
      [{ calls: Object.keys(values).map((key) => note(key, key)) }, DONE],
      [hostTool("note", ({ text }) => values[text])],
      READ,
    );
    expect(toolTexts(await agent.ask("go"))).toEqual(['{"sum":3}', "[1,2]", "(done, without any content)", '"7"']);
  });

  for (const [effect, threw, late] of [
    ["read", "failed tool_error", "unavailable deadline"],
    ["write", "result_unknown tool_error", "result_unknown deadline"],
  ] as const) {
    test(`a ${effect} that throws is ${threw}, one past its deadline ${late}`, async () => {
      const fails = () => {
        throw new Error("the disk is full");
      };
      const tools = [hostTool("fails", fails), hostTool("hangs", () => new Promise(() => {}))];
      const config = {
        permissions: { allow: ["fails", "hangs"] },
        tools: { fails: { effect }, hangs: { effect, timeoutMs: 50 } },
        lateAnswerMs: 0,
      };
      const byQuestion: Steps[number] = ({ messages }) => ({ calls: [note("a", "c1", messages.at(-1)?.text ?? "")] });
      const agent = await start([byQuestion, DONE], tools, config);
      const first = await agent.ask("fails", "t1");
      expect(outcomes(first)).toEqual([`c1 ${threw}`]);
      expect(toolTexts(first)[0]).toContain("the disk is full");
      expect(outcomes(await agent.ask("hangs", "t2"))).toEqual([`c1 ${late}`]);
    });
  }

  test("a write that answers after its deadline is late evidence and settles the unknown (G7)", async () => {
    let answer = (_: string) => {};
    const slow = hostTool("note", () => new Promise((resolve) => (answer = resolve)));
    const agent = await start([{ calls: [note("a", "c1")] }, DONE], [slow], { tools: { note: { timeoutMs: 50 } } });
    expect(outcomes(await agent.ask("go"))).toEqual(["c1 result_unknown deadline"]);
    answer("written after all");
    const turn = await agent.ask(undefined);
    expect(outcomes(turn)).toEqual(["c1 ok success"]);
    expect(toolTexts(turn)).toEqual(["written after all"]);
  });

  test("a cancelled run cancels a read of the host's and leaves a write alone (G6)", async () => {
    b.onDisk();
    const signals: Record<string, boolean | undefined> = {};
    for (const effect of ["read", "write"] as const) {
      const stop = new AbortController();
      const body: Body = async (_args, { signal }) => {
        stop.abort();
        await new Promise((resolve) => setImmediate(resolve));
        signals[effect] = signal?.aborted ?? false;
        return "written";
      };
      const agent = await start([{ calls: [note("a", "c1")] }, DONE], [hostTool("note", body)], {
        tools: { note: { effect } },
      });
      await expect(agent.ask("go", effect, { signal: stop.signal })).rejects.toThrow();
      await agent.toolgate.close();
    }
    expect(signals).toEqual({ read: true, write: false });
  });

  test("a name that is taken is a load error", async () => {
    b.onDisk();
    for (const names of [["connect_server"], ["read_result"], ["note", "note"]]) {
      const tools = names.map((name) => hostTool(name, () => ""));
      await expect(start([], tools)).rejects.toMatchObject({
        code: "config_invalid",
        message: `two tools are named \`${names[0]}\``,
      });
    }
  });

  // An interrupt inside a tool lost its payload on the way out, and the runner failed on what was left of it.
  test("a tool that asks by interrupt() fails closed and the run goes on", async () => {
    const passed: unknown[] = [];
    const asks = hostTool("note", () => {
      passed.push(interrupt({ sure: true }));
      return "did it";
    });
    const agent = await start([{ calls: [note("a", "c1")] }, DONE], [asks], READ);
    const turn = await agent.ask("go");
    expect(outcomes(turn)).toEqual(["c1 failed tool_error"]);
    expect(turn.report).toMatchObject({ status: "done", answer: "Done." });
    expect(turn.interrupt).toBeUndefined();
    expect(passed).toEqual([]);
    expect(formatProblems([...turn.messages])).toEqual([]);
  });

  test("an answer that nobody waits for does not answer a tool's interrupt() (G9)", async () => {
    const passed: unknown[] = [];
    const stop = new AbortController();
    const asks = hostTool("note", () => {
      if (stop.signal.aborted) passed.push(interrupt({ sure: true }));
      stop.abort();
      return "did it";
    });
    const agent = await start([{ calls: [note("a", "c1")] }, DONE], [asks], READ);
    await expect(agent.ask("go", "t1", { signal: stop.signal })).rejects.toThrow();
    expect((await agent.state()).next).toEqual(["execute"]);
    await expect(agent.resume("yes")).rejects.toMatchObject({ code: "already_decided" });
    const turn = await agent.ask(undefined);
    expect(passed).toEqual([]);
    expect(outcomes(turn)).toEqual(["c1 failed tool_error"]);
  });
});
