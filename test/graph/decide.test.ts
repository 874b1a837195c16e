// The host's own `decide` in whole runs: effects are counted in the server's log.

import { describe, expect, test } from "vitest";
import type { Decide, DecideCall } from "../../src/index.js";
import type { Agent, Turn } from "../support/agent.js";
import { bench } from "../support/in-process.js";

const b = bench();

const schema = { type: "object", properties: { text: { type: "string" } } };
const call = (name: string, text: string, id: string) => ({ name: `mcp__hostile__${name}`, args: { text }, id });

function start(decide: Decide, calls: object[], more: { permissions?: object; options?: object } = {}): Promise<Agent> {
  const tools = ["act", "look"].map((name) => ({ name, inputSchema: schema }));
  return b.start({
    config: {
      mcpServers: { hostile: b.server("hostile", { HOSTILE: JSON.stringify({ tools }) }) },
      permissions: more.permissions ?? { allow: ["mcp__hostile__*"] },
      tools: { mcp__hostile__look: { effect: "read" } },
    },
    steps: [{ calls: calls as never }, { say: "Done." }],
    options: { decide, ...more.options },
  });
}

const effects = () => b.log("effect").map((event) => (event.arguments as { text: string }).text);
const outcomes = ({ report }: Turn) => report.operations.map((one) => `${one.callId} ${one.status} ${one.reason}`);
const asked = ({ interrupt }: Turn) =>
  ((interrupt?.["actionRequests"] ?? []) as { toolCallId: string; why?: string }[]).map((one) => one.toolCallId);
const yes = ({ report }: Turn) => ({
  decisions: Object.fromEntries(report.approvals.map((one) => [one.approvalId, { type: "approve" }])),
});

test("what it denies is not sent, and its sibling runs", async () => {
  const decide: Decide = async ({ arguments: { text } }) =>
    text === "b" ? { kind: "deny", reason: "not b" } : "allow";
  const agent = await start(decide, [call("act", "a", "c1"), call("act", "b", "c2")]);
  const turn = await agent.ask("go");
  expect(outcomes(turn)).toEqual(["c1 ok success", "c2 rejected denied"]);
  expect(turn.lines.at(-2)).toContain("denied by the host's `decide`: not b");
  expect(effects()).toEqual(["a"]);
});

test("where it allows, a rule's ask and a rule's deny stand; what is denied is not put to it", async () => {
  const put: string[] = [];
  const decide: Decide = async ({ arguments: { text } }) => {
    put.push(String(text));
    return "allow";
  };
  const permissions = {
    allow: ["mcp__hostile__*"],
    ask: ["mcp__hostile__act(text:a)"],
    deny: ["mcp__hostile__act(text:b)"],
  };
  const agent = await start(decide, [call("act", "a", "c1"), call("act", "b", "c2")], { permissions });
  const turn = await agent.ask("go");
  expect([asked(turn), effects()]).toEqual([["c1"], []]);
  const done = await agent.resume(yes(turn));
  expect(outcomes(done)).toEqual(["c1 ok success", "c2 rejected denied"]);
  expect([effects(), [...new Set(put)]]).toEqual([["a"], ["a"]]);
});

test("it is told of the call, its thread and who it is for, and asked about an allowed call twice", async () => {
  const told: DecideCall[] = [];
  const decide: Decide = async (one) => {
    told.push(one);
    return "allow";
  };
  const options = { identify: () => ({ id: "ada", scope: "acme" }) };
  const agent = await start(decide, [call("look", "a", "c1")], { options });
  await agent.toolgate.graph.invoke({ messages: [{ role: "user", content: "go" }] } as never, {
    configurable: { thread_id: "t7" },
  });
  expect(told).toHaveLength(2);
  expect(told[0]).toEqual({
    alias: "mcp__hostile__look",
    server: "hostile",
    tool: "look",
    arguments: { text: "a" },
    effect: "read",
    decision: { kind: "allow", rules: ["mcp__hostile__*"], reason: "allowed by `mcp__hostile__*`" },
    threadId: "t7",
    scope: "acme",
    identity: "ada",
  });
  expect(told[1]).toEqual(told[0]);
});

// A callback that was asked once, before the question, was not asked when the call left an hour later.
describe("between the question and the send", () => {
  const answers = (...kinds: ("allow" | "ask" | "deny")[]): Decide => {
    const left = [...kinds];
    return async () => left.shift() as "allow";
  };

  test("a later deny refuses what a person approved", async () => {
    const agent = await start(answers("ask", "deny"), [call("act", "a", "c1")]);
    const turn = await agent.ask("go");
    expect(asked(turn)).toEqual(["c1"]);
    expect(outcomes(await agent.resume(yes(turn)))).toEqual(["c1 rejected denied"]);
    expect(effects()).toEqual([]);
  });

  test("a later ask asks before anything is sent", async () => {
    const agent = await start(answers("allow", "ask", "allow"), [call("act", "a", "c1")]);
    const turn = await agent.ask("go");
    expect([asked(turn), effects()]).toEqual([["c1"], []]);
    expect(outcomes(await agent.resume(yes(turn)))).toEqual(["c1 ok success"]);
    expect(effects()).toEqual(["a"]);
  });

  test("a later allow does not take the question back: a no still holds", async () => {
    const agent = await start(answers("ask", "allow", "allow"), [call("act", "a", "c1")]);
    const turn = await agent.ask("go");
    const { approvalId = "" } = turn.report.approvals[0] ?? {};
    const done = await agent.resume({ decisions: { [approvalId]: { type: "reject" } } });
    expect(outcomes(done)).toEqual(["c1 rejected person"]);
    expect(effects()).toEqual([]);
  });

  test("in another process, which is told otherwise, what was asked waits and what was denied stays denied (batch-5, approval-node-6)", async () => {
    b.onDisk();
    const calls = [call("act", "a", "c1"), call("act", "b", "c2")];
    const first = await start(async ({ arguments: { text } }) => (text === "a" ? "ask" : "deny"), calls);
    const turn = await first.ask("go");
    expect(asked(turn)).toEqual(["c1"]);
    const second = await start(async () => "allow", calls);
    const again = await second.ask(undefined);
    expect([asked(again), effects()]).toEqual([["c1"], []]);
    const done = await second.resume(yes(again));
    expect(outcomes(done)).toEqual(["c1 ok success", "c2 rejected denied"]);
    expect(effects()).toEqual(["a"]);
  });
});

test("it is asked about what a person put in the place of a call", async () => {
  const decide: Decide = async ({ arguments: { text } }) => (text === "evil" ? "deny" : "ask");
  const agent = await start(decide, [call("act", "a", "c1")]);
  const turn = await agent.ask("go");
  const { approvalId = "" } = turn.report.approvals[0] ?? {};
  const editedAction = { name: "mcp__hostile__act", args: { text: "evil" } };
  const done = await agent.resume({ decisions: { [approvalId]: { type: "edit", editedAction } } });
  expect(outcomes(done)).toEqual(["c1 rejected edited", "c1 rejected denied"]);
  expect(effects()).toEqual([]);
});

// One callback that never answered stopped every thread of its host.
test("its silence denies one call after its deadline, and another thread goes on meanwhile", async () => {
  let silent: (() => void) | undefined;
  const reached = new Promise<void>((resolve) => {
    silent = resolve;
  });
  const decide: Decide = async ({ threadId }) => {
    if (threadId === "t2") return "allow";
    silent?.();
    return new Promise(() => {});
  };
  const agent = await start(decide, [call("act", "a", "c1")], { options: { decideTimeoutMs: 1_500 } });
  const waiting = agent.ask("go", "t1");
  await reached;
  expect(outcomes(await agent.ask("go", "t2"))).toEqual(["c1 ok success"]);
  expect(outcomes(await waiting)).toEqual(["c1 rejected denied"]);
  expect(effects()).toEqual(["a"]);
});
