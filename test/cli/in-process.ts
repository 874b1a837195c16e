// Runs the command inside of the test's process: the same program, with streams that the test holds.

import { PassThrough } from "node:stream";
import type { Io } from "../../src/cli/io.js";
import { runCommand } from "../../src/cli/program.js";
import type { Report } from "./support.js";

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Surroundings {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly stop?: AbortSignal;
}

/** Runs one command line with nobody at a terminal. */
export async function inProcess(args: readonly string[], given: Surroundings = {}): Promise<Ran> {
  const [stdout, stderr] = [collected(), collected()];
  let ids = 0;
  const io: Io = {
    stdin: new PassThrough(),
    stdout: stdout.stream,
    stderr: stderr.stream,
    env: { PATH: process.env.PATH, ...given.env },
    cwd: given.cwd ?? process.cwd(),
    user: "ann",
    version: "0.1.0",
    newId: () => `fresh-${++ids}`,
    stop: given.stop ?? new AbortController().signal,
  };
  const code = await runCommand(args, io);
  return { code, stdout: stdout.text(), stderr: stderr.text() };
}

/** Runs it with --json: its exit code, and the one object it printed. */
export async function inProcessJson(
  args: readonly string[],
  given: Surroundings = {},
): Promise<{ code: number; value: Report; stderr: string }> {
  const { code, stdout, stderr } = await inProcess([...args, "--json"], given);
  return { code, value: JSON.parse(stdout) as Report, stderr };
}

function collected(): { stream: PassThrough; text: () => string } {
  const stream = new PassThrough();
  let text = "";
  stream.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  return { stream, text: () => text };
}
