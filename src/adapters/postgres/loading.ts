// Loading: everything that a transaction's steps may look at, by one SELECT, which is one consistent view.
//
// Each part is found by an index of `schema.ts`; what is large and many is never read whole, the list of threads aside.

import type { ReadSet } from "../../ledger/tables.js";
import { identicalKey, key, keys } from "./keys.js";

/** One part of a view: a noun's body with the cells that stand beside it. */
export interface Part {
  readonly kind:
    | "now"
    | "thread"
    | "row"
    | "question"
    | "turn"
    | "proposal"
    | "known"
    | "request"
    | "snapshot"
    | "listed"
    | "seal"
    | "proposals"
    | "card";
  readonly n: number;
  readonly body: string;
  readonly extra: string | null;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface Statement {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** The database's clock in epoch milliseconds. */
export const NOW = "floor(extract(epoch FROM clock_timestamp()) * 1000)::float8";

const IN_HAND = "state IN ('claimed', 'dispatching')";
const UNKNOWN = "status = 'result_unknown' AND effect = 'write'";
const UNDECIDED = "state IN ('proposed', 'claimed')";
/** A read that was being sent may be made again, if its owner is gone. */
const READ_AGAIN = `${IN_HAND} AND state = 'dispatching' AND effect = 'read'`;

/** Adds a value to the statement, and answers under which number it stands in the text. */
type Bind = (value: unknown, type: string) => string;

/** The statement that loads a readSet. Its rows are `Part`s, in no order. */
export function loading(readSet: ReadSet): Statement {
  const values: unknown[] = [];
  const bind: Bind = (value, type) => `$${values.push(value)}::${type}`;
  const { operations, proposals, asked, threads } = namedIn(readSet, bind);
  const { everywhere, writes, history, request } = readSet;
  const parts: string[] = [now()];
  if (threads) parts.push(...openInThreads(threads));
  if (operations) parts.push(...namedOperations(operations));
  if (proposals) parts.push(...namedProposals(proposals));
  if (asked) parts.push(...namedQuestions(asked));
  if (everywhere === "always") parts.push(...openEverywhere("TRUE"));
  if (everywhere === "halting" && operations) parts.push(...openEverywhere(haltingServers(operations)));
  if (writes) parts.push(...earlierWrites(writes, bind));
  if (readSet.turn) parts.push(...countedTurn(ofTurn(readSet.turn, bind)));
  if (history) parts.push(rows(ofPlace(history, bind)));
  if (readSet.questions) parts.push(...openQuestions(readSet.questions, bind));
  if (request !== undefined) parts.push(known(`request = ${bind(key(request), "text")}`));
  if (readSet.requests) parts.push(requests(ofPlace(readSet.requests, bind)));
  if (readSet.snapshot !== undefined) parts.push(snapshot(`id = ${bind(key(readSet.snapshot), "text")}`));
  if (readSet.list) parts.push(listed());
  if (readSet.seals !== undefined) parts.push(...sealedThread(`thread = ${bind(key(readSet.seals), "text")}`));
  if (readSet.card) parts.push(card());
  return { text: parts.join("\nUNION ALL\n"), values };
}

/** What is named, each as SQL that may be repeated: its values are bound once. What is not named is undefined. */
function namedIn(readSet: ReadSet, bind: Bind) {
  const list = (texts: readonly string[]): string => `ANY(${bind(keys(texts), "text[]")})`;
  const operations = readSet.operations?.length ? list(readSet.operations) : undefined;
  const proposals = readSet.proposals?.length ? list(readSet.proposals) : undefined;
  const approvals = readSet.approvals?.length ? list(readSet.approvals) : undefined;
  /** The operations that named questions are about. */
  const asked = approvals && `SELECT operation FROM toolgate_questions WHERE approval = ${approvals}`;
  const places = [
    readSet.threads?.length ? `SELECT unnest(${bind(keys(readSet.threads), "text[]")}) AS thread` : undefined,
    operations && `SELECT thread FROM toolgate_operations WHERE id = ${operations}`,
    asked && `SELECT thread FROM toolgate_operations WHERE id = ${any(asked)}`,
  ].filter((place) => place !== undefined);
  const threads = places.length > 0 ? `thread = ${any(places.join(" UNION "))}` : undefined;
  return { operations, proposals, asked, threads };
}

/** Threads, with what is open in them. */
function openInThreads(threads: string): string[] {
  return [headers(threads), rows(`${IN_HAND} AND ${threads}`), rows(`${UNKNOWN} AND ${threads}`)];
}

function namedOperations(operations: string): string[] {
  return [rows(`id = ${operations}`), questions(`operation = ${operations}`)];
}

function namedProposals(proposals: string): string[] {
  const about = `operation = ${any(`SELECT id FROM toolgate_operations WHERE proposal = ${proposals}`)}`;
  return [rows(`proposal = ${proposals}`), questions(about), proposal(`proposal = ${proposals}`)];
}

function namedQuestions(asked: string): string[] {
  return [rows(`id = ${any(asked)}`), questions(`operation = ${any(asked)}`)];
}

/** What is being sent or unknown in any thread, where the condition holds. */
function openEverywhere(condition: string): string[] {
  const [dispatching, unknown] = [`state = 'dispatching' AND ${IN_HAND}`, UNKNOWN];
  const threads = [dispatching, unknown].map((where) => `SELECT thread FROM toolgate_operations WHERE ${where}`);
  return [
    headers(`thread = ${any(threads.join(" UNION "))} AND ${condition}`),
    rows(`${dispatching} AND ${condition}`),
    rows(`${unknown} AND ${condition}`),
  ];
}

/** The condition that one of the operations was claimed under `haltScope: "server"`. */
function haltingServers(operations: string): string {
  return `EXISTS (SELECT FROM toolgate_operations WHERE id = ${operations} AND halt_scope = 'server')`;
}

/** Writes of a thread for the guards: those numbered after one, and those identical to one. */
function earlierWrites({ threadId, identical, after }: NonNullable<ReadSet["writes"]>, bind: Bind): string[] {
  const thread = bind(key(threadId), "text");
  const later = rows(`thread = ${thread} AND seq > ${bind(after, "bigint")} AND seq IS NOT NULL`);
  if (identical.length === 0) return [later];
  const same = bind([...new Set(identical.map(identicalKey))], "text[]");
  return [later, rows(`effect = 'write' AND thread = ${thread} AND identical = ANY(${same})`)];
}

/** A turn's counters, and what a person rejected in it. */
function countedTurn(where: string): string[] {
  return [turn(where), rows(`status = 'rejected' AND reason = 'person' AND ${where}`)];
}

/** Operations that may be undecided, with their questions, of a thread or of all. */
function openQuestions({ threadId }: NonNullable<ReadSet["questions"]>, bind: Bind): string[] {
  const here = threadId === undefined ? "" : ` AND thread = ${bind(key(threadId), "text")}`;
  return [`${UNDECIDED}${here}`, `${READ_AGAIN}${here}`].flatMap((where) => [
    rows(where),
    questions(`operation = ${any(`SELECT id FROM toolgate_operations WHERE ${where}`)}`),
  ]);
}

/** What a thread's head is compared with. */
function sealedThread(where: string): string[] {
  const count = `(SELECT count(proposal) FROM toolgate_requests WHERE ${where})`;
  return [seals(where), part("proposals", { data: `json_build_object('count', ${count})` })];
}

function ofPlace({ threadId, turnId }: { readonly threadId: string; readonly turnId?: string }, bind: Bind): string {
  return turnId === undefined ? `thread = ${bind(key(threadId), "text")}` : ofTurn({ threadId, turnId }, bind);
}

function ofTurn({ threadId, turnId }: { readonly threadId: string; readonly turnId: string }, bind: Bind): string {
  return `thread = ${bind(key(threadId), "text")} AND turn = ${bind(key(turnId), "text")}`;
}

/** Few of many, looked up one by one: a join might read the whole table instead. */
function any(select: string): string {
  return `ANY(ARRAY(${select}))`;
}

function part(kind: Part["kind"], cells: { n?: string; body?: string; extra?: string; data?: string }): string {
  const { n = "0", body = "''", extra = "NULL", data = "NULL" } = cells;
  return `SELECT '${kind}' AS kind, ${n}::float8 AS n, ${body} AS body, ${extra}::text AS extra, ${data}::json AS data`;
}

function now(): string {
  const clock = "'at', (SELECT at FROM toolgate_clock), 'elapsed', (SELECT elapsed FROM toolgate_clock)";
  const version = "'version', (SELECT max(version) FROM toolgate_migrations)"; // a later host may have come since
  return part("now", { data: `json_build_object('now', ${NOW}, ${version}, ${clock})` });
}

function headers(where: string): string {
  const data = `json_build_object('version', version, 'recent', recent, 'lastAt', last_at, 'lastSeq', last_seq,
    'until', holder_until, 'steady', holder_steady, 'scope', scope, 'head', head, 'accepted', accepted,
    'forgotten', forgotten)`;
  return `${part("thread", { n: "n", body: "key", extra: "holder", data })} FROM toolgate_threads WHERE ${where}`;
}

function rows(where: string): string {
  const data = "json_build_object('halt', halt_scope, 'lease', lease_until, 'steady', lease_steady)";
  return `${part("row", { n: "n", body: "body", extra: "arguments", data })} FROM toolgate_operations WHERE ${where}`;
}

function questions(where: string): string {
  return `${part("question", { n: "n", body: "body" })} FROM toolgate_questions WHERE ${where}`;
}

/** The columns that rows are found by, beside the body that they are read from: neither may be changed alone. */
function seals(where: string): string {
  const found = "'id', id, 'proposal', proposal, 'turn', turn, 'identical', identical";
  const data = `json_build_object(${found}, 'state', state, 'effect', effect, 'status', status, 'reason', reason, 'seq', seq)`;
  return `${part("seal", { n: "n", body: "body", data })} FROM toolgate_operations WHERE ${where}`;
}

function card(): string {
  return `${part("card", { data: "json_build_object('id', id, 'seal', seal)" })} FROM toolgate_card`;
}

function turn(where: string): string {
  const data = `json_build_object('modelRequests', model_requests, 'calls', calls, 'writes', writes,
    'activeMs', active_ms, 'budgetSpent', budget_spent, 'finalMade', final_made)`;
  return `${part("turn", { data })} FROM toolgate_turns WHERE ${where}`;
}

function proposal(where: string): string {
  return `${part("proposal", { n: "n", body: "proposal_body" })} FROM toolgate_requests
    WHERE ${where} AND proposal_body IS NOT NULL`;
}

function known(where: string): string {
  return `${part("known", {})} FROM toolgate_requests WHERE ${where}`;
}

function requests(where: string): string {
  const tools = "(SELECT body FROM toolgate_tool_lists WHERE digest = tools)";
  const cells = { n: "n", body: "body", extra: "proposal_body", data: `json_build_object('tools', ${tools})` };
  return `${part("request", cells)} FROM toolgate_requests WHERE ${where}`;
}

function snapshot(where: string): string {
  return `${part("snapshot", { body: "encode(body, 'base64')" })} FROM toolgate_snapshots WHERE ${where}`;
}

function listed(): string {
  const data = "json_build_object('lastAt', last_at, 'scope', scope)";
  return `${part("listed", { n: "n", body: "key", data })} FROM toolgate_threads
    WHERE forgotten IS NULL OR forgotten < last_at`;
}
