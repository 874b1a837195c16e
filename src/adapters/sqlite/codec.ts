// Codec: rows of SQLite from and to the nouns. Whatever is saved loads equal, but for what JSON itself loses (-0 becomes 0,
// as it does in a digest).
//
//   codec-1. A digest is 32 bytes. Text is TEXT when it is well formed; a lone surrogate, which UTF-8 cannot hold, is kept
//            behind 33 zero bytes, so that it is never taken for a digest.
//   codec-2. A verdict and a proposal keep what differs from the row they stand in; everything else is read from there.

import {
  actsUntilOf,
  type Operation,
  type OperationRow,
  type Outcome,
  type Owner,
  type SettledRow,
  sentAtOf,
  type Verdict,
} from "../../contracts/index.js";
import type { Question, SealedFacts } from "../../ledger/tables.js";

export type Cell = string | number | Buffer | null;
export type Record_ = Readonly<Record<string, Cell>>;

const DIGEST = /^[0-9a-f]{64}$/;
const LONE = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/;

/** Text or a digest, as a cell. (codec-1) */
export function toCell(text: string): Cell {
  if (DIGEST.test(text)) return Buffer.from(text, "hex");
  return LONE.test(text) ? Buffer.concat([Buffer.alloc(33), Buffer.from(text, "utf16le")]) : text;
}

export function fromCell(cell: Cell | undefined): string {
  if (!Buffer.isBuffer(cell)) return String(cell);
  return cell.length === 32 ? cell.toString("hex") : cell.subarray(33).toString("utf16le");
}

const optionalCell = (text: string | null | undefined): Cell =>
  text === null || text === undefined ? null : toCell(text);
export const json = (value: unknown): Cell => (value === undefined || value === null ? null : JSON.stringify(value));
const parse = (cell: Cell | undefined): unknown => JSON.parse(String(cell));
const has = (cell: Cell | undefined): boolean => cell !== null && cell !== undefined;

/** The columns of an operation that may change. Threads, turns and owners are given as their numbers. */
export function changingCells(row: OperationRow, owner: number | null): Record<string, Cell> {
  const { operation } = row;
  const held = row.state === "proposed" ? undefined : row;
  const end = row.state === "settled" ? row : undefined;
  const { status, reason, ...said } = end?.outcome ?? {};
  return {
    alias: toCell(operation.alias),
    server: optionalCell(operation.server),
    tool: optionalCell(operation.tool),
    effect: operation.effect,
    decision: json(operation.decision),
    replaced_by: optionalCell(end?.replacedBy),
    tool_digest: optionalCell(row.toolDigest),
    state: row.state,
    status: status ?? null,
    reason: reason ?? null,
    outcome: end ? json(said) : null,
    result: json(end?.result),
    owner,
    lease_until: held?.leaseUntil ?? null,
    lease_steady: held?.leaseSteady ?? null,
    acts_until: actsUntilOf(row) ?? null,
    fence: row.fence,
    attempt: row.attempt,
    seq: row.seq ?? null,
    sent: Number(row.sent),
    sent_at: sentAtOf(row) ?? null,
    settled_at: end?.settledAt ?? null,
    resolution: json(end?.resolution),
    asked: row.asked ?? null,
    seal: row.seal ?? null,
  };
}

/** The columns of an operation that say which call it is. */
export function identityCells(row: OperationRow, thread: number, turn: number): Record<string, Cell> {
  const { operation } = row;
  return {
    id: toCell(operation.id),
    thread,
    turn,
    scope: toCell(row.scope),
    proposal_id: toCell(operation.proposalId),
    idx: operation.index,
    call_id: toCell(operation.callId),
    arguments: JSON.stringify(operation.arguments),
    arguments_digest: toCell(operation.argumentsDigest),
    replaces: optionalCell(operation.replaces),
    created_at: row.createdAt,
  };
}

/** An operation joined with `thread_id`, `turn_id` and `owner_body`. */
export function toRow(record: Record_): OperationRow {
  const operation: Operation = {
    id: fromCell(record.id),
    proposalId: fromCell(record.proposal_id),
    index: Number(record.idx),
    callId: fromCell(record.call_id),
    alias: fromCell(record.alias),
    server: has(record.server) ? fromCell(record.server) : null,
    tool: has(record.tool) ? fromCell(record.tool) : null,
    arguments: parse(record.arguments) as Operation["arguments"],
    argumentsDigest: fromCell(record.arguments_digest),
    effect: record.effect as Operation["effect"],
    decision: has(record.decision) ? (parse(record.decision) as Operation["decision"]) : null,
    ...(has(record.replaces) ? { replaces: fromCell(record.replaces) } : {}),
  };
  return {
    operation,
    threadId: fromCell(record.thread_id),
    scope: fromCell(record.scope),
    turnId: fromCell(record.turn_id),
    toolDigest: has(record.tool_digest) ? fromCell(record.tool_digest) : null,
    state: record.state as OperationRow["state"],
    ...(has(record.status) ? { outcome: toOutcome(record) } : {}),
    ...(has(record.result) ? { result: parse(record.result) as SettledRow["result"] } : {}),
    ...(has(record.owner_body) ? { owner: parse(record.owner_body) as Owner } : {}),
    ...(has(record.lease_until) ? { leaseUntil: Number(record.lease_until) } : {}),
    ...(has(record.lease_steady) ? { leaseSteady: Number(record.lease_steady) } : {}),
    ...(has(record.acts_until) ? { actsUntil: Number(record.acts_until) } : {}),
    fence: Number(record.fence),
    attempt: Number(record.attempt),
    ...(has(record.seq) ? { seq: Number(record.seq) } : {}),
    sent: record.sent === 1,
    ...(has(record.sent_at) ? { sentAt: Number(record.sent_at) } : {}),
    ...(has(record.settled_at) ? { settledAt: Number(record.settled_at) } : {}),
    createdAt: Number(record.created_at),
    ...(has(record.replaced_by) ? { replacedBy: fromCell(record.replaced_by) } : {}),
    ...(has(record.resolution) ? { resolution: parse(record.resolution) as SettledRow["resolution"] } : {}),
    ...(has(record.asked) ? { asked: String(record.asked) } : {}),
    ...(has(record.seal) ? { seal: String(record.seal) } : {}),
  } as OperationRow; // the rules write no row whose columns do not fit its state
}

/** The cells of `SEAL_CELLS`, of a row of this thread. */
export function toSealedFacts(threadId: string, record: Record_): SealedFacts {
  return {
    threadId,
    id: fromCell(record.id),
    argumentsDigest: fromCell(record.arguments_digest),
    scope: fromCell(record.scope),
    effect: record.effect as SealedFacts["effect"],
    server: has(record.server) ? fromCell(record.server) : null,
    tool: has(record.tool) ? fromCell(record.tool) : null,
    state: record.state as SealedFacts["state"],
    status: record.status as string | null,
    reason: record.reason as string | null,
    sent: record.sent === 1,
    fence: Number(record.fence),
    attempt: Number(record.attempt),
    seq: record.seq as number | null,
    seal: record.seal as string | null,
  };
}

function toOutcome(record: Record_): Outcome {
  const said = parse(record.outcome) as Omit<Outcome, "status" | "reason">;
  return { status: record.status as Outcome["status"], reason: record.reason as Outcome["reason"], ...said };
}

/** A question joined with its operation's `id`, `thread_id`, `scope` and `arguments_digest`. */
export function toQuestion(record: Record_): Question {
  const request = {
    approvalId: fromCell(record.approval_id),
    operationId: fromCell(record.operation_id),
    threadId: fromCell(record.thread_id),
    scope: fromCell(record.scope),
    argumentsDigest: fromCell(record.arguments_digest),
    toolDigest: fromCell(record.question_tool_digest),
    why: parse(record.why) as string,
    seen: parse(record.seen) as string[],
    ...(has(record.injects) ? { injects: parse(record.injects) as string[] } : {}),
    ...(has(record.destination)
      ? { destination: parse(record.destination) as NonNullable<Question["request"]["destination"]> }
      : {}),
    createdAt: Number(record.question_created_at),
    expiresAt: Number(record.expires_at),
  };
  return {
    request,
    madeElapsed: Number(record.made_elapsed),
    ...(has(record.verdict) ? { verdict: restored(request, parse(record.verdict)) as Verdict } : {}),
    ...(has(record.answered_elapsed)
      ? { answered: { at: Number(record.verdict_at), elapsed: Number(record.answered_elapsed) } }
      : {}),
    consumed: record.consumed === 1,
  };
}

/** What a value says that its surroundings do not say already. (codec-2) */
export function difference(around: object, value: object): string {
  const known = new Map(Object.entries(around));
  const own = Object.entries(value).filter(([key, item]) => known.get(key) !== item);
  return JSON.stringify(Object.fromEntries(own));
}

const VERDICT_FIELDS = ["approvalId", "operationId", "threadId", "scope", "argumentsDigest", "toolDigest", "expiresAt"];
const PROPOSAL_FIELDS = ["proposalId", "threadId", "turnId", "snapshotId"];

/** A value from its difference and its surroundings. (codec-2) */
function restored(around: object, own: unknown, fields: readonly string[] = VERDICT_FIELDS): unknown {
  const known = Object.entries(around).filter(([key]) => fields.includes(key));
  return { ...Object.fromEntries(known), ...(own as object) };
}

export const restoredProposal = (around: object, own: unknown): unknown => restored(around, own, PROPOSAL_FIELDS);
