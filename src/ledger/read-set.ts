// Read-set: what the rule behind each of the ledger's methods looks at, from what the method is given.

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

export function propose({ threadId, requestId, proposal }: ModelRequestRecord): ReadSet {
  return { threads: [threadId], request: requestId, ...(proposal ? { proposals: [proposal.proposalId] } : {}) };
}

export function thread(threadId: string): ReadSet {
  return { threads: [threadId] };
}

export function operation(operationId: Digest): ReadSet {
  return { operations: [operationId] };
}

export function begin(operationId: Digest): ReadSet {
  return { operations: [operationId], everywhere: "halting" };
}

export function history(threadId: string, turnId: string | undefined): ReadSet {
  return { history: { threadId, ...(turnId === undefined ? {} : { turnId }) } };
}

/** What is open in a thread, or in all. */
export function open(threadId: string | undefined): ReadSet {
  return threadId === undefined ? { everywhere: "always" } : { threads: [threadId] };
}

export function questions(threadId: string | undefined): ReadSet {
  return { questions: threadId === undefined ? {} : { threadId } };
}

export function standing({ threadId, turnId, haltScope, writes, ledgerSeq }: StandingQuery): ReadSet {
  return {
    threads: [threadId],
    turn: { threadId, turnId },
    writes: { threadId, identical: writes, after: ledgerSeq },
    ...(haltScope === "server" ? { everywhere: "always" } : {}),
  };
}

/** Whatever the plan names must be among what is loaded: the plan that the message suggests, then the true one. */
export function look(query: LookQuery, plan: LookPlan): ReadSet {
  const { proposalId } = query;
  return { ...standing({ ...query, ...plan }), proposals: [proposalId], operations: plan.operationIds };
}

export function ask(requests: readonly NewRequest[]): ReadSet {
  return {
    threads: requests.map(({ threadId }) => threadId),
    operations: requests.map(({ operation }) => operation.id),
    proposals: requests.map(({ operation }) => operation.proposalId),
  };
}

export function answer(answers: readonly Answered[]): ReadSet {
  return {
    approvals: answers.map(({ verdict }) => verdict.approvalId),
    operations: answers.flatMap(({ edit }) => (edit ? [edit.request.operation.id] : [])),
  };
}

export function claim(batch: ClaimBatch): ReadSet {
  const operations = batch.operations.map(({ operation }) => operation);
  return {
    threads: [batch.threadId],
    operations: operations.flatMap(({ id }) => [id, foreignId(id, batch)]),
    proposals: [...new Set([batch.proposalId, ...operations.map(({ proposalId }) => proposalId)])],
    writes: {
      threadId: batch.threadId,
      identical: operations.filter(({ effect }) => effect === "write"),
      after: batch.ledgerSeq,
    },
    ...(batch.haltScope === "server" ? { everywhere: "always" } : {}),
  };
}

export function refuse(refusals: readonly Refusal[]): ReadSet {
  return {
    threads: refusals.map(({ threadId }) => threadId),
    operations: refusals.flatMap((refusal) => [refusal.operation.id, foreignId(refusal.operation.id, refusal)]),
    proposals: refusals.map(({ operation }) => operation.proposalId),
  };
}
