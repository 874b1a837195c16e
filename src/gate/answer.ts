// Answers: a person's words become sealed verdicts in the ledger. One way, whether they came through an interrupt, the
// command line or a service.

import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import type { PersonAnswer } from "../approval/index.js";
import { seal, sealed } from "../approval/index.js";
import { digest, type Operation, type OperationRow, operationId, rejected, type Verdict } from "../contracts/index.js";
import type { Answered, AnswerResult, Asked } from "../ledger/port.js";
import { type Host, UNAUTHENTICATED } from "../graph/host.js";
import type { OperationView } from "../graph/state.js";

/** A question that is open, with the row of its operation. */
export interface OpenQuestion {
  readonly asked: Asked;
  readonly row: OperationRow;
}

/** Stores answers by compare-and-set; results in the order given. */
export async function storeAnswers(
  host: Host,
  answers: readonly { readonly question: OpenQuestion; readonly answer: PersonAnswer }[],
  approver: string,
): Promise<AnswerResult[]> {
  return host.ledger.answer(answers.map(({ question, answer }) => answered(host, question, answer, approver)));
}

/** What the head of a thread shows of its batch; undefined when the thread's checkpoints are not in this store. */
export type ViewsOf = (threadId: string) => Promise<readonly OperationView[] | undefined>;

/**
 * Questions that wait for a person: asked at the head of their thread and unanswered, or answered under a key that is gone.
 * A question of a branch that the thread has left (a fork, a second run) waits for nobody: it is not among them.
 */
export async function openQuestions(host: Host, viewsOf: ViewsOf, threadId?: string): Promise<OpenQuestion[]> {
  const current = await host.ledger.openRequests(threadId, { answered: true });
  const heads = new Map<string, readonly OperationView[] | undefined>();
  for (const { request } of current) {
    if (!heads.has(request.threadId)) heads.set(request.threadId, await viewsOf(request.threadId));
  }
  return current.flatMap(({ row, ...asked }) => {
    const { verdict, request } = asked;
    const view = heads.get(request.threadId)?.find((one) => one.operationId === request.operationId);
    const waits =
      verdict === undefined ? view?.status === "asked" : view !== undefined && !sealed(verdict, host.secret);
    return waits ? [{ asked, row }] : [];
  });
}

/** Who answers in this run; `unauthenticated` when nobody is known. */
export function whoAnswers(host: Host, runtime: LangGraphRunnableConfig): string {
  try {
    return host.identify(runtime) || UNAUTHENTICATED;
  } catch {
    return UNAUTHENTICATED;
  }
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

function answered(host: Host, { asked, row }: OpenQuestion, answer: PersonAnswer, approver: string): Answered {
  const { request } = asked;
  const base = {
    threadId: request.threadId,
    scope: request.scope,
    toolDigest: request.toolDigest,
    ...(request.injects ? { injects: request.injects } : {}),
    approver,
    at: host.now(),
    expiresAt: request.expiresAt,
  };
  const own = {
    ...base,
    approvalId: request.approvalId,
    operationId: request.operationId,
    argumentsDigest: request.argumentsDigest,
  };
  // First wins: only a verdict that no longer verifies, because its key is gone, may be given again.
  const { verdict } = asked;
  const unusable = verdict === undefined || asked.consumed || sealed(verdict, host.secret) ? undefined : verdict.mac;
  const stored = (verdict: Omit<Verdict, "mac">, rest: Partial<Answered> = {}): Answered => ({
    verdict: seal(verdict, host.secret),
    ...(unusable === undefined ? {} : { supersedes: unusable }),
    ...rest,
  });
  switch (answer.type) {
    case "approve":
      return stored({ ...own, type: "approve" });
    case "reject": {
      const words = answer.message === undefined || answer.message === "" ? "" : `: ${answer.message}`;
      return stored(
        { ...own, type: "reject", ...(answer.message === undefined ? {} : { message: answer.message }) },
        { settles: rejected("person", "person", `a person rejected it${words}`) },
      );
    }
    case "edit": {
      const argumentsDigest = digest(answer.arguments);
      if (argumentsDigest === request.argumentsDigest) return stored({ ...own, type: "approve" }); // nothing was changed
      const operation: Operation = {
        ...row.operation,
        id: operationId(row.operation.proposalId, row.operation.index, argumentsDigest),
        arguments: answer.arguments,
        argumentsDigest,
        decision: { kind: "ask", rules: row.operation.decision?.rules ?? [], reason: "a person edited the arguments" },
        replaces: row.operation.id,
      };
      const approvalId = host.newId();
      return stored(
        { ...own, type: "edit" },
        {
          settles: rejected("edited", "person", "a person changed the arguments; the changed call stands in its place"),
          edit: {
            request: {
              approvalId,
              operation,
              turnId: row.turnId,
              threadId: request.threadId,
              scope: request.scope,
              toolDigest: request.toolDigest,
              ...(request.injects ? { injects: request.injects } : {}),
              why: "a person edited the arguments",
              seen: request.seen,
              ttlMs: host.config.approvals.requestTtlMs,
            },
            verdict: seal(
              { ...base, approvalId, operationId: operation.id, argumentsDigest, type: "approve" },
              host.secret,
            ),
          },
        },
      );
    }
  }
}
