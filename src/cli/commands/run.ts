// `toolgate run`: one user turn. At a terminal it asks the person for approvals. Elsewhere it stops at the first question.

import { isThreadId, oneLine, ToolgateError } from "../../contracts/index.js";
import { askQuestions } from "../ask.js";
import { UsageError } from "../error-report.js";
import { type CommandResult, type Context, isInteractive } from "../io.js";
import { type Opened, withToolgate } from "../open-agent.js";
import { createAsk } from "../prompt.js";
import { styleOf } from "../style.js";
import type { Turn } from "../turn.js";
import { columnsOf } from "../wrap.js";
import { turnOutcome } from "./reported.js";

/** The longest question, in characters. */
const QUESTION_CHARS = 200_000;

export interface RunOptions {
  readonly thread?: string;
  readonly model?: string;
}

export async function run(context: Context, question: string | undefined, options: RunOptions): Promise<CommandResult> {
  const { thread, model } = options;
  checkQuestion(question, thread);
  const threadId = thread ?? context.io.newId();
  return withToolgate(context, { model, seals: true, starts: question !== undefined }, async (opened) => {
    const { requireThread, takeTurn } = await import("../turn.js"); // loads LangChain, while the servers start
    if (question === undefined) await requireThread(opened, threadId);
    if (!context.options.json) context.note(`thread: ${oneLine(threadId)}`); // shown at once, so that a killed run can be continued
    let turn = await takeTurn(opened, threadId, question);
    while (isInteractive(context) && turn.report.error === undefined && turn.asks !== undefined) {
      if (!(await askPerson(opened, turn))) break;
      turn = await takeTurn(opened, threadId);
    }
    return turnOutcome(context, turn);
  });
}

function checkQuestion(question: string | undefined, thread: string | undefined): void {
  if (thread !== undefined && (thread.trim() === "" || !isThreadId(thread)))
    throw new UsageError(
      "a thread's name has 1 to 255 characters, none of them a control character",
      "run `toolgate threads` to list them",
    );
  if (question === undefined && thread === undefined)
    throw new UsageError(
      "there is no question",
      'give one: toolgate run "…"; or name the thread to go on with: --thread T',
      "empty_question",
    );
  if (question === undefined) return;
  if (question.trim() === "")
    throw new UsageError(
      "the question is empty",
      "give one, or leave it out and name a thread to go on with",
      "empty_question",
    );
  if (question.length > QUESTION_CHARS)
    throw new ToolgateError(
      "question_too_long",
      `the question has ${question.length} characters, and ${QUESTION_CHARS} are the most`,
      "put what it is about into a file and let a tool read that",
    );
}

/** Whether every open question was answered, so that the thread goes on. */
async function askPerson({ toolgate, context }: Opened, { asks }: Turn): Promise<boolean> {
  const { io } = context;
  return askQuestions(
    {
      ask: createAsk(io.stdin, io.stderr, io.stop),
      write: context.note,
      style: styleOf(io.stderr, io.env),
      width: () => columnsOf(io.stderr),
      answer: (approvalId, answer) => toolgate.ledger.answer(approvalId, answer, { approver: io.user }),
    },
    asks as NonNullable<Turn["asks"]>,
  );
}
