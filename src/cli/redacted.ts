// Errors as they may be shown: without the secrets of the configuration.

/** The same error without the configuration's secrets. Its stack also shows the errors that caused it. */
export function redacted(error: unknown, redact: (text: string) => string): unknown {
  if (!(error instanceof Error)) return error;
  const clean = Object.create(Object.getPrototypeOf(error), Object.getOwnPropertyDescriptors(error)) as Error;
  const replace = (key: string, text: unknown) => {
    if (typeof text === "string")
      Object.defineProperty(clean, key, { value: redact(text), writable: true, configurable: true });
  };
  replace("message", error.message);
  replace("hint", (error as { hint?: unknown }).hint);
  replace("stack", stacks(error).join("\ncaused by: "));
  return clean;
}

function stacks(error: unknown, depth = 0): string[] {
  if (!(error instanceof Error) || depth > 5) return [];
  return [error.stack ?? error.message, ...stacks(error.cause, depth + 1)];
}
