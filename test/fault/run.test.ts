// A whole agent, killed with SIGKILL at named points, and what the next process makes of what it left. Checked by three
// witnesses alone: the server's own log, the ledger and the conversation.
//
// The next process is this one. Points: F01 before the proposal, F03 the question, F05 the answer, F06 the claim, F07
// the
// mark, F10 the effect, F11 the answer in the pipe, F13 the settled row, F15 the checkpoint.

import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { steadyMs } from "../../src/adapters/process/clock.js";
import { createOwner } from "../../src/adapters/process/owner.js";
import { createSqliteLedger } from "../../src/adapters/sqlite/ledger.js";
import { type Agent, bench, type Steps, stdio, type Turn } from "../support/agent.js";
import { formatProblems } from "../support/provider-format.js";
import type { Plan, Point } from "./run-plan.js";
import { killer, logged } from "./run-processes.js";

const TIME = 60_000;
const SECRET = "a-secret-for-tests-that-is-long-enough";
const b = bench();
const k = killer();

const act = (text: string, id: string) => ({ name: "mcp__hostile__act", args: { text }, id });
const DONE = { say: "Done." };
const ONE_CALL: Steps = [{ calls: [act("a", "c1")] }, DONE];

/** A server whose tool `act` changes the world. */
function configOf(kind: Kind, hostile: object = {}) {
  return {
    store: { kind: "sqlite", path: join(b.folder(), "store") },
    approvals: { secret: SECRET },
    mcpServers: { hostile: stdio("hostile", { SERVER_LOG: b.logPath(), HOSTILE: JSON.stringify(hostile) }) },
    permissions: kind === "asked write" ? { ask: ["mcp__hostile__*"] } : { allow: ["mcp__hostile__*"] },
    tools: kind === "read" ? { mcp__hostile__act: { effect: "read" } } : {},
  };
}

type Kind = "allowed write" | "asked write" | "read";

const plan = (kind: Kind, more: Partial<Plan> = {}, hostile: object = {}): Plan => ({
  config: configOf(kind, hostile),
  steps: ONE_CALL as Plan["steps"],
  threadId: "t1",
  runs: kind === "asked write" ? ["go", { approve: true }] : ["go"],
  durability: "sync",
  ...more,
});

/** Where the killed process left the operations of the thread, as its ledger says on disk. */
async function left(): Promise<string[]> {
  const { liveness } = createOwner();
  const ledger = createSqliteLedger(join(b.folder(), "store", "toolgate.sqlite"), {
    now: Date.now,
    steady: steadyMs,
    liveness,
  });
  const rows = await ledger.operations("t1");
  await ledger.close();
  return rows.map((row) => `${row.operation.callId} ${row.state}`);
}

interface End {
  readonly turn: Turn;
  /** Questions that were asked and answered with yes. */
  readonly questions: number;
}

/** Another process goes on with the thread, and its person says yes to whatever is asked. */
async function goOn(kind: Kind, steps: Steps = ONE_CALL, options: object = {}): Promise<End & { agent: Agent }> {
  const agent = await b.start({ config: configOf(kind), steps, options });
  let turn = await agent.ask(undefined);
  let questions = 0;
  while (turn.interrupt?.["kind"] === "approval") {
    questions += turn.report.approvals.length;
    const decisions = Object.fromEntries(turn.report.approvals.map((one) => [one.approvalId, { type: "approve" }]));
    turn = await agent.resume({ decisions });
  }
  return { agent, turn, questions };
}

/** What the three witnesses say. */
async function witnesses({ agent, turn, questions }: End & { agent: Agent }) {
  const operations = await agent.toolgate.ledger.operations("t1");
  const sent = new Set(operations.filter((one) => one.sent).map((one) => one.operationId));
  const effects = b.log("effect").map((event) => event.operationId as string);
  return {
    outcomes: operations.map(({ callId, status, reason }) => `${callId} ${status} ${reason}`),
    effects: effects.length,
    requests: b.log("accepted").length,
    twice: effects.filter((id, at) => effects.indexOf(id) !== at),
    unannounced: b.log("accepted").filter((event) => !sent.has(event.operationId as string)),
    format: formatProblems([...turn.messages]),
    questions,
    replayed: turn.report.operations.filter((one) => one.replayed).map((one) => one.callId),
    answer: turn.report.answer,
  };
}

/** Nothing ran twice, nothing was sent that the ledger had not announced, every call has its one tool message. */
const SOUND = { twice: [], unannounced: [], format: [] };
const OK = "c1 ok success";
const GONE = "c1 result_unknown host_gone";

const WRITES: readonly {
  readonly name: string;
  readonly stop: Point;
  readonly left: readonly string[];
  readonly outcome: string;
  readonly effects: number;
  /** Questions asked after the kill, where the write is asked about. */
  readonly questions?: number;
  /** Sent by the process that was killed, answered from the ledger now, and says so. */
  readonly replayed?: boolean;
  readonly kinds: readonly Kind[];
}[] = [
  {
    name: "F01 before the proposal is durable: the model is asked again",
    stop: { before: "propose" },
    left: [],
    outcome: OK,
    effects: 1,
    kinds: ["allowed write"],
  },
  {
    name: "after the proposal is durable, before its checkpoint: the model is asked again",
    stop: { after: "propose" },
    left: [],
    outcome: OK,
    effects: 1,
    questions: 1,
    kinds: ["allowed write", "asked write"],
  },
  {
    name: "F03 after the question is durable, before it is shown: it is shown",
    stop: { after: "ask" },
    left: ["c1 proposed"],
    outcome: OK,
    effects: 1,
    questions: 1,
    kinds: ["asked write"],
  },
  {
    name: "F05 after the answer is durable: nobody is asked again",
    stop: { after: "answer" },
    left: ["c1 proposed"],
    outcome: OK,
    effects: 1,
    kinds: ["asked write"],
  },
  {
    name: "F06 after the claim, before `dispatching`: it runs, once, under the same yes",
    stop: { after: "claim" },
    left: ["c1 claimed"],
    outcome: OK,
    effects: 1,
    kinds: ["allowed write", "asked write"],
  },
  {
    name: "before `dispatching` is durable nothing has left (G5)",
    stop: { before: "begin" },
    left: ["c1 claimed"],
    outcome: OK,
    effects: 1,
    kinds: ["allowed write"],
  },
  {
    name: "F07 after `dispatching`, before the send: unknown, and never sent",
    stop: { after: "begin" },
    left: ["c1 dispatching"],
    outcome: GONE,
    effects: 0,
    replayed: true,
    kinds: ["allowed write", "asked write"],
  },
  {
    name: "F11 with the answer in hand, before it is settled: unknown",
    stop: { before: "settle" },
    left: ["c1 dispatching"],
    outcome: GONE,
    effects: 1,
    replayed: true,
    kinds: ["asked write"],
  },
  {
    name: "F13 after it settled, before its checkpoint: answered from the ledger",
    stop: { after: "settle" },
    left: ["c1 settled"],
    outcome: OK,
    effects: 1,
    replayed: true,
    kinds: ["allowed write", "asked write"],
  },
  {
    name: "F15 after the tool message is in a checkpoint: goes on",
    stop: { model: 2 },
    left: ["c1 settled"],
    outcome: OK,
    effects: 1,
    kinds: ["allowed write"],
  },
];

/** The places where what people are asked, or told, differs; the others are in the matrix (`npm run faults`). */
const SAMPLED = /^(F05|F07|F13)|\(G5\)$/;
const sampled = process.env["LONG_TESTS"] ? WRITES : WRITES.filter(({ name }) => SAMPLED.test(name));

describe("a write whose host is killed (G6) (G8)", () => {
  for (const point of sampled) {
    for (const kind of process.env["LONG_TESTS"] ? point.kinds : point.kinds.slice(-1)) {
      test(`${kind}, ${point.name}`, { timeout: TIME }, async () => {
        await k.killedAt("reached", plan(kind, { stop: point.stop }));
        expect(await left()).toEqual(point.left);
        const questions = kind === "asked write" ? (point.questions ?? 0) : 0;
        const { effects, outcome } = point;
        expect(await witnesses(await goOn(kind))).toEqual({
          ...SOUND,
          outcomes: [outcome],
          effects,
          requests: effects,
          questions,
          replayed: point.replayed ? ["c1"] : [],
          answer: outcome === OK ? "Done." : "",
        });
      });
    }
  }

  test("after the effect, before the answer: the ledger had said `dispatching`; unknown, and never sent again (G5) (F10)", {
    timeout: TIME,
  }, async () => {
    await k.killedWhen("effect", b.logPath(), plan("asked write", {}, { calls: { act: { do: "silent" } } }));
    expect(await left()).toEqual(["c1 dispatching"]);
    const end = await goOn("asked write");
    expect(await witnesses(end)).toMatchObject({ ...SOUND, outcomes: [GONE], effects: 1, requests: 1, questions: 0 });
    const [unknown] = end.turn.report.unknowns;
    const settled = await end.agent.resume({ resolutions: { [unknown?.operationId as string]: { type: "happened" } } });
    expect(settled.report).toMatchObject({ status: "done", answer: "Done." });
    expect(formatProblems([...settled.messages])).toEqual([]);
    expect(b.log("effect")).toHaveLength(1);
  });

  test("the server acts after its host is dead: unknown all the same, one effect", { timeout: TIME }, async () => {
    await k.killedWhen("accepted", b.logPath(), plan("allowed write", {}, { calls: { act: { do: "late", ms: 300 } } }));
    const end = await goOn("allowed write");
    await logged(b.logPath(), "effect");
    expect(await witnesses(end)).toMatchObject({ ...SOUND, outcomes: [GONE], effects: 1, requests: 1 });
  });

  test("a yes whose claim was cut off is good for its time and no longer", { timeout: TIME }, async () => {
    await k.killedAt("reached", plan("asked write", { stop: { after: "claim" } }));
    const end = await goOn("asked write", ONE_CALL, { now: () => Date.now() + 61_000 });
    expect(await witnesses(end)).toMatchObject({
      ...SOUND,
      outcomes: ["c1 rejected expired"],
      effects: 0,
      questions: 0,
    });
  });

  test("killed again and again: still one effect, and one question", { timeout: TIME }, async () => {
    await k.killedAt("reached", plan("asked write", { stop: { after: "ask" } }));
    await k.killedAt("reached", plan("asked write", { runs: [null, { approve: true }], stop: { after: "claim" } }));
    await k.killedAt("reached", plan("asked write", { runs: [null], stop: { after: "settle" } }));
    await k.killedAt("reached", plan("asked write", { runs: [null], stop: { model: 1 } }));
    expect(await witnesses(await goOn("asked write"))).toEqual({
      ...SOUND,
      outcomes: [OK],
      effects: 1,
      requests: 1,
      questions: 0,
      replayed: ["c1"],
      answer: "Done.",
    });
  });

  test("a batch cut off between two writes: the first is not sent again, the second is sent once", {
    timeout: TIME,
  }, async () => {
    const steps: Steps = [{ calls: [act("a", "c1"), act("b", "c2")] }, DONE];
    await k.killedAt("reached", plan("allowed write", { steps: steps as Plan["steps"], stop: { after: "settle" } }));
    expect(await left()).toEqual(["c1 settled", "c2 claimed"]);
    expect(await witnesses(await goOn("allowed write", steps))).toMatchObject({
      ...SOUND,
      outcomes: [OK, "c2 ok success"],
      effects: 2,
      requests: 2,
    });
  });

  test("a batch cut off in its first write: that one is unknown, the second is halted (G7)", {
    timeout: TIME,
  }, async () => {
    const steps: Steps = [{ calls: [act("a", "c1"), act("b", "c2")] }, DONE];
    await k.killedAt("reached", plan("allowed write", { steps: steps as Plan["steps"], stop: { after: "begin" } }));
    expect(await left()).toEqual(["c1 dispatching", "c2 claimed"]);
    expect(await witnesses(await goOn("allowed write", steps))).toMatchObject({
      ...SOUND,
      outcomes: [GONE, "c2 rejected halted"],
      effects: 0,
    });
  });

  test("a new message instead of going on: the cut-off call is answered where it stands (G8)", {
    timeout: TIME,
  }, async () => {
    await k.killedWhen("effect", b.logPath(), plan("allowed write", {}, { calls: { act: { do: "silent" } } }));
    const agent = await b.start({
      config: configOf("allowed write"),
      steps: [...ONE_CALL.slice(0, 1), { say: "Hello." }],
    });
    const turn = await agent.ask("never mind");
    expect(turn.messages.map((message) => message.getType())).toEqual(["human", "ai", "tool", "human", "ai"]);
    expect(await witnesses({ agent, turn, questions: 0 })).toMatchObject({ ...SOUND, outcomes: [GONE], effects: 1 });
  });
});

describe("a read whose host is killed runs again where its answer was lost (G8)", () => {
  const READS: readonly { name: string; stop: Point; left: readonly string[]; requests: number }[] = [
    { name: "after the claim", stop: { after: "claim" }, left: ["c1 claimed"], requests: 1 },
    {
      name: "after `dispatching`, before the send (G5)",
      stop: { after: "begin" },
      left: ["c1 dispatching"],
      requests: 1,
    },
    { name: "with the answer in hand", stop: { before: "settle" }, left: ["c1 dispatching"], requests: 2 },
    { name: "after it settled", stop: { after: "settle" }, left: ["c1 settled"], requests: 1 },
  ];
  for (const { name, stop, left: standing, requests } of READS) {
    test(name, { timeout: TIME }, async () => {
      await k.killedAt("reached", plan("read", { stop }));
      expect(await left()).toEqual(standing);
      const seen = await witnesses(await goOn("read"));
      expect(seen).toMatchObject({ unannounced: [], format: [], outcomes: [OK], requests, answer: "Done." });
    });
  }
});
