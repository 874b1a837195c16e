// Call: the road of the calls of a judged batch, in three steps. The only place from which a call leaves for a server or a
// tool of the host's own.
//
//   prepare  what must hold is checked in the world, the ledger grants the claim, and `dispatching` is stored (prepare.ts)
//   send     the one request leaves, and what was seen of it is the evidence (send.ts)
//   settle   the evidence becomes an outcome, and body and outcome are stored (settle.ts)
//
//   call-order-1. `dispatching` is on disk before the first byte leaves (G5).
//   call-order-2. One claimed operation, one send: nothing here is ever tried again (G6).
//   call-order-3. Calls keep their order: neighbouring reads run side by side, a write waits for everything before it.
//   call-order-4. After an unknown write later writes of the batch are `rejected (halted)`; later reads still run (G7).
//   call-order-5. A cancelled run begins nothing more; what is in flight is settled. A write in flight is never cancelled.
//   call-order-6. An operation is held from before its claim until it is settled and nobody waits for its late answer any
//                 more. The failure of a call beside it changes nothing of that.
//   call-order-7. What was marked `dispatching` longer ago than its time limit is not sent, by the clock of the boot. So a host
//                 that was stopped in between sends nothing after others were told that it cannot act any more.

import {
  type Digest,
  haltedOutcome,
  type Operation,
  type Outcome,
  ownSignal,
  type ResultRef,
} from "../contracts/index.js";
import type { Batch, BatchCall } from "../gate/batch.js";
import type { Claim } from "../ledger/port.js";
import { callEvent } from "./call-events.js";
import type { ExecutionPorts, Run } from "./ports.js";
import { alreadyRunning, begin, claim, type Refused, refuse, refuseWhatMoved, unavailable } from "./prepare.js";
import { type Dispatch, dispatchOf } from "./send.js";
import { listen, type SettlePorts, settle, storeOutcome } from "./settle.js";

/** What one call came to. */
export interface CallResult {
  readonly operationId: Digest;
  readonly outcome: Outcome;
  readonly result?: ResultRef;
  /** It was settled by an earlier run and is answered from the ledger. */
  readonly replayed?: boolean;
}

export type Called =
  | { readonly kind: "called"; readonly results: readonly CallResult[] }
  /** The claim found what the judgement could not see yet: nothing was claimed, and a person must be asked about these. */
  | { readonly kind: "ask"; readonly operationIds: readonly Digest[] };

/** Carries out what a batch permits. Throws `already_running` where another run took the thread or a call of it. */
export async function callTools(ports: ExecutionPorts, batch: Batch, run: Run): Promise<Called> {
  const permitted = batch.calls.filter((call) => call.judgement.kind === "run");
  const moved = await refuseWhatMoved(ports, batch, permitted, run);
  const refused = new Set(moved.map(({ call }) => call));
  const ready = permitted.filter((call) => !refused.has(call));
  if (ready.length === 0) return { kind: "called", results: moved.map(resultOf) };

  const dispatches: Dispatch[] = [];
  let leftToSending = new Set<Digest>();
  for (const { operation } of ready) run.lease.hold(operation.id); // call-order-6
  try {
    const granted = await claim(ports, batch, ready, run);
    if (granted.kind === "ask") return granted;
    if (granted.kind === "unrecorded") {
      for (const { operation } of ready) run.lease.release(operation.id); // the claim may be stored although it failed; while it is held, `refuse` would skip it
      const unrecorded = ready.map((call): Refused => ({ call, outcome: granted.outcome }));
      await refuse(ports, batch, unrecorded, run);
      return { kind: "called", results: [...moved, ...unrecorded].map(resultOf) };
    }
    const answered: CallResult[] = [];
    for (const one of granted.claims) {
      const call = ready.find(({ operation }) => operation.id === one.operationId) as BatchCall;
      if (one.kind === "busy") throw alreadyRunning(run.threadId, call);
      if (one.kind === "claimed") dispatches.push(dispatchOf(ports, call, one.fence, run));
      else answered.push(answeredBy(one));
    }
    leftToSending = new Set(dispatches.map(({ operation }) => operation.id));
    const work = sendInOrder(ports, dispatches, run);
    ports.background(work, `batch:${batch.proposalId}`); // whoever closes waits for what is in flight
    const sent = await work;
    run.signal?.throwIfAborted();
    return { kind: "called", results: [...moved.map(resultOf), ...answered, ...sent] };
  } finally {
    for (const { operation } of ready) if (!leftToSending.has(operation.id)) run.lease.release(operation.id);
  }
}

/**
 * Sends claimed operations in order and settles each; then lets go of them. Whatever fails, what is in flight beside it is
 * settled before this rejects. Rejects when the ledger does, or when another host took over.
 */
export async function sendInOrder(
  ports: SettlePorts,
  dispatches: readonly Dispatch[],
  run: SendingRun,
): Promise<CallResult[]> {
  const listening = new Set<Digest>();
  const results: CallResult[] = [];
  let unknownWrite: Operation | undefined;
  try {
    for (const group of inOrder(dispatches, ports.config.limits.parallelReads)) {
      if (run.signal?.aborted) break; // call-order-5
      const ended = await Promise.allSettled(
        group.map((dispatch) =>
          unknownWrite !== undefined && dispatch.terms.effect === "write"
            ? haltOne(ports, dispatch, unknownWrite)
            : callOne(ports, dispatch, listening, run),
        ),
      );
      for (const [index, one] of ended.entries()) {
        if (one.status === "rejected") throw one.reason;
        results.push(one.value);
        const { terms, operation } = group[index] as Dispatch;
        if (terms.effect === "write" && one.value.outcome.status === "result_unknown") unknownWrite ??= operation;
      }
    }
  } finally {
    for (const { operation } of dispatches) if (!listening.has(operation.id)) run.lease.release(operation.id);
  }
  return results;
}

/** What sending must know of the run. */
export type SendingRun = Pick<Run, "lease" | "signal" | "tell" | "threadId">;

/** Groups of calls that may run side by side: runs of reads, at most `parallel` each; every write alone. (call-order-3) */
export function inOrder<T extends { readonly terms: { readonly effect: "read" | "write" } }>(
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

/** One claimed operation, from `dispatching` to its settled row. */
async function callOne(
  ports: SettlePorts,
  dispatch: Dispatch,
  listening: Set<Digest>,
  run: SendingRun,
): Promise<CallResult> {
  const { operation, terms, times } = dispatch;
  const begun = await begin(ports, dispatch); // call-order-1
  if (begun.kind !== "dispatching") return { operationId: operation.id, outcome: begun.outcome };
  if (run.signal?.aborted) return cancelOne(ports, dispatch); // call-order-5
  run.tell(callEvent("sent", operation));
  const { since } = begun;
  const maySend = () => run.lease.valid() && ports.steady() - since < times.deadlineMs; // call-order-7
  const signal = terms.effect === "read" && run.signal ? ownSignal(run.signal) : undefined; // call-order-5
  const call = dispatch.send(signal, maySend); // call-order-2
  const evidence = await call.evidence;
  const settled = await settle(ports, dispatch, evidence, { threadId: run.threadId, since });
  if (evidence.how === "deadline") {
    listening.add(operation.id); // call-order-6
    const heard = listen(ports, dispatch, call, run.threadId).finally(() => run.lease.release(operation.id));
    ports.background(heard, operation.id);
  }
  run.tell(callEvent("settled", operation, settled.outcome));
  return { operationId: operation.id, ...settled };
}

/** The run was cancelled while `dispatching` was stored: nothing leaves. */
async function cancelOne(ports: SettlePorts, dispatch: Dispatch): Promise<CallResult> {
  const outcome = unavailable("the run was cancelled before the call was sent");
  await storeOutcome(ports, dispatch, { outcome, sent: false });
  return { operationId: dispatch.operation.id, outcome };
}

/** call-order-4 */
async function haltOne(ports: SettlePorts, dispatch: Dispatch, unknown: Operation): Promise<CallResult> {
  const outcome = haltedOutcome(unknown.alias);
  await storeOutcome(ports, dispatch, { outcome, sent: false });
  return { operationId: dispatch.operation.id, outcome };
}

function resultOf({ call, outcome }: Refused): CallResult {
  return { operationId: call.operation.id, outcome };
}

function answeredBy({ operationId, row, replayed }: Extract<Claim, { readonly kind: "settled" }>): CallResult {
  const { outcome, result } = row;
  return { operationId, outcome, ...(result === undefined ? {} : { result }), replayed };
}
