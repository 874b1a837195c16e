#!/usr/bin/env node
// The command `toolgate`: binds the program to this process and its signals.
//
//   signals-1. The first Ctrl-C or SIGTERM stops the run: nothing more is sent, a pending write gets its time to be answered,
//              and every server is ended. The second one stops at once; the outcome of a pending write is then unknown.

import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { userInfo } from "node:os";
import { runCommand } from "./program.js";

const SIGNALS = { SIGINT: 130, SIGTERM: 143 } as const;

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
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {}); // the reader of the pipe may be gone
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
  cwd: process.cwd(),
  user: userName(),
  version: version(),
  newId: randomUUID,
  stop: stop.signal,
});
process.stdout.write("", () => process.exit(stoppedBy ?? (code === 0 && backgroundFailed ? 1 : code)));

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
