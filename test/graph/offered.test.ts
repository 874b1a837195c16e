// What a server's `show` and `hide` leave out is neither shown to the model nor called, whoever asks for it.

import { describe, expect, test } from "vitest";
import type { Agent, Steps } from "../support/agent.js";
import { bench } from "../support/in-process.js";

const b = bench();

const trigger = { name: "mcp__deploy__trigger", args: { environment: "staging" }, id: "c1" };
const status = { name: "mcp__deploy__status", args: {}, id: "c2" };
const DONE = { say: "Done." };
const EVERYTHING = {
  permissions: { allow: ["mcp__deploy__*"] },
  tools: { mcp__deploy__status: { effect: "read" } },
};

function start(steps: Steps, offer: object, more: Record<string, unknown> = {}): Promise<Agent> {
  const config = { mcpServers: { deploy: b.server("deploy", {}, offer) }, ...EVERYTHING, ...more };
  return b.start({ config, steps });
}

const offered = (agent: Agent) => agent.model.requests.map(({ tools }) => tools.map(({ name }) => name));
const accepted = () => b.log("accepted").map(({ tool }) => tool);
const outcomes = (turn: { report: { operations: { callId: string; status: string; reason: string | null }[] } }) =>
  turn.report.operations.map(({ callId, status, reason }) => `${callId} ${status} ${reason}`);

describe("a hidden tool", () => {
  // A tool that a person had disabled was listed, and an allow for the whole server let it run.
  test.each<[string, object]>([
    ["`hide` names it", { hide: ["trig*"] }],
    ["another host's key names it", { disabledTools: ["trigger"] }],
    ["`show` does not name it", { show: ["status"] }],
    ["the list of another host does not name it", { enabled_tools: ["status"] }],
  ])("is not offered and not called, although every rule allows it: %s (offered-3) (reader-3)", async (_, offer) => {
    const agent = await start([{ calls: [trigger, status] }, DONE], offer);
    const turn = await agent.ask("go");
    expect(offered(agent)[0]).toEqual(["read_result", "mcp__deploy__status"]);
    expect(outcomes(turn)).toEqual(["c1 rejected unknown_tool", "c2 ok success"]);
    expect(accepted()).toEqual(["status"]);
  });

  test("is named with the reason among what is withheld, for people and not for the model (assemble-3)", async () => {
    const agent = await start([DONE], { hide: ["trigger"] });
    const { messages } = await agent.ask("go");
    expect((await agent.toolgate.snapshot())?.withheld).toEqual([
      { server: "deploy", tool: "trigger", reason: "hidden: `hide` of its server names `trigger`" },
    ]);
    expect(JSON.stringify([messages, agent.model.requests])).not.toContain("trigger");
  });

  test("refuses no catalog that `onInvalid` would refuse for a bad tool (assemble-3)", async () => {
    const agent = await start([{ calls: [status] }, DONE], { hide: ["trigger"] }, { catalog: { onInvalid: "refuse" } });
    expect(outcomes(await agent.ask("go"))).toEqual(["c2 ok success"]);
  });

  test("an empty list shows none of the server's tools", async () => {
    const agent = await start([{ calls: [status] }, DONE], { tools: [] });
    expect(outcomes(await agent.ask("go"))).toEqual(["c2 rejected unknown_tool"]);
    expect(offered(agent)[0]).toEqual(["read_result"]);
    expect(accepted()).toEqual([]);
  });
});

describe("a tool that is hidden while a thread waits", () => {
  // The question was asked before the host hid the tool, and the yes came after.
  test("is not called by a yes that was asked for before, and is not shown any more (offered-3)", async () => {
    b.onDisk();
    const ask = { ...EVERYTHING, permissions: { ask: ["mcp__deploy__trigger"] } };
    const before = await start([{ calls: [trigger] }], {}, ask);
    const question = await before.ask("go");
    expect(question.report.status).toBe("awaiting_approval");
    const [approval] = question.report.approvals;
    await before.toolgate.close();

    const after = await start([{ calls: [trigger] }, DONE], { hide: ["trigger"] }, ask);
    const turn = await after.resume({ decisions: { [approval?.approvalId ?? ""]: { type: "approve" } } });
    expect(accepted()).toEqual([]);
    expect(outcomes(turn)).toEqual(["c1 rejected unknown_tool"]); // and no drift, which would show the yes as used in vain
    expect(offered(after).flat()).not.toContain("mcp__deploy__trigger");
  });

  // The server was down when the host came back, and the thread's old list stood in for it.
  test("is not in the list that stands in for a server that is down (offered-3)", async () => {
    b.onDisk();
    const before = await start([DONE], {});
    await before.ask("go");
    expect(offered(before)[0]).toContain("mcp__deploy__trigger");
    await before.toolgate.close();

    const after = await start([DONE, { calls: [trigger] }, DONE], { hide: ["trigger"] });
    after.toolgate.host.servers.connect = async () => ({ ok: false, problem: "it is down" });
    const turn = await after.ask("again");
    expect(offered(after)[0]).toEqual(["read_result", "mcp__deploy__status"]);
    expect(outcomes(turn)).toEqual(["c1 rejected unknown_tool"]);
    expect((await after.toolgate.snapshot())?.withheld).toEqual([
      { server: "deploy", tool: "trigger", reason: "hidden: `hide` of its server names `trigger`" },
    ]);
    expect(accepted()).toEqual([]);
  });
});
