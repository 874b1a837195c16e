#!/usr/bin/env node
// The command `toolgate`: binds the program to this process and its signals.
//
//   signals-1. The first Ctrl-C, SIGTERM, SIGHUP (the terminal was closed) or SIGQUIT stops the run: nothing more is sent, a
//              pending write gets its time to be answered, and every server is ended. The second one stops at once; the outcome
//              of a pending write is then unknown.
//   output-1.  Where stdout does not take what was written (the disk is full, the reader of the pipe is gone), stderr says so
//              and the exit code is 1, unless the outcome of a write is unknown (exit-1) or a signal stopped the run.

import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { userInfo } from "node:os";
import { workingFolder } from "../adapters/process/working-folder.js";
import { tellOutputFailure } from "./error-report.js";
import { EXIT } from "./exit.js";
import { runCommand } from "./program.js";

const SIGNALS = { SIGHUP: 129, SIGINT: 130, SIGQUIT: 131, SIGTERM: 143 } as const;

const stop = new AbortController();
let stoppedBy: number | undefined;
for (const [signal, code] of Object.entries(SIGNALS)) {
  process.on(signal, () => {
    if (stoppedBy !== undefined) process.exit(code);
    stoppedBy = code;
    process.stderr.write("toolgate: stopping; a write in flight gets a moment to be answered\n");
    stop.abort();
  });
}
// Only the command writes to stdout (cli-1). What a library logs, such as LangChain's tracer, goes to stderr.
console.log = console.info = console.debug = (...values: unknown[]) => console.error(...values);
process.stderr.on("error", () => {}); // nobody is left to be told
let outputFailed: Error | undefined;
process.stdout.on("error", (error) => {
  if (outputFailed === undefined) tellOutputFailure(process.stderr, error); // output-1
  outputFailed ??= error;
});
let backgroundFailed = false;
process.on("unhandledRejection", (error) => {
  if (stoppedBy !== undefined || backgroundFailed) return; // promises of a stopped run may still be rejected
  backgroundFailed = true;
  process.stderr.write("toolgate: something failed in the background; --verbose shows where\n");
  // Shows where it failed and not the message, because secrets were not removed from that.
  const frames = error instanceof Error ? (error.stack ?? "").match(/^ {4}at .*$/gm) : null;
  if (process.argv.includes("--verbose")) process.stderr.write(`${(frames ?? []).join("\n")}\n`);
});

const code = await runCommand(process.argv.slice(2), {
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  cwd: workingFolder(),
  user: userName(),
  version: version(),
  newId: randomUUID,
  stop: stop.signal,
});
// Everything was written once this write is answered. What failed is told by the event that comes with or after the answer.
process.stdout.write("", () => setImmediate(() => process.exit(stoppedBy ?? exitCode())));

function exitCode(): number {
  if (outputFailed !== undefined && code !== EXIT.result_unknown) return EXIT.error; // output-1
  return code === EXIT.done && backgroundFailed ? EXIT.error : code;
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? "unknown"}`; // in some containers the user has no name
  }
}

function version(): string {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}
