// Answers of a tool.
//
//   Every answer is `{ status, message, data }` and nothing else; isError says that the status is not ok.
//   documents-answer-1. A refusal's data names the field and the rule.

import type { Status } from "./contracts.js";

export interface Answer {
  readonly status: Status;
  readonly message: string;
  readonly data: Readonly<Record<string, unknown>> | null;
  /** What the model reads, where that is not the message. */
  readonly text?: string;
}

/** Why a call is refused: `rule` goes on from the field's name, as in "must be a string". */
export interface Refusal {
  readonly field: string;
  readonly rule: string;
}

export const ok = (message: string, data: Answer["data"], text?: string): Answer => ({
  status: "ok",
  message,
  data,
  ...(text === undefined ? {} : { text }),
});
export const failed = (message: string): Answer => ({ status: "failed", message, data: null });
export const unknown = (message: string): Answer => ({ status: "result_unknown", message, data: null });
/** (documents-answer-1) */
export const rejected = ({ field, rule }: Refusal, more = ""): Answer => ({
  status: "rejected",
  message: `\`${field}\` ${rule}${more}`,
  data: { field, rule },
});
