// What a thread may be called.

/** 1 to 255 characters, without control characters and lone surrogates: a name that can be shown, kept and compared. */
export function isThreadId(value: unknown): value is string {
  return typeof value === "string" && /^[^\p{Cc}\p{Cs}]{1,255}$/u.test(value);
}
