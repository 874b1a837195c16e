// Answer: a person's words become sealed verdicts in the ledger. One way, whether they came through an interrupt, the command
// line or a service.

import type { PersonAnswer } from "../approval/index.js";
import { seal, sealed } from "../approval/index.js";
import {
  type ApprovalRequest,
  digest,
  isRecordOf,
  type JsonObject,
  type Operation,
  type OperationRow,
  operationId,
  placesOf,
  rejected,
  type Verdict,
} from "../contracts/index.js";
import type { Answered, AnswerResult, Asked } from "../ledger/port.js";
import { UNAUTHENTICATED } from "./identity.js";
import type { AnswerPorts } from "./ports.js";

/**
 * Why somebody is not heard: the host takes answers and resolutions of known people only. The one rule for every way in
 * which a person speaks. Undefined where they are heard.
 */
export function unheard({ requireIdentity }: AnswerPorts["config"]["approvals"], who: string): string | undefined {
  if (!requireIdentity || who !== UNAUTHENTICATED) return undefined;
  return "nobody is signed in, and this host takes answers from known people only";
}

/** A question that is open, with the row of its operation. */
export interface OpenQuestion {
  readonly asked: Asked;
  readonly row: OperationRow;
}

/** What the head of a thread shows of one call of its batch. */
export interface ShownCall {
  readonly operationId: string;
  readonly status: string;
}

/**
 * What the head of a thread shows of its batch; undefined when the thread's checkpoints are not in this store. Threads are
 * named by their keys.
 */
export type ShownCalls = (key: string, scope: string) => Promise<readonly ShownCall[] | undefined>;

/** Stores answers by compare-and-set; results in the order given. */
export async function storeAnswers(
  ports: AnswerPorts,
  answers: readonly { readonly question: OpenQuestion; readonly answer: PersonAnswer }[],
  approver: string,
): Promise<AnswerResult[]> {
  return ports.ledger.answer(answers.map(({ question, answer }) => answered(ports, question, answer, approver)));
}

/**
 * Questions that wait for a person: asked at the head of their thread and unanswered, or answered under a key that is gone.
 * A question of a branch that the thread has left (a fork, a second run) waits for nobody: it is not among them, nor is a
 * question of another scope.
 */
export async function openQuestions(
  ports: Pick<AnswerPorts, "ledger" | "secret">,
  shownCalls: ShownCalls,
  scope: string,
  threadId?: string,
): Promise<OpenQuestion[]> {
  const keys = threadId === undefined ? [undefined] : placesOf(scope, threadId);
  const all = await Promise.all(keys.map((key) => ports.ledger.openRequests(key, { answered: true })));
  const current = all.flat().filter(({ request }) => isRecordOf(scope)(request));
  const heads = new Map<string, readonly ShownCall[] | undefined>();
  for (const { request } of current) {
    if (!heads.has(request.threadId)) heads.set(request.threadId, await shownCalls(request.threadId, scope));
  }
  return current.flatMap(({ row, ...asked }) => {
    const { verdict, request } = asked;
    const shown = heads.get(request.threadId)?.find((one) => one.operationId === request.operationId);
    const waits =
      verdict === undefined ? shown?.status === "asked" : shown !== undefined && !sealed(verdict, ports.secret);
    return waits ? [{ asked, row }] : [];
  });
}

/** Why an answer was not taken, for the next question or the command line; undefined when it was. */
export function refusedAnswer(result: AnswerResult): string | undefined {
  switch (result.kind) {
    case "stored":
      return undefined;
    case "already_decided":
      return "it was already decided";
    case "expired":
      return "the question has expired; the call was not run";
    case "not_found":
      return "there is no such question";
  }
}

function answered(ports: AnswerPorts, { asked, row }: OpenQuestion, answer: PersonAnswer, approver: string): Answered {
  const { request } = asked;
  const verdict = (type: Verdict["type"], more: Partial<Verdict> = {}): Verdict =>
    seal({ ...verdictAbout(request), approver, at: ports.now(), type, ...more }, ports.secret);
  const stored = { ...superseded(ports, asked) };
  switch (answer.type) {
    case "approve":
      return { ...stored, verdict: verdict("approve") };
    case "reject": {
      const { message } = answer;
      const why = message === undefined || message === "" ? "" : `: ${message}`;
      return {
        ...stored,
        verdict: verdict("reject", message === undefined ? {} : { message }),
        settles: rejected("person", "person", `a person rejected it${why}`),
      };
    }
    case "edit": {
      const operation = editedOperation(row.operation, answer.arguments);
      if (operation === undefined) return { ...stored, verdict: verdict("approve") }; // nothing was changed
      const approvalId = ports.newId();
      const { id, argumentsDigest } = operation;
      return {
        ...stored,
        verdict: verdict("edit"),
        settles: rejected("edited", "person", "a person changed the arguments; the changed call stands in its place"),
        edit: {
          request: editRequest(ports, request, row, { approvalId, operation }),
          verdict: verdict("approve", { approvalId, operationId: id, argumentsDigest }),
        },
      };
    }
  }
}

/** What a verdict is about, from the question it answers. */
function verdictAbout(request: ApprovalRequest) {
  const { approvalId, operationId: id, threadId, scope, argumentsDigest, toolDigest, expiresAt } = request;
  const { injects, destination } = request;
  const about = { approvalId, operationId: id, threadId, scope, argumentsDigest, toolDigest, expiresAt };
  return { ...about, ...(injects ? { injects } : {}), ...(destination ? { destination: destination.digest } : {}) };
}

/** First wins: only a verdict that no longer verifies, because its key is gone, may be given again. */
function superseded({ secret }: AnswerPorts, { verdict }: Asked): Pick<Answered, "supersedes"> {
  return verdict === undefined || sealed(verdict, secret) ? {} : { supersedes: verdict.mac };
}

/** The call with a person's arguments: an operation of its own. Undefined where they are the same. */
function editedOperation(operation: Operation, args: JsonObject): Operation | undefined {
  const argumentsDigest = digest(args);
  if (argumentsDigest === operation.argumentsDigest) return undefined;
  const { proposalId, index, decision } = operation;
  return {
    ...operation,
    id: operationId(proposalId, index, argumentsDigest),
    arguments: args,
    argumentsDigest,
    decision: { kind: "ask", rules: decision?.rules ?? [], reason: "a person edited the arguments" },
    replaces: operation.id,
  };
}

function editRequest(
  { config }: AnswerPorts,
  { threadId, scope, toolDigest, injects, destination, seen }: ApprovalRequest,
  { turnId }: OperationRow,
  edit: { readonly approvalId: string; readonly operation: Operation },
) {
  const ttlMs = config.approvals.requestTtlMs;
  const place = { turnId, threadId, scope, toolDigest };
  const goes = { ...(injects ? { injects } : {}), ...(destination ? { destination } : {}) };
  return { ...edit, ...place, ...goes, why: "a person edited the arguments", seen, ttlMs };
}
