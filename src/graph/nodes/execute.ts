// execute: the only node that calls tools. It trusts nothing the state says of a call: the batch is judged again from the
// host's own stores, servers are asked whether their definitions still stand, and the ledger grants each claim.
//
//   E1. While one call of the batch still needs a person, nothing of it is claimed.
//   E2. Connecting and verifying come before the claim; what fails there was never dispatched, and a yes stays unused.
//   E3. A write waits until the checkpoint it runs from is stored, and is refused where that never happens.
//   E4. What the ledger has settled is answered from it and marked replayed.
//   E5. The host's secrets are taken out of an answer before it is stored: state, model and people read what is stored.
//   E6. A claim that the ledger could not record runs nothing: its calls are `unavailable`, and a yes stays unused.

import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { type Digest, LOCAL, type OperationRow, type Outcome, ToolgateError } from "../../contracts/index.js";
import type { Claim, ClaimBatch, ClaimRequest, ClaimResult } from "../../ledger/port.js";
import { type Dispatch, runBatch } from "../../execution/run.js";
import { head, redactBody, toBody } from "../../observation/index.js";
import { type Batch, type BatchCall, loadBatch, threadOf } from "../../gate/batch.js";
import { CONNECT_SERVER } from "../../execution/built-ins.js";
import { injectsOf } from "../../gate/call.js";
import { dispatchOf } from "../../execution/send.js";
import { leaseOf } from "../../langgraph/held-graph.js";
import type { Host, RunOwner } from "../host.js";
import { claimsOnly, type Lease } from "../../langgraph/thread-lease.js";
import type { GraphState, GraphUpdate, OperationView } from "../state.js";
import { beforeClaim, type Refused, unavailable } from "../../execution/verify.js";
import { settledPart, toldOf, viewOf, viewsOf } from "../views.js";
import { alreadyRunning } from "./observe.js";

/** Bytes of a server's words in an outcome; the whole answer is in the result store. */
const MESSAGE_BYTES = 2_000;

export function execute(host: Host) {
  return async (state: GraphState, runtime: LangGraphRunnableConfig): Promise<GraphUpdate> => {
    const threadId = threadOf(runtime);
    const lease = leaseOf(runtime);
    await host.ledger.sweep({ threadId, reads: false });
    const batch = await loadBatch(host, state, threadId);
    if (!batch) return { operations: [] };
    if (batch.calls.some((call) => call.judgement.kind === "ask")) return { operations: viewsOf(batch, () => false) }; // E1

    const runnable = batch.calls.filter((call) => call.judgement.kind === "run");
    const refused = await beforeClaim(host, batch, runnable, runtime);
    const refuse = (calls: readonly Refused[]) =>
      host.ledger.refuse(
        calls.map(({ call, outcome }) => refusalOf(host, batch, call, outcome)),
        lease?.owner,
      );
    await refuse(refused);
    const stopped = new Set(refused.map(({ call }) => call));
    const ready = runnable.filter((call) => !stopped.has(call));

    if (ready.length === 0) return afterwards(host, batch, state, []);
    const mine = lease ?? claimsOnly(host);
    for (const { operation } of ready) mine.hold(operation.id);
    let dispatched: Dispatch[] = [];
    try {
      const claimed = await claim(host, claimBatch(host, batch, state, mine, ready));
      if (claimed.kind === "unrecorded") {
        for (const { operation } of ready) mine.release(operation.id);
        await refuse(ready.map((call) => ({ call, outcome: claimed.outcome }))); // E6
        return await afterwards(host, batch, state, []);
      }
      if (claimed.kind === "ask") return { operations: await askedViews(host, state, threadId, claimed.operationIds) };
      const busy = claimed.claims.find((claim) => claim.kind === "busy");
      if (busy) throw alreadyRunning(threadId, byId(batch, busy.operationId));

      dispatched = dispatches(host, batch, state, claimed.claims, runtime);
      const running = runBatch(dispatched, runDeps(host, mine, threadId, runtime), {
        parallelReads: host.config.limits.parallelReads,
        signal: runtime.signal,
      });
      host.background(running, `batch:${batch.proposalId}`); // whoever closes waits for what is in flight
      await running;
      runtime.signal?.throwIfAborted();
      return await afterwards(host, batch, state, claimed.claims);
    } finally {
      const taken = new Set(dispatched.map(({ operation }) => operation.id)); // released by runBatch
      for (const { operation } of ready) if (!taken.has(operation.id)) mine.release(operation.id);
      if (mine !== lease) await mine.close();
    }
  };
}

/** E6 */
async function claim(
  host: Host,
  batch: ClaimBatch,
): Promise<ClaimResult | { readonly kind: "unrecorded"; readonly outcome: Outcome }> {
  try {
    return await host.ledger.claim(batch);
  } catch (error) {
    if (!(error instanceof ToolgateError) || error.code !== "store_failed") throw error;
    return { kind: "unrecorded", outcome: unavailable("the ledger could not be written; nothing was sent") };
  }
}

function refusalOf(host: Host, batch: Batch, call: BatchCall, outcome: Outcome) {
  const { threadId, turnId } = batch;
  return {
    operation: call.operation,
    threadId,
    scope: host.config.scope,
    turnId,
    toolDigest: call.entry?.digest ?? null,
    outcome,
  };
}

function claimBatch(
  host: Host,
  batch: Batch,
  state: GraphState,
  { owner }: RunOwner,
  ready: readonly BatchCall[],
): ClaimBatch {
  return {
    threadId: batch.threadId,
    scope: host.config.scope,
    turnId: batch.turnId,
    proposalId: batch.proposalId,
    ledgerSeq: state.ledgerSeq,
    haltScope: host.config.haltScope,
    owner,
    leaseMs: host.config.leaseMs,
    ttlMs: host.config.approvals.ttlMs,
    operations: ready.map(claimRequest),
  };
}

function claimRequest(call: BatchCall): ClaimRequest {
  return {
    operation: call.operation,
    toolDigest: (call.entry as NonNullable<typeof call.entry>).digest, // a runnable call has a tool
    ...injectsOf(call),
    repeat: call.settings?.repeat ?? "ask",
    ...(call.yes === undefined ? {} : { verdict: { approvalId: call.yes.approvalId, mac: call.yes.mac } }),
  };
}

/** The claim found what the judgement could not see yet: the batch goes back to a person. */
async function askedViews(
  host: Host,
  state: GraphState,
  threadId: string,
  ids: readonly Digest[],
): Promise<OperationView[]> {
  const batch = await loadBatch(host, state, threadId);
  if (!batch) return [];
  return viewsOf(batch, () => false).map((view) =>
    ids.includes(view.operationId) ? { ...view, status: "asked" as const } : view,
  );
}

function dispatches(
  host: Host,
  batch: Batch,
  state: GraphState,
  claims: readonly Claim[],
  runtime: LangGraphRunnableConfig,
): Dispatch[] {
  const context = { threadId: batch.threadId, state, runtime };
  return claims.flatMap((claim) =>
    claim.kind === "claimed" ? [dispatchOf(host, byId(batch, claim.operationId), claim.fence, context)] : [],
  );
}

function runDeps(
  host: Host,
  mine: Lease,
  threadId: string,
  runtime: LangGraphRunnableConfig,
): Parameters<typeof runBatch>[1] {
  return {
    ledger: host.ledger,
    good: mine.good,
    release: mine.release,
    words: (text) => head(host.redact(text), MESSAGE_BYTES), // E5: redacted first, a cut could hide half a secret
    keep: (result) => host.results.put(threadId, redactBody(toBody(result), host.redact)), // E5
    listenMs: host.config.lateAnswerMs + host.config.leaseMs, // and to record it
    wait: (ms) => host.after(ms).elapsed,
    steady: host.steady,
    background: host.background,
    progress: ({ phase, operation, outcome }) =>
      runtime.writer?.({
        type: "toolgate.call",
        phase,
        operationId: operation.id,
        alias: operation.alias,
        effect: operation.effect,
        ...(outcome ? toldOf(outcome) : {}),
      }),
    takenOver: (operation) =>
      new ToolgateError(
        "already_running",
        `another host took \`${operation.alias}\` over`,
        "run the thread again to see what it came to",
      ),
  };
}

/** State follows the ledger: what each call came to, and which servers are connected now. */
async function afterwards(host: Host, batch: Batch, state: GraphState, claims: readonly Claim[]): Promise<GraphUpdate> {
  const rows = new Map((await host.ledger.rows(batch.proposalId)).map((row) => [row.operation.id, row]));
  const replayed = new Set(
    claims.flatMap((claim) => (claim.kind === "settled" && claim.replayed ? [claim.operationId] : [])),
  );
  const views = batch.calls.map((call): OperationView => {
    const row = rows.get(call.operation.id);
    const view = viewOf(call);
    if (row?.state !== "settled") {
      return call.judgement.kind === "refuse"
        ? { ...view, status: call.judgement.outcome.status, reason: call.judgement.outcome.reason }
        : { ...view, status: "ready" };
    }
    const earlier =
      replayed.has(row.operation.id) || (call.judgement.kind === "settled" && row.outcome?.status !== "rejected"); // E4
    return { ...view, ...settledPart(row), ...(earlier ? { replayed: true } : {}) };
  });
  const connected = [...new Set([...state.connected, ...connectedBy(rows.values())])];
  return { operations: views, ...(connected.length > state.connected.length ? { connected } : {}) };
}

function connectedBy(rows: Iterable<OperationRow>): string[] {
  return [...rows].flatMap(({ operation, outcome }) =>
    operation.server === LOCAL && operation.tool === CONNECT_SERVER && outcome?.status === "ok"
      ? [String(operation.arguments["name"])]
      : [],
  );
}

function byId(batch: Batch, operationId: Digest): BatchCall {
  return batch.calls.find((call) => call.operation.id === operationId) as BatchCall;
}
