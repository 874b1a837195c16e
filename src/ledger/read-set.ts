// Reach: what the steps of each of the ledger's methods look at, from what the method is given.

import type {
  Answered,
  ClaimBatch,
  ModelRequestRecord,
  NewRequest,
  Refusal,
  StandingQuery,
} from "./port.js";
import { foreignId } from "./transaction.js";
import type { Reach } from "./tables.js";

export function propose({ threadId, requestId, proposal }: ModelRequestRecord): Reach {
  return { threads: [threadId], request: requestId, ...(proposal ? { proposals: [proposal.proposalId] } : {}) };
}

export function history(threadId: string, turnId: string | undefined): Reach {
  return { history: { threadId, ...(turnId === undefined ? {} : { turnId }) } };
}

/** What is open in a thread, or in all. */
export function open(threadId: string | undefined): Reach {
  return threadId === undefined ? { everywhere: "always" } : { threads: [threadId] };
}

export function questions(threadId: string | undefined): Reach {
  return { questions: threadId === undefined ? {} : { threadId } };
}

export function standing({ threadId, turnId, haltScope, writes, ledgerSeq }: StandingQuery): Reach {
  return {
    threads: [threadId],
    turn: { threadId, turnId },
    writes: { threadId, identical: writes, after: ledgerSeq },
    ...(haltScope === "server" ? { everywhere: "always" } : {}),
  };
}

export function ask(requests: readonly NewRequest[]): Reach {
  return {
    threads: requests.map(({ threadId }) => threadId),
    operations: requests.map(({ operation }) => operation.id),
    proposals: requests.map(({ operation }) => operation.proposalId),
  };
}

export function answer(answers: readonly Answered[]): Reach {
  return {
    approvals: answers.map(({ verdict }) => verdict.approvalId),
    operations: answers.flatMap(({ edit }) => (edit ? [edit.request.operation.id] : [])),
  };
}

export function claim(batch: ClaimBatch): Reach {
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

export function refuse(refusals: readonly Refusal[]): Reach {
  return {
    threads: refusals.map(({ threadId }) => threadId),
    operations: refusals.flatMap((refusal) => [refusal.operation.id, foreignId(refusal.operation.id, refusal)]),
    proposals: refusals.map(({ operation }) => operation.proposalId),
  };
}
