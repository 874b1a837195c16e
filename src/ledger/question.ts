// Question: asking and answering, each one transaction.
//
//   ask-1. The first answer wins; a later one changes nothing and is told what stands.
//   ask-2. Asking is idempotent: a question that shows as much, about the same definition, injected parameters and
//          destination, stays. One that shows less is replaced; the newest question is the current one, and only its verdict counts.
//   ask-3. An expired question is not replaced: it settles its operation when it is answered or claimed.

import {
  type Digest,
  type OperationRow,
  type Outcome,
  type Owner,
  rejected,
  sameDestination,
  sameInjects,
  type Verdict,
} from "../contracts/index.js";
import type { Answered, AnswerResult, Asked, NewRequest } from "./port.js";
import { askedOf, unbelieved } from "./seals.js";
import type { Question } from "./tables.js";
import {
  asAsked,
  isForeign,
  mustBeAsAsked,
  mustHold,
  putSettled,
  questionExpired,
  type Transaction,
} from "./transaction.js";
import { isUndecided, proposed, rederived, settled } from "./transitions.js";

export function ask(tx: Transaction, requests: readonly NewRequest[], run?: Owner): Asked[] {
  for (const { threadId } of requests) mustHold(tx, threadId, run); // transaction-1
  const asked: Asked[] = [];
  for (const request of requests) asked.push(askOne(tx, request));
  return asked;
}

function askOne(tx: Transaction, wanted: NewRequest): Asked {
  const { tables, now } = tx;
  const { operation, toolDigest } = wanted;
  const row = tables.row(operation.id);
  const fresh = newQuestion(tx, wanted);
  // Nobody can answer what is not stored: a question about another thread's call, or about one that is under way.
  if (isForeign(tx, operation, row, wanted)) return asAsked(fresh, tx.moment);
  const current = tables.currentQuestion(operation.id);
  if (row !== undefined && !isUndecided(row, tx)) return asAsked(current ?? fresh, tx.moment);
  if (current !== undefined && (shows(current, wanted) || questionExpired(current, tx.moment))) {
    return asAsked(current, tx.moment); // ask-2, ask-3
  }
  const known = row ? rederived(row, operation, toolDigest) : proposed(operation, wanted, toolDigest, now);
  tables.putRow({ ...known, asked: askedOf(fresh) });
  tables.addQuestion(fresh);
  tables.touch(wanted.threadId, now);
  return asAsked(fresh, tx.moment);
}

function newQuestion(tx: Transaction, wanted: NewRequest): Question {
  const { approvalId, operation, threadId, scope, toolDigest, injects, destination, why, seen, ttlMs } = wanted;
  const { id: operationId, argumentsDigest } = operation;
  const times = { createdAt: tx.now, expiresAt: tx.now + ttlMs };
  const about = {
    operationId,
    threadId,
    scope,
    argumentsDigest,
    toolDigest,
    ...(injects ? { injects: [...injects] } : {}),
    ...(destination ? { destination: { ...destination } } : {}),
  };
  return {
    request: { approvalId, ...about, why, seen: [...seen], ...times },
    madeElapsed: tx.moment.elapsed,
    consumed: false,
  };
}

function shows(current: Question, wanted: NewRequest): boolean {
  const { request } = current;
  const shown = new Set(request.seen);
  const sameTool = request.toolDigest === wanted.toolDigest && sameInjects(request.injects, wanted.injects);
  const goesThere = sameDestination(request.destination?.digest, wanted.destination?.digest);
  return sameTool && goesThere && wanted.seen.every((id) => shown.has(id));
}

export function asked(tx: Transaction, operationIds: readonly Digest[]): Asked[] {
  const found: Asked[] = [];
  for (const id of operationIds) {
    const question = tx.tables.currentQuestion(id);
    if (question) found.push(asAsked(question, tx.moment));
  }
  return found;
}

export function openRequests(tx: Transaction, threadId?: string, answered = false): (Asked & { row: OperationRow })[] {
  const open = tx.tables.openQuestions(threadId);
  if (threadId !== undefined) for (const { row, question } of open) mustBeShownAsSealed(tx, row, question);
  return open
    .filter(({ row, question }) => isAsSealed(tx, row, question))
    .filter(({ question }) => question.verdict === undefined || answered)
    .filter(({ question }) => !questionExpired(question, tx.moment))
    .filter(({ row }) => isUndecided(row, tx))
    .map(({ question, row }) => ({ ...asAsked(question, tx.moment), row }));
}

/** Whether a person may be shown a question: nobody else changed it, nor the call that it is about. */
function isAsSealed({ seals }: Transaction, row: OperationRow, question: Question): boolean {
  if (seals === undefined) return true;
  return seals.sealer.holdsWhole(row) && (row.asked === undefined || row.asked === askedOf(question));
}

function mustBeShownAsSealed(tx: Transaction, row: OperationRow, question: Question): void {
  if (tx.seals && !isAsSealed(tx, row, question)) throw unbelieved(tx.seals.sealer, row);
}

export function answer(tx: Transaction, answers: readonly Answered[]): AnswerResult[] {
  const results: AnswerResult[] = [];
  for (const one of answers) results.push(answerOne(tx, one));
  return results;
}

function answerOne(tx: Transaction, given: Answered): AnswerResult {
  const { tables, now, moment } = tx;
  const question = tables.question(given.verdict.approvalId);
  const row = question && tables.row(question.request.operationId);
  if (!question || !row || !isAbout(given.verdict, question)) return { kind: "not_found" };
  mustBeAsAsked(tx, row, question);
  const stored = question.verdict;
  const already = { kind: "already_decided", ...(stored ? { verdict: stored } : {}), row } as const;
  if (stored && given.supersedes !== stored.mac) return already; // ask-1
  const current = tables.currentQuestion(question.request.operationId);
  if (current?.request.approvalId !== question.request.approvalId || !isUndecided(row, tx)) return already;
  if (questionExpired({ ...question, verdict: given.verdict }, moment)) {
    const outcome = rejected("expired", "expiry", "nobody answered in time; it was not run");
    if (row.state !== "settled") putSettled(tx, settled(row, outcome, now));
    return { kind: "expired" };
  }
  const { edit } = given;
  const target = edit && tables.row(edit.request.operation.id);
  if (target) return { kind: "already_decided", row: target }; // edited into a call that has a row of its own

  tables.setVerdict(question.request.approvalId, given.verdict, moment);
  const outcome = given.settles ?? implied(given.verdict);
  if (outcome) {
    const replacedBy = edit ? { replacedBy: edit.request.operation.id } : {};
    putSettled(tx, settled(row, outcome, now, replacedBy));
  }
  if (edit) putEdit(tx, row, edit);
  tables.touch(row.threadId, now);
  return { kind: "stored" };
}

/** Whether a verdict is an answer to this question and no other. */
function isAbout(verdict: Verdict, { request }: Question): boolean {
  const same = (["operationId", "threadId", "scope", "argumentsDigest", "toolDigest"] as const).every(
    (field) => verdict[field] === request[field],
  );
  return same && sameInjects(verdict.injects, request.injects) && verdict.destination === request.destination?.digest;
}

/** What a verdict means for its operation where the caller did not say. */
function implied(verdict: Verdict): Outcome | undefined {
  switch (verdict.type) {
    case "approve":
      return undefined;
    case "reject":
      return rejected("person", "person", verdict.message ?? "a person rejected it");
    case "edit":
      return rejected("edited", "person", "a person changed its arguments");
  }
}

/** The edited call: an operation of its own, asked about and approved in one step. */
function putEdit(tx: Transaction, old: OperationRow, edit: NonNullable<Answered["edit"]>): void {
  const { request, verdict } = edit;
  const operation = { ...request.operation, replaces: old.operation.id };
  const question = newQuestion(tx, request);
  tx.tables.putRow({ ...proposed(operation, request, request.toolDigest, tx.now), asked: askedOf(question) });
  tx.tables.addQuestion(question);
  tx.tables.setVerdict(request.approvalId, verdict, tx.moment);
}
