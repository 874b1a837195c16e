// Codec: rows of SQLite from and to the nouns. Whatever is saved loads equal, but for what JSON itself loses (-0 becomes 0,
// as it does in a digest).
//
//   codec-1. A digest is 32 bytes. Text is TEXT when it is well formed; a lone surrogate, which UTF-8 cannot hold, is kept
//            behind 33 zero bytes, so that it is never taken for a digest.
//   codec-2. A verdict and a proposal keep what differs from the row they stand in; everything else is read from there.
//   codec-3. A cell of an operation or a question that toolgate cannot have written is `store_failed`, with the cell's name.

import {
  actsUntilOf,
  type Operation,
  type OperationRow,
  type Outcome,
  type Owner,
  oneLine,
  type SettledRow,
  sentAtOf,
  ToolgateError,
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
const has = (cell: Cell | undefined): boolean => cell !== null && cell !== undefined;

type Fits = (value: unknown) => boolean;
const isText: Fits = (value) => typeof value === "string";
const isNumber: Fits = Number.isFinite;
/** What a Date can hold. */
const isTime: Fits = (value) => isNumber(value) && Math.abs(value as number) <= 8.64e15;
const isObject: Fits = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isTexts: Fits = (value) => Array.isArray(value) && value.every(isText);
const maybe =
  (fits: Fits): Fits =>
  (value) =>
    value === undefined || fits(value);
const shaped = (fields: Readonly<Record<string, Fits>>): Fits => {
  const all = Object.entries(fields);
  return (value) => isObject(value) && all.every(([name, fits]) => fits((value as Record<string, unknown>)[name]));
};

/** What a model gave as arguments may be anything; what is no object was refused. */
const isJson: Fits = (value) => value !== undefined;
const isDecision = shaped({ kind: isText, rules: isTexts, reason: isText });
const isOwner = shaped({ machine: isText, pid: isNumber, started: isText, instance: isText });
const isResult = shaped({ ref: isText, bytes: isNumber, sha256: isText });
const isResolution = shaped({ type: isText, by: isText, at: isTime, note: maybe(isText) });
const isReadBack = shaped({ tool: isText, found: isText, detail: isText, at: isTime });
const isEvidence = shaped({ how: isText, detail: maybe(isText), readBack: maybe(isReadBack) });
const isSaid = shaped({ by: isText, message: isText, evidence: maybe(isEvidence) });
const isDestination = shaped({ text: isText, digest: isText, moved: isNumber });
const isVerdict = shaped({
  ...Object.fromEntries(["approvalId", "operationId", "threadId", "scope"].map((name) => [name, isText])),
  ...Object.fromEntries(["argumentsDigest", "toolDigest", "type", "approver", "mac"].map((name) => [name, isText])),
  ...{ at: isTime, expiresAt: isTime, injects: maybe(isTexts), destination: maybe(isText), message: maybe(isText) },
});

/** What a cell holds: a number or text as it is, or JSON. Throws `store_failed` where it does not fit. (codec-3) */
function plain<T>(record: Record_, name: string, fits: Fits): T {
  const value = record[name];
  if (!fits(value)) throw notOurs(record, name);
  return value as T;
}

function parsed<T>(record: Record_, name: string, fits: Fits): T {
  let value: unknown;
  try {
    value = JSON.parse(String(record[name]));
  } catch {} // it then fits nothing
  if (!fits(value)) throw notOurs(record, name);
  return value as T;
}

/** Cells of a question; every other one is its operation's, with which it is joined. */
const OF_QUESTION: ReadonlySet<string> = new Set(
  "why seen injects destination question_created_at expires_at made_elapsed verdict verdict_at answered_elapsed".split(
    " ",
  ),
);

function notOurs(record: Record_, name: string): ToolgateError {
  const [noun, id] = OF_QUESTION.has(name) ? ["question", record.approval_id] : ["operation", record.id];
  const what = `${noun} ${oneLine(fromCell(id), 80)}`;
  return new ToolgateError(
    "store_failed",
    `the store holds something that toolgate did not write: ${what}, \`${name.replace(/^question_/, "")}\``,
    "restore the store from a backup, or mend that row",
    { data: { cell: name } },
  );
}

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

/** An operation joined with `thread_id`, `turn_id` and `owner_body`. (codec-3) */
export function toRow(record: Record_): OperationRow {
  const { state } = record;
  const inHand = state === "claimed" || state === "dispatching";
  const settled = state === "settled";
  const optional = (field: string, cell: string, fits: Fits, needed = false) =>
    has(record[cell]) || needed ? { [field]: plain(record, cell, fits) } : undefined;
  return {
    operation: toOperation(record),
    threadId: fromCell(record.thread_id),
    scope: fromCell(record.scope),
    turnId: fromCell(record.turn_id),
    toolDigest: has(record.tool_digest) ? fromCell(record.tool_digest) : null,
    state: plain<OperationRow["state"]>(record, "state", (value) => STATES.has(value)),
    ...(has(record.status) || settled ? { outcome: toOutcome(record) } : {}),
    ...(has(record.result) ? { result: parsed<SettledRow["result"]>(record, "result", isResult) } : {}),
    ...(has(record.owner_body) || inHand ? { owner: parsed<Owner>(record, "owner_body", isOwner) } : {}),
    ...optional("leaseUntil", "lease_until", isTime, inHand),
    ...optional("leaseSteady", "lease_steady", isTime),
    ...optional("actsUntil", "acts_until", isTime),
    fence: plain(record, "fence", isNumber),
    attempt: plain(record, "attempt", isNumber),
    ...optional("seq", "seq", isNumber),
    sent: record.sent === 1,
    ...optional("sentAt", "sent_at", isTime, state === "dispatching"),
    ...optional("settledAt", "settled_at", isTime, settled),
    createdAt: plain(record, "created_at", isTime),
    ...(has(record.replaced_by) ? { replacedBy: fromCell(record.replaced_by) } : {}),
    ...(has(record.resolution)
      ? { resolution: parsed<SettledRow["resolution"]>(record, "resolution", isResolution) }
      : {}),
    ...(has(record.asked) ? { asked: String(record.asked) } : {}),
    ...(has(record.seal) ? { seal: String(record.seal) } : {}),
  } as OperationRow; // the rules write no row whose columns do not fit its state
}

const STATES: ReadonlySet<unknown> = new Set(["proposed", "claimed", "dispatching", "settled"]);

function toOperation(record: Record_): Operation {
  return {
    id: fromCell(record.id),
    proposalId: fromCell(record.proposal_id),
    index: plain(record, "idx", isNumber),
    callId: fromCell(record.call_id),
    alias: fromCell(record.alias),
    server: has(record.server) ? fromCell(record.server) : null,
    tool: has(record.tool) ? fromCell(record.tool) : null,
    arguments: parsed(record, "arguments", isJson),
    argumentsDigest: fromCell(record.arguments_digest),
    effect: record.effect as Operation["effect"],
    decision: has(record.decision) ? parsed(record, "decision", isDecision) : null,
    ...(has(record.replaces) ? { replaces: fromCell(record.replaces) } : {}),
  };
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
  const said = parsed<Omit<Outcome, "status" | "reason">>(record, "outcome", isSaid);
  return { status: plain(record, "status", isText), reason: plain(record, "reason", isText), ...said };
}

/** A question joined with its operation's `id`, `thread_id`, `scope` and `arguments_digest`. (codec-3) */
export function toQuestion(record: Record_): Question {
  const request: Question["request"] = {
    approvalId: fromCell(record.approval_id),
    operationId: fromCell(record.operation_id),
    threadId: fromCell(record.thread_id),
    scope: fromCell(record.scope),
    argumentsDigest: fromCell(record.arguments_digest),
    toolDigest: fromCell(record.question_tool_digest),
    why: parsed(record, "why", isText),
    seen: parsed(record, "seen", isTexts),
    ...(has(record.injects) ? { injects: parsed<string[]>(record, "injects", isTexts) } : {}),
    ...(has(record.destination) ? { destination: parsed(record, "destination", isDestination) } : {}),
    createdAt: plain(record, "question_created_at", isTime),
    expiresAt: plain(record, "expires_at", isTime),
  };
  return {
    request,
    madeElapsed: plain(record, "made_elapsed", isTime),
    ...(has(record.verdict) ? { verdict: toVerdict(request, record) } : {}),
    ...(has(record.answered_elapsed)
      ? { answered: { at: plain(record, "verdict_at", isTime), elapsed: plain(record, "answered_elapsed", isTime) } }
      : {}),
    consumed: record.consumed === 1,
  };
}

function toVerdict(request: Question["request"], record: Record_): Verdict {
  const verdict = restored(request, parsed(record, "verdict", isObject));
  if (!isVerdict(verdict)) throw notOurs(record, "verdict");
  return verdict as Verdict;
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
