// Everything of the process that the command uses, in one place, so that tests can run the command without a process.

import type { Readable, Writable } from "node:stream";
import { oneLine } from "../contracts/text.js";

/** A stream a person types into. `setRawMode` is there at a terminal only. */
export type Input = Readable & { readonly isTTY?: boolean; setRawMode?(raw: boolean): unknown };
export type Output = Writable & { readonly isTTY?: boolean };

export interface Io {
  readonly stdin: Input;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** What relative paths on the command line are relative to. */
  readonly cwd: string;
  /** Name of the user at the terminal: who answers. */
  readonly user: string;
  readonly version: string;
  /** A fresh id for a thread or a message. */
  readonly newId: () => string;
  /** Aborted by the first Ctrl-C or SIGTERM. */
  readonly stop: AbortSignal;
}

/** The configuration beside the caller. */
export const DEFAULT_CONFIG = "toolgate.json";

/** Options every command takes. */
export interface Options {
  readonly config: string;
  readonly json: boolean;
  readonly verbose: boolean;
}

/** What a command came to: `value` is printed with `--json`, `text` otherwise. */
export interface Outcome {
  readonly value: object;
  readonly text: string;
  readonly exitCode: number;
}

export interface Context {
  readonly io: Io;
  readonly options: Options;
  /** A line for the person at the terminal, on stderr. */
  readonly note: (line: string) => void;
}

/** Whether a person can be asked. Questions are written to stderr, so that stdout may be a file. */
export function isInteractive({ io, options }: Pick<Context, "io" | "options">): boolean {
  return !options.json && io.stdin.isTTY === true && io.stderr.isTTY === true;
}

/** A command as it must be typed here: with the caller's own `--config`. */
export function commandLine({ options }: Pick<Context, "options">, ...args: readonly string[]): string {
  const config = options.config === DEFAULT_CONFIG ? [] : ["--config", options.config];
  return ["toolgate", ...args, ...config].map(shellWord).join(" ");
}

/** Quoted where a shell would not take it as it stands. */
function shellWord(word: string): string {
  const line = oneLine(word);
  return /^[\w@%+=:,./-]+$/.test(line) ? line : `'${line.replaceAll("'", "'\\''")}'`;
}
