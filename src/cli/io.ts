// Everything of the process that the command uses, in one place, so that tests can run the command without a process.

import type { Readable, Writable } from "node:stream";
import { oneLine } from "../contracts/text.js";

/** A stream that a person types into. Only a terminal has `setRawMode`. */
export type Input = Readable & { readonly isTTY?: boolean; setRawMode?(raw: boolean): unknown };
export type Output = Writable & {
  readonly isTTY?: boolean;
  /** Of a terminal: how many cells a line has. */
  readonly columns?: number;
};

export interface Io {
  readonly stdin: Input;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The folder that relative paths on the command line begin at; undefined where it was deleted. */
  readonly cwd: string | undefined;
  /** Name of the user at the terminal. It is recorded with each answer. */
  readonly user: string;
  readonly version: string;
  /** A fresh id for a thread or a message. */
  readonly newId: () => string;
  /** Aborted by the first signal that stops a run (signals-1). */
  readonly stop: AbortSignal;
}

/** The configuration file that is read without --config. */
export const DEFAULT_CONFIG = "toolgate.json";

/** Options every command takes. */
export interface Options {
  readonly config: string;
  readonly json: boolean;
  readonly verbose: boolean;
}

/** The result of a command: `value` is printed with `--json`, `text` otherwise. */
export interface CommandResult {
  readonly value: object;
  readonly text: string;
  readonly exitCode: number;
}

export interface Context {
  /** A command is only begun in a folder that is there. */
  readonly io: Io & { readonly cwd: string };
  readonly options: Options;
  /** A line for the person at the terminal, on stderr. */
  readonly note: (line: string) => void;
}

/** Whether a person can be asked. Questions are written to stderr, so that stdout may be a file. */
export function isInteractive({ io, options }: Pick<Context, "io" | "options">): boolean {
  return !options.json && io.stdin.isTTY === true && io.stderr.isTTY === true;
}

/** A command as the user must type it, with the same `--config` as now. */
export function commandLine({ options }: Pick<Context, "options">, ...args: readonly string[]): string {
  const config = options.config === DEFAULT_CONFIG ? [] : ["--config", options.config];
  return ["toolgate", ...args, ...config].map(shellWord).join(" ");
}

/** An argument, in quotes where a shell would change it. */
function shellWord(word: string): string {
  const line = oneLine(word);
  return /^[\w@%+=:,./-]+$/.test(line) ? line : `'${line.replaceAll("'", "'\\''")}'`;
}
