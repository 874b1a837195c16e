// Tables: what a store must be able to hold and find for the ledger. The rules stand above it, once, for every store.
//
//   tables-1. Everything that a rule changes is one transaction: all of it is kept, durably, or none.
//   tables-2. Every question about a thread or a turn is answered by an index or a kept counter, never by reading the thread.
//
// Every method answers at once: a rule is one synchronous function over these tables.

import type {
  ApprovalRequest,
  ClaimedRow,
  Digest,
  DispatchingRow,
  Operation,
  OperationRow,
  Owner,
  Proposal,
  SettledRow,
  SnapshotBody,
  Verdict,
} from "../contracts/index.js";
import type { Moment } from "./clock.js";
import type { ModelRequestRecord, Survives } from "./port.js";

/**
 * What a rule may look at, named before it runs: a store that is far away loads it in one go. Looking at anything else is a
 * mistake of the rule. Named operations and questions bring their threads with them.
 */
export interface ReadSet {
  /** Their counters, clock and holder, and what is open in them: rows claimed or dispatching, writes that are unknown. */
  readonly threads?: readonly string[];
  /** What is open in every thread; `halting`: only where a named operation was claimed under `haltScope: "server"`. */
  readonly everywhere?: "always" | "halting";
  /** The rows, each with its current question. */
  readonly operations?: readonly Digest[];
  /** The proposals, their rows and the questions about these. */
  readonly proposals?: readonly string[];
  /** The questions, their rows and the current questions about these. */
  readonly approvals?: readonly string[];
  /** Earlier writes of a thread: identical to one of these, or numbered above `after`. */
  readonly writes?: {
    readonly threadId: string;
    readonly identical: readonly Pick<Operation, "server" | "tool" | "argumentsDigest">[];
    readonly after: number;
  };
  /** A turn's counters, and its operations that a person rejected. */
  readonly turn?: { readonly threadId: string; readonly turnId: string };
  /** Every row of a thread (of one turn). */
  readonly history?: { readonly threadId: string; readonly turnId?: string };
  /** Undecided operations with their current question, of a thread or of all. */
  readonly questions?: { readonly threadId?: string };
  /** Whether a model request is known. */
  readonly request?: string;
  /** The model requests of a thread (of one turn). */
  readonly requests?: { readonly threadId: string; readonly turnId?: string };
  readonly snapshot?: Digest;
  /** The list of all threads. */
  readonly list?: boolean;
  /** A thread's head and what the seals of its rows are about. */
  readonly seals?: string;
  /** What is kept of the store as a whole. */
  readonly card?: boolean;
}

/** A rule of the ledger: what it reads and changes is one transaction. **Contract:** pure but for the tables. */
export type Rule<T> = (tables: Tables) => T;

/** Thrown where a rule looks at what its read-set does not name: it would read as "there is none". */
export class OutsideReadSet extends TypeError {
  constructor(what: string) {
    super(`a rule of the ledger looked at ${what}, which its read-set does not name`);
  }
}

export interface Store {
  /**
   * Runs a rule in one transaction. (tables-1) May run it again where another was first. What it changed survives what
   * `survives` names when this resolves. `readSet` is asked only by stores that load before they run.
   */
  write<T>(readSet: () => ReadSet, rule: Rule<T>, survives: Survives): Promise<T>;
  /** Runs a rule that changes nothing, on one consistent view. */
  read<T>(readSet: () => ReadSet, rule: Rule<T>): Promise<T>;
  /**
   * Extends the leases of an owner in a cheaper way than by a rule. `leaseSteady`: until when by the machine's own clock.
   * False: it holds nothing any more.
   */
  renew?(owner: Owner, leaseMs: number, leaseSteady: number): Promise<boolean>;
  /**
   * Takes out for good what a thread alone needs and no rule looks at any more: arguments, questions, and snapshots that no
   * other thread was shown. Rows stay, with their digests.
   */
  erase(threadId: string): Promise<void>;
  close(): Promise<void>;
}

/**
 * When a lease ends if nothing more is heard of its owner: by the store's clock, which counts for an owner of another machine,
 * and by the steady clock of the owner's machine, which counts there. What an older version stored has no second reading.
 */
export interface LeaseEnd {
  readonly leaseUntil: number;
  readonly leaseSteady?: number | undefined;
}

/** Whose run a thread is, and until when that is so if nothing more is heard of it. */
export interface Holder extends LeaseEnd {
  readonly owner: Owner;
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
  /** By the ledger's clock: the verdict's own time is the clock's of the host that sealed it. */
  readonly answered?: Moment;
  readonly consumed: boolean;
}

/** What a seal is about, as the store finds rows by it. A row that is loaded has the same. */
export interface SealedFacts extends Pick<OperationRow, "threadId" | "scope" | "state" | "sent" | "fence" | "attempt"> {
  readonly id: Digest;
  readonly argumentsDigest: Digest;
  readonly effect: Operation["effect"];
  readonly server: string | null;
  readonly tool: string | null;
  readonly status: string | null;
  readonly reason: string | null;
  readonly seq: number | null;
  readonly seal: string | null;
}

/** What is kept of a store as a whole. */
export interface StoreCard {
  /** Tells one store from another. */
  readonly id: string;
  /** Present once its threads were sealed for the first time. */
  readonly seal?: string;
  /** How many writes it has begun to send; only where the store counts them. */
  readonly sends?: number;
}

/** Who sealed a thread anew after an edit of the store by another hand. */
export interface Acceptance {
  readonly by: string;
  readonly at: number;
  readonly note: string;
}

export interface Tables {
  /** The store's own clock, where it has one: epoch milliseconds. */
  now?(): number;
  clock(): Moment | undefined;
  setClock(moment: Moment): void;

  /** Keeps the first body stored under an id. */
  addSnapshot(snapshot: SnapshotBody): void;
  hasSnapshot(id: Digest): boolean;
  snapshot(id: Digest): SnapshotBody | undefined;

  /** False when the request id is known. A proposal id that is known keeps its first proposal. */
  addModelRequest(record: ModelRequestRecord): boolean;
  /** Of a thread (of one turn), oldest first. */
  modelRequests(threadId: string, turnId?: string): ModelRequestRecord[];
  proposal(proposalId: string): Proposal | undefined;
  /** Writes a proposal that is there over, with its seal. */
  putProposal(proposal: Proposal): void;

  row(operationId: Digest): OperationRow | undefined;
  /** Inserts a row or writes it over the one with its id; which call it is and its arguments never change. */
  putRow(row: OperationRow): void;
  rowsOfProposal(proposalId: string): OperationRow[];
  rowsOfThread(threadId: string, turnId?: string): OperationRow[];
  /** Rows in `dispatching`, of a thread or of all. */
  dispatching(threadId?: string): DispatchingRow[];
  /** Writes whose outcome is unknown, of a thread or of all. */
  unknownWrites(threadId?: string): SettledRow[];
  /** Writes of the thread with the same server, tool and arguments that count as repeats, oldest first. */
  identicalWrites(threadId: string, call: Pick<Operation, "server" | "tool" | "argumentsDigest">): OperationRow[];
  /** Writes of the thread numbered above `seq` that count as ahead, by number. */
  writesAfter(threadId: string, seq: number): OperationRow[];
  /** The next number of the thread's writes; each is given once. */
  nextSeq(threadId: string): number;
  /** How far an unknown outcome halts, as the operation's last claim was told. */
  haltScope(operationId: Digest): "thread" | "server";
  setHaltScope(operationId: Digest, scope: "thread" | "server"): void;
  /** Rows claimed or dispatching, of a thread. */
  inHand(threadId: string): (ClaimedRow | DispatchingRow)[];
  holder(threadId: string): Holder | undefined;
  setHolder(threadId: string, holder: Holder | undefined): void;
  /** Extends the lease of every claimed or dispatching row of the owner, and of the threads it holds. False: there is none. */
  renew(owner: Owner, lease: LeaseEnd): boolean;

  turn(threadId: string, turnId: string): TurnCounters;
  /** Adds to the counters; a flag once true stays true. */
  addToTurn(threadId: string, turnId: string, more: Partial<TurnCounters>): void;
  /** Operations of the turn that a person rejected. */
  rejectedByPerson(threadId: string, turnId: string): SettledRow[];

  addQuestion(question: Question): void;
  question(approvalId: string): Question | undefined;
  /** The newest question about an operation: the only one whose verdict counts. */
  currentQuestion(operationId: Digest): Question | undefined;
  setVerdict(approvalId: string, verdict: Verdict, answered: Moment): void;
  consume(approvalId: string): void;
  /** The time of the latest verdict on an operation of the proposal. */
  lastVerdict(proposalId: string): Moment | undefined;
  /** The current question of each operation that may be undecided, answered or not: reads being sent are among them. */
  openQuestions(threadId?: string): { readonly question: Question; readonly row: OperationRow }[];

  /** Whose a thread is, where that was recorded. */
  scope(threadId: string): string | undefined;
  setScope(threadId: string, scope: string): void;
  /** Without those that were forgotten and not used since. */
  threads(): { threadId: string; scope?: string | undefined; lastAt: number }[];
  touch(threadId: string, at: number): void;

  card(): StoreCard;
  setCardSeal(seal: string): void;
  /** Only where the store counts what it sends, so that a mark outside of it can tell that it was set back. */
  setSends?(sends: number): void;
  head(threadId: string): string | undefined;
  setHead(threadId: string, head: string): void;
  /** What a person said when the thread was sealed anew, the latest. */
  setAccepted(threadId: string, said: Acceptance): void;
  /** Epoch milliseconds at which the thread was forgotten. It is listed again once it is used again. */
  setForgotten(threadId: string, at: number): void;
  /** Of every row of a thread, and how many proposals it has. */
  seals(threadId: string): { readonly rows: readonly SealedFacts[]; readonly proposals: number };
}

/** The part of the tables that is about operations. */
export type RowTables = Pick<
  Tables,
  | "row"
  | "putRow"
  | "rowsOfProposal"
  | "rowsOfThread"
  | "dispatching"
  | "unknownWrites"
  | "identicalWrites"
  | "writesAfter"
  | "haltScope"
  | "setHaltScope"
  | "inHand"
  | "renew"
  | "rejectedByPerson"
  | "seals"
>;

/** The part of the tables that is about questions and verdicts. */
export type QuestionTables = Pick<
  Tables,
  "addQuestion" | "question" | "currentQuestion" | "setVerdict" | "consume" | "lastVerdict" | "openQuestions"
>;
