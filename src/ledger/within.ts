// Within: tables that refuse to be asked about what a read-set does not name. A store that loads only what is named would
// answer "there is none", and a rule that believed it could send a write twice.
//
//   within-1. Looking at what the read-set does not name throws `OutsideReadSet`; nothing is answered.

import { type Digest, isInHand, isUnknownWrite, type OperationRow } from "../contracts/index.js";
import { OutsideReadSet, type Question, type ReadSet, type Tables } from "./tables.js";

/** The same tables for a rule with this read-set. What the rule itself put in may be looked at again. */
export function within(readSet: ReadSet, tables: Tables): Tables {
  const named = {
    operations: new Set(readSet.operations),
    proposals: new Set(readSet.proposals),
    approvals: new Set(readSet.approvals),
    threads: new Set(readSet.threads),
    requests: new Set(readSet.request === undefined ? [] : [readSet.request]),
  };
  for (const approvalId of named.approvals) {
    const question = tables.question(approvalId);
    if (question) named.operations.add(question.request.operationId);
  }
  for (const id of named.operations) {
    const row = tables.row(id);
    if (row) named.threads.add(row.threadId);
  }
  const halting = () => [...named.operations].some((id) => tables.haltScope(id) === "server");
  const everywhere = readSet.everywhere === "always" || (readSet.everywhere === "halting" && halting());

  const need = (is: boolean, what: string): void => {
    if (!is) throw new OutsideReadSet(what); // within-1
  };
  const needThread = (threadId: string | undefined): void =>
    need(threadId === undefined ? everywhere : everywhere || named.threads.has(threadId), `thread ${threadId}`);
  const needProposal = (id: string): void => need(named.proposals.has(id), `proposal ${id}`);
  /** Named itself, or by what it belongs to. */
  const isNamed = (id: Digest): boolean => {
    if (named.operations.has(id)) return true;
    const row = tables.row(id);
    return row !== undefined && belongs(row);
  };
  const belongs = (row: OperationRow): boolean =>
    named.proposals.has(row.operation.proposalId) || (isOpen(row) && (everywhere || named.threads.has(row.threadId)));
  const needOperation = (id: Digest): void => need(isNamed(id), `operation ${id}`);
  const needQuestions = (id: Digest): void => {
    const proposalId = tables.row(id)?.operation.proposalId;
    need(
      named.operations.has(id) || (proposalId !== undefined && named.proposals.has(proposalId)),
      `questions of ${id}`,
    );
  };
  const needQuestion = (approvalId: string): void => {
    if (named.approvals.has(approvalId)) return;
    const question = tables.question(approvalId);
    need(question !== undefined, `question ${approvalId}`);
    needQuestions((question as Question).request.operationId);
  };
  const needTurn = (threadId: string, turnId: string): void =>
    need(readSet.turn?.threadId === threadId && readSet.turn.turnId === turnId, `turn ${turnId}`);
  const sameWrite = (a: Parameters<Tables["identicalWrites"]>[1], b: typeof a): boolean =>
    a.server === b.server && a.tool === b.tool && a.argumentsDigest === b.argumentsDigest;

  return {
    ...tables,
    hasSnapshot: (id) => {
      need(readSet.snapshot === id, `snapshot ${id}`);
      return tables.hasSnapshot(id);
    },
    snapshot: (id) => {
      need(readSet.snapshot === id, `snapshot ${id}`);
      return tables.snapshot(id);
    },
    addModelRequest: (record) => {
      need(named.requests.has(record.requestId), `request ${record.requestId}`);
      if (record.proposal) needProposal(record.proposal.proposalId);
      return tables.addModelRequest(record);
    },
    modelRequests: (threadId, turnId) => {
      const { requests } = readSet;
      need(requests?.threadId === threadId && requests.turnId === turnId, `requests of turn ${turnId}`);
      return tables.modelRequests(threadId, turnId);
    },
    proposal: (proposalId) => {
      needProposal(proposalId);
      return tables.proposal(proposalId);
    },
    row: (id) => {
      needOperation(id);
      return tables.row(id);
    },
    putRow: (row) => {
      needOperation(row.operation.id);
      tables.putRow(row);
    },
    rowsOfProposal: (proposalId) => {
      needProposal(proposalId);
      return tables.rowsOfProposal(proposalId);
    },
    rowsOfThread: (threadId, turnId) => {
      const { history } = readSet;
      need(history?.threadId === threadId && history.turnId === turnId, `the history of thread ${threadId}`);
      return tables.rowsOfThread(threadId, turnId);
    },
    dispatching: (threadId) => {
      needThread(threadId);
      return tables.dispatching(threadId);
    },
    unknownWrites: (threadId) => {
      needThread(threadId);
      return tables.unknownWrites(threadId);
    },
    inHand: (threadId) => {
      needThread(threadId);
      return tables.inHand(threadId);
    },
    identicalWrites: (threadId, call) => {
      const { writes } = readSet;
      const is = writes?.threadId === threadId && writes.identical.some((one) => sameWrite(one, call));
      need(is, `writes identical to ${call.tool} in thread ${threadId}`);
      return tables.identicalWrites(threadId, call);
    },
    writesAfter: (threadId, seq) => {
      const { writes } = readSet;
      need(writes?.threadId === threadId && seq >= writes.after, `writes of thread ${threadId} after ${seq}`);
      return tables.writesAfter(threadId, seq);
    },
    haltScope: (id) => {
      needOperation(id);
      return tables.haltScope(id);
    },
    setHaltScope: (id, scope) => {
      needOperation(id);
      tables.setHaltScope(id, scope);
    },
    nextSeq: (threadId) => {
      needThread(threadId);
      return tables.nextSeq(threadId);
    },
    holder: (threadId) => {
      needThread(threadId);
      return tables.holder(threadId);
    },
    setHolder: (threadId, holder) => {
      needThread(threadId);
      tables.setHolder(threadId, holder);
    },
    turn: (threadId, turnId) => {
      needTurn(threadId, turnId);
      return tables.turn(threadId, turnId);
    },
    rejectedByPerson: (threadId, turnId) => {
      needTurn(threadId, turnId);
      return tables.rejectedByPerson(threadId, turnId);
    },
    addQuestion: (question) => {
      needQuestions(question.request.operationId);
      named.approvals.add(question.request.approvalId);
      tables.addQuestion(question);
    },
    question: (approvalId) => {
      needQuestion(approvalId);
      return tables.question(approvalId);
    },
    currentQuestion: (id) => {
      needQuestions(id);
      return tables.currentQuestion(id);
    },
    setVerdict: (approvalId, verdict, answered) => {
      needQuestion(approvalId);
      tables.setVerdict(approvalId, verdict, answered);
    },
    consume: (approvalId) => {
      needQuestion(approvalId);
      tables.consume(approvalId);
    },
    lastVerdict: (proposalId) => {
      needProposal(proposalId);
      return tables.lastVerdict(proposalId);
    },
    openQuestions: (threadId) => {
      need(readSet.questions !== undefined && readSet.questions.threadId === threadId, "open questions");
      return tables.openQuestions(threadId);
    },
    threads: () => {
      need(readSet.list === true, "the list of threads");
      return tables.threads();
    },
  };
}

/** What is open in a thread is loaded with the thread. */
function isOpen(row: OperationRow): boolean {
  return isInHand(row) || isUnknownWrite(row);
}
