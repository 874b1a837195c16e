// A host that is stopped between `dispatching` and the send, beside another host of its machine whose wall clock is an hour
// ahead. Both have the real rules over one SQLite file; what the machine's clocks read is in the test's hands.

import Database from "better-sqlite3";
import { afterEach, describe, expect, test } from "vitest";
import { createSqliteLedger } from "../../src/adapters/sqlite/ledger.js";
import { Limits, sha256, ToolgateError } from "../../src/contracts/index.js";
import { sendInOrder } from "../../src/execution/call.js";
import type { Dispatch } from "../../src/execution/send.js";
import type { Ledger, LedgerDeps } from "../../src/ledger/port.js";
import { BOOTED, batch, claimsOf, LEASE, OK, operation, owner, START } from "../conformance/ledger-world.js";

const HOUR = 3_600_000;
const save = operation();
const by = { by: "someone" };
const databases: Database.Database[] = [];
afterEach(() => {
  for (const db of databases.splice(0)) db.close();
});

/** Two hosts on one machine. `whileStopped` happens between `dispatching` and the send of the first one. */
async function two(whileStopped: (at: { other: Ledger; pass: (ms: number) => void }) => Promise<void>) {
  const db = new Database(":memory:");
  databases.push(db);
  const machine = { steady: BOOTED };
  const pass = (ms: number) => {
    machine.steady += ms;
  };
  let inFlight = true;
  const host = (offMs: number, liveness: LedgerDeps["liveness"]): Ledger => {
    const now = () => START + offMs + (machine.steady - BOOTED);
    return createSqliteLedger(db, { now, steady: () => machine.steady, liveness });
  };
  const first = host(0, () => (inFlight ? "alive" : "gone"));
  const other = host(HOUR, () => "here");
  await first.enter("t1", owner("a"), LEASE);
  const [claim] = claimsOf(await first.claim(batch([save])));
  let effects = 0;
  const dispatch: Dispatch = {
    operation: save,
    fence: claim?.kind === "claimed" ? claim.fence : 0,
    terms: { effect: "write", errors: "conservative", contract: undefined, outputMismatch: "unknown" },
    times: { deadlineMs: 60_000, keepListeningMs: 5_000 },
    send: (_, maySend) => {
      const may = maySend();
      if (may) effects += 1;
      const response = { result: { content: [{ type: "text", text: "done" }] } };
      const evidence = may
        ? ({ attempted: true, refused: false, how: "response", response } as const)
        : ({ attempted: false, refused: false, how: "error" } as const);
      return { evidence: Promise.resolve(evidence), late: Promise.resolve(undefined) };
    },
    inspect: async () => ({}),
  };
  const since = machine.steady;
  const stopping: Ledger = {
    ...first,
    begin: async (...args) => {
      const begun = await first.begin(...args);
      await whileStopped({ other, pass });
      return begun;
    },
  };
  const ports = {
    config: { lateAnswerMs: 5_000, leaseMs: LEASE, limits: Limits.parse({}) },
    ledger: stopping,
    results: { put: async () => ({ ref: "r", bytes: 4, sha256: sha256("done") }), read: async () => undefined },
    redact: (words: string) => words,
    after: () => ({ elapsed: Promise.resolve(), cancel: () => {} }),
    steady: () => machine.steady,
    background: () => {},
  };
  /** `leased`: whether the run believes in its lease, whatever the time says. */
  const go = async (leased: boolean) => {
    const valid = () => leased || machine.steady - since < LEASE;
    const lease = { owner: owner("a"), holdsThread: true, hold: () => {}, release: () => {}, valid };
    const run = { threadId: "t1", lease, signal: undefined, tell: () => {} };
    const ended = await sendInOrder(ports, [dispatch], run).then(
      ([one]) => `${one?.outcome.status}`,
      (error: unknown) => (error instanceof ToolgateError ? error.code : String(error)),
    );
    inFlight = false;
    return { ended, effects };
  };
  const stands = async () => {
    const row = await first.row(save.id);
    return row?.state === "settled" ? `${row.outcome.status} (${row.outcome.reason})` : row?.state;
  };
  return { go, stands, other, pass };
}

describe("stopped between `dispatching` and the send (G6) (G7) (transition-3) (transition-4)", () => {
  // It was taken over, a person said truthfully that nothing had happened, and then the write went out.
  test("for three seconds: it is not taken over, nobody says that it did not happen, and it sends once", async () => {
    const host = await two(async ({ other, pass }) => {
      pass(3_000);
      expect(await other.enter("t1", owner("b"), LEASE)).toEqual({ kind: "busy", owner: owner("a") });
      expect(await other.unknowns()).toEqual([]);
      expect(await other.resolve(save.id, "did_not_happen", by)).toMatchObject({ kind: "owner_alive" });
    });
    expect(await host.go(false)).toEqual({ ended: "ok", effects: 1 });
    expect(await host.stands()).toBe("ok (success)");
  });

  test("for longer than its lease: it is taken over, its word is waited for, and it sends nothing", async () => {
    const host = await two(async ({ other, pass }) => {
      pass(20_000);
      expect(await other.enter("t1", owner("b"), LEASE)).toEqual({ kind: "entered" });
      expect(await other.resolve(save.id, "did_not_happen", by)).toMatchObject({ kind: "owner_alive" });
    });
    expect(await host.go(false)).toEqual({ ended: "already_running", effects: 0 });
    host.pass(65_000 - 20_000 - 1);
    expect(await host.other.resolve(save.id, "did_not_happen", by)).toMatchObject({ kind: "owner_alive" });
    host.pass(1);
    expect(await host.other.resolve(save.id, "did_not_happen", by)).toMatchObject({ kind: "resolved" });
    expect(await host.stands()).toBe("failed (resolved)");
  });

  test("for as long as its call may take: it sends nothing, even where it believes in its lease (call-order-7)", async () => {
    for (const [ms, effects] of [
      [59_999, 1],
      [60_000, 0],
    ] as const) {
      const host = await two(async ({ pass }) => pass(ms));
      expect(await host.go(true)).toEqual({ ended: effects === 1 ? "ok" : "unavailable", effects });
    }
  });

  test("for longer than it may act at all: a person's word stands, and it sends nothing", async () => {
    const host = await two(async ({ other, pass }) => {
      pass(65_000);
      expect(await other.resolve(save.id, "did_not_happen", by)).toMatchObject({ kind: "resolved" });
    });
    expect(await host.go(true)).toEqual({ ended: "already_running", effects: 0 });
    expect(await host.stands()).toBe("failed (resolved)");
  });
});

test("what an older version stored has no steady reading: the wall clock decides (transition-3)", async () => {
  const db = new Database(":memory:");
  databases.push(db);
  const clock = { now: START, steady: BOOTED };
  const ledger = createSqliteLedger(db, { now: () => clock.now, steady: () => clock.steady, liveness: () => "here" });
  await ledger.enter("t1", owner("a"), LEASE);
  await ledger.claim(batch([save]));
  await ledger.begin(save.id, 1, 65_000);
  db.exec("UPDATE operations SET lease_steady = NULL, acts_until = NULL; UPDATE threads SET holder_steady = NULL");
  clock.steady += HOUR;
  clock.now += LEASE - 1;
  expect(await ledger.enter("t1", owner("b"), LEASE)).toMatchObject({ kind: "busy" });
  expect(await ledger.resolve(save.id, "did_not_happen", by)).toMatchObject({ kind: "owner_alive" });
  clock.now += 1;
  expect(await ledger.enter("t1", owner("b"), LEASE)).toEqual({ kind: "entered" });
  expect(await ledger.resolve(save.id, "did_not_happen", by)).toMatchObject({ kind: "resolved" });
  expect(await ledger.settle({ operationId: save.id, fence: 1, outcome: OK, sent: true })).toBe(false);
});
