// Questions: asking and answering, as steps of one transaction each.
//
//   L6. The first answer wins; a later one changes nothing and is told what stands.
//   Q1. Asking is idempotent: a question that shows as much, about the same definition and injected parameters, stays. One that shows
//       less is replaced; the newest question is the current one, and only its verdict counts.
//   Q2. An expired question is not replaced: it settles its operation when it is answered or claimed.

import {
  type Digest,
  type OperationRow,
  type Outcome,
  type Owner,
  rejected,
  sameInjects,
  type Verdict,
} from "../contracts/index.js";
import type { Answered, AnswerResult, Asked, NewRequest } from "./port.js";
import { isUndecided, ownerGone, proposed, rederived, settled } from "./transitions.js";
import { asAsked, isForeign, mustHold, putSettled, questionExpired, type Session } from "./transaction.js";
import type { Question } from "./tables.js";

export function ask(session: Session, requests: readonly NewRequest[], run?: Owner): Asked[] {
  for (const { threadId } of requests) mustHold(session, threadId, run); // L8
  const asked: Asked[] = [];
  for (const request of requests) asked.push(askOne(session, request));
  return asked;
}

function askOne(session: Session, wanted: NewRequest): Asked {
  const { tables, now } = session;
  const { operation, toolDigest } = wanted;
  const row = tables.row(operation.id);
  const fresh = newQuestion(session, wanted);
  // Nobody can answer what is not stored: a question about another thread's call, or about one that is under way.
  if (isForeign(session, operation, row, wanted)) return asAsked(fresh, session.moment);
  const current = tables.currentQuestion(operation.id);
  if (row !== undefined && !isUndecided(row, session)) return asAsked(current ?? fresh, session.moment);
  if (current !== undefined && (shows(current, wanted) || questionExpired(current, session.moment))) {
    return asAsked(current, session.moment); // Q1, Q2
  }
  tables.putRow(row ? rederived(row, operation, toolDigest) : proposed(operation, wanted, toolDigest, now));
  tables.addQuestion(fresh);
  tables.touch(wanted.threadId, now);
  return asAsked(fresh, session.moment);
}

function newQuestion(session: Session, wanted: NewRequest): Question {
  const { approvalId, operation, threadId, scope, toolDigest, injects, why, seen, ttlMs } = wanted;
  const { id: operationId, argumentsDigest } = operation;
  const times = { createdAt: session.now, expiresAt: session.now + ttlMs };
  const about = {
    operationId,
    threadId,
    scope,
    argumentsDigest,
    toolDigest,
    ...(injects ? { injects: [...injects] } : {}),
  };
  return {
    request: { approvalId, ...about, why, seen: [...seen], ...times },
    madeElapsed: session.moment.elapsed,
    consumed: false,
  };
}

function shows(current: Question, wanted: NewRequest): boolean {
  const { request } = current;
  const shown = new Set(request.seen);
  const sameTool = request.toolDigest === wanted.toolDigest && sameInjects(request.injects, wanted.injects);
  return sameTool && wanted.seen.every((id) => shown.has(id));
}

export function asked(session: Session, operationIds: readonly Digest[]): Asked[] {
  const found: Asked[] = [];
  for (const id of operationIds) {
    const question = session.tables.currentQuestion(id);
    if (question) found.push(asAsked(question, session.moment));
  }
  return found;
}

export function openRequests(session: Session, threadId?: string, answered = false): (Asked & { row: OperationRow })[] {
  const open = session.tables.openQuestions(threadId);
  return open
    .filter(({ question }) => question.verdict === undefined || (answered && !question.consumed))
    .filter(({ question }) => !questionExpired(question, session.moment))
    .filter(({ row }) => row.state === "proposed" || (row.state === "claimed" && ownerGone(row, session)))
    .map(({ question, row }) => ({ ...asAsked(question, session.moment), row }));
}

export function answer(session: Session, answers: readonly Answered[]): AnswerResult[] {
  const results: AnswerResult[] = [];
  for (const one of answers) results.push(answerOne(session, one));
  return results;
}

function answerOne(session: Session, given: Answered): AnswerResult {
  const { tables, now, moment } = session;
  const question = tables.question(given.verdict.approvalId);
  const row = question && tables.row(question.request.operationId);
  if (!question || !row || !isAbout(given.verdict, question)) return { kind: "not_found" };
  const stored = question.verdict;
  const already = { kind: "already_decided", ...(stored ? { verdict: stored } : {}), row } as const;
  if (stored && (question.consumed || given.supersedes !== stored.mac)) return already; // L6
  const current = tables.currentQuestion(question.request.operationId);
  if (current?.request.approvalId !== question.request.approvalId || !isUndecided(row, session)) return already;
  if (questionExpired({ ...question, verdict: given.verdict }, moment)) {
    const outcome = rejected("expired", "expiry", "nobody answered in time; it was not run");
    if (row.state !== "settled") putSettled(session, settled(row, outcome, now));
    return { kind: "expired" };
  }
  const { edit } = given;
  const target = edit && tables.row(edit.request.operation.id);
  if (target) return { kind: "already_decided", row: target }; // edited into a call that has a row of its own

  tables.setVerdict(question.request.approvalId, given.verdict, moment);
  const outcome = given.settles ?? implied(given.verdict);
  if (outcome) {
    const replacedBy = edit ? { replacedBy: edit.request.operation.id } : {};
    putSettled(session, { ...settled(row, outcome, now), ...replacedBy });
  }
  if (edit) putEdit(session, row, edit);
  tables.touch(row.threadId, now);
  return { kind: "stored" };
}

/** Whether a verdict is an answer to this question and no other. */
function isAbout(verdict: Verdict, { request }: Question): boolean {
  const same = (["operationId", "threadId", "scope", "argumentsDigest", "toolDigest"] as const).every(
    (field) => verdict[field] === request[field],
  );
  return same && sameInjects(verdict.injects, request.injects);
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
function putEdit(session: Session, old: OperationRow, edit: NonNullable<Answered["edit"]>): void {
  const { request, verdict } = edit;
  const operation = { ...request.operation, replaces: old.operation.id };
  session.tables.putRow(proposed(operation, request, request.toolDigest, session.now));
  session.tables.addQuestion(newQuestion(session, request));
  session.tables.setVerdict(request.approvalId, verdict, session.moment);
}
