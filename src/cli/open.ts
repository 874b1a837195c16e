// The agent that a command works with, made from its configuration and closed whatever happens.

import { createToolgate, type Toolgate } from "../index.js";
import { type ConfigOptions, notedConfig } from "./config.js";
import { Stopped } from "./failure.js";
import { type Context, commandLine } from "./io.js";
import { redacted } from "./redacted.js";

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
  const config = await notedConfig(context, options);
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
    throw redacted(error, toolgate.host.redact);
  } finally {
    stop.removeEventListener("abort", close);
    await toolgate.close();
  }
}
