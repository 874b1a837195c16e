// Question: what a person is shown before they answer, in the form that LangChain's own approval screens read.
//
// It is pure and makes plain JSON data. `args` are the raw arguments that are digested and sent, and `description` is made
// from them alone. toolgate's own words come first; the server's words come last and are marked as the server's.
//
//   question-1. The text that a person reads holds no hidden code points. When the arguments hold some, `edit` is not offered.

import {
  type ApprovalRequest,
  collapsed,
  cutText,
  type EffectClass,
  escapeHidden,
  type JsonObject,
  type Operation,
  oneLine,
  shown,
  type ToolEntry,
  type VerdictType,
} from "../contracts/index.js";
import { differences } from "./compare.js";
import { holdsHidden, showArguments } from "./show.js";

/** One open question, with everything that is shown about it. */
export interface Question {
  readonly request: ApprovalRequest;
  readonly operation: Operation;
  readonly tool: ToolEntry;
  /** One line for each earlier write the person is shown. */
  readonly earlier: readonly string[];
  /** With whose name the tool's or its server's can be mistaken: ends of sentences. @default none */
  readonly mistakable?: readonly string[];
}

/** One call to answer. `expiresAt` is ISO 8601 UTC. */
export interface ActionRequest {
  readonly name: string;
  readonly args: JsonObject;
  readonly description: string;
  readonly approvalId: string;
  readonly operationId: string;
  readonly toolCallId: string;
  readonly server: string | null;
  readonly tool: string | null;
  /** Where the call goes and who it is called as; null for the host's own tools. */
  readonly destination: string | null;
  readonly argumentsDigest: string;
  readonly toolDigest: string;
  readonly effect: EffectClass;
  readonly expiresAt: string;
  readonly why: string;
}

/** The answers that are allowed to the action with the same index. */
export interface ReviewConfig {
  readonly actionName: string;
  readonly allowedDecisions: readonly VerdictType[];
  readonly argsSchema?: JsonObject;
}

export interface SnakeReviewConfig {
  readonly action_name: string;
  readonly allowed_decisions: readonly VerdictType[];
  readonly args_schema?: JsonObject;
}

/** The value of the interrupt: LangChain's `HITLRequest` in both spellings. */
export interface ApprovalPayload {
  readonly kind: "approval";
  /** Why the last answer was not taken. */
  readonly note?: string;
  readonly actionRequests: readonly ActionRequest[];
  readonly reviewConfigs: readonly ReviewConfig[];
  readonly action_requests: readonly ActionRequest[];
  readonly review_configs: readonly SnakeReviewConfig[];
}

/** JSON characters up to which a tool's schema is sent with the question. It only helps a person who edits the arguments. */
const SCHEMA_CHARS = 8_192;
const TOOL_WORDS_CHARS = 1_000;

/** Puts the open questions into one interrupt. `note` says why the last answer was not taken. */
export function approvalPayload(questions: readonly Question[], note?: string): ApprovalPayload {
  const apart = differences(questions);
  const actions = questions.map((question, index) => action(question, apart[index]));
  const reviews = questions.map(review);
  return {
    kind: "approval",
    ...(note !== undefined && { note: escapeHidden(note) }),
    actionRequests: actions,
    reviewConfigs: reviews,
    action_requests: actions,
    review_configs: reviews.map(({ actionName, allowedDecisions, argsSchema }) => ({
      action_name: actionName,
      allowed_decisions: allowedDecisions,
      ...(argsSchema && { args_schema: argsSchema }),
    })),
  };
}

/** Whether a person may change these arguments: nobody edits what they cannot see. (question-1) */
export function editable(args: JsonObject): boolean {
  return !holdsHidden(args);
}

function action(question: Question, apart: string | undefined): ActionRequest {
  const { request, operation } = question;
  return {
    name: operation.alias,
    args: operation.arguments,
    description: describe(question, apart),
    approvalId: request.approvalId,
    operationId: request.operationId,
    toolCallId: operation.callId,
    server: operation.server,
    tool: operation.tool,
    destination: request.destination?.text ?? null,
    argumentsDigest: request.argumentsDigest,
    toolDigest: request.toolDigest,
    effect: operation.effect,
    expiresAt: new Date(request.expiresAt).toISOString(),
    why: escapeHidden(request.why),
  };
}

function review({ operation, tool }: Question): ReviewConfig {
  const edit = editable(operation.arguments);
  const schema = edit && !holdsHidden(tool.inputSchema) && JSON.stringify(tool.inputSchema).length <= SCHEMA_CHARS;
  return {
    actionName: operation.alias,
    allowedDecisions: edit ? ["approve", "edit", "reject"] : ["approve", "reject"],
    ...(schema && { argsSchema: tool.inputSchema }),
  };
}

function describe({ request, operation, tool, earlier, mistakable = [] }: Question, apart: string | undefined): string {
  const args = showArguments(operation.arguments);
  const lines = [
    `${operation.effect === "write" ? "Write" : "Read"}: \`${oneLine(tool.tool)}\` of \`${oneLine(tool.server)}\``,
    ...mistakable.map((what) => `Look closely: it ${oneLine(what, 500)}`),
    ...(request.destination === undefined ? [] : [`Where it goes: ${request.destination.text}`]),
    `Why you are asked: ${oneLine(request.why, 2_000)}`,
    ...(earlier.length > 0 ? ["Earlier writes; your answer covers these and no others:"] : []),
    ...earlier.map((line) => `- ${oneLine(line, 500)}`),
    ...(apart === undefined ? [] : [apart]),
    "",
    args.length === 0 ? "No arguments." : `Arguments (sha256 ${operation.argumentsDigest}):`,
    ...args,
    ...(editable(operation.arguments)
      ? []
      : ["", "Hidden characters are shown as \\u{…}. Because of them these arguments cannot be edited."]),
    ...injected(request),
    ...toolWords(tool),
  ];
  return escapeHidden(lines.join("\n")); // question-1
}

/** Names what the host sends beside the arguments, because a yes covers that as well. */
function injected({ injects = [] }: ApprovalRequest): string[] {
  if (injects.length === 0) return [];
  return [
    "",
    `Filled in by the host when it is sent, not by the model: ${injects.map((name) => oneLine(name, 80)).join(", ")}.`,
  ];
}

/** What the server says of its tool: shown last, marked, and never more than a few lines. */
function toolWords({ title, description }: ToolEntry): string[] {
  const words = [title, description].filter((text) => text !== undefined && text.trim() !== "");
  if (words.length === 0) return [];
  return [
    "",
    "The server says of this tool (nobody checked it):",
    ...words.map((text) => `> ${cutText(shown(collapsed(text as string)), TOOL_WORDS_CHARS)}`),
  ];
}
