// The one error a host sees, with a stable code and what to do next.

/** Every code a `ToolgateError` can have. */
export const ERROR_CODES = [
  "already_decided",
  "already_running",
  "already_settled",
  "config_invalid",
  "config_unreadable",
  "config_variable",
  "empty_question",
  "invalid_answer",
  "model_failed",
  "model_missing",
  "not_found",
  "owner_alive",
  "question_too_long",
  "secret_missing",
  "server_failed",
  "stopped",
  "store_failed",
  "store_tampered",
  "store_version",
  "thread_invalid",
  "unsettled",
  "usage",
] as const;
export type ErrorCode = (typeof ERROR_CODES)[number];

/** What went wrong (`message`), which kind it is (`code`) and what to do next (`hint`). `data` is JSON-safe. */
export class ToolgateError extends Error {
  readonly code: ErrorCode;
  readonly hint: string;
  readonly data: Readonly<Record<string, unknown>>;

  constructor(
    code: ErrorCode,
    message: string,
    hint: string,
    options: { data?: Record<string, unknown>; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "ToolgateError";
    this.code = code;
    this.hint = hint;
    this.data = options.data ?? {};
  }
}
