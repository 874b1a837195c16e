// Prepare: what must hold before a call is sent. First what needs the world to answer (a stored checkpoint, a connection,
// definitions that are still the ones the model was shown), then the ledger's grant, then `dispatching` on disk.
//
//   prepare-1. Connecting and verifying come before the claim. What fails there was never dispatched, and a yes stays unused.
//   prepare-2. A write waits until the checkpoint that it runs from is stored, and is refused where that never happens.
//   prepare-3. A claim that the ledger could not record runs nothing, and a yes stays unused. Its calls are `unavailable`; where
//              not even that can be recorded, the run fails with `store_failed` and can be run again.
//   prepare-4. What could not be marked `dispatching` is not sent.

import { type Digest, LOCAL, type Outcome, rejected, ToolgateError, threadOfKey } from "../contracts/index.js";
import type { Batch, BatchCall } from "../gate/batch.js";
import { injectsOf } from "../gate/routed-call.js";
import type { ClaimResult } from "../ledger/port.js";
import { type ExecutionPorts, type Run, STORED_WITHIN_MS } from "./ports.js";
import type { Dispatch } from "./send.js";
import { isStoreFailure, operationTakenOver, type SettlePorts, storeOutcome } from "./settle.js";

/** A call that must not be claimed, and why. */
export interface Refused {
  readonly call: BatchCall;
  readonly outcome: Outcome;
}

/** Refuses, and records as refused, what does not hold in the world just now. (prepare-1) */
export async function refuseWhatMoved(
  ports: ExecutionPorts,
  batch: Batch,
  permitted: readonly BatchCall[],
  run: Run,
): Promise<Refused[]> {
  const refused = await refusals(ports, batch, permitted, run);
  await refuse(ports, batch, refused, run);
  return refused;
}

export async function refuse(
  ports: ExecutionPorts,
  { threadId, scope, turnId }: Batch,
  refused: readonly Refused[],
  run: Run,
): Promise<void> {
  const place = { threadId, turnId, scope };
  await ports.ledger.refuse(
    refused.map(({ call: { operation, entry }, outcome }) => {
      return { ...place, operation, toolDigest: entry?.digest ?? null, outcome };
    }),
    run.lease.holdsThread ? run.lease.owner : undefined,
  );
}

async function refusals(
  ports: ExecutionPorts,
  batch: Batch,
  permitted: readonly BatchCall[],
  run: Run,
): Promise<Refused[]> {
  const writes = permitted.filter((call) => call.operation.effect === "write");
  if (writes.length === 0 || (await run.stored(STORED_WITHIN_MS)))
    return definitionsMoved(ports, batch, permitted, run);
  const message = `this run's state was not stored within ${STORED_WITHIN_MS} ms; writes need durability "sync" or "async"; it was not run`; // prepare-2
  const notStored = writes.map((call) => ({ call, outcome: rejected("durability", "host", message) }));
  const reads = permitted.filter((call) => call.operation.effect === "read");
  return [...notStored, ...(await definitionsMoved(ports, batch, reads, run))];
}

async function definitionsMoved(
  ports: ExecutionPorts,
  batch: Batch,
  calls: readonly BatchCall[],
  run: Run,
): Promise<Refused[]> {
  const byServer = new Map<string, BatchCall[]>();
  for (const call of calls) {
    const { server } = call.operation;
    if (server !== null && server !== LOCAL) byServer.set(server, [...(byServer.get(server) ?? []), call]);
  }
  return (
    await Promise.all([...byServer].map(([server, own]) => movedAt(ports, batch, { server, calls: own, run })))
  ).flat();
}

/**
 * Lists the server at most once per batch, within one time limit that connecting it is part of. A server without a
 * connection is due. Where no call needs a fresh list, its last list is used.
 */
async function movedAt(
  ports: ExecutionPorts,
  batch: Batch,
  { server, calls, run }: { readonly server: string; readonly calls: readonly BatchCall[]; readonly run: Run },
): Promise<Refused[]> {
  const stale = batch.snapshot?.servers.find((one) => one.name === server)?.status === "stale";
  const changed = ports.catalog.due([server]);
  const verifying = calls.filter((call) => stale || changed || call.settings?.verify === "each-call");
  const place = { run: run.lease, proposalId: batch.proposalId };
  const verified = verifying.length > 0 ? await ports.catalog.verify(server, place) : undefined;
  const digests = verified?.ok ? verified.digests : ports.catalog.digests(server);
  return calls.flatMap((call): Refused[] => {
    if (verified?.ok === false && verifying.includes(call)) {
      const what = verified.connected ? "could not be listed again before the call" : "is not available";
      return [{ call, outcome: unavailable(`${server} ${what}: ${verified.problem}`) }];
    }
    const digest = digests?.get(call.entry?.tool ?? "");
    if (digest !== undefined && digest === call.entry?.digest) return [];
    const what = digest === undefined ? "no longer lists this tool" : "has changed this tool's definition";
    const message = `${server} ${what} since it was shown to you; it was not run`;
    return [{ call, outcome: rejected("drift", "drift", message) }];
  });
}

/** Claims the calls as one batch. (prepare-3) */
export async function claim(
  ports: ExecutionPorts,
  batch: Batch,
  ready: readonly BatchCall[],
  run: Run,
): Promise<ClaimResult | { readonly kind: "unrecorded"; readonly outcome: Outcome }> {
  const { config } = ports;
  try {
    return await ports.ledger.claim({
      threadId: batch.threadId,
      scope: batch.scope,
      turnId: batch.turnId,
      proposalId: batch.proposalId,
      ledgerSeq: run.ledgerSeq,
      haltScope: config.haltScope,
      owner: run.lease.owner,
      leaseMs: config.leaseMs,
      ttlMs: config.approvals.ttlMs,
      operations: ready.map(({ operation, entry, settings, destination, yes }) => ({
        operation,
        toolDigest: (entry as NonNullable<typeof entry>).digest, // a permitted call has a tool
        ...injectsOf({ settings }),
        ...(destination === undefined ? {} : { destination: destination.digest }),
        repeat: settings?.repeat ?? "ask",
        ...(yes === undefined ? {} : { verdict: { approvalId: yes.approvalId, mac: yes.mac } }),
      })),
    });
  } catch (error) {
    if (!isStoreFailure(error)) throw error;
    return { kind: "unrecorded", outcome: unavailable("the ledger could not be written; nothing was sent") };
  }
}

type Begun =
  /** `since`: the steady reading from before this was stored, from which its time limit is counted. */
  { readonly kind: "dispatching"; readonly since: number } | { readonly kind: "ended"; readonly outcome: Outcome };

/** Marks an operation `dispatching`. Where that cannot be stored, or the thread was halted, its outcome says so. (prepare-4) */
export async function begin(ports: SettlePorts, dispatch: Dispatch): Promise<Begun> {
  const { operation, fence, times } = dispatch;
  const since = ports.steady(); // before the ledger is asked, so that the time limit is over here before it is over there
  try {
    const begun = await ports.ledger.begin(operation.id, fence, times.deadlineMs + times.keepListeningMs);
    switch (begun.kind) {
      case "dispatching":
        return { kind: "dispatching", since };
      case "halted":
        return { kind: "ended", outcome: begun.row.outcome };
      case "lost":
        throw operationTakenOver(operation);
    }
  } catch (error) {
    if (!isStoreFailure(error)) throw error;
    const outcome = unavailable("the ledger could not be written before the send; nothing was sent"); // the store's path is not for the model
    await storeOutcome(ports, dispatch, { outcome, sent: false });
    return { kind: "ended", outcome };
  }
}

/** The outcome of a call that was never sent. */
export function unavailable(message: string): Outcome {
  return { status: "unavailable", reason: "not_sent", by: "host", message };
}

export function alreadyRunning(
  key: string,
  { operation }: { readonly operation: { readonly id: Digest; readonly alias: string } },
): ToolgateError {
  const threadId = threadOfKey(key);
  return new ToolgateError(
    "already_running",
    `thread \`${threadId}\` is running elsewhere: \`${operation.alias}\` is in flight`,
    "wait for that run to end, then run the thread again",
    { data: { threadId, operationId: operation.id } },
  );
}
