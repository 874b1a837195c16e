// Tables: what a store must be able to hold and find for the ledger. The rules stand above it, once, for every store.
//
//   T1. Everything between `write` and the end of its steps is one transaction: all of it is kept, durably, or none.
//   T2. Every question about a thread or a turn is answered by an index or a kept counter, never by reading the thread.
//
// A transaction is written as a generator, so that the same rules run over a store that answers at once (memory, SQLite)
// and over one that answers later (a server): `const row = yield* get(tables.row(id))`.

import type {
  ApprovalRequest,
  Digest,
  Operation,
  OperationRow,
  Owner,
  Proposal,
  ToolSnapshot,
  Verdict,
} from "../../contracts/index.js";
import type { Moment } from "../../execution/clock.js";
import type { ModelRequestRecord } from "../../execution/ledger.js";

/** An answer now, or the promise of one. */
export type Reply<T> = T | Promise<T>;

/** Steps of a transaction. */
export type Steps<T> = Generator<Reply<unknown>, T, unknown>;

/** Waits for a store's reply, within a transaction. */
export function* get<T>(reply: Reply<T>): Steps<T> {
  return (yield reply) as T;
}

/** Runs steps over a store that answers at once: nothing else runs in between. */
export function runNow<T>(steps: Steps<T>): T {
  let step = steps.next();
  while (!step.done) step = steps.next(step.value);
  return step.value;
}

export interface Store {
  /** Runs the steps in one transaction that is durable when this resolves. (T1) */
  write<T>(steps: (tables: Tables) => Steps<T>): Promise<T>;
  /** Runs steps that change nothing, on one consistent view. */
  read<T>(steps: (tables: Tables) => Steps<T>): Promise<T>;
  close(): Promise<void>;
}

/** What a turn has spent and shown so far. */
export interface TurnCounters {
  readonly modelRequests: number;
  readonly calls: number;
  readonly writes: number;
  readonly activeMs: number;
  readonly budgetSpent: boolean;
  readonly finalMade: boolean;
}

export const NO_TURN: TurnCounters = {
  modelRequests: 0,
  calls: 0,
  writes: 0,
  activeMs: 0,
  budgetSpent: false,
  finalMade: false,
};

/** A question as it is stored: with when it was made and answered by the clock that cannot be turned back. */
export interface Question {
  readonly request: ApprovalRequest;
  readonly madeElapsed: number;
  readonly verdict?: Verdict;
  readonly answeredElapsed?: number;
  readonly consumed: boolean;
}

export interface Tables {
  clock(): Reply<Moment | undefined>;
  setClock(moment: Moment): Reply<void>;

  /** Keeps the first body stored under an id. */
  addSnapshot(snapshot: ToolSnapshot): Reply<void>;
  hasSnapshot(id: Digest): Reply<boolean>;
  snapshot(id: Digest): Reply<ToolSnapshot | undefined>;

  /** False when the request id is known. A proposal id that is known keeps its first proposal. */
  addModelRequest(record: ModelRequestRecord): Reply<boolean>;
  modelRequests(threadId: string, turnId: string): Reply<ModelRequestRecord[]>;
  proposal(proposalId: string): Reply<Proposal | undefined>;

  row(operationId: Digest): Reply<OperationRow | undefined>;
  /** Inserts a row or writes it over the one with its id; which call it is and its arguments never change. */
  putRow(row: OperationRow): Reply<void>;
  rowsOfProposal(proposalId: string): Reply<OperationRow[]>;
  rowsOfThread(threadId: string, turnId?: string): Reply<OperationRow[]>;
  /** Rows in `dispatching`, of a thread or of all. */
  dispatching(threadId?: string): Reply<OperationRow[]>;
  /** Writes whose outcome is unknown, of a thread or of all. */
  unknownWrites(threadId?: string): Reply<OperationRow[]>;
  /** Writes of the thread with the same server, tool and arguments that count as repeats, oldest first. */
  identicalWrites(
    threadId: string,
    call: Pick<Operation, "server" | "tool" | "argumentsDigest">,
  ): Reply<OperationRow[]>;
  /** Writes of the thread numbered above `seq` that count as ahead, by number. */
  writesAfter(threadId: string, seq: number): Reply<OperationRow[]>;
  /** The next number of the thread's writes; each is given once. */
  nextSeq(threadId: string): Reply<number>;
  /** How far an unknown outcome halts, as the operation's last claim was told. */
  haltScope(operationId: Digest): Reply<"thread" | "server">;
  setHaltScope(operationId: Digest, scope: "thread" | "server"): Reply<void>;
  /** Extends the lease of every claimed or dispatching row of the owner. */
  renew(owner: Owner, leaseUntil: number): Reply<void>;

  turn(threadId: string, turnId: string): Reply<TurnCounters>;
  /** Adds to the counters; a flag once true stays true. */
  addToTurn(threadId: string, turnId: string, more: Partial<TurnCounters>): Reply<void>;
  /** Operations of the turn that a person rejected. */
  rejectedByPerson(threadId: string, turnId: string): Reply<OperationRow[]>;

  addQuestion(question: Question): Reply<void>;
  question(approvalId: string): Reply<Question | undefined>;
  /** The newest question about an operation: the only one whose verdict counts. */
  currentQuestion(operationId: Digest): Reply<Question | undefined>;
  setVerdict(approvalId: string, verdict: Verdict, answeredElapsed: number): Reply<void>;
  consume(approvalId: string): Reply<void>;
  /** The time of the latest verdict on an operation of the proposal. */
  lastVerdict(proposalId: string): Reply<Moment | undefined>;
  /** Current questions without a verdict whose operation is proposed or claimed, with it, in order of the operations. */
  /** The current question of each undecided operation, answered or not. */
  openQuestions(threadId?: string): Reply<{ readonly question: Question; readonly row: OperationRow }[]>;

  threads(): Reply<{ threadId: string; lastAt: number }[]>;
  touch(threadId: string, at: number): Reply<void>;
}
