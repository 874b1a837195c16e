// `durability: "async"`: checkpoints are stored behind the run's back. A process killed then may leave a thread that
// has
// forgotten what it did; the ledger has not, and no write goes out a second time without a new yes.

import { join } from "node:path";
import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, test } from "vitest";
import type { Plan } from "../fault/run-plan.js";
import { killer } from "../fault/run-processes.js";
import { bench, type Steps, stdio } from "../support/agent.js";
import { formatProblems } from "../support/provider-format.js";

const TIME = 60_000;
const b = bench();
const k = killer();

const act = (text: string, id: string) => ({ name: "mcp__hostile__act", args: { text }, id });
const DONE = { say: "Done." };
const ONE_CALL: Steps = [{ calls: [act("a", "c1")] }, DONE];
/** Steps of a run, as LangGraph counts checkpoints: the one `execute` starts from, and the one behind it. */
const BEFORE_EXECUTE = 3;
const AFTER_EXECUTE = 4;

const configOf = (hostile: object = {}) => ({
  store: { kind: "sqlite", path: join(b.folder(), "store") },
  approvals: { secret: "a-secret-for-tests-that-is-long-enough" },
  mcpServers: { hostile: stdio("hostile", { SERVER_LOG: b.logPath(), HOSTILE: JSON.stringify(hostile) }) },
  permissions: { allow: ["mcp__hostile__*"] },
});
const plan = (more: Partial<Plan>, hostile: object = {}): Plan => ({
  config: configOf(hostile),
  steps: ONE_CALL as Plan["steps"],
  threadId: "t1",
  runs: ["go"],
  durability: "async",
  ...more,
});
const outcomes = (turn: { report: { operations: { callId: string; status: string; reason: string | null }[] } }) =>
  turn.report.operations.map(({ callId, status, reason }) => `${callId} ${status} ${reason}`);

describe("durability async, killed while checkpoints are not stored yet (G6)", () => {
  test("a write waits for the checkpoint it runs from: until then nothing is claimed or sent; then it runs once (prepare-2)", {
    timeout: TIME,
  }, async () => {
    await k.killedAt("waiting", plan({ holdFromStep: BEFORE_EXECUTE }));
    expect(b.log("accepted")).toEqual([]);
    const agent = await b.start({ config: configOf(), steps: ONE_CALL });
    expect(await agent.toolgate.ledger.operations("t1")).toEqual([]);
    const turn = await agent.ask(undefined);
    expect(outcomes(turn)).toEqual(["c1 ok success"]);
    expect(b.log("effect")).toHaveLength(1);
    expect(turn.report.modelRequests).toBe(1 + 1); // the proposal that was stored, and the answer
  });

  test("after the effect, with nothing stored behind it: unknown, not sent again", { timeout: TIME }, async () => {
    const silent = { calls: { act: { do: "silent" } } };
    await k.killedWhen("effect", b.logPath(), plan({ holdFromStep: AFTER_EXECUTE }, silent));
    const agent = await b.start({ config: configOf(), steps: ONE_CALL });
    const turn = await agent.ask(undefined);
    expect(outcomes(turn)).toEqual(["c1 result_unknown host_gone"]);
    expect(b.log("accepted")).toHaveLength(1);
  });

  test("after the model had gone on, with nothing stored behind the write: nothing is sent again", {
    timeout: TIME,
  }, async () => {
    await k.killedAt("reached", plan({ holdFromStep: AFTER_EXECUTE, stop: { model: 2 } }));
    const agent = await b.start({ config: configOf(), steps: ONE_CALL });
    const turn = await agent.ask(undefined);
    expect(turn.report.answer).toBe("Done.");
    expect(outcomes(turn)).toEqual(["c1 ok success"]);
    expect(b.log("accepted")).toHaveLength(1);
    expect(formatProblems([...turn.messages])).toEqual([]);
  });

  test.each([
    ["in the same words", "a"],
    ["in other words", "a, please"],
  ])(
    "with no checkpoint left at all: the write proposed anew %s is asked about, the one that ran is named",
    async (_, words) => {
      await k.killedAt("done", plan({ forgetful: true }));
      expect(b.log("effect")).toHaveLength(1);
      const agent = await b.start({
        config: configOf(),
        steps: [{ calls: [act(words, "c2")] }, DONE],
        options: { checkpointer: new MemorySaver() },
      });
      const question = await agent.ask("go");
      expect(question.report).toMatchObject({ status: "awaiting_approval", approvals: [{ callId: "c2" }] });
      expect(question.report.approvals[0]?.why).toMatch(/^earlier writes bear on this one: mcp__hostile__act \(ok, /);
      expect(b.log("accepted")).toHaveLength(1);
      const yes = { decisions: { [question.report.approvals[0]?.approvalId as string]: { type: "approve" } } };
      const turn = await agent.resume(yes);
      expect(turn.report.answer).toBe("Done.");
      expect(b.log("accepted").map((event) => event.arguments)).toEqual([{ text: "a" }, { text: words }]);
    },
    TIME,
  );
});
