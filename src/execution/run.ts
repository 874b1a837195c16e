// Run: sends what was claimed. The only place from which a call leaves for a server or a local tool.
//
//   X1. `dispatching` is on disk before the first byte leaves (G5).
//   X2. One claimed operation, one send: nothing here is ever tried again (G6).
//   X3. Calls keep their order: neighbouring reads run side by side, a write waits for everything before it.
//   X4. After an unknown write later writes of the batch are `rejected (halted)`; later reads still run (G7).
//   X5. The body is stored before its row settles.
//   X6. A cancelled run begins nothing more; what is in flight is settled. A write in flight is never cancelled.
//   X7. An answer after the deadline is evidence: it is stored with the row by the process that sent.
//   X8. What a server said is made fit to be kept before anything keeps it; what is judged is what the server said.
//   X9. An outcome that the store does not take is kept in memory and offered again for half a minute; it is never found
//       out by sending again. What could not be marked `dispatching` is not sent.

import {
  type Digest,
  type EffectClass,
  type Operation,
  type Outcome,
  type ResultRef,
  rejected,
  ToolgateError,
} from "../contracts/index.js";
import { classify, type Findings, type Terms } from "./classify.js";
import type { BeginResult, Ledger, Settlement } from "../ledger/port.js";
import type { Call, CallEvidence } from "../contracts/servers.js";

/** Milliseconds between two tries to store an outcome. */
const RETRY_MS = 250;
/** Milliseconds after which no more try is begun: a store that comes back within it has lost nothing. */
const INSIST_MS = 30_000;

/** A claimed operation with its way out. */
export interface Dispatch {
  readonly operation: Operation;
  readonly fence: number;
  readonly terms: Terms;
  /**
   * Starts the one send, unless `maySend`, asked just before the first byte, says that the lease has passed.
   * Contract: called at most once, after `dispatching` is on disk; must not throw.
   */
  readonly send: (signal: AbortSignal | undefined, maySend: () => boolean) => Call;
  /** What is wrong with a result that came, beyond what its shape says. Contract: must not throw. */
  readonly inspect: (result: unknown) => Promise<Findings>;
}

/** What a dispatch came to. `outcome` undefined: the run was cancelled before it was begun; it stays claimed. */
export interface Ran {
  readonly operationId: Digest;
  readonly outcome?: Outcome;
  readonly result?: ResultRef;
}

export interface RunDeps {
  readonly ledger: Ledger;
  /** Whether this run's lease is still good. Asked just before the first byte. */
  readonly good: () => boolean;
  /** Says that an operation, held since before its claim, is no longer in flight: whoever looks may take its owner for gone. */
  readonly release: (operationId: Digest) => void;
  /** Makes words of a server fit to be kept: without the host's secrets, bounded. Contract: must not throw. */
  readonly words: (text: string) => string;
  /** Stores a result's body for the thread, likewise without the host's secrets. */
  readonly keep: (result: unknown) => Promise<ResultRef>;
  /** Milliseconds after its deadline within which an answer to a call may still be heard and recorded. */
  readonly listenMs: number;
  /** Resolves after so many milliseconds. */
  readonly wait: (ms: number) => Promise<void>;
  /** A clock that is never set, in milliseconds. */
  readonly steady: () => number;
  /** Takes the wait for a late answer, which outlives the run, so that closing and read-backs wait for it. */
  readonly background: (work: Promise<unknown>, operationId: Digest) => void;
  /** Contract: must not throw. */
  readonly progress: (event: { phase: "sent" | "settled"; operation: Operation; outcome?: Outcome }) => void;
  /** Another host took over: thrown to the caller, nothing more is sent. */
  readonly takenOver: (operation: Operation) => Error;
}

/** Runs claimed operations in order and settles each. Rejects only when the ledger does or another host took over. */
export async function runBatch(
  dispatches: readonly Dispatch[],
  deps: RunDeps,
  options: { readonly parallelReads: number; readonly signal?: AbortSignal | undefined },
): Promise<Ran[]> {
  const ran: Ran[] = [];
  const listening = new Set<Digest>();
  let unknownWrite: Operation | undefined;
  try {
    for (const group of inOrder(dispatches, options.parallelReads)) {
      if (options.signal?.aborted) break; // X6
      const settled = await Promise.all(
        group.map((dispatch) =>
          unknownWrite !== undefined && dispatch.terms.effect === "write"
            ? haltOne(dispatch, unknownWrite, deps)
            : runOne(dispatch, deps, listening, options.signal),
        ),
      );
      ran.push(...settled);
      unknownWrite ??= group.find(
        (dispatch, index) => dispatch.terms.effect === "write" && settled[index]?.outcome?.status === "result_unknown",
      )?.operation;
    }
  } finally {
    for (const { operation } of dispatches) if (!listening.has(operation.id)) deps.release(operation.id);
  }
  return ran;
}

/** Groups of calls that may run side by side: runs of reads, at most `parallel` each; every write alone. (X3) */
export function inOrder<T extends { readonly terms: { readonly effect: EffectClass } }>(
  calls: readonly T[],
  parallel: number,
): T[][] {
  const groups: T[][] = [];
  for (const call of calls) {
    const last = groups.at(-1);
    const joins = call.terms.effect === "read" && last?.[0]?.terms.effect === "read" && last.length < parallel;
    if (joins) last.push(call);
    else groups.push([call]);
  }
  return groups;
}

/** X4 */
async function haltOne(dispatch: Dispatch, unknown: Operation, deps: RunDeps): Promise<Ran> {
  const { operation, fence } = dispatch;
  const outcome = rejected(
    "halted",
    "halt",
    `the outcome of ${unknown.alias} is unknown; no write runs until it is settled`,
  );
  await put(operation, { fence, outcome, sent: false }, deps);
  return { operationId: operation.id, outcome };
}

async function runOne(
  dispatch: Dispatch,
  deps: RunDeps,
  listening: Set<Digest>,
  signal: AbortSignal | undefined,
): Promise<Ran> {
  const { operation, terms } = dispatch;
  const begun = await begin(dispatch, deps); // X1
  if ("outcome" in begun) return begun;
  if (begun.kind === "lost") throw deps.takenOver(operation);
  if (begun.kind === "halted") {
    return { operationId: operation.id, ...(begun.row.outcome ? { outcome: begun.row.outcome } : {}) };
  }
  deps.progress({ phase: "sent", operation });
  const call = dispatch.send(terms.effect === "read" ? signal : undefined, deps.good); // X2, X6
  const evidence = await call.evidence;
  const settled = await settle(dispatch, evidence, deps);
  if (evidence.how === "deadline") {
    listening.add(operation.id);
    deps.background(listen(dispatch, call, deps), operation.id); // X7
  }
  deps.progress({ phase: "settled", operation, outcome: settled.outcome as Outcome });
  return settled;
}

/** X1, and X9: what could not be recorded is not sent. */
async function begin(
  { operation, fence }: Dispatch,
  deps: RunDeps,
): Promise<BeginResult | Required<Pick<Ran, "operationId" | "outcome">>> {
  try {
    return await deps.ledger.begin(operation.id, fence);
  } catch (error) {
    if (!isStoreFailure(error)) throw error;
    const message = "the ledger could not be written before the send; nothing was sent"; // the store's path is not for the model
    const outcome: Outcome = { status: "unavailable", reason: "not_sent", by: "host", message };
    await put(operation, { fence, outcome, sent: false }, deps);
    return { operationId: operation.id, outcome };
  }
}

/** X9 */
async function put(
  operation: Operation,
  settlement: Omit<Settlement, "operationId">,
  deps: RunDeps,
  insist = insistence(deps),
): Promise<void> {
  const stored = await insist(() => deps.ledger.settle({ operationId: operation.id, ...settlement }));
  if (!stored) throw deps.takenOver(operation);
}

type Insist = <T>(write: () => Promise<T>) => Promise<T>;

/** Tries again what the store refuses for the moment: nobody else knows what we are about to write. (X9) */
function insistence(deps: RunDeps): Insist {
  const until = deps.steady() + INSIST_MS;
  return async (write) => {
    for (;;) {
      try {
        return await write();
      } catch (error) {
        if (!isStoreFailure(error) || deps.steady() + RETRY_MS > until) throw error;
        await deps.wait(RETRY_MS);
      }
    }
  };
}

function isStoreFailure(error: unknown): error is ToolgateError {
  return error instanceof ToolgateError && error.code === "store_failed";
}

async function settle(dispatch: Dispatch, evidence: CallEvidence, deps: RunDeps): Promise<Ran> {
  const { operation, fence } = dispatch;
  const insist = insistence(deps);
  const { outcome, result } = await read(dispatch, evidence, deps, insist);
  const listens = evidence.how === "deadline" ? { listensMs: deps.listenMs } : {}; // X7
  const settlement = { fence, outcome, sent: evidence.attempted, ...(result ? { result } : {}), ...listens };
  await put(operation, settlement, deps, insist);
  return { operationId: operation.id, outcome, ...(result ? { result } : {}) };
}

async function listen(dispatch: Dispatch, call: Call, deps: RunDeps): Promise<void> {
  const { operation, fence } = dispatch;
  try {
    const evidence = await call.late;
    if (evidence?.response === undefined) return;
    const insist = insistence(deps);
    const { outcome, result } = await read(dispatch, evidence, deps, insist);
    const settlement = {
      operationId: operation.id,
      fence,
      outcome: { ...outcome, evidence: { attempted: true, how: evidence.how, ...outcome.evidence, late: true } },
      sent: true,
      ...(result ? { result } : {}),
    };
    await insist(() => deps.ledger.settleLate(settlement));
  } finally {
    deps.release(operation.id);
  }
}

/** What the evidence means, and its body if it left one. (X5) */
async function read(
  dispatch: Dispatch,
  evidence: CallEvidence,
  deps: RunDeps,
  insist: Insist,
): Promise<{ outcome: Outcome; result?: ResultRef }> {
  const response = evidence.response;
  const arrived = response !== undefined && "result" in response && !evidence.tooLarge ? response : undefined;
  const findings = arrived ? await dispatch.inspect(arrived.result) : {};
  const judged = classify(evidence, dispatch.terms, findings);
  const outcome = { ...judged, message: deps.words(judged.message) }; // X8
  if (!arrived || outcome.reason === "too_large" || outcome.reason === "malformed") return { outcome };
  return { outcome, result: await insist(() => deps.keep(arrived.result)) };
}
