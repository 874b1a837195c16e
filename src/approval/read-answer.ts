// Answer: reads whatever an approval screen sent back and says which question it answers, and how.
//
// It is pure and never throws, whatever the value.
//
//   answer-1. Only an exact decision counts. Anything else leads to the same question again, with the reason. No unusual value
//             ever means yes.
//   answer-2. An answer is taken as a whole or not at all.
//   answer-3. An answer that names ids must name open questions, each of them once.
//   answer-4. A list without ids is taken only when its order cannot have changed: it has one answer for each open question,
//             none of the questions is younger than a second, and the host accepts lists.
//   answer-5. An edit changes arguments. It never changes the tool, nor anything that a person cannot see.

import { type JsonObject, notHashable, oneLine } from "../contracts/index.js";
import { editable, type Question } from "./payload.js";
import { plain } from "./plain-text.js";

export type PersonAnswer =
  | { readonly type: "approve" }
  | { readonly type: "reject"; readonly message?: string }
  | { readonly type: "edit"; readonly arguments: JsonObject };

export type ReadAnswer =
  /** By approval id. Questions that are not among them stay open. */
  | { readonly kind: "answers"; readonly answers: ReadonlyMap<string, PersonAnswer> }
  | { readonly kind: "again"; readonly reason: string };

export interface AnswerContext {
  /** Epoch milliseconds. */
  readonly now: number;
  /** Whether a list without ids is taken in order. */
  readonly positional: "accept" | "refuse";
}

/** Milliseconds a question must have been open before an answer without its id can be meant for it. */
const SETTLED_MS = 1_000;
/** Characters of a message to the model. */
export const MESSAGE_CHARS = 4_000;

const HOW = "answer with { decisions: { approvalId: { type: approve, edit or reject } } }";

/** Reads an answer to these open questions, which stand in the order they were shown. */
export function readAnswer(value: unknown, questions: readonly Question[], context: AnswerContext): ReadAnswer {
  const copy = plain(value);
  if (!isObject(copy)) return again(`the answer is no JSON object; ${HOW}`);
  const pairs = pair(copy, questions, context);
  if (typeof pairs === "string") return again(pairs);
  if (pairs.length === 0) return again(`the answer holds no decision; ${HOW}`);

  const open = new Map(questions.map((question) => [question.request.approvalId, question]));
  const answers = new Map<string, PersonAnswer>();
  for (const [approvalId, decision] of pairs) {
    const question = open.get(approvalId);
    if (!question) return again(`no open question has the id \`${oneLine(approvalId, 80)}\``); // answer-3
    if (answers.has(approvalId)) return again(`\`${approvalId}\` is answered twice`); // answer-3
    const answer = readDecision(decision, question);
    if (typeof answer === "string") return again(`the answer to \`${approvalId}\` cannot be taken: ${answer}`); // answer-2
    answers.set(approvalId, answer);
  }
  return { kind: "answers", answers };
}

type Fields = Readonly<Record<string, unknown>>;

/** Says which decision is meant for which question, or why that cannot be told. */
function pair(answer: Fields, questions: readonly Question[], context: AnswerContext): [string, unknown][] | string {
  const { approvalId, decisions, ...rest } = answer;
  if (decisions === undefined) {
    return typeof approvalId === "string" ? [[approvalId, rest]] : `the answer names no question; ${HOW}`;
  }
  const extra = Object.keys(answer).filter((key) => key !== "decisions");
  if (extra.length > 0) return `beside \`decisions\` stands ${listed(extra)}; ${HOW}`;
  if (isObject(decisions)) return Object.entries(decisions);
  if (!Array.isArray(decisions)) return `\`decisions\` is neither an object nor a list; ${HOW}`;
  return decisions.some((item) => isObject(item) && item.approvalId !== undefined)
    ? pairById(decisions)
    : pairInOrder(decisions, questions, context);
}

function pairById(decisions: readonly unknown[]): [string, unknown][] | string {
  const pairs: [string, unknown][] = [];
  for (const item of decisions) {
    const { approvalId, ...decision } = isObject(item) ? item : {};
    if (typeof approvalId !== "string") return "some decisions name an `approvalId` and some do not; all must";
    pairs.push([approvalId, decision]);
  }
  return pairs;
}

/** Takes a list in order, if that is safe. (answer-4) */
function pairInOrder(
  decisions: readonly unknown[],
  questions: readonly Question[],
  { now, positional }: AnswerContext,
): [string, unknown][] | string {
  if (positional === "refuse") return `this host takes no decisions without an \`approvalId\`; ${HOW}`;
  if (decisions.length !== questions.length) {
    return `${decisions.length} decisions came for ${questions.length} open questions`;
  }
  if (!questions.every(({ request }) => now - request.createdAt >= SETTLED_MS)) {
    return "a question was put less than a second ago, so the answer may be meant for an earlier one";
  }
  return questions.map(({ request }, index) => [request.approvalId, decisions[index]]);
}

/** Reads one decision, or says what is wrong with it. (answer-1) */
function readDecision(decision: unknown, question: Question): PersonAnswer | string {
  if (!isObject(decision)) return "it is no object";
  const { type, ...rest } = decision;
  if (type === "approve") return unknownKeys(rest, []) ?? { type };
  if (type === "reject") return unknownKeys(rest, ["message"]) ?? readRejection(rest.message);
  if (type === "edit") return unknownKeys(rest, ["editedAction", "edited_action"]) ?? readEdit(rest, question);
  return "`type` is not `approve`, `edit` or `reject`";
}

function readRejection(message: unknown): PersonAnswer | string {
  if (message === undefined) return { type: "reject" };
  if (typeof message !== "string" || notHashable(message) !== undefined) return "`message` is no text";
  return message.length <= MESSAGE_CHARS
    ? { type: "reject", message }
    : `\`message\` is above ${MESSAGE_CHARS} characters`;
}

/** Reads an edit. (answer-5) */
function readEdit(fields: Fields, { operation }: Question): PersonAnswer | string {
  if (fields.editedAction !== undefined && fields.edited_action !== undefined) {
    return "`editedAction` and `edited_action` are both given";
  }
  const action = fields.editedAction ?? fields.edited_action;
  if (!isObject(action)) return "`editedAction` is no object";
  const { name, args, ...rest } = action;
  const unknown = unknownKeys(rest, []);
  if (unknown !== undefined) return unknown;
  if (name !== operation.alias) return `an edit keeps the name \`${operation.alias}\``;
  if (!isObject(args)) return "`args` is no JSON object";
  const problem = notHashable(args);
  if (problem !== undefined) return `\`args\` holds ${problem}`;
  if (!editable(operation.arguments)) return "arguments with hidden characters can be approved or rejected, not edited";
  if (!editable(args)) return "the edited arguments hold hidden characters";
  return { type: "edit", arguments: args };
}

function unknownKeys(fields: Fields, known: readonly string[]): string | undefined {
  const unknown = Object.keys(fields).filter((key) => !known.includes(key));
  return unknown.length === 0 ? undefined : `it holds ${listed(unknown)}, which means nothing here`;
}

function listed(keys: readonly string[]): string {
  return keys
    .slice(0, 3)
    .map((key) => `\`${oneLine(key, 40)}\``)
    .join(", ");
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const again = (reason: string): ReadAnswer => ({ kind: "again", reason });
