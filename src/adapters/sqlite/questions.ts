// Questions and verdicts in SQLite. What a question shares with its operation is read from there.

import { type OperationRow, ToolgateError } from "../../contracts/index.js";
import type { Question, QuestionTables } from "../../ledger/tables.js";
import { difference, json, type Record_, toCell, toQuestion, toRow } from "./codec.js";
import { ROW_CELLS, ROW_JOINS } from "./rows.js";
import type { Sql } from "./statements.js";

const CELLS = `
  questions.approval_id, questions.why, questions.seen, questions.injects, questions.destination,
  questions.expires_at, questions.made_elapsed,
  questions.verdict, questions.verdict_at, questions.answered_elapsed, questions.consumed, questions.tool_digest AS question_tool_digest,
  questions.created_at AS question_created_at, operations.id AS operation_id, operations.scope,
  operations.arguments_digest, threads.key AS thread_id`;

function openIn(record: Record_): { question: Question; row: OperationRow } {
  return { question: toQuestion(record), row: toRow(record) };
}

/** In a list of all threads a damaged row is left out: it is told of where its own thread is asked for. (codec-3) */
function unlessDamaged<T>(read: () => T): T[] {
  try {
    return [read()];
  } catch (error) {
    if (error instanceof ToolgateError) return [];
    throw error;
  }
}

export function questionTables(sql: Sql): QuestionTables {
  const select = (where: string) =>
    sql.prepare(
      `SELECT ${CELLS} FROM questions JOIN operations ON operations.n = questions.operation
       JOIN threads ON threads.n = operations.thread WHERE ${where}`,
    );
  const byId = select("questions.approval_id = ?");
  const current = select("operations.id = ? ORDER BY questions.n DESC LIMIT 1");
  const add = sql.prepare(
    `INSERT INTO questions (approval_id, operation, tool_digest, why, seen, injects, destination, created_at, expires_at, made_elapsed)
     VALUES (?, (SELECT n FROM operations WHERE id = ?), ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const setVerdict = sql.prepare(
    "UPDATE questions SET verdict = ?, verdict_at = ?, answered_elapsed = ? WHERE approval_id = ?",
  );
  const consume = sql.prepare("UPDATE questions SET consumed = 1 WHERE approval_id = ?");
  const last = sql.prepare(
    `SELECT max(verdict_at) AS at, max(answered_elapsed) AS elapsed
     FROM operations JOIN questions ON questions.operation = operations.n
     WHERE operations.proposal_id = ? AND verdict IS NOT NULL`,
  );
  const open = (which: string) =>
    sql.prepare(
      `SELECT ${ROW_CELLS}, ${CELLS} FROM operations ${ROW_JOINS} JOIN questions ON questions.operation = operations.n
       WHERE operations.state <> 'settled' AND operations.state IN ('proposed', 'claimed', 'dispatching')
       AND (operations.state <> 'dispatching' OR +operations.effect = 'read') ${which}
       AND questions.n = (SELECT max(n) FROM questions WHERE operation = operations.n) ORDER BY +operations.n`,
    );
  const openOfAll = open("");
  const openOfThread = open("AND operations.thread = (SELECT n FROM threads WHERE key = ?)");
  const one = (record: Record_ | undefined) => record && toQuestion(record);

  return {
    addQuestion: ({ request, madeElapsed }) => {
      const { approvalId, operationId, toolDigest, why, seen, injects, destination, createdAt, expiresAt } = request;
      const said = [JSON.stringify(why), JSON.stringify(seen), json(injects), json(destination)];
      add.run(toCell(approvalId), toCell(operationId), toCell(toolDigest), ...said, createdAt, expiresAt, madeElapsed);
    },
    question: (approvalId) => one(byId.one(toCell(approvalId))),
    currentQuestion: (operationId) => one(current.one(toCell(operationId))),
    setVerdict: (approvalId, verdict, { at, elapsed }) => {
      const question = one(byId.one(toCell(approvalId)));
      if (!question) return;
      setVerdict.run(difference(question.request, verdict), at, elapsed, toCell(approvalId));
    },
    consume: (approvalId) => {
      consume.run(toCell(approvalId));
    },
    lastVerdict: (proposalId) => {
      const found = last.one(toCell(proposalId));
      if (typeof found?.at !== "number") return undefined;
      return { at: found.at, elapsed: Number(found.elapsed) };
    },
    openQuestions: (threadId) =>
      threadId === undefined
        ? openOfAll.all().flatMap((record) => unlessDamaged(() => openIn(record)))
        : openOfThread.all(toCell(threadId)).map(openIn),
  };
}
