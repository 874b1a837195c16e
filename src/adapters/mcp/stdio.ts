// A stdio server: one process, started without a shell, leading a process group of its own.
//
// Owns the process from its start until its whole group is gone. The SDK's own stdio transport is not used because it leaves
// grandchildren running, fails at a long line and starts a second process to find out the protocol version.
//
//   stdio-1. The child gets the SDK's default environment and the server's own `env`, nothing else: no `TOOLGATE_*` variable
//            and nothing else of this process. Its PATH is without relative folders: a file of the folder that it starts in is
//            started by nobody who looks a name up.
//   stdio-2. stdout and stderr are always read and never held without bound.
//   stdio-3. `onclose` comes once, at most `DRAIN_MS` after the end of the process, and no message comes after it.
//   stdio-4. `close()` ends the process group. Where the system still lists a process of it, `onerror` is told.
//   stdio-5. One transport starts one process, also when `start()` is called twice at once.
//   stdio-6. A process that cannot be started is reported by `start()` as a `ServerProblem`, and nothing is thrown later.
//   stdio-7. A message that its reader cannot take is dropped, and `onerror` is told: an error thrown there would end this
//            process.
//   stdio-8. One message is written at a time. What has to wait for the one before it is asked for once more when its turn comes,
//            just before its first byte: a server that reads nothing may keep it waiting for as long as it likes.

import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { getDefaultEnvironment } from "@modelcontextprotocol/client/stdio";
import type { StdioServer } from "../../contracts/index.js";
import { withAbsolutePath } from "./command.js";
import { type EndTimes, endGroup, guard } from "./group.js";
import { LineReader } from "./lines.js";
import { NOT_PERMITTED, NothingSent } from "./pending-request.js";
import { precheck } from "./precheck.js";
import { messageOf, ServerProblem } from "./problem.js";
import { Ring } from "./ring.js";

/** Milliseconds from the end of a process, or of its stdout, until the connection counts as lost. */
const DRAIN_MS = 200;
/** Milliseconds that the sender of a failed write waits for the end of the process to be noticed. */
const NOTICE_MS = 500;
const END_TIMES: EndTimes = { eofMs: 1_000, termMs: 1_000 };

export interface StdioHooks {
  readonly limitBytes: () => number;
  readonly onOversize: (id: string | number, bytes: number) => void;
  /** Whether the message that is being sent may still be sent. */
  readonly maySend: () => boolean;
}

/** A process that was started, with all its pipes. */
type RunningChild = ChildProcessWithoutNullStreams & { readonly pid: number };

export class StdioTransport implements Transport {
  onmessage?: Transport["onmessage"];
  onclose?: Transport["onclose"];
  onerror?: Transport["onerror"];
  readonly #config: StdioServer;
  readonly #maySend: StdioHooks["maySend"];
  readonly #lines: LineReader;
  readonly #ring = new Ring();
  #started = false;
  #child: RunningChild | undefined;
  #exit: string | undefined;
  #closed = false;
  #died = false;
  #ending: Promise<void> | undefined;
  #notice: () => void = () => {};
  #writing: Promise<unknown> | undefined;
  readonly #noticed: Promise<void>;

  constructor(config: StdioServer, hooks: StdioHooks) {
    this.#config = config;
    this.#maySend = hooks.maySend;
    this.#noticed = new Promise((resolve) => {
      this.#notice = resolve;
    });
    this.#lines = new LineReader({
      limitBytes: hooks.limitBytes,
      onOversize: hooks.onOversize,
      onMessage: (message) => this.#deliver(message as never),
    });
  }

  /**
   * The SDK knows a stdio transport by `pid` and `stderr`. It takes a stdio server that leaves an unknown request unanswered
   * for one of the older protocol.
   */
  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  get stderr(): null {
    return null;
  }

  /** Whether the process ended, or its stdout did, without our asking. */
  get died(): boolean {
    return this.#died;
  }

  /** How the process ended, and the last lines of its stderr. Not redacted. */
  account(): string {
    const lastLines = this.#ring.lastLines(3);
    const noise = this.#lines.skipped;
    return [
      this.#exit ?? "the process closed its output",
      ...(lastLines === "" ? [] : [`its last words: ${lastLines}`]),
      ...(noise === 0 ? [] : [`${noise} lines on its stdout were no JSON-RPC`]),
    ].join("; ");
  }

  async start(): Promise<void> {
    if (this.#started || this.#ending !== undefined) throw new Error("a stdio transport starts once");
    this.#started = true; // before anything is waited for: stdio-5
    const env = { ...getDefaultEnvironment(), ...this.#config.env };
    const file = precheck(this.#config, env);
    const child = this.#spawn(file, withAbsolutePath(env)); // stdio-1
    const spawned = new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve);
      child.on("error", (error) => reject(this.#notStarted(error))); // for ever: an error without a listener is thrown
    });
    if (isRunning(child)) {
      this.#child = child;
      guard(child.pid);
      this.#listen(child);
    } else discard(child); // stdio-6
    await spawned;
    if (this.#child === undefined) throw this.#notStarted("it has no pipes");
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const write = () => this.#write(message);
    const written = this.#writing === undefined ? write() : this.#writing.then(write); // stdio-8
    this.#writing = written;
    const failure = await written;
    if (this.#writing === written) this.#writing = undefined;
    if (!failure) return;
    // A broken pipe is noticed before the end of the process that broke it. The sender is told once that end is known,
    // because how the process ended says more than an EPIPE does.
    await Promise.race([this.#noticed, pause(NOTICE_MS)]);
    throw failure;
  }

  /** Never rejects. */
  async #write(message: JSONRPCMessage): Promise<Error | null | undefined> {
    const stdin = this.#child?.stdin;
    const gone = stdin === undefined || this.#closed || this.#exit !== undefined || !stdin.writable;
    if (gone) return new NothingSent("the process is gone");
    if (!this.#maySend()) return new NothingSent(NOT_PERMITTED);
    return new Promise((resolve) => {
      stdin.write(`${JSON.stringify(message)}\n`, resolve);
    });
  }

  close(): Promise<void> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  #spawn(file: string, env: Record<string, string>): ChildProcess {
    try {
      return spawn(file, this.#config.args, {
        cwd: this.#config.cwd,
        env,
        detached: true,
        shell: false,
        windowsHide: true,
        stdio: ["pipe", "pipe", "pipe"],
      });
    } catch (error) {
      throw this.#notStarted(error);
    }
  }

  #notStarted(error: unknown): ServerProblem {
    return new ServerProblem(`the command \`${this.#config.command}\` could not be started: ${messageOf(error)}`);
  }

  /** stdio-7 */
  #deliver(message: JSONRPCMessage): void {
    try {
      this.onmessage?.(message);
    } catch (error) {
      this.onerror?.(error as Error);
    }
  }

  #listen(child: RunningChild): void {
    child.stdout.on("data", (chunk: Buffer) => {
      if (!this.#closed) this.#lines.push(chunk); // stdio-3: a grandchild may hold the pipe and go on writing
    });
    child.stderr.on("data", (chunk: Buffer) => this.#ring.push(chunk)); // stdio-2
    // A pipe that breaks is followed by the end of the process or of its stdout. A failed write rejects its own `send`.
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on("error", () => {});
    // After the end the rest of the pipes is read until they close, or for a moment, because a grandchild may keep them open.
    const announceSoon = () => setTimeout(() => this.#announce(), DRAIN_MS).unref();
    child.stdout.once("end", announceSoon);
    child.once("exit", (code, signal) => {
      this.#exit = signal === null ? `the process ended with code ${code}` : `the process was ended by ${signal}`;
      announceSoon();
    });
    child.once("close", () => this.#announce()); // stdio-3
  }

  #announce(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#died = this.#ending === undefined;
    this.onclose?.();
    this.#notice();
    this.#ending ??= this.#end(); // ends the processes that it left running in its group
  }

  async #end(): Promise<void> {
    const child = this.#child;
    if (child !== undefined) {
      child.stdin.end();
      const ended = await endGroup(child.pid, END_TIMES); // stdio-4
      if (!ended) this.onerror?.(new Error(`a process of the group ${child.pid} is still there after SIGKILL`));
      for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
    }
    this.#announce();
  }
}

/** When the system has no file descriptor left, Node hands out a child without an id and without any pipe. */
function isRunning(child: ChildProcess): child is RunningChild {
  return child.pid !== undefined && [child.stdin, child.stdout, child.stderr].every((pipe) => pipe != null);
}

function discard(child: ChildProcess): void {
  for (const pipe of [child.stdin, child.stdout, child.stderr]) {
    pipe?.on("error", () => {});
    pipe?.destroy();
  }
  if (child.pid !== undefined) child.kill("SIGKILL");
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
