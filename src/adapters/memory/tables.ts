// Memory ledger: for tests and for hosts that say they want nothing kept. Dies with its process.
//
// Every value is copied on its way in and out, as a store on disk would copy it, so that nobody holds a row that changes
// under them. A step that throws leaves what was written before it; the rules write only after they have ruled.

import type { Digest, OperationRow, Proposal, ToolSnapshot } from "../../contracts/index.js";
import type { Moment } from "../../ledger/clock.js";
import type { Ledger, LedgerDeps, ModelRequestRecord } from "../../ledger/port.js";
import { isAhead, isRepeat, isUnknown } from "../../ledger/transitions.js";
import { createLedger } from "../../ledger/ledger.js";
import { sameOwner } from "../../ledger/transaction.js";
import { type Holder, NO_TURN, type Question, type Tables, type TurnCounters } from "../../ledger/tables.js";

/** A ledger in memory. `close` does nothing: the rows stay readable. */
export function createMemoryLedger(deps: LedgerDeps): Ledger {
  const tables = memoryTables();
  return createLedger(
    {
      write: async (_reach, steps) => steps(tables),
      read: async (_reach, steps) => steps(tables),
      close: async () => undefined,
    },
    deps,
  );
}

interface Thread {
  readonly rows: Digest[];
  lastAt: number;
  lastSeq: number;
  holder?: Holder | undefined;
}

export function memoryTables(): Tables {
  let clock: Moment | undefined;
  const snapshots = new Map<Digest, ToolSnapshot>();
  const requests = new Map<string, ModelRequestRecord>();
  const proposals = new Map<string, Proposal>();
  const threads = new Map<string, Thread>();
  const turns = new Map<string, TurnCounters>();
  const rows = new Map<Digest, OperationRow>();
  const haltScopes = new Map<Digest, "thread" | "server">();
  const questions = new Map<string, Question>();
  /** Approval ids of an operation's questions, the current one last. */
  const asked = new Map<Digest, string[]>();
  const byProposal = new Map<string, Digest[]>();

  const thread = (threadId: string): Thread => {
    const known = threads.get(threadId) ?? { rows: [], lastAt: 0, lastSeq: 0 };
    threads.set(threadId, known);
    return known;
  };
  const rowsOf = (threadId: string | undefined): OperationRow[] =>
    threadId === undefined
      ? [...rows.values()]
      : (threads.get(threadId)?.rows ?? []).map((id) => rows.get(id) as OperationRow);
  const writesOf = (threadId: string | undefined) => rowsOf(threadId).filter((row) => row.operation.effect === "write");
  const questionsOf = (operationId: Digest) =>
    (asked.get(operationId) ?? []).map((approvalId) => questions.get(approvalId) as Question);
  const rowsOfProposal = (proposalId: string) =>
    (byProposal.get(proposalId) ?? []).map((id) => rows.get(id) as OperationRow);

  return {
    clock: () => clock,
    setClock: (moment) => {
      clock = moment;
    },

    addSnapshot: (snapshot) => {
      if (!snapshots.has(snapshot.id)) snapshots.set(snapshot.id, copy(snapshot));
    },
    hasSnapshot: (id) => snapshots.has(id),
    snapshot: (id) => maybe(snapshots.get(id)),

    addModelRequest: (record) => {
      if (requests.has(record.requestId)) return false;
      const { proposal, ...rest } = record;
      const fresh = proposal !== undefined && !proposals.has(proposal.proposalId);
      if (fresh) proposals.set(proposal.proposalId, copy(proposal));
      requests.set(record.requestId, copy(fresh ? record : rest));
      return true;
    },
    modelRequests: (threadId, turnId) =>
      [...requests.values()].filter((one) => one.threadId === threadId && one.turnId === turnId).map(copy),
    proposal: (proposalId) => maybe(proposals.get(proposalId)),

    row: (operationId) => maybe(rows.get(operationId)),
    putRow: (row) => {
      const { id, proposalId } = row.operation;
      if (!rows.has(id)) {
        thread(row.threadId).rows.push(id);
        byProposal.set(proposalId, [...(byProposal.get(proposalId) ?? []), id]);
      }
      rows.set(id, copy(row));
    },
    rowsOfProposal: (proposalId) => rowsOfProposal(proposalId).map(copy),
    rowsOfThread: (threadId, turnId) =>
      rowsOf(threadId)
        .filter((row) => turnId === undefined || row.turnId === turnId)
        .map(copy),
    dispatching: (threadId) =>
      rowsOf(threadId)
        .filter((row) => row.state === "dispatching")
        .map(copy),
    unknownWrites: (threadId) => writesOf(threadId).filter(isUnknown).map(copy),
    identicalWrites: (threadId, call) =>
      writesOf(threadId)
        .filter(
          ({ operation }) =>
            operation.argumentsDigest === call.argumentsDigest &&
            operation.server === call.server &&
            operation.tool === call.tool,
        )
        .filter(isRepeat)
        .map(copy),
    writesAfter: (threadId, seq) =>
      writesOf(threadId)
        .filter((row) => (row.seq ?? 0) > seq && isAhead(row))
        .sort((a, b) => (a.seq ?? 0) - (b.seq ?? 0))
        .map(copy),
    nextSeq: (threadId) => {
      const known = thread(threadId);
      known.lastSeq += 1;
      return known.lastSeq;
    },
    haltScope: (operationId) => haltScopes.get(operationId) ?? "thread",
    setHaltScope: (operationId, scope) => {
      haltScopes.set(operationId, scope);
    },
    inHand: (threadId) => rowsOf(threadId).filter(isInHand).map(copy),
    holder: (threadId) => maybe(threads.get(threadId)?.holder),
    setHolder: (threadId, holder) => {
      thread(threadId).holder = maybe(holder);
    },
    renew: (owner, leaseUntil) => {
      const mine = [...rows.values()].filter((row) => isInHand(row) && sameOwner(row.owner, owner));
      for (const row of mine) rows.set(row.operation.id, { ...row, leaseUntil });
      const held = [...threads.values()].filter(({ holder }) => sameOwner(holder?.owner, owner));
      for (const known of held) known.holder = { owner, leaseUntil };
      return mine.length + held.length > 0;
    },

    turn: (threadId, turnId) => turns.get(turnKey(threadId, turnId)) ?? NO_TURN,
    addToTurn: (threadId, turnId, more) => {
      thread(threadId);
      const was = turns.get(turnKey(threadId, turnId)) ?? NO_TURN;
      turns.set(turnKey(threadId, turnId), {
        modelRequests: was.modelRequests + (more.modelRequests ?? 0),
        calls: was.calls + (more.calls ?? 0),
        writes: was.writes + (more.writes ?? 0),
        activeMs: was.activeMs + (more.activeMs ?? 0),
        budgetSpent: was.budgetSpent || more.budgetSpent === true,
        finalMade: was.finalMade || more.finalMade === true,
      });
    },
    rejectedByPerson: (threadId, turnId) =>
      rowsOf(threadId)
        .filter((row) => row.turnId === turnId && row.outcome?.status === "rejected" && row.outcome.reason === "person")
        .map(copy),

    addQuestion: (question) => {
      const { approvalId, operationId } = question.request;
      questions.set(approvalId, copy(question));
      asked.set(operationId, [...(asked.get(operationId) ?? []), approvalId]);
    },
    question: (approvalId) => maybe(questions.get(approvalId)),
    currentQuestion: (operationId) => maybe(questionsOf(operationId).at(-1)),
    setVerdict: (approvalId, verdict, answered) => {
      const question = questions.get(approvalId);
      if (question) questions.set(approvalId, copy({ ...question, verdict, answered }));
    },
    consume: (approvalId) => {
      const question = questions.get(approvalId);
      if (question) questions.set(approvalId, { ...question, consumed: true });
    },
    lastVerdict: (proposalId) => {
      const answered = rowsOfProposal(proposalId)
        .flatMap((row) => questionsOf(row.operation.id))
        .flatMap((question) => question.answered ?? []);
      if (answered.length === 0) return undefined;
      return {
        at: Math.max(...answered.map((moment) => moment.at)),
        elapsed: Math.max(...answered.map((moment) => moment.elapsed)),
      };
    },
    openQuestions: (threadId) =>
      rowsOf(threadId).flatMap((row) => {
        const waits = row.state === "proposed" || row.state === "claimed";
        const question = waits ? questionsOf(row.operation.id).at(-1) : undefined;
        return question ? [{ question: copy(question), row: copy(row) }] : [];
      }),

    threads: () =>
      [...threads]
        .reverse()
        .sort(([, a], [, b]) => b.lastAt - a.lastAt)
        .map(([threadId, { lastAt }]) => ({ threadId, lastAt })),
    touch: (threadId, at) => {
      thread(threadId).lastAt = at;
    },
  };
}

function turnKey(threadId: string, turnId: string): string {
  return JSON.stringify([threadId, turnId]);
}

function isInHand(row: OperationRow): boolean {
  return row.state === "claimed" || row.state === "dispatching";
}

function copy<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

function maybe<T>(value: T | undefined): T | undefined {
  return value === undefined ? undefined : copy(value);
}
