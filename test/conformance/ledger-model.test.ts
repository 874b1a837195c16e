// Any sequence of calls on the port: the memory and the SQLite ledger answer alike, and no write is ever begun twice.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createMemoryLedger } from "../../src/adapters/ledger/memory.js";
import { createSqliteLedger } from "../../src/adapters/ledger/sqlite.js";
import { type Digest, type Operation, type Outcome, rejected, sha256 } from "../../src/contracts/index.js";
import type { Asked, Ledger, LedgerDeps, NewRequest } from "../../src/execution/ledger.js";
import {
  batch,
  FAILED,
  OK,
  operation,
  owner,
  proposalOf,
  query,
  request,
  SNAPSHOT,
  START,
  TOOL,
  UNAVAILABLE,
  UNKNOWN,
  verdict,
} from "./ledger-world.js";

/** What both ledgers share, and what the test keeps of their common answers. */
interface Model {
  readonly memory: Ledger;
  readonly clock: { now: number };
  readonly life: Map<string, "gone" | "unknown">;
  readonly questions: Asked[];
  readonly begun: Map<Digest, number>;
  readonly sequence: { next: number };
}

type Real = Ledger;

/** A step: the same call on both ledgers; equal answers, which the model may learn from. */
class Step implements fc.AsyncCommand<Model, Real> {
  constructor(
    private readonly name: string,
    private readonly call: (ledger: Ledger, model: Model) => Promise<unknown>,
    private readonly learn: (answer: unknown, model: Model) => void = () => undefined,
  ) {}
  check = () => true;
  async run(model: Model, real: Real): Promise<void> {
    const expected = await this.call(model.memory, model);
    expect(await this.call(real, model)).toEqual(expected);
    this.learn(expected, model);
  }
  toString = () => this.name;
}

const threads = fc.constantFrom("t1", "t2");
const owners = fc.constantFrom("a", "b");
const outcomes = fc.constantFrom<Outcome>(OK, FAILED, UNKNOWN, UNAVAILABLE);
const haltScopes = fc.constantFrom("thread" as const, "server" as const);

/** Few enough that sequences meet again. Whether a call is a write is fixed by its index. */
const calls: fc.Arbitrary<Operation> = fc
  .record({
    proposalId: fc.constantFrom("p1", "p2", "p3"),
    index: fc.nat(2),
    n: fc.nat(1),
    decision: fc.constantFrom("allow" as const, "allow" as const, "ask" as const, "deny" as const),
  })
  .map(({ n, ...call }) => operation({ ...call, effect: call.index === 2 ? "read" : "write", args: { n } }));

const places = fc.record({
  threadId: threads,
  turnId: fc.constantFrom("turn-1", "turn-2"),
  ledgerSeq: fc.nat(4),
  haltScope: haltScopes,
  owner: owners.map(owner),
  repeat: fc.constantFrom("ask" as const, "allow" as const, "deny" as const),
});

const steps: fc.Arbitrary<fc.AsyncCommand<Model, Real>>[] = [
  fc.tuple(calls, threads).map(
    ([call, threadId]) =>
      new Step(`propose ${call.proposalId} in ${threadId}`, (ledger, { clock }) => {
        const proposal = proposalOf([call], { threadId });
        const record = {
          requestId: `r-${call.proposalId}-${threadId}`,
          threadId,
          turnId: "turn-1",
          snapshotId: SNAPSHOT,
        };
        return ledger.propose({
          ...record,
          tools: [],
          startedAt: clock.now - 5,
          endedAt: clock.now,
          final: false,
          proposal,
        });
      }),
  ),
  fc.tuple(calls, threads, fc.subarray(["x", "y"]), fc.constantFrom(1_000, 100_000)).map(
    ([call, threadId, seen, ttlMs]) =>
      new Step(
        `ask about ${call.id.slice(0, 6)} in ${threadId}`,
        (ledger, { sequence }) => ledger.ask([asking(call, threadId, seen, ttlMs, sequence.next)]),
        (asked, model) => {
          model.questions.push(...(asked as Asked[]));
          model.sequence.next += 1;
        },
      ),
  ),
  fc
    .tuple(fc.nat(), fc.constantFrom("approve" as const, "reject" as const), fc.option(fc.constantFrom("mac", "other")))
    .map(
      ([which, type, supersedes]) =>
        new Step(`${type} a question`, async (ledger, { questions, clock }) => {
          const asked = questions[which % Math.max(1, questions.length)];
          if (!asked) return undefined;
          const given = verdict(asked, { type, at: clock.now, mac: supersedes === null ? "mac" : "newer" });
          return ledger.answer([{ verdict: given, ...(supersedes === null ? {} : { supersedes }) }]);
        }),
    ),
  fc.tuple(fc.nat(), calls).map(
    ([which, call]) =>
      new Step(
        "edit a question",
        async (ledger, { questions, clock, sequence }) => {
          const asked = questions[which % Math.max(1, questions.length)];
          if (!asked) return undefined;
          const wanted = asking(call, asked.request.threadId, [], 100_000, sequence.next);
          const approval = verdict({
            request: { ...asked.request, approvalId: wanted.approvalId, operationId: call.id },
          });
          const edit = { request: wanted, verdict: { ...approval, argumentsDigest: call.argumentsDigest } };
          return ledger.answer([{ verdict: verdict(asked, { type: "edit", at: clock.now }), edit }]);
        },
        (_, model) => {
          model.sequence.next += 1;
        },
      ),
  ),
  fc.tuple(fc.array(calls, { minLength: 1, maxLength: 3 }), places, fc.constantFrom("mac", "newer")).map(
    ([operations, place, mac]) =>
      new Step(`claim ${operations.map(({ id }) => id.slice(0, 6))} in ${place.threadId}`, async (ledger) => {
        const asked = await ledger.asked(operations.map(({ id }) => id));
        const verdicts = asked.map((one) => verdict(one, { mac: one.verdict?.mac ?? mac }));
        return ledger.claim(batch(operations, { ...place, verdicts }));
      }),
  ),
  calls.map(
    (call) =>
      new Step(
        `begin ${call.id.slice(0, 6)}`,
        async (ledger) => ledger.begin(call.id, (await ledger.row(call.id))?.fence ?? 0),
        (answer, { begun }) => {
          if ((answer as { kind: string }).kind === "dispatching") begun.set(call.id, (begun.get(call.id) ?? 0) + 1);
          if (call.effect === "write") expect(begun.get(call.id) ?? 0).toBeLessThanOrEqual(1); // G6
        },
      ),
  ),
  fc.tuple(calls, outcomes, fc.boolean(), fc.nat(1)).map(
    ([call, outcome, late, behind]) =>
      new Step(`settle ${call.id.slice(0, 6)} ${outcome.status}`, async (ledger) => {
        const row = await ledger.row(call.id);
        const fence = (row?.fence ?? 0) - behind;
        const settlement = { operationId: call.id, fence, outcome, sent: row?.sent ?? false };
        return late ? ledger.settleLate(settlement) : ledger.settle(settlement);
      }),
  ),
  fc
    .tuple(calls, places, fc.constantFrom("denied" as const, "budget" as const, "person" as const))
    .map(
      ([call, { threadId, turnId }, reason]) =>
        new Step(`refuse ${call.id.slice(0, 6)} in ${threadId}`, (ledger) =>
          ledger.refuse([
            {
              operation: call,
              threadId,
              turnId,
              scope: "local",
              toolDigest: TOOL,
              outcome: rejected(reason, "host", "no"),
            },
          ]),
        ),
    ),
  fc
    .tuple(calls, fc.constantFrom("happened" as const, "did_not_happen" as const, "leave" as const))
    .map(([call, type]) => new Step(`resolve ${type}`, (ledger) => ledger.resolve(call.id, type, { by: "someone" }))),
  fc.boolean().map((reads) => new Step("sweep", (ledger) => ledger.sweep({ reads }))),
  threads.map((threadId) => new Step("unknowns", (ledger) => ledger.unknowns(threadId))),
  owners.map((instance) => new Step(`renew ${instance}`, (ledger) => ledger.renew(owner(instance), 10_000))),
  fc.tuple(fc.array(calls, { maxLength: 2 }), places).map(
    ([writes, place]) =>
      new Step("standing", (ledger) =>
        ledger.standing(
          query(
            writes.filter((one) => one.effect === "write"),
            place,
          ),
        ),
      ),
  ),
  fc.constantFrom(1, 900, 20_000, 59_000, 70_000, -50_000).map(
    (ms) =>
      new Step(
        `clock ${ms}`,
        (ledger) => ledger.openRequests(),
        (_, { clock }) => {
          clock.now += ms;
        },
      ),
  ),
  fc.tuple(owners, fc.constantFrom("gone" as const, "unknown" as const, "alive" as const)).map(
    ([instance, is]) =>
      new Step(
        `${instance} is ${is}`,
        (ledger) => ledger.threads(),
        (_, { life }) => {
          if (is === "alive") life.delete(instance);
          else life.set(instance, is);
        },
      ),
  ),
];

function asking(call: Operation, threadId: string, seen: string[], ttlMs: number, n: number): NewRequest {
  return request(call, { approvalId: `approval-${n}`, threadId, seen: seen.map((name) => sha256(name)), ttlMs });
}

async function everything(ledger: Ledger): Promise<unknown> {
  return {
    threads: await ledger.threads(),
    operations: [await ledger.operations("t1"), await ledger.operations("t2"), await ledger.operations("t1", "turn-2")],
    open: await ledger.openRequests(),
    unknowns: await ledger.unknowns(),
    standing: await ledger.standing(query([], { haltScope: "server" })),
    proposals: [await ledger.proposal("p1"), await ledger.proposal("p2"), await ledger.proposal("p3")],
    requests: await ledger.modelRequests("t1", "turn-1"),
  };
}

describe("ledger adapters", () => {
  it("answer alike whatever is asked of them in whatever order, and begin no write twice (L1, L6, G6)", async () => {
    await fc.assert(
      fc.asyncProperty(fc.commands(steps, { maxCommands: 40, size: "max" }), async (commands) => {
        const clock = { now: START };
        const life = new Map<string, "gone" | "unknown">();
        const deps: LedgerDeps = { now: () => clock.now, liveness: (of) => life.get(of.instance) ?? "alive" };
        const memory = createMemoryLedger(deps);
        const sqlite = createSqliteLedger(":memory:", deps);
        const model = { memory, clock, life, questions: [], begun: new Map(), sequence: { next: 1 } };
        await fc.asyncModelRun(() => ({ model, real: sqlite }), commands);
        expect(await everything(sqlite)).toEqual(await everything(memory));
        for (const threadId of ["t1", "t2"]) {
          const numbers = (await sqlite.operations(threadId)).flatMap((row) => row.seq ?? []);
          expect(new Set(numbers).size).toBe(numbers.length); // L5
        }
        await sqlite.close();
      }),
      { numRuns: 120 },
    );
  }, 120_000);
});
