// Steps for sequences on the port: each is one call, made on two ledgers that must answer alike.

import fc from "fast-check";
import { expect } from "vitest";
import { type Digest, type Operation, type Outcome, rejected, sha256 } from "../../src/contracts/index.js";
import type { Asked, ClaimResult, Ledger, NewRequest } from "../../src/ledger/port.js";
import {
  ACTS,
  batch,
  FAILED,
  OK,
  operation,
  owner,
  proposalOf,
  query,
  request,
  SNAPSHOT,
  TOOL,
  UNAVAILABLE,
  UNKNOWN,
  verdict,
} from "./ledger-world.js";

/** The ledger to compare with, what both share, and what the test keeps of their common answers. */
export interface Model {
  readonly ledger: Ledger;
  readonly clock: { now: number };
  readonly steady: { now: number };
  readonly life: Map<string, "gone" | "here" | "unknown">;
  readonly questions: Asked[];
  /** Operations in the order they were claimed: those worth going on with. */
  readonly claimed: Digest[];
  /** How often each was begun. */
  readonly begun: Map<Digest, number>;
  /** So that every question has an id of its own. */
  readonly next: { id: number };
}

/** The same call on both ledgers; the model learns from their answer. */
class Step implements fc.AsyncCommand<Model, Ledger> {
  constructor(
    private readonly name: string,
    private readonly call: (ledger: Ledger, model: Model) => Promise<unknown>,
    private readonly learn: (answer: unknown, model: Model) => void = () => undefined,
  ) {}
  check = () => true;
  async run(model: Model, real: Ledger): Promise<void> {
    const expected = await this.call(model.ledger, model);
    expect(await this.call(real, model)).toEqual(expected);
    this.learn(expected, model);
  }
  toString = () => this.name;
}

/** Mostly one thread, so that what happens meets what happened. */
const threads = fc.constantFrom("t1", "t1", "t1", "t1", "t1", "t2");
const owners = fc.constantFrom("a", "b");
const outcomes = fc.constantFrom<Outcome>(OK, FAILED, UNKNOWN, UNAVAILABLE, UNAVAILABLE);

/** Few calls, for the same reason. Whether one is a write is fixed by its index. */
const calls: fc.Arbitrary<Operation> = fc
  .record({
    proposalId: fc.constantFrom("p1", "p2", "p3"),
    index: fc.nat(2),
    n: fc.nat(1),
    decision: fc.constantFrom<("allow" | "ask" | "deny")[]>("allow", "allow", "allow", "allow", "ask", "ask", "deny"),
  })
  .map(({ n, ...call }) => operation({ ...call, effect: call.index === 2 ? "read" : "write", args: { n } }));

const places = fc.record({
  threadId: threads,
  turnId: fc.constantFrom("turn-1", "turn-2"),
  ledgerSeq: fc.constantFrom(0, 9, 9, 9),
  haltScope: fc.constantFrom<("thread" | "server")[]>("thread", "server"),
  owner: owners.map(owner),
  repeat: fc.constantFrom<("ask" | "allow" | "deny")[]>("ask", "allow", "allow", "deny"),
});

const propose = fc.tuple(calls, threads).map(([call, threadId]) => {
  const proposal = proposalOf([call], { threadId });
  const record = { requestId: `r-${call.proposalId}-${threadId}`, threadId, turnId: "turn-1", snapshotId: SNAPSHOT };
  return new Step(`propose ${call.proposalId} in ${threadId}`, (ledger, { clock: { now } }) =>
    ledger.propose({ ...record, tools: [], startedAt: now - 5, endedAt: now, final: false, proposal }),
  );
});

const ask = fc.tuple(calls, threads, fc.boolean(), fc.constantFrom(1_000, 100_000)).map(
  ([call, threadId, shows, ttlMs]) =>
    new Step(
      `ask about ${short(call)} in ${threadId}`,
      (ledger, model) => ledger.ask([question(call, threadId, shows ? model.claimed : [], ttlMs, model)]),
      (asked, model) => {
        model.questions.push(...(asked as Asked[]));
        model.next.id += 1;
      },
    ),
);

const answer = fc
  .tuple(fc.nat(2), fc.constantFrom<("approve" | "reject")[]>("approve", "approve", "reject"), fc.boolean())
  .map(
    ([back, type, again]) =>
      new Step(`${type} a question`, async (ledger, { questions, clock }) => {
        const asked = questions.at(-1 - back);
        if (!asked) return undefined;
        const given = verdict(asked, { type, at: clock.now, mac: again ? "newer" : "mac" });
        return ledger.answer([{ verdict: given, ...(again ? { supersedes: "mac" } : {}) }]);
      }),
  );

const edit = fc.tuple(fc.nat(2), calls).map(
  ([back, call]) =>
    new Step(
      "edit a question",
      async (ledger, model) => {
        const asked = model.questions.at(-1 - back);
        if (!asked) return undefined;
        const wanted = question(call, asked.request.threadId, [], 100_000, model);
        const approval = verdict({
          request: { ...asked.request, approvalId: wanted.approvalId, operationId: call.id },
        });
        const put = { request: wanted, verdict: { ...approval, argumentsDigest: call.argumentsDigest } };
        return ledger.answer([{ verdict: verdict(asked, { type: "edit", at: model.clock.now }), edit: put }]);
      },
      (_, model) => {
        model.next.id += 1;
      },
    ),
);

const claim = fc.tuple(fc.array(calls, { minLength: 1, maxLength: 3 }), places, fc.boolean()).map(
  ([operations, place, honest]) =>
    new Step(
      `claim ${operations.map(short)} in ${place.threadId}`,
      async (ledger) => {
        const asked = await ledger.asked(operations.map(({ id }) => id));
        const verdicts = asked.map((one) => verdict(one, { mac: honest ? (one.verdict?.mac ?? "") : "forged" }));
        return ledger.claim(batch(operations, { ...place, verdicts }));
      },
      (result, { claimed }) => {
        const claims = (result as ClaimResult).kind === "claims" ? (result as { claims: ClaimList }).claims : [];
        claimed.push(...claims.filter(({ kind }) => kind === "claimed").map(({ operationId }) => operationId));
      },
    ),
);
type ClaimList = Extract<ClaimResult, { kind: "claims" }>["claims"];

const begin = fc.constantFrom(0, 0, 1, 2).map(
  (back) =>
    new Step(
      "begin",
      async (ledger, model) => {
        const id = recent(model, back);
        return { id, ...(await ledger.begin(id, (await ledger.row(id))?.fence ?? 0, ACTS)) };
      },
      (result, { begun }) => {
        const { id, kind } = result as { id: Digest; kind: string };
        if (kind === "dispatching") begun.set(id, (begun.get(id) ?? 0) + 1);
      },
    ),
);

const settle = fc
  .tuple(fc.constantFrom(0, 0, 1, 2), outcomes, fc.constantFrom("late", "now", "now"), fc.constantFrom(0, 0, 0, 1))
  .map(
    ([back, outcome, when, behind]) =>
      new Step(`settle ${when} ${outcome.status}`, async (ledger, model) => {
        const id = recent(model, back);
        const row = await ledger.row(id);
        const fence = (row?.fence ?? 0) - behind;
        const ran = row?.state !== "claimed" || outcome.status === "rejected" || outcome.status === "unavailable";
        const fit = ran ? outcome : UNAVAILABLE; // nothing that was never sent can have ended in another way
        const settlement = { operationId: id, fence, outcome: fit, sent: row?.sent ?? false };
        return when === "late" ? ledger.settleLate(settlement) : ledger.settle(settlement);
      }),
  );

const refuse = fc.tuple(calls, places, fc.constantFrom("denied" as const, "budget" as const, "person" as const)).map(
  ([call, { threadId, turnId }, reason]) =>
    new Step(`refuse ${short(call)} in ${threadId}`, (ledger) => {
      const outcome = rejected(reason, "host", "no");
      return ledger.refuse([{ operation: call, threadId, turnId, scope: "local", toolDigest: TOOL, outcome }]);
    }),
);

const resolve = fc
  .tuple(fc.nat(2), fc.constantFrom("happened" as const, "did_not_happen" as const, "leave" as const))
  .map(
    ([back, type]) =>
      new Step(`resolve ${type}`, (ledger, model) => ledger.resolve(recent(model, back), type, { by: "someone" })),
  );

const readBack = fc
  .tuple(fc.nat(2), fc.constantFrom("happened" as const, "did_not_happen" as const, "nothing" as const))
  .map(
    ([back, found]) =>
      new Step(`read back ${found}`, (ledger, model) =>
        ledger.readBack(recent(model, back), { tool: "look", found, detail: "said" }),
      ),
  );

const standing = fc.tuple(fc.array(calls, { maxLength: 2 }), places).map(([some, place]) => {
  const writes = some.filter((one) => one.effect === "write");
  return new Step("standing", (ledger) => ledger.standing(query(writes, place)));
});

/** What the gate does just before a claim. A claim of the same calls may follow, and something else before it. */
const look = fc.tuple(fc.array(calls, { minLength: 1, maxLength: 3 }), places).map(([some, place]) => {
  const { turnId, writes, ...rest } = query(some, place);
  const plan = {
    turnId,
    writes: writes.filter((_, n) => some[n]?.effect === "write"),
    operationIds: some.map(({ id }) => id),
  };
  return new Step(`look at ${some.map(short)} in ${place.threadId}`, async (ledger) => {
    const { look: found } = await ledger.look(rest, () => plan);
    return found;
  });
});

/** The wall clock goes on, or is set; where time `passes`, so does the steady clock. */
const time = (passes: boolean, ...milliseconds: number[]) =>
  fc.constantFrom(...milliseconds).map(
    (ms) =>
      new Step(
        `${passes ? "time" : "clock"} ${ms}`,
        (ledger) => ledger.openRequests(),
        (_, { clock, steady }) => {
          clock.now += ms;
          if (passes) steady.now += ms;
        },
      ),
  );
const forward = time(true, 1, 900, 20_000, 59_000, 70_000);

const fate = fc
  .tuple(owners, fc.constantFrom("gone" as const, "here" as const, "unknown" as const, "alive" as const))
  .map(
    ([instance, is]) =>
      new Step(
        `${instance} is ${is}`,
        (ledger) => ledger.threads(),
        (_, { life }) => {
          if (is === "alive") life.delete(instance);
          else life.set(instance, is);
        },
      ),
  );

/** Any step but a clock that is set back; those of an operation's own way more often than the rest. */
export const stepsForward: fc.Arbitrary<fc.AsyncCommand<Model, Ledger>>[] = [
  ...[claim, claim, claim, begin, begin, begin, settle, settle, ask, answer],
  ...[propose, edit, refuse, resolve, readBack, standing, look, look, forward, fate, time(false, 20_000)],
  fc.boolean().map((reads) => new Step("sweep", (ledger) => ledger.sweep({ reads }))),
  threads.map((threadId) => new Step("unknowns", (ledger) => ledger.unknowns(threadId))),
  owners.map((instance) => new Step(`renew ${instance}`, (ledger) => ledger.renew(owner(instance), 10_000))),
];

export const steps = [...stepsForward, time(false, -50_000)];

function short(call: Operation): string {
  return call.id.slice(0, 6);
}

function recent({ claimed }: Model, back: number): Digest {
  return claimed.at(-1 - back) ?? sha256("nothing was claimed");
}

function question(
  call: Operation,
  threadId: string,
  seen: readonly Digest[],
  ttlMs: number,
  { next }: Model,
): NewRequest {
  return request(call, { approvalId: `approval-${next.id}`, threadId, seen: [...new Set(seen)], ttlMs });
}
