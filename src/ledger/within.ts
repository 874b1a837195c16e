// Within: tables that refuse to be asked about what a read-set does not name. A store that loads only what is named would
// answer "there is none", and a rule that believed it could send a write twice.
//
//   within-1. Looking at what the read-set does not name throws `OutsideReadSet`; nothing is answered.

import { type Digest, isInHand, isUnknownWrite, type OperationRow, type Proposal } from "../contracts/index.js";
import { OutsideReadSet, type ReadSet, type Tables } from "./tables.js";

/** The same tables for a rule with this read-set. What the rule itself put in may be looked at again. */
export function within(readSet: ReadSet, tables: Tables): Tables {
  const needs = needsOf(readSet, tables);
  /** A method that is preceded by a check of its arguments. */
  const checked = <Name extends keyof Tables>(name: Name, ...checks: ((...args: never[]) => void)[]): Tables[Name] => {
    const method = tables[name] as (...args: unknown[]) => unknown;
    return ((...args: unknown[]) => {
      for (const check of checks) (check as (...given: unknown[]) => void)(...args); // within-1
      return method(...args);
    }) as Tables[Name];
  };
  return {
    ...tables,
    hasSnapshot: checked("hasSnapshot", needs.snapshot),
    snapshot: checked("snapshot", needs.snapshot),
    addModelRequest: checked("addModelRequest", needs.newRequest),
    modelRequests: checked("modelRequests", needs.requests),
    proposal: checked("proposal", needs.proposal),
    row: checked("row", needs.operation),
    putRow: checked("putRow", needs.rowToPut),
    rowsOfProposal: checked("rowsOfProposal", needs.proposal),
    rowsOfThread: checked("rowsOfThread", needs.history),
    dispatching: checked("dispatching", needs.thread),
    unknownWrites: checked("unknownWrites", needs.thread),
    inHand: checked("inHand", needs.thread),
    identicalWrites: checked("identicalWrites", needs.identical),
    writesAfter: checked("writesAfter", needs.after),
    haltScope: checked("haltScope", needs.operation),
    setHaltScope: checked("setHaltScope", needs.operation),
    nextSeq: checked("nextSeq", needs.thread),
    holder: checked("holder", needs.thread),
    setHolder: checked("setHolder", needs.thread),
    touch: checked("touch", needs.thread),
    scope: checked("scope", needs.thread),
    setScope: checked("setScope", needs.thread),
    addToTurn: checked("addToTurn", needs.thread),
    turn: checked("turn", needs.turn),
    rejectedByPerson: checked("rejectedByPerson", needs.turn),
    addQuestion: checked("addQuestion", needs.newQuestion),
    question: checked("question", needs.question),
    currentQuestion: checked("currentQuestion", needs.questionsOf),
    setVerdict: checked("setVerdict", needs.question),
    consume: checked("consume", needs.question),
    lastVerdict: checked("lastVerdict", needs.proposal),
    openQuestions: checked("openQuestions", needs.questions),
    threads: checked("threads", needs.list),
    putProposal: checked("putProposal", needs.proposalToPut),
    card: checked("card", needs.card),
    setCardSeal: checked("setCardSeal", needs.card),
    ...(tables.setSends ? { setSends: checked("setSends", needs.card) } : {}),
    head: checked("head", needs.thread),
    setHead: checked("setHead", needs.thread),
    setAccepted: checked("setAccepted", needs.thread),
    setForgotten: checked("setForgotten", needs.thread),
    seals: checked("seals", needs.seals),
  };
}

/** Checks of what a rule looks at; each throws where the read-set does not name it. */
function needsOf(readSet: ReadSet, tables: Tables) {
  const covered = coveredBy(readSet, tables);
  const proposal = (id: string) => need(covered.isProposal(id), `proposal ${id}`);
  return {
    proposal,
    snapshot: (id: Digest) => need(readSet.snapshot === id, `snapshot ${id}`),
    newRequest: ({ requestId, proposal: made }: Parameters<Tables["addModelRequest"]>[0]) => {
      need(readSet.request === requestId, `request ${requestId}`);
      if (made) proposal(made.proposalId);
    },
    requests: (threadId: string, turnId?: string) => need(isTurn(readSet.requests, threadId, turnId), "model requests"),
    proposalToPut: ({ threadId, proposalId }: Proposal) =>
      need(isTurn(readSet.requests, threadId), `proposal ${proposalId}`),
    operation: (id: Digest) => need(covered.isOperation(id), `operation ${id}`),
    rowToPut: (row: OperationRow) => need(covered.isRowToPut(row), `operation ${row.operation.id}`),
    history: (threadId: string, turnId?: string) => need(isTurn(readSet.history, threadId, turnId), "the history"),
    thread: (threadId?: string) => need(covered.isThread(threadId), `thread ${threadId ?? "of all"}`),
    identical: (threadId: string, call: Parameters<Tables["identicalWrites"]>[1]) => {
      const { writes } = readSet;
      const same = writes?.identical.some(
        (one) => one.server === call.server && one.tool === call.tool && one.argumentsDigest === call.argumentsDigest,
      );
      need(writes?.threadId === threadId && same, `writes identical to ${call.tool}`);
    },
    after: (threadId: string, seq: number) =>
      need(readSet.writes?.threadId === threadId && seq >= readSet.writes.after, `writes after ${seq}`),
    turn: (threadId: string, turnId: string) => need(isTurn(readSet.turn, threadId, turnId), `turn ${turnId}`),
    newQuestion: ({ request }: Parameters<Tables["addQuestion"]>[0]) => {
      need(covered.isAsked(request.operationId), `questions about ${request.operationId}`);
      covered.addQuestion(request.approvalId);
    },
    question: (approvalId: string) => need(covered.isQuestion(approvalId), `question ${approvalId}`),
    questionsOf: (id: Digest) => need(covered.isAsked(id), `questions about ${id}`),
    questions: (threadId?: string) =>
      need(readSet.questions && readSet.questions.threadId === threadId, "open questions"),
    list: () => need(readSet.list, "the list of threads"),
    card: () => need(readSet.card, "the store's card"),
    seals: (threadId: string) => need(readSet.seals === threadId, "the seals of a thread"),
  };
}

function need(is: boolean | undefined, what: string): void {
  if (!is) throw new OutsideReadSet(what);
}

/** Which threads, rows and questions the read-set covers, by their own names or by what they belong to. */
function coveredBy(readSet: ReadSet, tables: Tables) {
  const { operations, proposals, approvals, threads } = named(readSet, tables);
  const everywhere =
    readSet.everywhere === "always" ||
    (readSet.everywhere === "halting" && [...operations].some((id) => tables.haltScope(id) === "server"));
  /** Without a thread: all of them. */
  const isThread = (threadId?: string) => everywhere || (threadId !== undefined && threads.has(threadId));
  const isOfHistory = (row: OperationRow) => isTurn(readSet.history, row.threadId);
  /** What is open in a thread is loaded with the thread. */
  const isOpen = (row: OperationRow) => (isInHand(row) || isUnknownWrite(row)) && isThread(row.threadId);
  const isOperation = (id: Digest) => {
    const row = operations.has(id) ? undefined : tables.row(id);
    const belongs = row && (isOfHistory(row) || proposals.has(row.operation.proposalId) || isOpen(row));
    return operations.has(id) || belongs === true;
  };
  const isAsked = (id: Digest) => operations.has(id) || proposals.has(tables.row(id)?.operation.proposalId ?? "");
  return {
    isThread,
    isOperation,
    isAsked,
    isProposal: (id: string) => proposals.has(id),
    isRowToPut: (row: OperationRow) => isOfHistory(row) || isOperation(row.operation.id),
    isQuestion: (approvalId: string) => {
      const about = approvals.has(approvalId) ? undefined : tables.question(approvalId)?.request.operationId;
      return approvals.has(approvalId) || (about !== undefined && isAsked(about));
    },
    addQuestion: (approvalId: string) => {
      approvals.add(approvalId);
    },
  };
}

/** What is named, and what that brings with it: questions bring their operations, and operations their threads. */
function named(readSet: ReadSet, tables: Tables) {
  const approvals = new Set(readSet.approvals);
  const about = [...approvals].flatMap((approvalId) => tables.question(approvalId)?.request.operationId ?? []);
  const operations = new Set([...(readSet.operations ?? []), ...about]);
  const places = [...operations].flatMap((id) => tables.row(id)?.threadId ?? []);
  const threads = new Set([...(readSet.threads ?? []), ...places]);
  return { approvals, operations, threads, proposals: new Set(readSet.proposals) };
}

function isTurn(
  place: { readonly threadId: string; readonly turnId?: string } | undefined,
  threadId: string,
  turnId?: string,
): boolean {
  return place?.threadId === threadId && place.turnId === turnId;
}
