// A ledger with a clock and owners in the test's hands, and short ways to say what a test is about.

import {
  type Decision,
  digest,
  type JsonObject,
  type Operation,
  type OperationRow,
  type Outcome,
  type Owner,
  operationId,
  outcomeOf,
  type Proposal,
  sha256,
  type Verdict,
} from "../../src/contracts/index.js";
import type {
  Asked,
  Claim,
  ClaimBatch,
  ClaimRequest,
  ClaimResult,
  Ledger,
  LedgerDeps,
  NewRequest,
  StandingQuery,
} from "../../src/ledger/port.js";

export type MakeLedger = (deps: LedgerDeps) => Ledger | Promise<Ledger>;

export const SNAPSHOT = sha256("snapshot");
export const TOOL = sha256("tool definition");
export const START = 1_800_000_000_000;
export const TTL = 60_000;
export const LEASE = 15_000;
/** Milliseconds that a call may take, and is listened for after that. */
export const ACTS = 65_000;
/** What the steady clock reads at `START`. */
export const BOOTED = 5_000_000;
const WEEK = 7 * 24 * 3_600_000;

export const OK: Outcome = { status: "ok", reason: "success", by: "server", message: "done" };
export const UNKNOWN: Outcome = { status: "result_unknown", reason: "deadline", by: "host", message: "no answer" };
export const UNAVAILABLE: Outcome = { status: "unavailable", reason: "not_sent", by: "host", message: "no connection" };
export const FAILED: Outcome = { status: "failed", reason: "tool_error", by: "server", message: "no such file" };

export function owner(instance: string): Owner {
  return { machine: "machine", pid: 7, started: "boot:1", instance };
}

export interface World {
  readonly ledger: Ledger;
  readonly clock: { now: number };
  /** The clock of the machine's boot. */
  readonly steady: { now: number };
  /** Owners that are not alive in this process, by instance; or for one operation, by its id. */
  readonly life: Map<string, "gone" | "here" | "unknown">;
  readonly deps: LedgerDeps;
}

export async function world(make: MakeLedger): Promise<World> {
  const clock = { now: START };
  const steady = { now: BOOTED };
  const life: World["life"] = new Map();
  const deps: LedgerDeps = {
    now: () => clock.now,
    steady: () => steady.now,
    liveness: (of, id) => life.get(id) ?? life.get(of.instance) ?? "alive",
  };
  return { ledger: await make(deps), clock, steady, life, deps };
}

export interface Call {
  readonly proposalId?: string;
  readonly index?: number;
  readonly effect?: "read" | "write";
  readonly decision?: Decision["kind"];
  readonly args?: JsonObject;
  readonly server?: string | null;
  readonly tool?: string | null;
  readonly alias?: string;
}

export function operation(call: Call = {}): Operation {
  const { proposalId = "p1", index = 0, effect = "write", decision = "allow", args = { n: index } } = call;
  const { server = "documents", tool = "save" } = call;
  const argumentsDigest = digest(args);
  return {
    id: operationId(proposalId, index, argumentsDigest),
    proposalId,
    index,
    callId: `call-${index}`,
    alias: call.alias ?? `mcp__${server}__${tool}`,
    server,
    tool,
    arguments: args,
    argumentsDigest,
    effect,
    decision: { kind: decision, rules: [], reason: `${decision} by default` },
  };
}

export const read = (call: Call = {}): Operation => operation({ effect: "read", tool: "load", ...call });

/** Where a batch stands; what a test does not care about has these values. */
export interface Where {
  readonly threadId?: string;
  readonly scope?: string;
  readonly turnId?: string;
  readonly ledgerSeq?: number;
  readonly haltScope?: "thread" | "server";
  readonly owner?: Owner;
  readonly repeat?: ClaimRequest["repeat"];
  readonly verdicts?: readonly Verdict[];
  readonly toolDigest?: string;
}

export function batch(operations: readonly Operation[], where: Where = {}): ClaimBatch {
  const { threadId = "t1", scope = "local", turnId = "turn-1", ledgerSeq = 0, haltScope = "thread" } = where;
  return {
    threadId,
    scope,
    turnId,
    proposalId: operations[0]?.proposalId ?? "p1",
    ledgerSeq,
    haltScope,
    owner: where.owner ?? owner("a"),
    leaseMs: LEASE,
    ttlMs: TTL,
    operations: operations.map((one) => {
      const verdict = where.verdicts?.find((given) => given.operationId === one.id);
      return {
        operation: one,
        toolDigest: where.toolDigest ?? TOOL,
        repeat: where.repeat ?? "ask",
        ...(verdict ? { verdict: { approvalId: verdict.approvalId, mac: verdict.mac } } : {}),
      };
    }),
  };
}

export function query(writes: readonly Operation[], where: Where = {}): StandingQuery {
  const { threadId = "t1", scope = "local", turnId = "turn-1", ledgerSeq = 0, haltScope = "thread" } = where;
  return {
    threadId,
    scope,
    turnId,
    proposalId: writes[0]?.proposalId ?? "p1",
    ledgerSeq,
    haltScope,
    writes: writes.map(({ id, server, tool, argumentsDigest }) => ({
      operationId: id,
      server: server ?? "",
      tool: tool ?? "",
      argumentsDigest,
    })),
  };
}

export function proposalOf(operations: readonly Operation[], where: Where = {}): Proposal {
  const { threadId = "t1", scope = "local", turnId = "turn-1" } = where;
  return {
    proposalId: operations[0]?.proposalId ?? "p1",
    threadId,
    scope,
    turnId,
    snapshotId: SNAPSHOT,
    calls: operations.map(({ index, callId, alias, argumentsDigest }) => ({ index, callId, alias, argumentsDigest })),
  };
}

export async function propose({ ledger, clock }: World, operations: readonly Operation[], where: Where = {}) {
  const proposal = proposalOf(operations, where);
  const { threadId, turnId, snapshotId, proposalId } = proposal;
  const times = { startedAt: clock.now - 20, endedAt: clock.now };
  const record = { requestId: `request-${proposalId}`, threadId, turnId, snapshotId, tools: ["mcp__documents__save"] };
  await ledger.propose({ ...record, ...times, final: false, proposal });
}

export function request(of: Operation, more: Partial<NewRequest> = {}): NewRequest {
  return {
    approvalId: `approval-${of.id.slice(0, 12)}-${more.seen?.length ?? 0}`,
    operation: of,
    turnId: "turn-1",
    threadId: "t1",
    scope: "local",
    toolDigest: TOOL,
    why: "a rule asks",
    seen: [],
    ttlMs: WEEK,
    ...more,
  };
}

export function verdict({ request: asked }: Pick<Asked, "request">, more: Partial<Verdict> = {}): Verdict {
  const { approvalId, operationId: id, threadId, scope, argumentsDigest, toolDigest, expiresAt } = asked;
  return {
    approvalId,
    operationId: id,
    threadId,
    scope,
    argumentsDigest,
    toolDigest,
    type: "approve",
    approver: "someone",
    at: START,
    expiresAt,
    mac: `mac of ${approvalId}`,
    ...more,
  };
}

/** Asks about an operation and stores a yes. */
export async function approve({ ledger, clock }: World, of: Operation, more: Partial<NewRequest> = {}) {
  const asked = await askOne({ ledger }, of, more);
  const given = verdict(asked, { at: clock.now });
  await ledger.answer([{ verdict: given }]);
  return given;
}

export async function askOne({ ledger }: Pick<World, "ledger">, of: Operation, more: Partial<NewRequest> = {}) {
  const [asked] = await ledger.ask([request(of, more)]);
  return asked as Asked;
}

export async function claimOne({ ledger }: World, of: Operation, where: Where = {}): Promise<Claim> {
  const [claim] = claimsOf(await ledger.claim(batch([of], where)));
  return claim as Claim;
}

export function claimsOf(result: ClaimResult): readonly Claim[] {
  if (result.kind === "ask") throw new Error(`expected claims, got an ask about ${result.operationIds.join(", ")}`);
  return result.claims;
}

/** Claims and begins an operation; returns its fence. */
export async function send(at: World, of: Operation, where: Where = {}): Promise<number> {
  const claim = await claimOne(at, of, where);
  if (claim.kind !== "claimed") throw new Error(`expected a claim, got ${JSON.stringify(claim)}`);
  await at.ledger.begin(of.id, claim.fence, ACTS);
  return claim.fence;
}

export async function run(at: World, of: Operation, outcome: Outcome, where: Where = {}): Promise<number> {
  const fence = await send(at, of, where);
  await at.ledger.settle({ operationId: of.id, fence, outcome, sent: outcome.reason !== "not_sent" });
  return fence;
}

export async function rowOf({ ledger }: World, of: Pick<Operation, "id">): Promise<OperationRow> {
  const row = await ledger.row(of.id);
  if (!row) throw new Error("expected a row");
  return row;
}

/** What became of an operation, in one line. */
export async function stands(at: World, of: Pick<Operation, "id">): Promise<string> {
  const row = await at.ledger.row(of.id);
  if (!row) return "no row";
  return outcomeOf(row) ? `${outcomeOf(row)?.status} (${outcomeOf(row)?.reason}) by ${outcomeOf(row)?.by}` : row.state;
}

/** A claim in one line. */
export function said(claim: Claim | undefined): string {
  if (claim?.kind !== "settled") return claim?.kind ?? "nothing";
  const { outcome } = claim.row;
  return `${outcome?.status} (${outcome?.reason}) by ${outcome?.by}${claim.replayed ? ", replayed" : ""}`;
}
