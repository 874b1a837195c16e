// Saving: what a rule changed is stored by one statement, which is one transaction and durable when it answers. (ledger-7)
//
//   postgres-save-1. Everything is stored, or nothing. It is stored if every thread that is written still has the version it was
//                    loaded in, and if no more than `STALE_MS` have passed since by the database's clock: a host may have been
//                    paused in between.
//   postgres-save-2. A rule that looked at every thread is stored only if no write of any thread has become unknown since.
//   postgres-save-3. Each thread keeps the ids of the last statements that wrote it, so that a host which lost an answer can
//                    look for its own.
//
// What is new conflicts with what another host made in the meantime; the statement then fails as a whole.

import { gzipSync } from "node:zlib";
import { type OperationRow, outcomeOf, sha256 } from "../../contracts/index.js";
import type { Question } from "../../ledger/tables.js";
import type { Changes, Header, Image } from "./image.js";
import { identicalKey, key, ownerKey } from "./keys.js";
import { NOW, type Statement } from "./loading.js";

/** Milliseconds that a ruling may be old when it is stored. */
const STALE_MS = 2_000;
/** Write ids a thread keeps. */
const KEPT = 16;
/** Milliseconds by which the stored clock may lag where nothing but time passed. */
const CLOCK_LAG_MS = 1_000;

// `= ANY(ARRAY(…))` beside a join: few of many, looked up one by one, where the join alone might read a whole table.

const HELD = `held AS MATERIALIZED (
  SELECT threads.thread FROM toolgate_threads threads JOIN t ON t.thread = threads.thread AND t.version = threads.version
  WHERE threads.thread = ANY(ARRAY(SELECT thread FROM t)) ORDER BY threads.thread FOR UPDATE OF threads)`;

const THREADS = `t AS MATERIALIZED (SELECT * FROM json_to_recordset($1::json) AS t(thread text, key text, version bigint,
  last_at float8, last_seq bigint, holder text, holder_key text, holder_until float8, holder_steady float8, scope text,
  head text, accepted text, forgotten float8))`;

const THREADS_CHANGED = `threads_changed AS (UPDATE toolgate_threads threads SET version = threads.version + 1,
  recent = (threads.recent || $2::text)[greatest(1, cardinality(threads.recent) - ${KEPT - 2}):], last_at = t.last_at,
  last_seq = t.last_seq, holder = t.holder, holder_key = t.holder_key, holder_until = t.holder_until,
  holder_steady = t.holder_steady, scope = t.scope, head = t.head, accepted = t.accepted, forgotten = t.forgotten
  FROM t, go
  WHERE threads.thread = t.thread AND t.version > 0 AND threads.thread = ANY(ARRAY(SELECT thread FROM t)))`;

const THREADS_NEW = `threads_new AS (INSERT INTO toolgate_threads
  (thread, key, version, recent, last_at, last_seq, holder, holder_key, holder_until, holder_steady, scope, head, accepted,
    forgotten)
  SELECT thread, key, 1, ARRAY[$2::text], last_at, last_seq, holder, holder_key, holder_until, holder_steady, scope, head,
    accepted, forgotten
  FROM t, go WHERE version = 0)`;

const CHANGING = [
  "body",
  "state",
  "effect",
  "status",
  "reason",
  "seq",
  "halt_scope",
  "owner",
  "lease_until",
  "lease_steady",
  "identical",
];
const FIXED = ["id", "thread", "turn", "proposal", "arguments"];
const TYPES: Readonly<Record<string, string>> = { seq: "bigint", lease_until: "float8", lease_steady: "float8" };
const rowSet = (names: readonly string[]) => names.map((name) => `${name} ${TYPES[name] ?? "text"}`).join(", ");

const rowsNew = (p: string) => `rows_new AS (INSERT INTO toolgate_operations (${[...FIXED, ...CHANGING].join(", ")})
  SELECT ${[...FIXED, ...CHANGING].join(", ")} FROM json_to_recordset(${p}::json)
  AS r(i int, ${rowSet([...FIXED, ...CHANGING])}), go ORDER BY i)`;

const rowsChanged = (p: string) => `r AS MATERIALIZED (SELECT * FROM json_to_recordset(${p}::json)
  AS r(id text, ${rowSet(CHANGING)})), rows_changed AS (UPDATE toolgate_operations operations
  SET ${CHANGING.map((name) => `${name} = r.${name}`).join(", ")}
  FROM r, go WHERE operations.id = r.id AND operations.id = ANY(ARRAY(SELECT id FROM r)))`;

const questionsNew = (p: string) => `questions_new AS (INSERT INTO toolgate_questions (approval, operation, body)
  SELECT approval, operation, body FROM json_to_recordset(${p}::json)
  AS q(i int, approval text, operation text, body text), go ORDER BY i)`;

const questionsChanged = (p: string) => `q AS MATERIALIZED (SELECT * FROM json_to_recordset(${p}::json)
  AS q(approval text, body text)), questions_changed AS (UPDATE toolgate_questions questions SET body = q.body
  FROM q, go WHERE questions.approval = q.approval AND questions.approval = ANY(ARRAY(SELECT approval FROM q)))`;

const turnsChanged = (p: string) => `turns_changed AS (INSERT INTO toolgate_turns AS turns
  (thread, turn, model_requests, calls, writes, active_ms, budget_spent, final_made)
  SELECT thread, turn, model_requests, calls, writes, active_ms, budget_spent, final_made FROM json_to_recordset(${p}::json)
  AS x(thread text, turn text, model_requests bigint, calls bigint, writes bigint, active_ms float8,
    budget_spent boolean, final_made boolean), go
  ON CONFLICT (thread, turn) DO UPDATE SET model_requests = turns.model_requests + excluded.model_requests,
    calls = turns.calls + excluded.calls, writes = turns.writes + excluded.writes,
    active_ms = turns.active_ms + excluded.active_ms, budget_spent = turns.budget_spent OR excluded.budget_spent,
    final_made = turns.final_made OR excluded.final_made)`;

const requestsNew = (p: string) => `requests_new AS (INSERT INTO toolgate_requests
  (request, thread, turn, tools, snapshot, body, proposal, proposal_body)
  SELECT request, thread, turn, tools, snapshot, body, proposal, proposal_body FROM json_to_recordset(${p}::json)
  AS m(request text, thread text, turn text, tools text, snapshot text, list text, body text, proposal text, proposal_body text), go),
  lists_new AS (INSERT INTO toolgate_tool_lists (digest, body)
  SELECT DISTINCT tools, list FROM json_to_recordset(${p}::json) AS m(tools text, list text), go ON CONFLICT DO NOTHING)`;

const snapshotsNew = (p: string) => `snapshots_new AS (INSERT INTO toolgate_snapshots (id, body)
  SELECT id, decode(body, 'base64') FROM json_to_recordset(${p}::json) AS s(id text, body text), go ON CONFLICT DO NOTHING)`;

const proposalsChanged = (
  p: string,
) => `proposals_changed AS (UPDATE toolgate_requests requests SET proposal_body = p.body
  FROM json_to_recordset(${p}::json) AS p(proposal text, body text), go WHERE requests.proposal = p.proposal)`;

const cardSealed = (p: string) => `card_sealed AS (UPDATE toolgate_card SET seal = ${p}::text FROM go)`;

/** Never waited for: whoever holds the row is writing the same. */
const clockChanged = (p: string) => `clock_row AS (SELECT one FROM toolgate_clock FOR UPDATE SKIP LOCKED),
  clock_changed AS (UPDATE toolgate_clock clock SET at = c.at, elapsed = c.elapsed
  FROM json_to_record(${p}::json) AS c(at float8, elapsed float8), clock_row, go WHERE clock.elapsed <= c.elapsed),
  clock_new AS (INSERT INTO toolgate_clock (one, at, elapsed) SELECT 1, at, elapsed
  FROM json_to_record(${p}::json) AS c(at float8, elapsed float8), go
  WHERE NOT EXISTS (SELECT FROM toolgate_clock) ON CONFLICT DO NOTHING)`;

/** The statement that stores changes made on an image, under an id of its own; undefined where nothing changed. */
export function saving(image: Image, changes: Changes, id: string, hostClock: boolean): Statement | undefined {
  const clock = clockToStore(image, changes);
  const changed = changes.threads.size + changes.snapshots.length > 0 || changes.card !== undefined;
  if (!changed && clock?.turned !== true) return undefined;

  const threads = [...changes.threads].map((threadId) => threadCells(threadId, image.headers.get(threadId) as Header));
  const known = threads.filter(({ version }) => version > 0).length;
  const values: unknown[] = [JSON.stringify(threads), id, known, hostClock ? null : image.now()];
  const bind = (items: unknown): string => `$${values.push(JSON.stringify(items))}`;

  const conditions = [
    `CASE WHEN (SELECT count(*) FROM held) = $3::int THEN coalesce(abs(${NOW} - $4::float8) <= ${STALE_MS}, TRUE) ELSE FALSE END`,
  ]; // postgres-save-1; the time is looked at after the wait for the threads
  if (image.unknownEverywhere) {
    const unknown = image.unknownEverywhere.map(key);
    conditions.push(`NOT EXISTS (SELECT FROM toolgate_operations WHERE status = 'result_unknown' AND effect = 'write'
      AND NOT id = ANY($${values.push(unknown)}::text[]))`); // postgres-save-2
  }
  const go = `go AS MATERIALIZED (SELECT 1 AS stored WHERE ${conditions.join(" AND ")})`;
  const parts = [THREADS, HELD, go];
  if (known > 0) parts.push(THREADS_CHANGED);
  if (known < threads.length) parts.push(THREADS_NEW);

  const rows = [...changes.rows].map(([id, fresh], i) => ({ i, fresh, cells: rowCells(image, id) }));
  const [newRows, oldRows] = [rows.filter((row) => row.fresh), rows.filter((row) => !row.fresh)];
  if (newRows.length > 0) parts.push(rowsNew(bind(newRows.map(({ i, cells }) => ({ i, ...cells })))));
  if (oldRows.length > 0) parts.push(rowsChanged(bind(oldRows.map(({ cells: { arguments: _, ...cells } }) => cells))));

  const questions = [...changes.questions].map(([approvalId, fresh], i) => ({
    i,
    fresh,
    ...questionCells(image, approvalId),
  }));
  const [newQuestions, oldQuestions] = [questions.filter((one) => one.fresh), questions.filter((one) => !one.fresh)];
  if (newQuestions.length > 0) parts.push(questionsNew(bind(newQuestions)));
  if (oldQuestions.length > 0) parts.push(questionsChanged(bind(oldQuestions)));

  if (changes.turns.length > 0) parts.push(turnsChanged(bind(turnCells(changes))));
  if (changes.requests.length > 0) parts.push(requestsNew(bind(changes.requests.map(requestCells))));
  if (changes.snapshots.length > 0) parts.push(snapshotsNew(bind(changes.snapshots.map(snapshotCells))));
  if (changes.proposals.length > 0) parts.push(proposalsChanged(bind(changes.proposals.map(proposalCells))));
  if (changes.card !== undefined) parts.push(cardSealed(`$${values.push(changes.card)}`));
  if (clock) parts.push(clockChanged(bind(clock.moment)));
  return { text: `WITH ${parts.join(",\n")}\nSELECT stored, $2::text AS id FROM go`, values };
}

/** The clock, when it was turned back since it was stored, or lags. Not at every write: all threads share it. */
function clockToStore(image: Image, { clock: moment }: Changes) {
  if (moment === undefined) return undefined;
  if (image.clock === undefined) return { moment, turned: false };
  const turned = moment.elapsed - moment.at > image.clock.elapsed - image.clock.at;
  const lags = Math.abs(moment.at - image.clock.at) >= CLOCK_LAG_MS;
  return turned || lags ? { moment, turned } : undefined;
}

function threadCells(threadId: string, header: Header) {
  const { version, lastAt, lastSeq, holder, scope, head, accepted, forgotten } = header;
  return {
    thread: key(threadId),
    key: JSON.stringify(threadId),
    version,
    last_at: lastAt,
    last_seq: lastSeq,
    holder: holder ? JSON.stringify(holder.owner) : null,
    holder_key: holder ? ownerKey(holder.owner) : null,
    holder_until: holder?.leaseUntil ?? null,
    holder_steady: holder?.leaseSteady ?? null,
    head: head ?? null,
    accepted: accepted ?? null,
    forgotten: forgotten ?? null,
    scope: scope === undefined ? null : JSON.stringify(scope),
  };
}

function rowCells({ tables }: Image, id: string) {
  const row = tables.row(id) as OperationRow;
  const { operation, ...whole } = row;
  const none = { owner: undefined, leaseUntil: undefined, leaseSteady: undefined };
  const { owner, leaseUntil, leaseSteady, ...rest } = { ...none, ...whole };
  const outcome = outcomeOf(row);
  const { arguments: given, ...call } = operation;
  return {
    id: key(id),
    thread: key(rest.threadId),
    turn: key(rest.turnId),
    proposal: key(operation.proposalId),
    arguments: JSON.stringify(given),
    identical: identicalKey(operation),
    body: JSON.stringify({ ...rest, owner, operation: call }), // the lease changes more often than the row
    state: rest.state,
    effect: operation.effect,
    status: outcome?.status ?? null,
    reason: outcome?.reason ?? null,
    seq: rest.seq ?? null,
    halt_scope: tables.haltScope(id),
    owner: owner ? ownerKey(owner) : null,
    lease_until: leaseUntil ?? null,
    lease_steady: leaseSteady ?? null,
  };
}

function questionCells({ tables }: Image, approvalId: string) {
  const question = tables.question(approvalId) as Question;
  return {
    approval: key(approvalId),
    operation: key(question.request.operationId),
    body: JSON.stringify(question),
  };
}

/** One row for each turn: a statement may not add to one row twice. */
function turnCells({ turns }: Changes) {
  const sums = new Map<string, ReturnType<typeof noTurn>>();
  for (const { threadId, turnId, more } of turns) {
    const name = JSON.stringify([threadId, turnId]);
    const sum = sums.get(name) ?? noTurn(threadId, turnId);
    sums.set(name, sum);
    sum.model_requests += more.modelRequests ?? 0;
    sum.calls += more.calls ?? 0;
    sum.writes += more.writes ?? 0;
    sum.active_ms += more.activeMs ?? 0;
    sum.budget_spent ||= more.budgetSpent ?? false;
    sum.final_made ||= more.finalMade ?? false;
  }
  return [...sums.values()];
}

function noTurn(threadId: string, turnId: string) {
  const place = { thread: key(threadId), turn: key(turnId) };
  return { ...place, model_requests: 0, calls: 0, writes: 0, active_ms: 0, budget_spent: false, final_made: false };
}

function requestCells({ tools, proposal, ...rest }: Changes["requests"][number]) {
  const list = JSON.stringify(tools);
  return {
    request: key(rest.requestId),
    thread: key(rest.threadId),
    turn: key(rest.turnId),
    tools: sha256(list),
    snapshot: key(rest.snapshotId),
    list,
    body: JSON.stringify(rest),
    proposal: proposal ? key(proposal.proposalId) : null,
    proposal_body: proposal ? JSON.stringify(proposal) : null,
  };
}

function proposalCells(proposal: Changes["proposals"][number]) {
  return { proposal: key(proposal.proposalId), body: JSON.stringify(proposal) };
}

function snapshotCells(snapshot: Changes["snapshots"][number]) {
  return { id: key(snapshot.id), body: gzipSync(JSON.stringify(snapshot)).toString("base64") };
}
