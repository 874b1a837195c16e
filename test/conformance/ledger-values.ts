// Arbitrary nouns for properties: anything the contracts allow, within the sizes a test can afford.

import fc from "fast-check";
import {
  type ClaimedRow,
  type DispatchingRow,
  type Operation,
  type OperationRow,
  type Outcome,
  OutcomeBy,
  OutcomeStatus,
  type Owner,
  type ProposedRow,
  ReadBackFound,
  RejectedReason,
  SettledReason,
  type SettledRow,
  type Verdict,
} from "../../src/contracts/index.js";
import type { ModelRequestRecord } from "../../src/ledger/port.js";
import type { Question } from "../../src/ledger/tables.js";

const hex = fc.constantFrom(..."0123456789abcdef");
export const digests = fc.array(hex, { minLength: 64, maxLength: 64 }).map((digits) => digits.join(""));
/** Text as it may come from anywhere: any plane, NUL, lone surrogates, and what looks like a digest. */
const text = fc.oneof(
  fc.string({ unit: "binary", maxLength: 12 }),
  digests,
  fc.constantFrom("a\0b", "\ud800", "x\udfffy", "' OR 1=1 --", "", "null"),
);
const time = fc.integer({ min: 0, max: 4_000_000_000_000 });
/** JSON as it is after it was read: without -0, which has no canonical form of its own. */
const json = fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.parse(JSON.stringify(value)) as unknown);
const jsonObject = fc.dictionary(
  fc.string({ maxLength: 6 }).filter((key) => key !== "__proto__"),
  json,
  { maxKeys: 4 },
);

/** An object whose optional parts are there or not, never undefined. */
function some<T extends object>(
  shape: { [K in keyof T]-?: fc.Arbitrary<Exclude<T[K], undefined>> },
  required: (keyof T)[],
) {
  return fc.record(shape, { requiredKeys: required, noNullPrototype: true }) as unknown as fc.Arbitrary<T>;
}

export const owners: fc.Arbitrary<Owner> = some<Owner>(
  { machine: text, pid: fc.nat(), started: text, instance: text },
  ["machine", "pid", "started", "instance"],
);

export const operations: fc.Arbitrary<Operation> = some<Operation>(
  {
    id: digests,
    proposalId: text,
    index: fc.nat(200),
    callId: text,
    alias: text,
    server: fc.option(text),
    tool: fc.option(text),
    arguments: jsonObject,
    argumentsDigest: digests,
    effect: fc.constantFrom("read", "write"),
    decision: fc.option(
      fc.record(
        { kind: fc.constantFrom("allow", "ask", "deny"), rules: fc.array(text), reason: text },
        { noNullPrototype: true },
      ),
    ),
    replaces: digests,
  },
  [
    "id",
    "proposalId",
    "index",
    "callId",
    "alias",
    "server",
    "tool",
    "arguments",
    "argumentsDigest",
    "effect",
    "decision",
  ],
);

const outcomes: fc.Arbitrary<Outcome> = some<Outcome>(
  {
    status: fc.constantFrom(...OutcomeStatus.options),
    reason: fc.constantFrom(...RejectedReason.options, ...SettledReason.options),
    by: fc.constantFrom(...OutcomeBy.options),
    message: text,
    evidence: some<NonNullable<Outcome["evidence"]>>(
      {
        attempted: fc.boolean(),
        how: text,
        httpStatus: fc.nat(599),
        bytes: fc.nat(),
        late: fc.boolean(),
        detail: text,
        readBack: fc.record(
          { tool: text, found: fc.constantFrom(...ReadBackFound.options), detail: text, at: time },
          { noNullPrototype: true },
        ),
      },
      ["attempted", "how"],
    ),
  },
  ["status", "reason", "by", "message"],
);

const everyRow = {
  operation: operations,
  threadId: text,
  scope: text,
  turnId: text,
  toolDigest: fc.option(digests),
  fence: fc.nat(9),
  attempt: fc.nat(9),
  seq: fc.integer({ min: 1, max: 999 }),
  createdAt: time,
  asked: fc.string({ minLength: 1 }),
  seal: fc.string({ minLength: 1 }),
};
const always: (keyof ProposedRow)[] = [
  "operation",
  "threadId",
  "scope",
  "turnId",
  "toolDigest",
  "fence",
  "attempt",
  "createdAt",
  "state",
  "sent",
];
const held = { owner: owners, leaseUntil: time, leaseSteady: time };

/** Rows of every state, each with what a row of that state may have. */
export const rows: fc.Arbitrary<OperationRow> = fc.oneof(
  some<ProposedRow>(
    { ...everyRow, state: fc.constant("proposed" as const), sent: fc.constant(false as const) },
    always,
  ),
  some<ClaimedRow>(
    { ...everyRow, ...held, state: fc.constant("claimed" as const), sent: fc.constant(false as const) },
    [...always, "owner", "leaseUntil"],
  ),
  some<DispatchingRow>(
    {
      ...everyRow,
      ...held,
      state: fc.constant("dispatching" as const),
      sent: fc.constant(true as const),
      sentAt: time,
      actsUntil: time,
    },
    [...always, "owner", "leaseUntil", "sentAt"],
  ),
  some<SettledRow>(
    {
      ...everyRow,
      ...held,
      state: fc.constant("settled" as const),
      outcome: outcomes,
      result: fc.record({ ref: text, bytes: fc.nat(), sha256: digests }, { noNullPrototype: true }),
      sent: fc.boolean(),
      sentAt: time,
      actsUntil: time,
      settledAt: time,
      replacedBy: digests,
      resolution: some<NonNullable<SettledRow["resolution"]>>(
        { type: fc.constantFrom("happened", "did_not_happen", "leave"), by: text, at: time, note: text },
        ["type", "by", "at"],
      ),
    },
    [...always, "outcome", "settledAt"],
  ),
);

const verdicts: fc.Arbitrary<Verdict> = some<Verdict>(
  {
    approvalId: text,
    operationId: digests,
    threadId: text,
    scope: text,
    argumentsDigest: digests,
    toolDigest: digests,
    injects: fc.array(text, { maxLength: 2 }),
    destination: digests,
    type: fc.constantFrom("approve", "reject", "edit"),
    approver: text,
    at: time,
    expiresAt: time,
    message: text,
    mac: text,
  },
  [
    "approvalId",
    "operationId",
    "threadId",
    "scope",
    "argumentsDigest",
    "toolDigest",
    "type",
    "approver",
    "at",
    "expiresAt",
    "mac",
  ],
);

/** A question about a row, with an answer that may say something else than the question in any field. */
export function questionsAbout(
  row: OperationRow,
): fc.Arbitrary<{ question: Question; verdict: Verdict; elapsed: number }> {
  const { operation, threadId, scope } = row;
  const { id: operationId, argumentsDigest } = operation;
  return fc
    .record({
      approvalId: text,
      toolDigest: digests,
      injects: fc.option(fc.array(text, { minLength: 1, maxLength: 2 }), { nil: undefined }),
      destination: fc.option(fc.record({ text, digest: digests, moved: fc.nat() }), { nil: undefined }),
      why: text,
      seen: fc.array(digests, { maxLength: 3 }),
      at: time,
      life: fc.nat(),
    })
    .chain(({ at, life, injects, destination, ...said }) => {
      const about = {
        ...said,
        ...(injects === undefined ? {} : { injects }),
        ...(destination === undefined ? {} : { destination }),
      };
      const request = { ...about, operationId, threadId, scope, argumentsDigest, createdAt: at, expiresAt: at + life };
      const own = {
        approvalId: said.approvalId,
        operationId,
        threadId,
        scope,
        argumentsDigest,
        toolDigest: said.toolDigest,
        ...(injects === undefined ? {} : { injects: [...injects] }),
        ...(destination === undefined ? {} : { destination: destination.digest }),
      };
      return fc.record({
        question: fc.constant<Question>({ request, madeElapsed: at, consumed: false }),
        verdict: fc.oneof(
          verdicts,
          verdicts.map((one) => ({ ...one, ...own, expiresAt: at + life })),
        ),
        elapsed: time,
      });
    });
}

export const modelRequests: fc.Arbitrary<ModelRequestRecord> = some<ModelRequestRecord>(
  {
    requestId: text,
    threadId: text,
    turnId: text,
    snapshotId: digests,
    tools: fc.array(text, { maxLength: 3 }),
    startedAt: time,
    endedAt: time,
    final: fc.boolean(),
    proposal: some<NonNullable<ModelRequestRecord["proposal"]>>(
      {
        proposalId: text,
        threadId: text,
        scope: text,
        turnId: text,
        snapshotId: digests,
        calls: fc.array(
          fc.record(
            { index: fc.nat(99), callId: text, alias: text, argumentsDigest: digests },
            { noNullPrototype: true },
          ),
          { maxLength: 3 },
        ),
        seal: fc.string({ minLength: 1 }),
      },
      ["proposalId", "threadId", "scope", "turnId", "snapshotId", "calls"],
    ),
  },
  ["requestId", "threadId", "turnId", "snapshotId", "tools", "startedAt", "endedAt", "final"],
);
