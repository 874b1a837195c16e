// The agent that a command works with, made from its configuration and closed whatever happens.

import { oneLine } from "../contracts/index.js";
import { createToolgate, type Toolgate } from "../index.js";
import { type ConfigOptions, configOf } from "./config.js";
import { Stopped } from "./failure.js";
import { type Context, commandLine } from "./io.js";

export interface Opened {
  readonly toolgate: Toolgate;
  readonly context: Context;
  /** The command that continues a thread. */
  readonly goOn: (threadId: string) => string;
}

/** Runs `work` with the agent and closes it, whatever happens. */
export async function withToolgate<T>(
  context: Context,
  options: ConfigOptions,
  work: (opened: Opened) => Promise<T>,
): Promise<T> {
  const { config, findings } = await configOf(context, options);
  for (const finding of findings) context.note(`warning: ${oneLine(finding.message, 1_000)}`);
  const toolgate = await createToolgate({ config });
  const { stop } = context.io;
  const close = () => {
    void toolgate.close().catch(() => undefined); // a failure is reported by the `close` below
  };
  stop.addEventListener("abort", close);
  try {
    if (stop.aborted) throw new Stopped();
    return await work({ toolgate, context, goOn: (threadId) => commandLine(context, "run", "--thread", threadId) });
  } catch (error) {
    throw redacted(error, toolgate);
  } finally {
    stop.removeEventListener("abort", close);
    await toolgate.close();
  }
}

/** The same error without the configuration's secrets. Its stack also shows the errors that caused it. */
export function redacted(error: unknown, { host }: Toolgate): unknown {
  if (!(error instanceof Error)) return error;
  const clean = Object.create(Object.getPrototypeOf(error), Object.getOwnPropertyDescriptors(error)) as Error;
  const replace = (key: string, text: unknown) => {
    if (typeof text === "string")
      Object.defineProperty(clean, key, { value: host.redact(text), writable: true, configurable: true });
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
