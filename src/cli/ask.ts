// Asks the person at the terminal about each call that waits for an answer.
//
//   questions-1. The whole arguments are shown before the question. A long value is never only summarised.
//   questions-2. Only the exact word `approve` is a yes. Anything unclear is asked again; typing nothing stops here.
//   questions-3. Each answer is in the ledger before the next question is shown, so stopping between two questions loses none.
//   questions-4. Lines are broken here, at the terminal's width. Each part of a broken line has the mark that says whose text it is.
//   questions-5. The last line above the prompt names the tool and where the call goes.

import type { ActionRequest, ApprovalPayload } from "../approval/index.js";
import { FOLD_CHARS } from "../approval/show.js";
import { type JsonObject, oneLine, ToolgateError, visibleJson } from "../contracts/index.js";
import type { PersonAnswer } from "../index.js";
import { readArguments } from "./json-line.js";
import type { Ask } from "./prompt.js";
import type { Style } from "./style.js";
import { wrapped } from "./wrap.js";

export interface Terminal {
  readonly ask: Ask;
  readonly write: (text: string) => void;
  readonly style: Style;
  /** Cells of a line of the terminal. Without it no line is broken. */
  readonly width?: () => number;
  /** Stores an answer. Throws `ToolgateError` when it cannot be taken. */
  readonly answer: (approvalId: string, answer: PersonAnswer) => Promise<unknown>;
}

/** Asks about each call. False when the person stopped before the last one. */
export async function askQuestions(terminal: Terminal, payload: ApprovalPayload): Promise<boolean> {
  const { actionRequests: actions, reviewConfigs: reviews } = payload;
  if (payload.note !== undefined)
    terminal.write(terminal.style.warn(`the last answer was not taken: ${oneLine(payload.note, 2_000)}`));
  for (const [index, action] of actions.entries()) {
    const editable = reviews[index]?.allowedDecisions.includes("edit") === true;
    terminal.write(question(action, `Question ${index + 1} of ${actions.length}`, terminal));
    if (!(await answerOne(terminal, action, editable))) return false;
  }
  return true;
}

/** The text of one question, with the whole arguments (questions-1), in lines that the terminal does not break (questions-4). */
function question(action: ActionRequest, title: string, { style, width }: Terminal): string {
  const whole = folded(action.args) ? ["", "The whole arguments:", fullJson(action.args)] : [];
  const text = [action.description, ...whole, "", aboutLine(action)].join("\n");
  return ["", style.bold(title), width === undefined ? text : wrapped(text, width())].join("\n");
}

/** What the answer is about: the last line before the prompt, so that no text above it can be taken for it. (questions-5) */
function aboutLine({ server, tool, destination, name }: ActionRequest): string {
  const route = server === null || tool === null ? oneLine(name) : `\`${oneLine(tool)}\` of \`${oneLine(server)}\``;
  return `You answer for ${route}${destination === null ? "" : `, where it goes: ${oneLine(destination, 1_000)}`}`;
}

/** Indented JSON with every character visible. No line of it can be taken for one of ours, because strings are quoted. */
export function fullJson(args: JsonObject): string {
  return visibleJson(args, 2);
}

/** Whether the description shortens a part of the value: a string or a key that is longer than what it shows whole. */
function folded(value: unknown): boolean {
  if (typeof value === "string") return value.length > FOLD_CHARS;
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([key, item]) => key.length > KEY_CHARS || folded(item));
}
const KEY_CHARS = 200;

async function answerOne(terminal: Terminal, action: ActionRequest, editable: boolean): Promise<boolean> {
  const choices = `\`approve\`, \`reject [reason]\`${editable ? ", `edit`" : ""}, or nothing to stop here`;
  for (;;) {
    const typed = await terminal.ask(`${choices}: `);
    if (typed.kind === "end") return false;
    if (typed.kind === "paste") {
      terminal.write("that was a paste of several lines; type one answer");
      continue;
    }
    if (typed.text === "") return false;
    const answer = await parseAnswer(terminal, typed.text, editable);
    if (answer === undefined) continue;
    if (answer === "stop") return false;
    if (await storeAnswer(terminal, action.approvalId, answer)) return true; // questions-3
  }
}

/** The answer that was typed; undefined when the text is none (questions-2). */
async function parseAnswer(
  terminal: Terminal,
  text: string,
  editable: boolean,
): Promise<PersonAnswer | "stop" | undefined> {
  if (text === "approve") return { type: "approve" };
  const reason = /^reject(?:\s+(.*))?$/s.exec(text);
  if (reason) return { type: "reject", ...(reason[1] ? { message: reason[1] } : {}) };
  if (text === "edit" && editable) return readEdit(terminal);
  terminal.write("that is no answer; `yes` and the like do not count");
  return undefined;
}

async function readEdit(terminal: Terminal): Promise<PersonAnswer | "stop"> {
  for (;;) {
    const typed = await terminal.ask("the new arguments as one line of JSON, or nothing to stop here: ");
    if (typed.kind === "end" || (typed.kind === "line" && typed.text.trim() === "")) return "stop";
    const args = typed.kind === "line" ? readArguments(typed.text) : { problem: "that were several lines" };
    if ("value" in args) return { type: "edit", arguments: args.value };
    terminal.write(`those are no arguments: ${args.problem}`);
  }
}

/** Stores an answer. True when the question is answered now, also when somebody else answered it first. */
async function storeAnswer(terminal: Terminal, approvalId: string, answer: PersonAnswer): Promise<boolean> {
  try {
    await terminal.answer(approvalId, answer);
    return true;
  } catch (error) {
    if (!(error instanceof ToolgateError)) throw error;
    terminal.write(`not taken: ${error.message}`);
    if (error.code === "already_decided") return true;
    if (error.code === "invalid_answer") return false;
    throw error;
  }
}
