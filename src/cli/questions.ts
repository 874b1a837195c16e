// Questions: puts what waits for a person to the person at the terminal.
//
//   Q1. The whole arguments are shown before the question; a long value is never only hinted at.
//   Q2. Only the exact word `approve` is a yes. Anything unclear is asked again, nothing typed stops here.
//   Q3. Each answer is in the ledger before the next question is shown: stopping in between loses none.

import type { ActionRequest, ApprovalPayload } from "../approval/index.js";
import { FOLD_CHARS } from "../approval/show.js";
import { escapeHidden, type JsonObject, ToolgateError } from "../contracts/index.js";
import type { PersonAnswer } from "../index.js";
import { readArguments } from "./json.js";
import type { Ask } from "./prompt.js";
import type { Style } from "./style.js";

export interface Desk {
  readonly ask: Ask;
  readonly write: (text: string) => void;
  readonly style: Style;
  /** Stores an answer. Throws `ToolgateError` when it cannot be taken. */
  readonly answer: (approvalId: string, answer: PersonAnswer) => Promise<unknown>;
}

/** Asks about each call. False when the person stopped before the last one. */
export async function putQuestions(desk: Desk, payload: ApprovalPayload): Promise<boolean> {
  const { actionRequests: actions, reviewConfigs: reviews } = payload;
  if (payload.note !== undefined) desk.write(desk.style.warn(`the last answer was not taken: ${payload.note}`));
  for (const [index, action] of actions.entries()) {
    const editable = reviews[index]?.allowedDecisions.includes("edit") === true;
    desk.write(question(action, `Question ${index + 1} of ${actions.length}`, desk.style));
    if (!(await answerOne(desk, action, editable))) return false;
  }
  return true;
}

/** Q1 */
function question(action: ActionRequest, title: string, style: Style): string {
  const whole = folded(action.args) ? ["", "The whole arguments:", showWhole(action.args)] : [];
  return ["", style.bold(title), action.description, ...whole, ""].join("\n");
}

/** JSON, indented, nothing left out and nothing hidden. A line of it cannot pose as one of ours: strings are quoted. */
export function showWhole(args: JsonObject): string {
  return escapeHidden(JSON.stringify(args, null, 2));
}

/** Whether the description shows some of it only in part: a string or a key above what it shows whole. */
function folded(value: unknown): boolean {
  if (typeof value === "string") return value.length > FOLD_CHARS;
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([key, item]) => key.length > KEY_CHARS || folded(item));
}
const KEY_CHARS = 200;

async function answerOne(desk: Desk, action: ActionRequest, editable: boolean): Promise<boolean> {
  const choices = `\`approve\`, \`reject [reason]\`${editable ? ", `edit`" : ""}, or nothing to stop here`;
  for (;;) {
    const typed = await desk.ask(`${choices}: `);
    if (typed.kind === "end") return false;
    if (typed.kind === "paste") {
      desk.write("that was a paste of several lines; type one answer");
      continue;
    }
    if (typed.text === "") return false;
    const answer = await read(desk, typed.text, editable);
    if (answer === undefined) continue;
    if (answer === "stop") return false;
    if (await stored(desk, action.approvalId, answer)) return true; // Q3
  }
}

/** Q2 */
async function read(desk: Desk, text: string, editable: boolean): Promise<PersonAnswer | "stop" | undefined> {
  if (text === "approve") return { type: "approve" };
  const reason = /^reject(?:\s+(.*))?$/s.exec(text);
  if (reason) return { type: "reject", ...(reason[1] ? { message: reason[1] } : {}) };
  if (text === "edit" && editable) return readEdit(desk);
  desk.write("that is no answer; `yes` and the like do not count");
  return undefined;
}

async function readEdit(desk: Desk): Promise<PersonAnswer | "stop"> {
  for (;;) {
    const typed = await desk.ask("the new arguments as one line of JSON, or nothing to stop here: ");
    if (typed.kind === "end" || (typed.kind === "line" && typed.text.trim() === "")) return "stop";
    const args = typed.kind === "line" ? readArguments(typed.text) : { problem: "that were several lines" };
    if ("value" in args) return { type: "edit", arguments: args.value };
    desk.write(`those are no arguments: ${args.problem}`);
  }
}

/** Whether the question is answered now. Somebody else may have been first: that is an answer too. */
async function stored(desk: Desk, approvalId: string, answer: PersonAnswer): Promise<boolean> {
  try {
    await desk.answer(approvalId, answer);
    return true;
  } catch (error) {
    if (!(error instanceof ToolgateError)) throw error;
    desk.write(`not taken: ${error.message}`);
    if (error.code === "already_decided") return true;
    if (error.code === "invalid_answer") return false;
    throw error;
  }
}
