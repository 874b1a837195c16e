// The ledger port: the host's own record of what was proposed, decided, claimed, sent and settled. It stands outside
// the graph's checkpoints, so that no replay, fork or edited state can change what it says.
//
//   ledger-1. States only move forward: proposed, claimed, dispatching, settled. `result_unknown` may still settle once, by
//             stored evidence or a person's word.
//   ledger-2. A claim checks thread and scope, verdict, expiry, single use, both guards and the halt in one transaction with
//             the state change. Everything it was told from outside is only a hint.
//   ledger-3. A verdict is consumed by exactly one claim, in that transaction.
//   ledger-4. Every change after a claim names the fence that the claim gave out; an older fence changes nothing. Whoever
//             takes over what a gone owner left raises the fence.
//   ledger-5. Writes of a thread are numbered in the claim's transaction; numbers never repeat within a thread.
//   ledger-6. First wins: a second verdict, refusal, settlement or resolution of the same thing changes nothing and is told
//             what stands.
//   ledger-7. When a method that writes has returned, what it wrote survives SIGKILL. What `begin`, `settle`, `settleLate`,
//             `answer`, `ask`, `resolve`, `readBack`, `refuse`, `sweep`, `unknowns` and `leave` wrote, and everything written
//             before it, also survives a loss of power. Where checkpoints are kept in another place than the ledger, so does
//             what they name: `putSnapshot`, unless it is told that a kill is enough, and `propose` where it is told of no run or the store is told so.
//   ledger-8. A thread is held by one run at a time. While it is, no other run proposes, asks, claims, begins or refuses in it.
//   ledger-9. A thread is of the scope whose run first took it, and of no other ever after. A key that names a scope is that
//             scope's.
//   ledger-10. What another hand changed in a thread is noticed before anything is sent for it (sealing.ts). It stops that
//              thread and no other.
//
// A thread is named by its key (contracts/thread-id.ts). Every store passes `test/conformance/ledger.ts`. Times are epoch milliseconds of the store's clock where it has one,
// of the host's elsewhere.

import type {
  ApprovalRequest,
  DestinationDigest,
  Digest,
  Operation,
  OperationRow,
  Outcome,
  Owner,
  Proposal,
  ReadBack,
  Resolution,
  ResolutionType,
  ResultRef,
  SettledRow,
  SnapshotBody,
  Verdict,
} from "../contracts/index.js";
import type { SealSecrets } from "./seals.js";

/** One model request of a turn, recorded when its response is in. */
export interface ModelRequestRecord {
  readonly requestId: string;
  readonly threadId: string;
  readonly turnId: string;
  readonly snapshotId: Digest;
  /** Aliases of the tools the model was given. */
  readonly tools: readonly string[];
  readonly startedAt: number;
  readonly endedAt: number;
  /** The last request of a turn whose budget is spent: it was given no tools. */
  readonly final: boolean;
  /** Present when the response has calls. */
  readonly proposal?: Proposal;
}

/** A write as a guard names it to a person. */
export interface WriteRef {
  readonly operationId: Digest;
  readonly alias: string;
  readonly state: string;
  readonly sentAt?: number;
}

export interface StandingQuery {
  readonly threadId: string;
  readonly scope: string;
  readonly turnId: string;
  readonly proposalId: string;
  /** The highest write number this branch of the thread has seen. */
  readonly ledgerSeq: number;
  readonly haltScope: "thread" | "server";
  /** Writes of the batch, for the repeat guard. */
  readonly writes: readonly {
    readonly operationId: Digest;
    readonly server: string;
    readonly tool: string;
    readonly argumentsDigest: Digest;
  }[];
}

/** One model response and where it stands. */
export interface LookQuery extends Omit<StandingQuery, "turnId" | "writes"> {}

/** What is to be known of a response, once its proposal and its rows are. */
export interface LookPlan extends Pick<StandingQuery, "turnId" | "writes"> {
  readonly operationIds: readonly Digest[];
}

/** Derives the plan from what the ledger holds. **Contract:** pure; called inside of a transaction, maybe more than once. */
export type PlanFrom<Plan extends LookPlan> = (proposal: Proposal | undefined, rows: readonly OperationRow[]) => Plan;

/** Everything that the ledger knows of one model response, as of one moment. */
export interface Look {
  readonly proposal: Proposal | undefined;
  /** Every operation of the response, edits included, in order of creation. */
  readonly rows: readonly OperationRow[];
  readonly standing: Standing;
  /** The current request of each operation that the plan names, with its answer. */
  readonly asked: readonly Asked[];
  /** The thread has operations in `dispatching` whose owner is gone: `sweep` settles them. */
  readonly abandoned: boolean;
}

/** What the ledger knows that bears on a batch. */
export interface Standing {
  /** Counted over (thread, turn). Calls and writes count when dispatched; built-ins do not count. */
  readonly modelRequests: number;
  readonly calls: number;
  readonly writes: number;
  /** Milliseconds spent in model requests and dispatched calls of the turn. */
  readonly activeMs: number;
  /** A call of the turn was rejected for its budget. */
  readonly budgetSpent: boolean;
  /** The final request of the turn was made. */
  readonly finalMade: boolean;
  /** Calls of this turn that a person rejected, other than of this proposal: one rejection does not touch its siblings. */
  readonly rejections: readonly { readonly server: string; readonly tool: string; readonly argumentsDigest: Digest }[];
  /** Writes whose outcome is unknown, of this thread (`own`), and under `haltScope: "server"` of this scope's others. */
  readonly unknownWrites: readonly (WriteRef & { readonly server: string | null; readonly own: boolean })[];
  /** Earlier identical writes, by operation id of the batch; an operation is never its own repeat. */
  readonly repeats: ReadonlyMap<Digest, readonly WriteRef[]>;
  /** Writes of the thread numbered above `ledgerSeq` that are not of this proposal (rejected and unavailable ones aside). */
  readonly ahead: readonly WriteRef[];
}

/** A question to be asked, if it is not being asked already. */
export interface NewRequest {
  readonly approvalId: string;
  readonly operation: Operation;
  readonly turnId: string;
  readonly threadId: string;
  readonly scope: string;
  readonly toolDigest: Digest;
  readonly injects?: readonly string[];
  readonly destination?: ApprovalRequest["destination"];
  readonly why: string;
  readonly seen: readonly Digest[];
  readonly ttlMs: number;
}

/** A request with its answer, when there is one. */
export interface Asked {
  readonly request: ApprovalRequest;
  readonly verdict?: Verdict;
  /** When it was answered, by the ledger's clock; the verdict's own time is that of the host that sealed it. */
  readonly answeredAt?: number;
  /** The verdict has been used by a claim. */
  readonly consumed: boolean;
  /** Its time is over, by the ledger's clock. */
  readonly expired: boolean;
}

export interface Answered {
  readonly verdict: Verdict;
  /**
   * MAC of a stored verdict that no longer verifies (its key is gone) and may be replaced while its operation is undecided:
   * also when a claim has used it, if nothing was sent under that claim, or a read whose sender is gone.
   */
  readonly supersedes?: string;
  /** For `reject` and `edit`: how the operation settles in the same transaction. */
  readonly settles?: Outcome;
  /** For `edit`: the operation put in its place, with its own request and approving verdict. */
  readonly edit?: { readonly request: NewRequest; readonly verdict: Verdict };
}

export type AnswerResult =
  | { readonly kind: "stored" }
  /** Somebody answered first, or the operation moved on; nothing was changed. */
  | { readonly kind: "already_decided"; readonly verdict?: Verdict; readonly row?: OperationRow }
  | { readonly kind: "expired" }
  | { readonly kind: "not_found" };

export interface ClaimRequest {
  readonly operation: Operation;
  readonly toolDigest: Digest;
  /** Names of the parameters that will be filled in at the send, sorted. */
  readonly injects?: readonly string[];
  /** Digest of where it goes and who it is called as; absent for the host's own tools. */
  readonly destination?: DestinationDigest;
  /** What to do about an identical earlier write. */
  readonly repeat: "allow" | "ask" | "deny";
  /** The verdict to consume: required unless policy allows the operation and no guard hits. */
  readonly verdict?: { readonly approvalId: string; readonly mac: string };
}

export interface ClaimBatch {
  readonly threadId: string;
  readonly scope: string;
  readonly turnId: string;
  readonly proposalId: string;
  readonly ledgerSeq: number;
  readonly haltScope: "thread" | "server";
  readonly owner: Owner;
  readonly leaseMs: number;
  /** Milliseconds from the batch's last verdict within which it must be claimed. */
  readonly ttlMs: number;
  /** In the order of the calls. */
  readonly operations: readonly ClaimRequest[];
}

export type Claim =
  | {
      readonly kind: "claimed";
      readonly operationId: Digest;
      readonly fence: number;
      readonly attempt: number;
      readonly seq?: number;
    }
  /** Answered from the ledger: settled before, or settled now by the claim's own checks (expired, halted, other thread). */
  | { readonly kind: "settled"; readonly operationId: Digest; readonly row: SettledRow; readonly replayed: boolean }
  /** Another owner that may live holds it, or a write of the thread that may still be in flight. */
  | { readonly kind: "busy"; readonly operationId: Digest; readonly owner: Owner };

export type ClaimResult =
  | { readonly kind: "claims"; readonly claims: readonly Claim[] }
  /** A guard hit nobody was shown, or an `ask` without a valid verdict: nothing of the batch was claimed. */
  | { readonly kind: "ask"; readonly operationIds: readonly Digest[] };

export type EnterResult =
  | { readonly kind: "entered" }
  /** The thread is another scope's; nothing was changed. */
  | { readonly kind: "foreign" }
  /** The thread is another run's, which may live. */
  | { readonly kind: "busy"; readonly owner: Owner };

export type BeginResult =
  | { readonly kind: "dispatching"; readonly sentAt: number }
  /** The thread was halted since the claim; the row is settled `rejected (halted)`. */
  | { readonly kind: "halted"; readonly row: SettledRow }
  /** The fence is old: another owner took over. Send nothing. */
  | { readonly kind: "lost" };

export interface Settlement {
  readonly operationId: Digest;
  readonly fence: number;
  readonly outcome: Outcome;
  /** Whether a send was attempted. */
  readonly sent: boolean;
  readonly result?: ResultRef;
  /** Milliseconds that the call took, by a clock that nobody can set. Without it the ledger's clock says how long it took. */
  readonly tookMs?: number;
  /** Milliseconds for which whoever sent it may still hear a late answer: so long its lease goes on. Without it nothing is in flight any more. */
  readonly listensMs?: number;
}

/** A call refused before it could be claimed, or closed because nothing will run it any more. */
export interface Refusal {
  readonly operation: Operation;
  readonly threadId: string;
  readonly scope: string;
  readonly turnId: string;
  readonly toolDigest: Digest | null;
  readonly outcome: Outcome;
}

export type ResolveResult =
  | { readonly kind: "resolved"; readonly row: SettledRow }
  | { readonly kind: "already_settled"; readonly row: SettledRow }
  /** `did_not_happen` while the sending process may still send it, or get its answer. */
  | { readonly kind: "owner_alive"; readonly row: OperationRow }
  | { readonly kind: "not_found" };

export type ForgetResult =
  | { readonly kind: "forgotten" }
  /** A write is unknown, or something is in hand: its record is still needed. */
  | { readonly kind: "unsettled"; readonly rows: readonly OperationRow[] };

export type AcceptResult =
  | { readonly kind: "accepted"; readonly unknown: readonly SettledRow[] }
  /** A run that may live holds the thread. */
  | { readonly kind: "busy"; readonly owner: Owner }
  | { readonly kind: "not_found" };

/**
 * What a transaction outlives as soon as it is acknowledged. A transaction that survives a loss of power makes every
 * earlier one of its store survive it, too; so it is needed only where something outside acts on what was stored:
 * a send, or an answer that was acknowledged.
 */
export type Survives = "kill" | "power-loss";

export interface Ledger {
  /**
   * Stores a body under its id; the first one stays. A thread that is forgotten takes only what a model was shown with it.
   * `survives`: "kill" is for what no checkpoint names; it then survives a loss of power with whatever is stored after it.
   * @default "power-loss"
   */
  putSnapshot(snapshot: SnapshotBody, survives?: Survives): Promise<void>;
  /** What is stored under an id. Whoever asks looks whether it is what they asked for. */
  snapshot(id: Digest): Promise<SnapshotBody | undefined>;

  /**
   * Takes a thread for a run (ledger-8) of a scope, which the thread is of from then on (ledger-9). What a gone owner left in
   * it is fenced off: its claims lapse, its unsettled writes are `result_unknown`. Rejects with `store_tampered` and
   * `secret_missing` (see `verify`) beside the adapter's failures.
   */
  enter(threadId: string, owner: Owner, leaseMs: number, scope?: string): Promise<EnterResult>;
  /**
   * Looks whether a thread's rows are those that were sealed: `enter` does, so this is for runs that take no thread. Throws
   * `store_tampered` where they are not, and `secret_missing` where this host has no secret and the thread is sealed.
   */
  verify(threadId: string): Promise<void>;
  /**
   * Seals a thread anew that somebody has looked through after `store_tampered`. Writes that may have been sent, as far as
   * its rows can still tell, are `result_unknown` from then on: those not settled, those whose own seal does not hold, and
   * calls of its proposals that have no row.
   */
  accept(threadId: string, said: { readonly by: string; readonly note: string }): Promise<AcceptResult>;
  /** The same for all threads of a store that was set back, whose mark is brought in line with it. */
  acceptRestored(said: { readonly by: string; readonly note: string }): Promise<readonly SettledRow[]>;
  /**
   * Takes the contents of a thread out of the ledger: arguments, questions, messages, evidence. A sealed row with digests
   * stays of each operation, so that the guards and the thread's seal hold. Only the run that holds the thread may do it.
   */
  forget(threadId: string, run: Owner): Promise<ForgetResult>;
  /** Whose a thread is; undefined while it is nobody's. (ledger-9) */
  scopeOf(threadId: string): Promise<string | undefined>;
  /** Makes a thread that is nobody's a scope's. Returns whose it is then. (ledger-9) */
  adopt(threadId: string, scope: string): Promise<string>;
  /** Gives the thread back. Of another's thread: nothing. */
  leave(threadId: string, owner: Owner): Promise<void>;
  /** Extends the lease of everything in flight under this owner. False: there is nothing, or another took it over. */
  renew(owner: Owner, leaseMs: number): Promise<boolean>;

  /**
   * Records a model request and the proposal it led to. Idempotent by request id. `run` names the run that asks, here and
   * below: rejects with `already_running` when the thread is not, or no longer, its own. (ledger-8)
   */
  propose(record: ModelRequestRecord, run?: Owner): Promise<void>;
  proposal(proposalId: string): Promise<Proposal | undefined>;
  /** Model requests of a turn, oldest first. */
  modelRequests(threadId: string, turnId: string): Promise<ModelRequestRecord[]>;

  row(operationId: Digest): Promise<OperationRow | undefined>;
  /** Every operation of one model response, edits included, in order of creation. */
  rows(proposalId: string): Promise<OperationRow[]>;
  /** Every operation of a thread (of one turn), in order of creation. */
  operations(threadId: string, turnId?: string): Promise<OperationRow[]>;
  standing(query: StandingQuery): Promise<Standing>;
  /** What bears on one model response, in one read. */
  look<Plan extends LookPlan>(
    query: LookQuery,
    planFrom: PlanFrom<Plan>,
  ): Promise<{ readonly look: Look; readonly plan: Plan }>;

  /**
   * Inserts what is missing: the operation as `proposed`, and its request. An open request for the operation that shows
   * as much (`seen`, definition, injected parameters) stays; one that does not is replaced, and its verdict, if any, no longer counts.
   */
  ask(requests: readonly NewRequest[], run?: Owner): Promise<Asked[]>;
  /** The current request of each operation, with its answer. */
  asked(operationIds: readonly Digest[]): Promise<Asked[]>;
  request(approvalId: string): Promise<Asked | undefined>;
  /**
   * Current requests that have not expired, of operations still `proposed` (or claimed, or a read being sent, by an owner
   * that is gone), without a verdict; with `answered` also those with one, for hosts that must see whether it still verifies.
   */
  openRequests(
    threadId?: string,
    options?: { readonly answered?: boolean },
  ): Promise<(Asked & { readonly row: OperationRow })[]>;
  /** Stores answers, each by compare-and-set: first wins. */
  answer(answers: readonly Answered[]): Promise<AnswerResult[]>;

  /** Claims a batch. (ledger-2) All or nothing with respect to `ask`. */
  claim(batch: ClaimBatch): Promise<ClaimResult>;
  /**
   * `claimed` becomes `dispatching`, on disk before this returns. Checks the fence and the halt again. `actsMs`: milliseconds
   * after which whoever sends it certainly sends no more and hears no answer any more.
   */
  begin(operationId: Digest, fence: number, actsMs: number): Promise<BeginResult>;
  /** Settles a claimed or dispatching operation. False when the fence is old. */
  settle(settlement: Settlement): Promise<boolean>;
  /** An answer that came after the row became `result_unknown`. False when it is settled otherwise by now. */
  settleLate(settlement: Settlement): Promise<boolean>;
  /**
   * What a declared read-back found of a write whose outcome is unknown: kept as its evidence, and settled when it says
   * either way; `did_not_happen` only once the sender cannot get its answer any more. The row as it stands then (ledger-6);
   * undefined when there is none.
   */
  readBack(operationId: Digest, found: Omit<ReadBack, "at">): Promise<OperationRow | undefined>;
  /** Settles operations that were never claimed. Returns the rows as they now stand (ledger-6). */
  refuse(refusals: readonly Refusal[], run?: Owner): Promise<OperationRow[]>;
  /**
   * Settles what the owner of a dead process left in `dispatching`: a write as `result_unknown`; a read as `unavailable`,
   * only when `reads` says so (it might also run again). A row in `claimed` with a dead owner becomes claimable by itself.
   */
  sweep(query: { readonly threadId?: string; readonly reads: boolean }): Promise<SettledRow[]>;

  /** Writes with an unknown outcome, swept first; those left by a person included. */
  unknowns(threadId?: string): Promise<SettledRow[]>;
  /** A person's word on an unknown outcome. `leave` settles nothing but is recorded. */
  resolve(
    operationId: Digest,
    type: ResolutionType,
    resolution: Omit<Resolution, "type" | "at">,
  ): Promise<ResolveResult>;

  /** Threads the ledger knows, of every scope, latest activity first. */
  threads(options?: {
    /** Only those that nobody has used for so many milliseconds, by the ledger's clock. */
    readonly idleMs?: number;
  }): Promise<{ readonly threadId: string; readonly scope: string; readonly lastAt: number }[]>;
  close(): Promise<void>;
}

/**
 * Whether the owner of a row may still act. `alive`: it has the operation in flight in this very process. `here`: its process
 * runs on this machine since the same boot, and may have been stopped, cut off, or let go of it; its lease decides, counted on
 * the clock of the boot. `unknown`: of another machine; its lease decides, counted on the store's clock.
 */
export type OwnerLiveness = (owner: Owner, operationId: string) => "alive" | "gone" | "here" | "unknown";

/** What a run is known by, among the operations an owner has in flight. */
export function runKey(threadId: string): string {
  return `thread:${threadId}`;
}

/** What a ledger adapter is given. */
export interface LedgerDeps {
  /** Epoch milliseconds; asked only by stores without a clock of their own. */
  readonly now: () => number;
  /** Milliseconds since this machine was started. Every process of the machine reads the same, and nobody can set it. */
  readonly steady: () => number;
  readonly liveness: OwnerLiveness;
  /** The secrets of the seals, where the host has one that outlives it. Without them nothing is sealed. */
  readonly seals?: SealSecrets | undefined;
  /** What is kept outside of the store about how far it has come. Only where rows are sealed. */
  readonly mark?: Mark | undefined;
}

/** How far a store, and one thread of it, has come. */
export interface Marked {
  /** The store's own id. */
  readonly store: string;
  /** Writes that the store has sent; 0 where it does not count them. */
  readonly sends: number;
  /** Changes of rows that the thread has seen; 0 where the mark does not know it. */
  readonly changes: number;
}

/** A mark outside of the store. `add` and `renew` return when what they wrote survives a loss of power. */
export interface Mark {
  readonly path: string;
  read(threadKey: string): Marked | undefined;
  add(threadKey: string, marked: Marked): void;
  /** Puts these threads in the place of all that it says. */
  renew(threads: readonly (readonly [threadKey: string, marked: Marked])[]): void;
  close(): void;
}
