// The ledger's tables in memory. Whatever goes in or comes out is copied, as a store on disk would copy it: no caller can
// change a row by changing an object that it gave or was given. A rule that throws leaves what it had written by then,
// and nothing is ever dropped: this store is for tests and short runs.

import {
  type Digest,
  type DispatchingRow,
  isAhead,
  isInHand,
  isRepeat,
  isUnknownWrite,
  type OperationRow,
  type Owner,
  type Proposal,
  type SettledRow,
  type SnapshotBody,
  sameOwner,
} from "../../contracts/index.js";
import type { Moment } from "../../ledger/clock.js";
import type { ModelRequestRecord } from "../../ledger/port.js";
import { factsOf } from "../../ledger/seals.js";
import {
  type Acceptance,
  type Holder,
  type LeaseEnd,
  NO_TURN,
  type Question,
  type QuestionTables,
  type RowTables,
  type StoreCard,
  type Tables,
  type TurnCounters,
} from "../../ledger/tables.js";

interface Thread {
  readonly rows: Digest[];
  lastAt: number;
  lastSeq: number;
  holder?: Holder | undefined;
  head?: string;
  accepted?: Acceptance;
  forgotten?: number;
  scope?: string;
}

/** Everything that is kept. */
class Kept {
  clock: Moment | undefined;
  card: StoreCard = { id: "memory" };
  readonly snapshots = new Map<Digest, SnapshotBody>();
  readonly requests = new Map<string, ModelRequestRecord>();
  readonly proposals = new Map<string, Proposal>();
  readonly threads = new Map<string, Thread>();
  readonly turns = new Map<string, TurnCounters>();
  readonly rows = new Map<Digest, OperationRow>();
  readonly haltScopes = new Map<Digest, "thread" | "server">();
  readonly questions = new Map<string, Question>();
  /** Approval ids of an operation's questions, the current one last. */
  readonly asked = new Map<Digest, string[]>();
  readonly byProposal = new Map<string, Digest[]>();

  /** The thread, made if it is new. */
  thread(threadId: string): Thread {
    const known = this.threads.get(threadId) ?? { rows: [], lastAt: 0, lastSeq: 0 };
    this.threads.set(threadId, known);
    return known;
  }

  rowsOf(threadId: string | undefined): OperationRow[] {
    if (threadId === undefined) return [...this.rows.values()];
    return this.rowsBy(this.threads.get(threadId)?.rows);
  }

  rowsBy(ids: readonly Digest[] = []): OperationRow[] {
    return ids.flatMap((id) => this.rows.get(id) ?? []);
  }

  /** Extends the leases of an owner; false where it holds nothing. */
  renew(owner: Owner, lease: LeaseEnd): boolean {
    const rows = [...this.rows.values()].filter(isInHand).filter((row) => sameOwner(row.owner, owner));
    for (const row of rows) this.rows.set(row.operation.id, copy({ ...row, ...lease }));
    const threads = [...this.threads.values()].filter(({ holder }) => sameOwner(holder?.owner, owner));
    for (const thread of threads) thread.holder = copy({ owner, ...lease });
    return rows.length + threads.length > 0;
  }

  erase(threadId: string): void {
    const shown = (of: (threadId: string) => boolean) =>
      new Set([...this.requests.values()].filter((one) => of(one.threadId)).map(({ snapshotId }) => snapshotId));
    const others = shown((id) => id !== threadId);
    for (const id of shown((id) => id === threadId)) if (!others.has(id)) this.snapshots.delete(id);
    for (const [id, proposal] of this.proposals) {
      if (proposal.threadId === threadId) this.proposals.set(id, { ...proposal, calls: [] });
    }
    for (const row of this.rowsOf(threadId)) {
      for (const approvalId of this.asked.get(row.operation.id) ?? []) this.questions.delete(approvalId);
      this.asked.delete(row.operation.id);
      this.rows.set(row.operation.id, { ...row, operation: { ...row.operation, arguments: {} } });
    }
  }

  questionsOf(operationId: Digest): Question[] {
    return (this.asked.get(operationId) ?? []).flatMap((approvalId) => this.questions.get(approvalId) ?? []);
  }
}

export interface MemoryTables extends Tables {
  /** Keeps a proposal alone. A store that loads proposals and model requests apart fills its tables by this. */
  addProposal(proposal: Proposal): void;
  /** As a store erases. */
  erase(threadId: string): void;
}

export function memoryTables(): MemoryTables {
  const kept = new Kept();
  return {
    ...clockTables(kept),
    ...modelTables(kept),
    ...rowTables(kept),
    ...threadTables(kept),
    ...questionTables(kept),
    ...sealTables(kept),
  };
}

function clockTables(kept: Kept): Pick<Tables, "clock" | "setClock"> {
  return {
    clock: () => copyOf(kept.clock),
    setClock: (moment) => {
      kept.clock = copy(moment);
    },
  };
}

function modelTables(
  kept: Kept,
): Pick<
  MemoryTables,
  | "addSnapshot"
  | "hasSnapshot"
  | "snapshot"
  | "addModelRequest"
  | "modelRequests"
  | "proposal"
  | "putProposal"
  | "addProposal"
> {
  return {
    addSnapshot: (snapshot) => {
      if (!kept.snapshots.has(snapshot.id)) kept.snapshots.set(snapshot.id, copy(snapshot));
    },
    hasSnapshot: (id) => kept.snapshots.has(id),
    snapshot: (id) => copyOf(kept.snapshots.get(id)),
    addModelRequest: (record) => {
      if (kept.requests.has(record.requestId)) return false;
      const { proposal, ...rest } = record;
      const fresh = proposal !== undefined && !kept.proposals.has(proposal.proposalId);
      if (fresh) kept.proposals.set(proposal.proposalId, copy(proposal));
      kept.requests.set(record.requestId, copy(fresh ? record : rest));
      return true;
    },
    modelRequests: (threadId, turnId) =>
      [...kept.requests.values()]
        .filter((one) => one.threadId === threadId && (turnId === undefined || one.turnId === turnId))
        .map(copy),
    proposal: (proposalId) => copyOf(kept.proposals.get(proposalId)),
    putProposal: (proposal) => {
      kept.proposals.set(proposal.proposalId, copy(proposal));
      for (const [id, record] of kept.requests) {
        if (record.proposal?.proposalId === proposal.proposalId) kept.requests.set(id, copy({ ...record, proposal }));
      }
    },
    addProposal: (proposal) => {
      kept.proposals.set(proposal.proposalId, copy(proposal));
    },
  };
}

function rowTables(kept: Kept): RowTables {
  const of = (threadId?: string, turnId?: string) =>
    kept.rowsOf(threadId).filter((row) => turnId === undefined || row.turnId === turnId);
  const writesOf = (threadId: string) => of(threadId).filter((row) => row.operation.effect === "write");
  return {
    row: (operationId) => copyOf(kept.rows.get(operationId)),
    putRow: (row) => {
      const { id, proposalId } = row.operation;
      if (!kept.rows.has(id)) {
        kept.thread(row.threadId).rows.push(id);
        kept.byProposal.set(proposalId, [...(kept.byProposal.get(proposalId) ?? []), id]);
      }
      kept.rows.set(id, copy(row));
    },
    rowsOfProposal: (proposalId) => kept.rowsBy(kept.byProposal.get(proposalId)).map(copy),
    rowsOfThread: (threadId, turnId) => of(threadId, turnId).map(copy),
    dispatching: (threadId) => of(threadId).filter(isDispatching).map(copy),
    unknownWrites: (threadId) => of(threadId).filter(isUnknownWrite).map(copy),
    identicalWrites: (threadId, call) =>
      writesOf(threadId)
        .filter((row) => isRepeat(row) && isSame(row.operation, call))
        .map(copy),
    writesAfter: (threadId, seq) =>
      writesOf(threadId)
        .filter((row) => (row.seq ?? 0) > seq && isAhead(row))
        .sort((a, b) => (a.seq ?? 0) - (b.seq ?? 0))
        .map(copy),
    haltScope: (operationId) => kept.haltScopes.get(operationId) ?? "thread",
    setHaltScope: (operationId, scope) => {
      kept.haltScopes.set(operationId, scope);
    },
    inHand: (threadId) => of(threadId).filter(isInHand).map(copy),
    renew: (owner, lease) => kept.renew(owner, lease),
    rejectedByPerson: (threadId, turnId) => of(threadId, turnId).filter(isRejectedByPerson).map(copy),
    seals: (threadId) => ({
      rows: of(threadId).map(factsOf),
      proposals: [...kept.proposals.values()].filter((one) => one.threadId === threadId).length,
    }),
  };
}

function isDispatching(row: OperationRow): row is DispatchingRow {
  return row.state === "dispatching";
}

function isSame(a: OperationRow["operation"], b: Parameters<Tables["identicalWrites"]>[1]): boolean {
  return a.argumentsDigest === b.argumentsDigest && a.server === b.server && a.tool === b.tool;
}

function isRejectedByPerson(row: OperationRow): row is SettledRow {
  return row.state === "settled" && row.outcome.status === "rejected" && row.outcome.reason === "person";
}

function sealTables(
  kept: Kept,
): Pick<MemoryTables, "card" | "setCardSeal" | "head" | "setHead" | "setAccepted" | "setForgotten" | "erase"> {
  return {
    card: () => kept.card,
    setCardSeal: (seal) => {
      kept.card = { ...kept.card, seal };
    },
    head: (threadId) => kept.threads.get(threadId)?.head,
    setHead: (threadId, head) => {
      kept.thread(threadId).head = head;
    },
    setAccepted: (threadId, said) => {
      kept.thread(threadId).accepted = copy(said);
    },
    setForgotten: (threadId, at) => {
      kept.thread(threadId).forgotten = at;
    },
    erase: (threadId) => kept.erase(threadId),
  };
}

function threadTables(
  kept: Kept,
): Pick<
  Tables,
  "threads" | "touch" | "scope" | "setScope" | "nextSeq" | "holder" | "setHolder" | "turn" | "addToTurn"
> {
  return {
    threads: () =>
      [...kept.threads]
        .reverse()
        .filter(([, { forgotten = -1, lastAt }]) => forgotten < lastAt)
        .sort(([, a], [, b]) => b.lastAt - a.lastAt)
        .map(([threadId, { lastAt, scope }]) => ({ threadId, scope, lastAt })),
    touch: (threadId, at) => {
      kept.thread(threadId).lastAt = at;
    },
    scope: (threadId) => kept.threads.get(threadId)?.scope,
    setScope: (threadId, scope) => {
      kept.thread(threadId).scope = scope;
    },
    nextSeq: (threadId) => {
      const thread = kept.thread(threadId);
      thread.lastSeq += 1;
      return thread.lastSeq;
    },
    holder: (threadId) => copyOf(kept.threads.get(threadId)?.holder),
    setHolder: (threadId, holder) => {
      kept.thread(threadId).holder = copyOf(holder);
    },
    turn: (threadId, turnId) => copy(kept.turns.get(turnKey(threadId, turnId)) ?? NO_TURN),
    addToTurn: (threadId, turnId, more) => {
      kept.thread(threadId);
      const was = kept.turns.get(turnKey(threadId, turnId)) ?? NO_TURN;
      kept.turns.set(turnKey(threadId, turnId), {
        modelRequests: was.modelRequests + (more.modelRequests ?? 0),
        calls: was.calls + (more.calls ?? 0),
        writes: was.writes + (more.writes ?? 0),
        activeMs: was.activeMs + (more.activeMs ?? 0),
        budgetSpent: was.budgetSpent || more.budgetSpent === true,
        finalMade: was.finalMade || more.finalMade === true,
      });
    },
  };
}

function questionTables(kept: Kept): QuestionTables {
  const change = (approvalId: string, more: Partial<Question>): void => {
    const question = kept.questions.get(approvalId);
    if (question) kept.questions.set(approvalId, copy({ ...question, ...more }));
  };
  return {
    addQuestion: (question) => {
      const { approvalId, operationId } = question.request;
      kept.questions.set(approvalId, copy(question));
      kept.asked.set(operationId, [...(kept.asked.get(operationId) ?? []), approvalId]);
    },
    question: (approvalId) => copyOf(kept.questions.get(approvalId)),
    currentQuestion: (operationId) => copyOf(kept.questionsOf(operationId).at(-1)),
    setVerdict: (approvalId, verdict, answered) => change(approvalId, { verdict, answered }),
    consume: (approvalId) => change(approvalId, { consumed: true }),
    lastVerdict: (proposalId) => {
      const answered = kept
        .rowsBy(kept.byProposal.get(proposalId))
        .flatMap((row) => kept.questionsOf(row.operation.id))
        .flatMap((question) => question.answered ?? []);
      if (answered.length === 0) return undefined;
      return {
        at: Math.max(...answered.map((moment) => moment.at)),
        elapsed: Math.max(...answered.map((moment) => moment.elapsed)),
      };
    },
    openQuestions: (threadId) =>
      kept.rowsOf(threadId).flatMap((row) => {
        const again = row.state === "dispatching" && row.operation.effect === "read";
        const waits = row.state === "proposed" || row.state === "claimed" || again;
        const question = waits ? kept.questionsOf(row.operation.id).at(-1) : undefined;
        return question ? [{ question: copy(question), row: copy(row) }] : [];
      }),
  };
}

function turnKey(threadId: string, turnId: string): string {
  return JSON.stringify([threadId, turnId]);
}

function copy<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

function copyOf<T>(value: T | undefined): T | undefined {
  return value === undefined ? undefined : copy(value);
}
