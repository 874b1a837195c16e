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
//            process. Where stdout itself cannot be read, the connection is ended.
//   stdio-8. One message is written at a time. What has to wait for the one before it is asked for once more when its turn comes,
//            just before its first byte: a server that reads nothing may keep it waiting for as long as it likes.
//   stdio-9. What waits is bounded in messages and length. With one more the connection is ended, and nothing of it was sent.

import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { getDefaultEnvironment } from "@modelcontextprotocol/client/stdio";
import type { StdioServer } from "../../contracts/index.js";
import { contain } from "../process/contain.js";
import { withAbsolutePath } from "./command.js";
import { type EndTimes, endGroup, guard } from "./group.js";
import { LineReader } from "./lines.js";
import { NOT_PERMITTED, NothingSent } from "./pending-request.js";
import { precheck } from "./precheck.js";
import { messageOf, ServerProblem } from "./problem.js";
import { Ring } from "./ring.js";
import { Intakes } from "./turns.js";

/** Milliseconds from the end of a process, or of its stdout, until the connection counts as lost. */
const DRAIN_MS = 200;
/** Milliseconds that the sender of a failed write waits for the end of the process to be noticed. */
const NOTICE_MS = 500;
/** What may wait behind a message that the server does not read. */
const WAITING_MESSAGES = 1_000;
const WAITING_CHARS = 16_777_216;
const END_TIMES: EndTimes = { eofMs: 1_000, termMs: 1_000 };

export interface StdioHooks {
  readonly limitBytes: () => number;
  readonly onOversize: (id: string | number, bytes: number) => void;
  /** Whether the message that is being sent may still be sent. */
  readonly maySend: () => boolean;
  /** Told of the process that was started, which leads its group; what it returns is called once the group is gone. */
  readonly noted?: (leader: number) => () => void;
}

/** A process that was started, with all its pipes. */
type RunningChild = ChildProcessWithoutNullStreams & { readonly pid: number };

export class StdioTransport implements Transport {
  onmessage?: Transport["onmessage"];
  onclose?: Transport["onclose"];
  onerror?: Transport["onerror"];
  readonly #config: StdioServer;
  readonly #maySend: StdioHooks["maySend"];
  readonly #noted: StdioHooks["noted"];
  readonly #lines: LineReader;
  readonly #ring = new Ring();
  #started = false;
  #child: RunningChild | undefined;
  #exit: string | undefined;
  #closed = false;
  #died = false;
  #ending: Promise<void> | undefined;
  #intake: Intakes | undefined;
  #notice: () => void = () => {};
  #writing: Promise<unknown> | undefined;
  /** Messages that are not written yet, and the length of their text. */
  readonly #waiting = { messages: 0, chars: 0 };
  /** Why we ended the connection, where the server gave a reason for it. */
  #abandoned: string | undefined;
  readonly #noticed: Promise<void>;

  constructor(config: StdioServer, hooks: StdioHooks) {
    this.#config = config;
    this.#maySend = hooks.maySend;
    this.#noted = hooks.noted;
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

  /** Whether we ended the connection for what the server did. */
  get abandoned(): boolean {
    return this.#abandoned !== undefined;
  }

  /** How the process ended, or why we ended it, and the last lines of its stderr. Not redacted. */
  account(): string {
    const lastLines = this.#ring.lastLines(3);
    const noise = this.#lines.skipped;
    return [
      this.#abandoned ?? this.#exit ?? "the process closed its output",
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
      // It listens for ever: an error without a listener is thrown.
      child.on(
        "error",
        contain((error: Error) => reject(this.#notStarted(error))),
      );
    });
    if (isRunning(child)) {
      this.#child = child;
      guard(child.pid, this.#noted?.(child.pid));
      this.#listen(child);
    } else discard(child); // stdio-6
    await spawned;
    if (this.#child === undefined) throw this.#notStarted("it has no pipes");
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const line = `${JSON.stringify(message)}\n`;
    if (this.#writing !== undefined && this.#isFull(line))
      throw new NothingSent("what waits for it to read is too much");
    const write = () => this.#write(line);
    const written = this.#writing === undefined ? write() : this.#writing.then(write); // stdio-8
    this.#writing = written;
    this.#waits(line, 1);
    const failure = await written;
    this.#waits(line, -1);
    if (this.#writing === written) this.#writing = undefined;
    if (!failure) return;
    // A broken pipe is noticed before the end of the process that broke it. The sender is told once that end is known,
    // because how the process ended says more than an EPIPE does.
    await Promise.race([this.#noticed, pause(NOTICE_MS)]);
    throw failure;
  }

  /** Ends the connection for what the server did. The text says what, for a person. */
  abandon(reason: string): void {
    this.#abandoned ??= reason;
    this.#announce();
  }

  #waits(line: string, count: 1 | -1): void {
    this.#waiting.messages += count;
    this.#waiting.chars += count * line.length;
  }

  /** stdio-9 */
  #isFull(line: string): boolean {
    const { messages, chars } = this.#waiting;
    if (messages < WAITING_MESSAGES && chars + line.length <= WAITING_CHARS) return false;
    this.abandon(`it reads nothing: ${messages} messages wait for it`);
    return true;
  }

  /** Never rejects. */
  async #write(line: string): Promise<Error | null | undefined> {
    const stdin = this.#child?.stdin;
    const gone = stdin === undefined || this.#closed || this.#exit !== undefined || !stdin.writable;
    if (gone) return new NothingSent("the process is gone");
    if (!this.#maySend()) return new NothingSent(NOT_PERMITTED);
    return new Promise((resolve) => {
      stdin.write(line, resolve);
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
  readonly #deliver = contain(
    (message: JSONRPCMessage) => this.onmessage?.(message),
    (error) => this.onerror?.(error as Error),
  );

  #listen(child: RunningChild): void {
    const unreadable = (error: unknown) => this.abandon(`its output could not be read: ${messageOf(error)}`); // stdio-7
    const announce = contain(() => this.#announce());
    // After the end the rest of the pipes is read until they close, or for a moment, because a grandchild may keep them open.
    const announceSoon = () => void setTimeout(announce, DRAIN_MS).unref();
    const read = contain((piece: Uint8Array) => {
      if (!this.#closed) this.#lines.push(piece as Buffer); // stdio-3: a grandchild may hold the pipe and go on writing
    }, unreadable);
    const intake = new Intakes({
      take: read,
      pause: () => void child.stdout.pause(),
      resume: () => void child.stdout.resume(),
    });
    this.#intake = intake;
    child.stdout.on(
      "data",
      contain((chunk: Buffer) => intake.push(chunk), unreadable),
    );
    child.stderr.on(
      "data",
      contain((chunk: Buffer) => this.#ring.push(chunk)), // stdio-2
    );
    // A pipe that breaks is followed by the end of the process or of its stdout. A failed write rejects its own `send`.
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on("error", () => {});
    child.stdout.once("end", contain(announceSoon));
    child.once(
      "exit",
      contain((code: number | null, signal: string | null) => {
        this.#exit = signal === null ? `the process ended with code ${code}` : `the process was ended by ${signal}`;
        announceSoon();
      }),
    );
    child.once("close", announce); // stdio-3
  }

  #announce(): void {
    if (this.#closed) return;
    if (this.#abandoned === undefined) this.#intake?.flush();
    if (this.#closed) return; // what was still to be read ended it
    this.#closed = true;
    this.#died = this.#ending === undefined;
    contain(() => this.onclose?.())();
    this.#notice();
    this.#ending ??= this.#end(); // ends the processes that it left running in its group
  }

  async #end(): Promise<void> {
    const child = this.#child;
    if (child !== undefined) {
      child.stdin.end();
      const ended = await endGroup(child.pid, END_TIMES); // stdio-4
      const left = new Error(`a process of the group ${child.pid} is still there after SIGKILL`);
      if (!ended) contain(() => this.onerror?.(left))();
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
