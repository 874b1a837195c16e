// Read-set: what the rule behind each of the ledger's methods looks at, from what the method is given. Each is made only
// when a store asks for it.

import type { Digest } from "../contracts/index.js";
import type {
  Answered,
  ClaimBatch,
  LookPlan,
  LookQuery,
  ModelRequestRecord,
  NewRequest,
  Refusal,
  StandingQuery,
} from "./port.js";
import type { ReadSet } from "./tables.js";
import { foreignId } from "./transaction.js";

type Reads = () => ReadSet;

export const nothing: Reads = () => ({});
export const list: Reads = () => ({ list: true });
export const snapshot =
  (id: Digest): Reads =>
  () => ({ snapshot: id });
export const thread =
  (threadId: string): Reads =>
  () => ({ threads: [threadId] });
export const enter =
  (threadId: string, marked: boolean): Reads =>
  () => ({ threads: [threadId], seals: threadId, ...(marked ? { card: true } : {}) });
export const card: Reads = () => ({ card: true });
export const wholeThread =
  (threadId: string): Reads =>
  () => ({ threads: [threadId], history: { threadId }, requests: { threadId }, seals: threadId, card: true });
export const operation =
  (operationId: Digest): Reads =>
  () => ({ operations: [operationId] });
export const settling =
  (operationId: Digest, marked: boolean): Reads =>
  () => ({ operations: [operationId], ...(marked ? { card: true } : {}) });
export const operations =
  (operationIds: readonly Digest[]): Reads =>
  () => ({ operations: operationIds });
export const proposal =
  (proposalId: string): Reads =>
  () => ({ proposals: [proposalId] });
export const request =
  (approvalId: string): Reads =>
  () => ({ approvals: [approvalId] });
export const requests =
  (threadId: string, turnId: string): Reads =>
  () => ({ requests: { threadId, turnId } });
export const begin =
  (operationId: Digest, marked: boolean): Reads =>
  () => ({ operations: [operationId], everywhere: "halting", ...(marked ? { card: true } : {}) });

export const history =
  (threadId: string, turnId: string | undefined): Reads =>
  () => ({
    history: { threadId, ...(turnId === undefined ? {} : { turnId }) },
  });

/** What is open in a thread, or in all. */
export const open =
  (threadId: string | undefined): Reads =>
  () =>
    threadId === undefined ? { everywhere: "always" } : { threads: [threadId] };

export const questions =
  (threadId: string | undefined): Reads =>
  () => ({
    questions: threadId === undefined ? {} : { threadId },
  });

export const propose =
  ({ threadId, requestId, proposal: made }: ModelRequestRecord): Reads =>
  () => ({
    threads: [threadId],
    request: requestId,
    ...(made ? { proposals: [made.proposalId] } : {}),
  });

export const standing =
  ({ threadId, turnId, haltScope, writes, ledgerSeq }: StandingQuery): Reads =>
  () => ({
    threads: [threadId],
    turn: { threadId, turnId },
    writes: { threadId, identical: writes, after: ledgerSeq },
    ...(haltScope === "server" ? { everywhere: "always" } : {}),
  });

/** Whatever the plan names must be among what is loaded: first the plan that the message suggests, then the true one. */
export const look =
  (query: LookQuery, planned: () => LookPlan): Reads =>
  () => {
    const plan = planned();
    const operations = plan.operationIds.flatMap((id) => [id, foreignId(id, query)]); // all that the claim looks at, too
    const named = { proposals: [query.proposalId], operations };
    return { ...standing({ ...query, ...plan })(), ...named };
  };

export const ask =
  (asked: readonly NewRequest[]): Reads =>
  () => ({
    threads: asked.map(({ threadId }) => threadId),
    operations: asked.map((one) => one.operation.id),
    proposals: asked.map((one) => one.operation.proposalId),
  });

export const answer =
  (answers: readonly Answered[], marked: boolean): Reads =>
  () => ({
    ...(marked ? { card: true } : {}),
    approvals: answers.map(({ verdict }) => verdict.approvalId),
    operations: answers.flatMap(({ edit }) => (edit ? [edit.request.operation.id] : [])),
  });

export const claim =
  (batch: ClaimBatch): Reads =>
  () => {
    const calls = batch.operations.map((one) => one.operation);
    return {
      threads: [batch.threadId],
      operations: calls.flatMap(({ id }) => [id, foreignId(id, batch)]),
      proposals: [...new Set([batch.proposalId, ...calls.map(({ proposalId }) => proposalId)])],
      writes: {
        threadId: batch.threadId,
        identical: calls.filter(({ effect }) => effect === "write"),
        after: batch.ledgerSeq,
      },
      ...(batch.haltScope === "server" ? { everywhere: "always" } : {}),
    };
  };

export const refuse =
  (refusals: readonly Refusal[]): Reads =>
  () => ({
    threads: refusals.map(({ threadId }) => threadId),
    operations: refusals.flatMap((refusal) => [refusal.operation.id, foreignId(refusal.operation.id, refusal)]),
    proposals: refusals.map((refusal) => refusal.operation.proposalId),
  });
