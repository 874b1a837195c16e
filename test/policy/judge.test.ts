import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { digest, Limits, type Operation, type OperationRow, operationId } from "../../src/contracts/index.js";
import { type BatchStanding, type CallFacts, judge } from "../../src/policy/index.js";

const limits = Limits.parse({});
const quiet: BatchStanding = {
  modelRequests: 1,
  calls: 0,
  writes: 0,
  activeMs: 0,
  finalMade: false,
  rejections: [],
  unknownWrites: [],
  repeats: new Map(),
  ahead: [],
};

function operation(index: number, part: Partial<Operation> = {}): Operation {
  const args = part.arguments ?? { n: index };
  const argumentsDigest = digest(args);
  return {
    id: operationId("p1", index, argumentsDigest),
    proposalId: "p1",
    index,
    callId: `c${index}`,
    alias: "mcp__s__t",
    server: "s",
    tool: "t",
    arguments: args,
    argumentsDigest,
    effect: "write",
    decision: { kind: "allow", rules: ["mcp__s__t"], reason: "allow by `mcp__s__t`" },
    ...part,
  };
}

function facts(index: number, part: Partial<CallFacts> = {}, op: Partial<Operation> = {}): CallFacts {
  return { operation: operation(index, op), proposed: true, foreign: false, builtIn: false, repeat: "ask", ...part };
}

const verdicts = (
  calls: CallFacts[],
  standing: Partial<BatchStanding> = {},
  haltScope: "thread" | "server" = "thread",
) =>
  judge(calls, { ...quiet, ...standing }, limits, haltScope).map((one) =>
    one.kind === "refuse" ? `refuse ${one.outcome.reason} by ${one.outcome.by}` : one.kind,
  );

const UNKNOWN = { operationId: "a".repeat(64), alias: "mcp__s__t", state: "result_unknown", server: "s" };
const ask = { decision: { kind: "ask" as const, rules: [], reason: "no rule names this tool" } };
const deny = { decision: { kind: "deny" as const, rules: ["x"], reason: "deny by `x`" } };

describe("judge: one order for every refusal, question and permission", () => {
  test("an allowed call runs, an asked one is asked, a denied one is refused", () => {
    expect(verdicts([facts(0), facts(1, {}, ask), facts(2, {}, deny)])).toEqual([
      "run",
      "ask",
      "refuse denied by policy",
    ]);
  });

  test("the first reason that refuses decides (judge-1)", () => {
    const all = { foreign: true, unknown: { near: [] }, invalid: "bad" };
    expect(verdicts([facts(0, all, deny)])).toEqual(["refuse other_thread by host"]);
    expect(verdicts([facts(0, { ...all, foreign: false }, deny)])).toEqual(["refuse unknown_tool by host"]);
    expect(verdicts([facts(0, { invalid: "bad" }, deny)])).toEqual(["refuse invalid_arguments by schema"]);
  });

  test("a call without a proposal row is asked even where a rule allows it (judge-2, G9)", () => {
    expect(verdicts([facts(0, { proposed: false })])).toEqual(["ask"]);
    expect(verdicts([facts(0, { proposed: false }, deny)])).toEqual(["refuse denied by policy"]);
  });

  test("an identical earlier write asks whatever policy allows, and names it (judge-3)", () => {
    const call = facts(0);
    const earlier = { operationId: "a".repeat(64), alias: "mcp__s__t", state: "ok" };
    const repeats = new Map([[call.operation.id, [earlier]]]);
    const [judged] = judge([call], { ...quiet, repeats }, limits, "thread");
    expect(judged).toMatchObject({ kind: "ask", earlier: [earlier] });
    expect(verdicts([{ ...call, repeat: "allow" }], { repeats })).toEqual(["run"]);
    expect(verdicts([{ ...call, repeat: "deny" }], { repeats })).toEqual(["refuse denied by policy"]);
  });

  test("writes this branch has not seen ask too, also under repeat: allow; a yes covers only what it was shown (judge-3)", () => {
    const first = { operationId: "a".repeat(64), alias: "mcp__s__t", state: "ok" };
    const second = { ...first, operationId: "b".repeat(64) };
    expect(verdicts([facts(0, { repeat: "allow" })], { ahead: [first] })).toEqual(["ask"]);
    const yes = (seen: string[]) => facts(0, { question: { seen, approved: true, expired: false } });
    expect(verdicts([yes([first.operationId])], { ahead: [first] })).toEqual(["run"]);
    expect(verdicts([yes([first.operationId])], { ahead: [first, second] })).toEqual(["ask"]);
    expect(verdicts([facts(0, {}, { effect: "read" })], { ahead: [first] })).toEqual(["run"]);
  });

  test("the second identical write of one message is asked about, the first is not", () => {
    const same = { arguments: { amount: 5 } };
    expect(verdicts([facts(0, {}, same), facts(1, {}, same), facts(2, {}, { arguments: { amount: 6 } })])).toEqual([
      "run",
      "ask",
      "run",
    ]);
  });

  // A tool message promised that a call would run once it was approved, although its question had expired.
  test("a question that expired unanswered refuses the call (judge-4)", () => {
    const question = { seen: [], approved: false, expired: true };
    const [judged] = judge([facts(0, { question }, ask)], quiet, limits, "thread");
    expect(judged).toMatchObject({
      kind: "refuse",
      outcome: {
        status: "rejected",
        reason: "expired",
        by: "expiry",
        message: "nobody answered in time; it was not run",
      },
    });
  });

  test("while a write is unknown writes are halted without asking, reads go on (G7)", () => {
    const unknownWrites = [{ ...UNKNOWN, own: true }];
    const calls = [facts(0), facts(1, {}, { ...ask, server: "other" }), facts(2, {}, { effect: "read" })];
    expect(verdicts(calls, { unknownWrites })).toEqual(["refuse halted by halt", "refuse halted by halt", "run"]);
  });

  test.each([
    ["thread", true, ["halted", "halted"]],
    ["thread", false, ["run", "run"]],
    ["server", true, ["halted", "halted"]],
    ["server", false, ["halted", "run"]],
  ] as const)(
    "under haltScope %s an unknown write whose own is %s: a write to its server and one to another are %j (judge-5)",
    (haltScope, own, expected) => {
      const calls = [facts(0), facts(1, {}, { server: "other" })];
      const judged = verdicts(calls, { unknownWrites: [{ ...UNKNOWN, own }] }, haltScope);
      expect(judged.map((one) => (one === "refuse halted by halt" ? "halted" : one))).toEqual(expected);
    },
  );

  test("an unknown write never halts itself (judge-5)", () => {
    const [call, other] = [facts(0), facts(1, {}, { server: "other" })];
    const itself = { ...UNKNOWN, operationId: call.operation.id, own: true };
    expect(verdicts([call, other], { unknownWrites: [itself] }, "server")).toEqual(["run", "refuse halted by halt"]);
  });

  test("what a person rejected in this turn is not asked again; after three rejections no write is", () => {
    const call = facts(0, {}, ask);
    const { server, tool, argumentsDigest } = call.operation as {
      server: string;
      tool: string;
      argumentsDigest: string;
    };
    expect(verdicts([call], { rejections: [{ server, tool, argumentsDigest }] })).toEqual([
      "refuse repeated_rejection by person",
    ]);
    const others = [1, 2, 3].map((n) => ({ server, tool, argumentsDigest: digest({ other: n }) }));
    expect(verdicts([call, facts(1, {}, { ...ask, effect: "read" })], { rejections: others })).toEqual([
      "refuse repeated_rejection by person",
      "ask",
    ]);
    expect(verdicts([call], { rejections: others.slice(1) })).toEqual(["ask"]);
  });

  test("calls pay in order; built-ins are free; refused ones do not pay (budget-1)", () => {
    const calls = [facts(0, {}, deny), facts(1, { builtIn: true }, { effect: "read" }), facts(2), facts(3)];
    expect(judge(calls, { ...quiet, calls: 24 }, limits, "thread").map((one) => one.kind)).toEqual([
      "refuse",
      "run",
      "run",
      "refuse",
    ]);
    expect(verdicts([facts(0), facts(1, {}, { effect: "read" })], { writes: 10 })).toEqual([
      "refuse budget by budget",
      "run",
    ]);
    expect(verdicts([facts(0)], { modelRequests: 50 })).toEqual(["refuse budget by budget"]);
    expect(verdicts([facts(0)], { activeMs: 600_001 })).toEqual(["refuse budget by budget"]);
  });

  test("a settled row is answered from the ledger; an unavailable read may run again, a write only if it was never dispatched", () => {
    const settled = (status: string, effect: "read" | "write", sent: boolean): CallFacts => {
      const op = operation(0, { effect });
      const row = {
        operation: op,
        state: "settled",
        outcome: { status, reason: "not_sent", by: "host", message: "" },
        sent,
      } as OperationRow;
      return { ...facts(0, { row }), operation: op };
    };
    expect(verdicts([settled("ok", "write", true)])).toEqual(["settled"]);
    expect(verdicts([settled("unavailable", "read", true)])).toEqual(["run"]);
    expect(verdicts([settled("unavailable", "write", false)])).toEqual(["run"]);
    expect(verdicts([settled("unavailable", "write", true)])).toEqual(["settled"]);
  });

  test("it is total and gives every call exactly one judgement", () => {
    const call = fc.record({
      proposed: fc.boolean(),
      foreign: fc.boolean(),
      builtIn: fc.boolean(),
      repeat: fc.constantFrom("allow" as const, "ask" as const, "deny" as const),
      effect: fc.constantFrom("read" as const, "write" as const),
      kind: fc.constantFrom("allow" as const, "ask" as const, "deny" as const),
      amount: fc.integer({ min: 0, max: 2 }),
      unknown: fc.boolean(),
    });
    fc.assert(
      fc.property(
        fc.array(call, { maxLength: 40 }),
        fc.integer({ min: 0, max: 30 }),
        fc.boolean(),
        (made, calls, halted) => {
          const batch = made.map((one, index) =>
            facts(
              index,
              {
                proposed: one.proposed,
                foreign: one.foreign,
                builtIn: one.builtIn,
                repeat: one.repeat,
                ...(one.unknown ? { unknown: { near: [] } } : {}),
              },
              {
                effect: one.effect,
                arguments: { amount: one.amount },
                decision: { kind: one.kind, rules: [], reason: "" },
              },
            ),
          );
          const unknownWrites = halted
            ? [{ operationId: "f".repeat(64), alias: "x", state: "result_unknown", server: "s", own: true }]
            : [];
          const judged = judge(batch, { ...quiet, calls, unknownWrites }, limits, "thread");
          expect(judged.map((one) => one.operation.index)).toEqual(batch.map((one) => one.operation.index));
          for (const [index, one] of judged.entries()) {
            const facts = batch[index] as CallFacts;
            if (one.kind !== "run") continue;
            expect([facts.foreign, facts.unknown, facts.proposed, facts.operation.decision?.kind]).toEqual([
              false,
              undefined,
              true,
              "allow",
            ]);
            expect(halted && facts.operation.effect === "write").toBe(false);
          }
        },
      ),
    );
  });
});
