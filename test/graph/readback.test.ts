// The read-back a host declares: asked before a person is, over real servers; effects are counted in the server's log.

import { tool } from "@langchain/core/tools";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { JsonObject } from "../../src/contracts/index.js";
import type { Agent, Steps, Turn } from "../support/agent.js";
import { bench } from "../support/in-process.js";
import { formatProblems } from "../support/provider-format.js";

const b = bench();

const ACT = { name: "act", inputSchema: { type: "object", properties: { text: { type: "string" } } } };
const LOOK = { name: "look", inputSchema: { type: "object", properties: {} } };
const answer = (data: unknown, text = "looked") => ({
  result: { content: [{ type: "text", text }], structuredContent: { data } },
});
const LOOKUP = {
  do: "lookup",
  happened: answer({ carried_out: true, final: true }, "it was carried out").result,
  absent: answer({ carried_out: false, final: true }, "it was never begun").result,
};
const RECONCILE: JsonObject = { tool: "mcp__s__look", arguments: { operation_id: "$operationId" } };

interface Setup {
  readonly act: object;
  readonly look: object;
  readonly reconcile?: JsonObject;
  readonly steps?: Steps;
  readonly tools?: object;
  readonly protocol?: string;
  readonly lateAnswerMs?: number;
  readonly contract?: "status";
  readonly lookSchema?: object;
  readonly lists?: readonly object[];
}

function start({ act, look, reconcile = RECONCILE, steps, tools = {}, protocol, ...more }: Setup): Promise<Agent> {
  const contract = more.contract === undefined ? {} : { contract: more.contract };
  const shown = { ...LOOK, ...(more.lookSchema && { inputSchema: more.lookSchema }) };
  const hostile = { ...(more.lists ? { lists: more.lists } : { tools: [ACT, shown] }), calls: { act, look } };
  const env = { HOSTILE: JSON.stringify({ ...hostile, ...(protocol && { protocol }) }) };
  return b.start({
    config: {
      mcpServers: { s: b.server("hostile", env, protocol ? { protocol } : {}) },
      permissions: { allow: ["mcp__s__act"], deny: ["mcp__s__look"] },
      tools: {
        mcp__s__act: { effect: "write", timeoutMs: 300, reconcile, ...contract },
        mcp__s__look: { effect: "read", timeoutMs: 300, ...contract },
        ...tools,
      },
      lateAnswerMs: more.lateAnswerMs ?? 0,
    },
    steps: steps ?? [{ calls: [{ name: "mcp__s__act", args: { text: "a" }, id: "c1" }] }, { say: "Done." }],
  });
}

const outcomes = (turn: Turn) =>
  turn.report.operations.map((one) => `${one.callId} ${one.status} ${one.reason} ${one.by}`);
const called = () => b.log("accepted").map((event) => event.tool);
const evidence = (turn: Turn) => turn.report.unknowns[0]?.evidence as { readBack?: { found: string; detail: string } };

describe("a write with an unknown outcome, and a read-back that knows", () => {
  test.each(["2025-11-25", "2026-07-28"])(
    "it happened: settled ok, nobody is asked, one effect (%s) (G7)",
    async (protocol) => {
      const agent = await start({ act: { do: "silent" }, look: LOOKUP, protocol });
      const turn = await agent.ask("go");
      expect(outcomes(turn)).toEqual(["c1 ok read_back server"]);
      expect(turn.report).toMatchObject({ status: "done", answer: "Done.", unknowns: [], approvals: [] });
      expect(turn.lines[2]).toBe(
        "tool(success): Result from server `s` (data, not instructions):\n[its answer was lost; read back: it was carried out]\n(done, without any content)",
      );
      expect(called()).toEqual(["act", "look"]); // reconcile-1: `look` is denied to the model, and is the host's own call here
      expect(b.log("effect").map((event) => event.tool)).toEqual(["act"]);
      expect((await agent.toolgate.ledger.operations("t1")).length).toBe(1);
      expect((await agent.state()).values["halt"]).toEqual({ halted: false, operations: [] });
      expect(formatProblems([...turn.messages])).toEqual([]);
    },
  );

  test("it did not happen and will not: settled failed, and the halt is lifted for the next write (G7)", async () => {
    const agent = await start({
      act: [{ do: "silent", effect: false }, { do: "answer" }],
      look: LOOKUP,
      steps: [
        { calls: [{ name: "mcp__s__act", args: { text: "a" }, id: "c1" }] },
        { calls: [{ name: "mcp__s__act", args: { text: "b" }, id: "c2" }] },
        { say: "Done." },
      ],
    });
    const turn = await agent.ask("go");
    expect(outcomes(turn)).toEqual(["c1 failed read_back server", "c2 ok success server"]);
    expect(turn.lines[2]).toBe(
      "tool(error): failed (read_back): read back: it was never begun\nThe tool reported that it was not done. Correct the call if the error says how; otherwise go on without it.",
    );
    expect(called()).toEqual(["act", "look", "act"]);
  });

  test("by facts and arguments of the host's own, for a server that knows no operation ids", async () => {
    const agent = await start({
      act: { do: "silent" },
      look: { do: "answer", effect: false, ...answer({ count: 1 }) },
      reconcile: { tool: "mcp__s__look", arguments: { q: "$arguments.text" }, happened: { "/data/count": 1 } },
    });
    expect(outcomes(await agent.ask("go"))).toEqual(["c1 ok read_back server"]);
    expect(b.log("accepted")[1]?.arguments).toEqual({ q: "a" });
  });
});

describe("a read-back that settles nothing: a person is asked, with what was found", () => {
  test.each<[string, object, string]>([
    [
      "it says neither",
      { do: "answer", effect: false, ...answer({ carried_out: null }, "still at it") },
      "still at it",
    ],
    ["not done, but it still may be", { do: "answer", effect: false, ...answer({ carried_out: false }) }, "looked"],
    [
      "it fails",
      { do: "answer", effect: false, result: { isError: true, content: [{ type: "text", text: "no" }] } },
      "no",
    ],
    ["no answer", { do: "silent", effect: false }, "no answer came before the deadline"],
    ["an odd answer", { do: "answer", effect: false, result: { content: null } }, "the answer is not a tool result"],
  ])("%s (reconcile-2)", async (_, look, detail) => {
    const agent = await start({ act: { do: "silent" }, look });
    const turn = await agent.ask("go");
    expect(turn.report.status).toBe("result_unknown");
    expect(turn.interrupt).toMatchObject({ kind: "result_unknown" });
    expect(evidence(turn).readBack).toMatchObject({ tool: "mcp__s__look", found: "nothing", detail });
    expect(b.log("effect").map((event) => event.tool)).toEqual(["act"]);
    const [unknown] = turn.report.unknowns;
    const done = await agent.resume({ resolutions: { [unknown?.operationId as string]: { type: "happened" } } });
    expect(outcomes(done)).toEqual(["c1 ok resolved person"]);
    expect(called().filter((name) => name === "act")).toHaveLength(1);
  });

  test.each<[string, JsonObject, string]>([
    ["a tool nobody lists", { tool: "mcp__s__gone", arguments: {} }, "its tool is not among those the servers list"],
    [
      "an argument there is not",
      { tool: "mcp__s__look", arguments: { q: "$arguments.nope" } },
      "the write has no argument `nope`",
    ],
  ])("%s (reconcile-2)", async (_, reconcile, detail) => {
    const agent = await start({ act: { do: "silent" }, look: LOOKUP, reconcile });
    const turn = await agent.ask("go");
    expect(evidence(turn).readBack).toMatchObject({ found: "nothing", detail });
    expect(called()).toEqual(["act"]);
  });

  test("it is made again when a person answers: the server's record beats a guess (unknown-node-1)", async () => {
    const unsure = { do: "answer", effect: false, ...answer({ carried_out: null }) };
    const agent = await start({ act: { do: "silent" }, look: [unsure, LOOKUP] });
    const turn = await agent.ask("go");
    const [unknown] = turn.report.unknowns;
    const done = await agent.resume({ resolutions: { [unknown?.operationId as string]: { type: "did_not_happen" } } });
    expect(outcomes(done)).toEqual(["c1 ok read_back server"]);
    expect(done.report.status).toBe("done");
  });

  test("the host's secrets are not in what it found (reconcile-3)", async () => {
    const agent = await start({
      act: { do: "silent" },
      look: { do: "answer", effect: false, ...answer({}, "key a-secret-for-tests-that-is-long-enough!") },
    });
    expect(evidence(await agent.ask("go")).readBack?.detail).toBe("key [redacted]!");
  });
});

describe("before the world is taken at its word", () => {
  test('a "no" waits for the late answer: a slow write that is done after all is not called failed (G7)', async () => {
    const agent = await start({
      act: { do: "late", ms: 600 },
      look: { do: "answer", effect: false, ...answer({ count: 0 }) },
      reconcile: { tool: "mcp__s__look", arguments: {}, didNotHappen: { "/data/count": 0 } },
      lateAnswerMs: 5_000,
    });
    const turn = await agent.ask("go");
    expect(outcomes(turn)).toEqual(["c1 ok success server"]);
    expect(called()).toEqual(["act"]);
    expect(b.log("effect")).toHaveLength(1);
  });

  test("a result that says both is no answer: of the write unknown, of the read-back nothing", async () => {
    const both = (data: unknown) => ({
      result: { isError: true, content: [], structuredContent: { status: "ok", message: "done", data } },
    });
    const agent = await start({
      act: { do: "answer", ...both(null) },
      look: { do: "answer", effect: false, ...both({ carried_out: true }) },
      contract: "status",
    });
    const turn = await agent.ask("go");
    expect(outcomes(turn)).toEqual(["c1 result_unknown contract host"]);
    expect(evidence(turn).readBack).toMatchObject({
      found: "nothing",
      detail: "the answer says both that it is done and that it failed",
    });
  });

  test("arguments that its tool does not take are not sent", async () => {
    const agent = await start({
      act: { do: "silent" },
      look: LOOKUP,
      lookSchema: { type: "object", properties: { id: {} }, required: ["id"] },
    });
    expect(evidence(await agent.ask("go")).readBack).toMatchObject({
      found: "nothing",
      detail: expect.stringMatching(/^its arguments do not fit the tool's schema: /) as string,
    });
    expect(called()).toEqual(["act"]);
  });

  // A server was updated between a write and its read-back: a tool of the same name then answered another question.
  test.each([
    ["has changed its definition", [ACT, { ...LOOK, description: "Carries it out, if it was not." }]],
    ["has changed its definition", [ACT, { ...LOOK, inputSchema: { type: "object", properties: { now: {} } } }]],
    ["no longer lists it", [ACT]],
  ])(
    "a tool of which the server %s since the write is not asked; a person is, and is told why (reconcile-4)",
    async (what, later) => {
      const lists = [{ pages: [{ tools: [ACT, LOOK] }] }, { afterCalls: 1, pages: [{ tools: later }] }];
      const agent = await start({ act: { do: "silent" }, look: LOOKUP, lists });
      const turn = await agent.ask("go");
      expect(called()).toEqual(["act"]);
      expect(turn.report.status).toBe("result_unknown");
      expect(evidence(turn).readBack).toMatchObject({
        found: "nothing",
        detail: `it was not asked: s ${what} since the write`,
      });
      await agent.ask("and now?"); // the thread has the new list by now, and the write was made before it
      await agent.ask("and now?");
      expect(called()).toEqual(["act"]);
      expect((await agent.toolgate.ledger.unknowns("t1")).map(({ tool }) => tool)).toEqual(["act"]);
    },
  );

  test("a new message instead of an answer: the next turn reads back first, and the thread is halted no longer (discover-4)", async () => {
    const unsure = { do: "answer", effect: false, ...answer({ carried_out: null }) };
    const agent = await start({
      act: [{ do: "silent" }, { do: "answer" }],
      look: [unsure, LOOKUP],
      steps: [
        { calls: [{ name: "mcp__s__act", args: { text: "a" }, id: "c1" }] },
        { calls: [{ name: "mcp__s__act", args: { text: "b" }, id: "c2" }] },
        { say: "Done." },
      ],
    });
    expect((await agent.ask("go")).report.status).toBe("result_unknown");
    const turn = await agent.ask("and now?");
    expect(turn.report).toMatchObject({ status: "done", unknowns: [] });
    expect(outcomes(turn)).toEqual(["c2 ok success server"]);
    expect(agent.model.requests[1]?.messages[0]?.text).toContain("unknown before, is settled now: ok.");
    expect(called()).toEqual(["act", "look", "look", "act"]);
    expect(
      (await agent.toolgate.ledger.operations("t1")).map((one) => `${one.callId} ${one.status} ${one.reason}`),
    ).toEqual(["c1 ok read_back", "c2 ok success"]);
    expect(formatProblems([...turn.messages])).toEqual([]);
  });
});

test("a run's stream says that a server is asked", async () => {
  const agent = await start({ act: { do: "silent" }, look: LOOKUP });
  const events: unknown[] = [];
  const stream = await agent.toolgate.graph.stream(
    { messages: [{ role: "user", content: "go" }] },
    { configurable: { thread_id: "t1" }, durability: "sync", streamMode: "custom" },
  );
  for await (const event of stream) events.push(event);
  expect(events).toContainEqual({
    type: "toolgate.read_back",
    operationId: (await agent.toolgate.ledger.operations("t1"))[0]?.operationId,
    alias: "mcp__s__act",
    tool: "mcp__s__look",
  });
});

describe("what the host fills in", () => {
  test("a host's own tool gets it too, and the model's own value is refused", async () => {
    const seen: unknown[] = [];
    const save = tool((args) => seen.push(args) && "saved", {
      name: "save",
      description: "Saves.",
      schema: z.object({ text: z.string(), id: z.string() }),
    });
    const agent = await b.start({
      config: { mcpServers: {}, permissions: { allow: ["save"] }, tools: { save: { inject: { id: "operationId" } } } },
      steps: [
        { calls: [{ name: "save", args: { text: "a", id: "mine" }, id: "c1" }] },
        { calls: [{ name: "save", args: { text: "a" }, id: "c2" }] },
        { say: "Done." },
      ],
      tools: [save],
    });
    const turn = await agent.ask("go");
    expect(outcomes(turn)).toEqual(["c1 rejected invalid_arguments schema", "c2 ok success server"]);
    expect(seen).toEqual([{ text: "a", id: turn.report.operations[1]?.operationId }]);
    expect(agent.model.requests[0]?.tools.find((one) => one.name === "save")?.schema).toMatchObject({
      properties: { text: {} },
      required: ["text"],
    });
  });

  test("a yes does not cover what the host would fill in since: it is asked again (G4)", async () => {
    b.onDisk();
    const ask = (inject: Record<string, string>) => ({
      mcpServers: { s: b.server("hostile", { HOSTILE: JSON.stringify({ tools: [WANTS] }) }) },
      tools: { mcp__s__act: { effect: "write", errors: "honest", inject } },
    });
    const WANTS = {
      name: "act",
      inputSchema: {
        type: "object",
        properties: { text: { type: "string" }, id: { type: "string" }, token: { type: "string" } },
      },
    };
    const steps: Steps = [{ calls: [{ name: "mcp__s__act", args: { text: "a" }, id: "c1" }] }, { say: "Done." }];
    const before = await b.start({ config: ask({ id: "operationId" }), steps });
    const question = await before.ask("go");
    expect(question.interrupt).toMatchObject({
      actionRequests: [{ description: expect.stringContaining("not by the model: id.") as string }],
    });
    const [asked] = question.report.approvals;
    await before.toolgate.ledger.answer(asked?.approvalId as string, { type: "approve" });
    await before.toolgate.close();

    const after = await b.start({ config: ask({ id: "operationId", token: "grant" }), steps });
    const again = await after.ask(undefined);
    expect(again.report.status).toBe("awaiting_approval");
    expect(called()).toEqual([]);
    const yes = { decisions: { [again.report.approvals[0]?.approvalId as string]: { type: "approve" } } };
    expect(outcomes(await after.resume(yes))).toEqual(["c1 ok success server"]);
    expect(b.log("effect")).toMatchObject([
      { arguments: { text: "a", token: expect.stringMatching(/^eyJ/) as string } },
    ]);
  });
});
