// Call: what is sent, in which order, and what the ledger says at that moment. The ledger is real (in memory); the
// servers behind the port are fakes that answer when the test says so.

import { describe, expect, test } from "vitest";
import { createMemoryLedger } from "../../src/adapters/memory/ledger.js";
import { Limits, type Operation, type SettledRow, sha256, ToolgateError } from "../../src/contracts/index.js";
import type { Call, CallEvidence } from "../../src/contracts/mcp-port.js";
import { inOrder, type SendingRun, sendInOrder } from "../../src/execution/call.js";
import type { Findings } from "../../src/execution/classify.js";
import { type LocalCallOptions, localCall } from "../../src/execution/local.js";
import type { Dispatch } from "../../src/execution/send.js";
import type { SettlePorts } from "../../src/execution/settle.js";
import type { Ledger } from "../../src/ledger/port.js";
import {
  batch,
  claimOne,
  claimsOf,
  LEASE,
  operation,
  owner,
  read,
  rowOf,
  run,
  START,
  stands,
  UNKNOWN,
  type World,
  world,
} from "../conformance/ledger-world.js";

const ANSWERED: CallEvidence = {
  attempted: true,
  refused: false,
  how: "response",
  response: { result: { content: [{ type: "text", text: "done" }] } },
};
const DEADLINE: CallEvidence = { attempted: true, refused: false, how: "deadline" };
const LOST: CallEvidence = { attempted: true, refused: false, how: "closed" };
const NOT_SENT: CallEvidence = { attempted: false, refused: false, how: "error", detail: "the lease passed" };

const write = (index: number) => operation({ index });
const look = (index: number) => read({ index });
const once = (evidence: CallEvidence): Call => ({
  evidence: Promise.resolve(evidence),
  late: Promise.resolve(undefined),
});
const soon = (evidence: CallEvidence): Call => ({
  evidence: new Promise((resolve) => setImmediate(resolve, evidence)),
  late: Promise.resolve(undefined),
});

interface Sent {
  readonly name: string;
  readonly signal: AbortSignal | undefined;
  readonly maySend: () => boolean;
}

type Answers = (operation: Operation, sent: Sent) => Call;

/** A batch that is claimed, and everything that happens to it in the order it happens. */
async function rig(operations: readonly Operation[], answers: Answers, ledgerOf: (real: Ledger) => Ledger = (r) => r) {
  const at = await world(createMemoryLedger);
  const fences = new Map(
    claimsOf(await at.ledger.claim(batch(operations))).flatMap((claim) =>
      claim.kind === "claimed" ? [[claim.operationId, claim.fence] as const] : [],
    ),
  );
  const trail: string[] = [];
  const sent: Sent[] = [];
  const released: string[] = [];
  const background: Promise<unknown>[] = [];
  const waits: number[] = [];
  const steady = { now: 0 };
  const name = (of: Operation) => `${of.effect} ${of.index}`;
  const nameOf = (id: unknown) => name(operations.find((one) => one.id === id) as Operation);
  const dispatches = operations.map(
    (one): Dispatch => ({
      operation: one,
      fence: fences.get(one.id) ?? 0,
      terms: { effect: one.effect, errors: "conservative", contract: undefined, outputMismatch: "unknown" },
      times: { deadlineMs: 60_000, keepListeningMs: one.effect === "write" ? 5_000 : 0 },
      send(signal, maySend) {
        trail.push(`send ${name(one)}`);
        const made = { name: name(one), signal, maySend };
        sent.push(made);
        return answers(one, made);
      },
      inspect: async (): Promise<Findings> => ({}),
    }),
  );
  const ports: SettlePorts = {
    config: { lateAnswerMs: 5_000, leaseMs: 15_000, limits: Limits.parse({}) },
    ledger: noting(ledgerOf(at.ledger), (method, id) => trail.push(`${method} ${nameOf(id)}`)),
    results: {
      put: async () => {
        trail.push("keep");
        return { ref: "r", bytes: 4, sha256: sha256("done") };
      },
      read: async () => undefined,
    },
    redact: (words) => words,
    after: (ms) => {
      waits.push(ms);
      steady.now += ms;
      return { elapsed: Promise.resolve(), cancel: () => {} };
    },
    steady: () => steady.now,
    background: (work) => background.push(work),
  };
  const lease = {
    owner: owner("a"),
    holdsThread: true,
    hold: () => {},
    release: (id: string) => released.push(nameOf(id)),
    valid: () => at.clock.now < START + LEASE,
  };
  return {
    at,
    dispatches,
    sent,
    trail,
    released,
    waits,
    steady,
    late: () => Promise.all(background),
    go: (options: { parallelReads?: number; signal?: AbortSignal; results?: SettlePorts["results"] } = {}) => {
      const { parallelReads = 4, signal, results = ports.results } = options;
      const config = { ...ports.config, limits: { ...ports.config.limits, parallelReads } };
      const run: SendingRun = { threadId: "t1", lease, signal, tell: () => {} };
      return sendInOrder({ ...ports, config, results }, dispatches, run);
    },
  };
}

function storeFailed(): ToolgateError {
  return new ToolgateError("store_failed", "the store is busy", "try again");
}

/** The same ledger, saying which row is begun or settled, after it was. */
function noting(ledger: Ledger, say: (method: string, operationId: string) => void): Ledger {
  return {
    ...ledger,
    begin: async (id, fence, actsMs) => {
      const begun = await ledger.begin(id, fence, actsMs);
      say("begin", id);
      return begun;
    },
    settle: async (settlement) => {
      const stored = await ledger.settle(settlement);
      say("settle", settlement.operationId);
      return stored;
    },
  };
}

const ends = (at: World, operations: readonly Operation[]) => Promise.all(operations.map((one) => stands(at, one)));

describe("what is sent", () => {
  test("the row says `dispatching` at the moment of the send (call-order-1) (G5)", async () => {
    const states: string[] = [];
    const made = await rig([write(0), look(1)], (one) => ({
      evidence: rowOf(made.at, one).then((row) => {
        states.push(`${row.state} ${row.sent}`);
        return ANSWERED;
      }),
      late: Promise.resolve(undefined),
    }));
    await made.go();
    expect(states).toEqual(["dispatching true", "dispatching true"]);
    expect(made.trail.slice(0, 2)).toEqual(["begin write 0", "send write 0"]);
  });

  test("when the ledger cannot say `dispatching`, nothing is sent, of this call or a later one (call-order-1) (prepare-4) (G5)", async () => {
    const failing = (ledger: Ledger): Ledger => ({ ...ledger, begin: () => Promise.reject(new Error("disk full")) });
    const made = await rig([write(0), write(1)], () => once(ANSWERED), failing);
    await expect(made.go()).rejects.toThrow("disk full");
    expect(made.sent).toEqual([]);
    expect(await ends(made.at, [write(0), write(1)])).toEqual(["claimed", "claimed"]);
    expect(made.released).toEqual(["write 0", "write 1"]);
  });

  test.each([
    ["an answer", ANSWERED],
    ["no answer in time", DEADLINE],
    ["a lost connection", LOST],
    ["nothing sent", NOT_SENT],
    ["an error of the server", { ...LOST, how: "response", response: { error: { code: -32603, message: "no" } } }],
  ] as const)("one claim is one send, whatever came of it: %s (call-order-2) (G6)", async (_, evidence) => {
    const made = await rig([write(0)], () => once(evidence));
    await made.go();
    await made.late();
    expect(made.sent.map((one) => one.name)).toEqual(["write 0"]);
  });

  test("when the answer cannot be stored the row stays `dispatching`, and nothing further is sent (call-order-2) (G6)", async () => {
    const failing = (ledger: Ledger): Ledger => ({ ...ledger, settle: () => Promise.reject(new Error("disk full")) });
    const made = await rig([write(0), write(1)], () => once(ANSWERED), failing);
    await expect(made.go()).rejects.toThrow("disk full");
    expect(made.sent.map((one) => one.name)).toEqual(["write 0"]);
    expect(await ends(made.at, [write(0), write(1)])).toEqual(["dispatching", "claimed"]);
  });

  test("a body is stored before its row settles; without its body no row settles (settle-call-1)", async () => {
    const made = await rig([write(0)], () => once(ANSWERED));
    await made.go();
    expect(made.trail).toEqual(["begin write 0", "send write 0", "keep", "settle write 0"]);
    expect(((await rowOf(made.at, write(0))) as SettledRow).result).toEqual({
      ref: "r",
      bytes: 4,
      sha256: sha256("done"),
    });

    const broken = await rig([write(0)], () => once(ANSWERED));
    await expect(
      broken.go({ results: { put: () => Promise.reject(new Error("disk full")), read: async () => undefined } }),
    ).rejects.toThrow("disk full");
    expect(await stands(broken.at, write(0))).toBe("dispatching");
  });
});

describe("order", () => {
  test("neighbouring reads form groups of at most so many, every write stands alone (call-order-3)", () => {
    const calls = ["read", "read", "read", "write", "write", "read", "write", "read", "read"].map((effect, n) => ({
      n,
      terms: { effect: effect as "read" | "write" },
    }));
    const grouped = (parallel: number) => inOrder(calls, parallel).map((group) => group.map(({ n }) => n));
    expect(grouped(2)).toEqual([[0, 1], [2], [3], [4], [5], [6], [7, 8]]);
    expect(grouped(9)).toEqual([[0, 1, 2], [3], [4], [5], [6], [7, 8]]);
    expect(grouped(1)).toEqual([[0], [1], [2], [3], [4], [5], [6], [7], [8]]);
    expect(inOrder([], 4)).toEqual([]);
  });

  test("a write waits until everything before it is settled, and nothing overtakes it (call-order-3)", async () => {
    const calls = [look(0), look(1), look(2), write(3), look(4)];
    const made = await rig(calls, () => soon(ANSWERED));
    await made.go({ parallelReads: 2 });
    const steps = made.trail.filter((step) => step.startsWith("send") || step.startsWith("settle"));
    expect(steps).toEqual([
      "send read 0",
      "send read 1",
      "settle read 0",
      "settle read 1",
      "send read 2",
      "settle read 2",
      "send write 3",
      "settle write 3",
      "send read 4",
      "settle read 4",
    ]);
  });
});

describe("after an unknown write (call-order-4) (G7)", () => {
  test.each([
    ["no answer in time", DEADLINE, "result_unknown (deadline) by host"],
    ["a lost connection", LOST, "result_unknown (connection_lost) by host"],
  ])("later writes are halted unsent, later reads still run: %s", async (_, evidence, unknown) => {
    const calls = [write(0), write(1), look(2)];
    const made = await rig(calls, (one) => once(one.index === 0 ? evidence : ANSWERED));
    const ran = await made.go();
    expect(made.sent.map((one) => one.name)).toEqual(["write 0", "read 2"]);
    expect(made.trail).not.toContain("begin write 1");
    expect(await ends(made.at, calls)).toEqual([unknown, "rejected (halted) by halt", "ok (success) by server"]);
    expect(ran.map(({ outcome }) => outcome?.status)).toEqual(["result_unknown", "rejected", "ok"]);
    expect((await rowOf(made.at, write(1))).sent).toBe(false);
  });

  test("an unknown read halts nothing", async () => {
    const made = await rig([look(0), write(1)], (one) => once(one.index === 0 ? LOST : ANSWERED));
    await made.go();
    expect(await ends(made.at, [look(0), write(1)])).toEqual([
      "unavailable (connection_lost) by host",
      "ok (success) by server",
    ]);
  });

  test("a write that became unknown elsewhere since the claim halts it before the send", async () => {
    const made = await rig([write(0)], () => once(ANSWERED));
    await run(made.at, operation({ proposalId: "p2", args: { other: true } }), UNKNOWN, {
      owner: owner("b"),
      ledgerSeq: 1,
    });
    const ran = await made.go();
    expect(made.sent).toEqual([]);
    expect(ran).toMatchObject([{ outcome: { status: "rejected", reason: "halted" } }]);
  });
});

describe("a cancelled run (call-order-5)", () => {
  test("begins nothing more, settles what is in flight, and leaves the rest claimed", async () => {
    const stop = new AbortController();
    const calls = [write(0), write(1), look(2)];
    const made = await rig(calls, () => {
      stop.abort();
      return soon(ANSWERED);
    });
    const ran = await made.go({ signal: stop.signal });
    expect(ran).toHaveLength(1);
    expect(made.sent.map((one) => one.name)).toEqual(["write 0"]);
    expect(await ends(made.at, calls)).toEqual(["ok (success) by server", "claimed", "claimed"]);
    expect(made.released).toEqual(["write 0", "write 1", "read 2"]);
  });

  test("sends nothing when it is cancelled while `dispatching` is stored", async () => {
    const stop = new AbortController();
    const cancelling = (ledger: Ledger): Ledger => ({
      ...ledger,
      begin: async (id, fence, actsMs) => {
        const begun = await ledger.begin(id, fence, actsMs);
        stop.abort();
        return begun;
      },
    });
    const made = await rig([write(0)], () => once(ANSWERED), cancelling);
    await made.go({ signal: stop.signal });
    expect(made.sent).toEqual([]);
    expect(await stands(made.at, write(0))).toBe("unavailable (not_sent) by host");
  });

  test("cancels reads in flight; a write is never given the signal", async () => {
    const stop = new AbortController();
    const made = await rig([look(0), write(1)], () => once(ANSWERED));
    await made.go({ signal: stop.signal });
    stop.abort();
    expect(made.sent.map(({ name, signal }) => [name, signal?.aborted === true, signal === undefined])).toEqual([
      ["read 0", true, false],
      ["write 1", false, true],
    ]);
  });

  test("that was cancelled before it began sends nothing", async () => {
    const made = await rig([look(0)], () => once(ANSWERED));
    expect(await made.go({ signal: AbortSignal.abort() })).toEqual([]);
    expect(made.sent).toEqual([]);
  });
});

describe("an answer after the deadline (settle-call-3)", () => {
  const late = (evidence: CallEvidence | undefined): Call => ({
    evidence: Promise.resolve(DEADLINE),
    late: new Promise((resolve) => setImmediate(resolve, evidence)),
  });

  test("is stored with the row as late evidence; until then the operation is held (call-order-6)", async () => {
    const made = await rig([write(0)], () => late(ANSWERED));
    expect(await made.go()).toMatchObject([{ outcome: { status: "result_unknown", reason: "deadline" } }]);
    expect(made.released).toEqual([]);
    await made.late();
    expect(made.released).toEqual(["write 0"]);
    expect(await rowOf(made.at, write(0))).toMatchObject({
      outcome: { status: "ok", reason: "success", evidence: { attempted: true, how: "response", late: true } },
      result: { ref: "r" },
    });
  });

  test("that does not come leaves the outcome unknown", async () => {
    const made = await rig([write(0)], () => late(undefined));
    await made.go();
    await made.late();
    expect(await stands(made.at, write(0))).toBe("result_unknown (deadline) by host");
    expect(made.released).toEqual(["write 0"]);
  });

  test("does not change what a person has settled meanwhile", async () => {
    const made = await rig([write(0)], () => late(ANSWERED));
    await made.go();
    await made.at.ledger.resolve(write(0).id, "happened", { by: "someone" });
    await made.late();
    expect(await stands(made.at, write(0))).toBe("ok (resolved) by person");
  });
});

describe("a host that lost its claim", () => {
  test("its lease passed before the first byte: nothing is sent, unavailable (G6)", async () => {
    const made = await rig([write(0)], (_, { maySend }) => {
      made.at.clock.now += LEASE;
      return once(maySend() ? ANSWERED : NOT_SENT);
    });
    await made.go();
    expect(await stands(made.at, write(0))).toBe("unavailable (not_sent) by host");
    expect((await rowOf(made.at, write(0))).sent).toBe(false);
  });

  test("a store that fails at `dispatching` sends nothing, and says so once it can (prepare-4) (settle-call-4)", async () => {
    const failing = (ledger: Ledger): Ledger => ({ ...ledger, begin: () => Promise.reject(storeFailed()) });
    const made = await rig([write(0)], () => once(ANSWERED), failing);
    expect(await made.go()).toMatchObject([{ outcome: { status: "unavailable", reason: "not_sent" } }]);
    expect(made.sent).toEqual([]);
    expect(await stands(made.at, write(0))).toBe("unavailable (not_sent) by host");
  });

  test("an outcome that the store does not take is offered again, and never found out by sending again (settle-call-4)", async () => {
    let refusals = 3;
    const failing = (ledger: Ledger): Ledger => ({
      ...ledger,
      settle: (settlement) => (refusals-- > 0 ? Promise.reject(storeFailed()) : ledger.settle(settlement)),
    });
    const made = await rig([write(0)], () => once(ANSWERED), failing);
    await made.go();
    expect(made.waits).toEqual([250, 250, 250]);
    expect(made.sent).toHaveLength(1);
    expect(await stands(made.at, write(0))).toBe("ok (success) by server");
  });

  test("a store that never comes back: the run fails after half a minute, the row stays `dispatching` (settle-call-4)", async () => {
    const failing = (ledger: Ledger): Ledger => ({ ...ledger, settle: () => Promise.reject(storeFailed()) });
    const made = await rig([write(0)], () => once(ANSWERED), failing);
    await expect(made.go()).rejects.toMatchObject({ code: "store_failed" });
    expect(made.waits.reduce((sum, ms) => sum + ms, 0)).toBe(30_000);
    expect((await rowOf(made.at, write(0))).state).toBe("dispatching");
  });

  test.each(["the outcome", "the body"])(
    "half a minute by the clock, also where each try at %s takes its time (settle-call-4)",
    async (what) => {
      let tries = 0;
      const slowly = () => {
        tries++;
        made.steady.now += 5_000;
        return Promise.reject(storeFailed());
      };
      const failing = (ledger: Ledger): Ledger => (what === "the body" ? ledger : { ...ledger, settle: slowly });
      const made = await rig([write(0)], () => once(ANSWERED), failing);
      const results = what === "the body" ? { results: { put: slowly, read: async () => undefined } } : {};
      await expect(made.go(results)).rejects.toMatchObject({ code: "store_failed" });
      expect([tries, made.steady.now]).toEqual([6, 31_250]);
    },
  );

  test("another host took over before the send: an error, and nothing further is sent (G6)", async () => {
    const made = await rig([write(0), write(1)], () => once(ANSWERED));
    made.at.life.set("a", "gone");
    expect(await claimOne(made.at, write(0), { owner: owner("b") })).toMatchObject({ kind: "claimed", fence: 2 });
    await expect(made.go()).rejects.toMatchObject({ code: "already_running" });
    expect(made.sent).toEqual([]);
    expect(made.released).toEqual(["write 0", "write 1"]);
  });

  test("another host took a read over while it was in flight: its answer is not stored over the new attempt (G6)", async () => {
    const made = await rig([look(0), write(1)], (one) => ({
      evidence: (async () => {
        made.at.life.set("a", "gone");
        await claimOne(made.at, one, { owner: owner("b") });
        return ANSWERED;
      })(),
      late: Promise.resolve(undefined),
    }));
    await expect(made.go()).rejects.toMatchObject({ code: "already_running" });
    expect(made.sent.map((one) => one.name)).toEqual(["read 0"]);
    expect(await rowOf(made.at, look(0))).toMatchObject({ state: "claimed", fence: 2, owner: { instance: "b" } });
  });

  test("a write that was taken for lost while it was in flight: its sender is told, and changes nothing any more", async () => {
    const made = await rig([write(0)], () => ({
      evidence: (async () => {
        made.at.life.set("a", "gone");
        expect(await made.at.ledger.sweep({ reads: false })).toHaveLength(1);
        return ANSWERED;
      })(),
      late: Promise.resolve(undefined),
    }));
    await expect(made.go()).rejects.toMatchObject({ code: "already_running" });
    expect(await stands(made.at, write(0))).toBe("result_unknown (host_gone) by host");
  });
});

describe("a local tool", () => {
  const asResult = (value: unknown) => ({ content: [{ type: "text", text: String(value) }] });

  /** Timers that elapse when the test says so. */
  function timers() {
    const open: { ms: number; elapse: () => void; cancelled: boolean }[] = [];
    const after: LocalCallOptions["after"] = (ms) => {
      const timer = { ms, elapse: () => {}, cancelled: false };
      const elapsed = new Promise<void>((resolve) => {
        timer.elapse = resolve;
      });
      open.push(timer);
      const cancel = () => {
        timer.cancelled = true;
        timer.elapse();
      };
      return { elapsed, cancel };
    };
    return { open, options: { deadlineMs: 100, keepListeningMs: 50, after } };
  }

  test("what it returned is its result; the timer is given back (local-1)", async () => {
    const { open, options } = timers();
    const call = localCall(async () => 7, asResult, options);
    expect(await call.evidence).toEqual({
      attempted: true,
      refused: false,
      how: "response",
      response: { result: { content: [{ type: "text", text: "7" }] } },
    });
    expect(await call.late).toBeUndefined();
    expect(open.map(({ ms, cancelled }) => [ms, cancelled])).toEqual([[100, true]]);
  });

  test.each([
    ["later", () => Promise.reject(new Error("no disk"))],
    [
      "at once",
      () => {
        throw new Error("no disk");
      },
    ],
  ])("what it threw %s is an error result with its words (local-1)", async (_, body) => {
    const call = localCall(body, asResult, timers().options);
    expect((await call.evidence).response).toEqual({
      result: { content: [{ type: "text", text: "no disk" }], isError: true },
    });
  });

  test("past its deadline there is no answer; one that comes while we listen is late evidence (local-1)", async () => {
    const { open, options } = timers();
    let finish = (_: string) => {};
    const call = localCall(() => new Promise((resolve) => (finish = resolve)), asResult, options);
    open[0]?.elapse();
    expect(await call.evidence).toEqual({ attempted: true, refused: false, how: "deadline" });
    finish("at last");
    expect(await call.late).toMatchObject({ how: "response", response: { result: asResult("at last") } });
    expect(open.map(({ ms, cancelled }) => [ms, cancelled])).toEqual([
      [100, true],
      [50, true],
    ]);
  });

  test("listening ends (local-1)", async () => {
    const { open, options } = timers();
    const call = localCall(() => new Promise(() => {}), asResult, options);
    open[0]?.elapse();
    await call.evidence;
    open[1]?.elapse();
    expect(await call.late).toBeUndefined();
  });

  test("a cancelled read is let go of, also when it was cancelled before it began (call-order-5)", async () => {
    const stop = new AbortController();
    const call = localCall(() => new Promise(() => {}), asResult, { ...timers().options, signal: stop.signal });
    stop.abort();
    expect((await call.evidence).how).toBe("aborted");
    const never = localCall(() => new Promise(() => {}), asResult, {
      ...timers().options,
      signal: AbortSignal.abort(),
    });
    expect((await never.evidence).how).toBe("aborted");
  });

  test("a write that threw is unknown, a read that threw has failed (G7)", async () => {
    const throws = () => localCall(() => Promise.reject(new Error("no disk")), asResult, timers().options);
    const made = await rig([look(0), write(1)], throws);
    await made.go();
    expect(await ends(made.at, [look(0), write(1)])).toEqual([
      "failed (tool_error) by server",
      "result_unknown (tool_error) by server",
    ]);
  });
});
