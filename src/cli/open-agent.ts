// The agent that a command works with, made from its configuration and closed whatever happens.

import type { Config } from "../contracts/index.js";
import type { Toolgate } from "../index.js";
import { Stopped } from "./error-report.js";
import { type Context, commandLine } from "./io.js";
import { type ConfigOptions, notedConfig } from "./read-config.js";
import { redacted } from "./redacted.js";

export interface Opened {
  readonly toolgate: Toolgate;
  readonly context: Context;
  /** Where the configuration's lock file stands. */
  readonly lock: Config["lock"];
  /** The command that continues a thread. */
  readonly goOn: (threadId: string) => string;
}

export interface OpenOptions extends ConfigOptions {
  /** Whether the servers that every run connects will be needed for sure: they start while the agent is loaded. @default false */
  readonly starts?: boolean;
  /** Whether every server counts as one that is not pinned, also where the lock file is missing. @default false */
  readonly unpinned?: boolean;
}

/** Runs `work` with the agent and closes it, whatever happens. */
export async function withToolgate<T>(
  context: Context,
  options: OpenOptions,
  work: (opened: Opened) => Promise<T>,
): Promise<T> {
  const { lock, ...unpinned } = await notedConfig(context, options);
  const config = options.unpinned || lock === undefined ? unpinned : { ...unpinned, lock };
  const { stop } = context.io;
  const toolgate = options.starts ? await startedEarly(config, stop) : await loaded(config);
  const close = () => {
    void toolgate.close().catch(() => undefined); // a failure is reported by the `close` below
  };
  stop.addEventListener("abort", close);
  try {
    if (stop.aborted) throw new Stopped();
    return await work({
      toolgate,
      context,
      lock,
      goOn: (threadId) => commandLine(context, "run", "--thread", threadId),
    });
  } catch (error) {
    throw redacted(error, toolgate.host.redact);
  } finally {
    stop.removeEventListener("abort", close);
    await toolgate.close();
  }
}

async function loaded(config: Config): Promise<Toolgate> {
  const { createToolgate } = await import("../index.js");
  return createToolgate({ config });
}

/** The same, with its servers started before the agent is loaded. They are ended when it cannot be put together. */
async function startedEarly(config: Config, stop: AbortSignal): Promise<Toolgate> {
  const { startEarly } = await import("../create/early.js");
  const early = await startEarly(config);
  const end = () => void early.close();
  stop.addEventListener("abort", end);
  try {
    if (stop.aborted) throw new Stopped();
    const { assembleToolgate } = await import("../create/toolgate.js");
    return await assembleToolgate({ config }, (_config, { redact }) => early.handOver(redact));
  } catch (error) {
    await early.close();
    throw error;
  } finally {
    stop.removeEventListener("abort", end);
  }
}
