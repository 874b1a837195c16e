// A tiny raw JSON-RPC client over stdio, to look at a server's own words: no SDK, no validation, no retries.
//
// It starts one process and ends it by its own id. For the host's side use the MCP adapter; this one proves servers.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { serverFile } from "./compile.js";

// biome-ignore lint/suspicious/noExplicitAny: what a server sends is read by literals in tests, not by types
export type Message = any;

export interface RpcProcess {
  readonly pid: number;
  /** Every line of stdout so far; an unfinished last line counts once stdout is closed. */
  readonly lines: readonly string[];
  readonly stderr: () => string;
  /** Writes one message as a line. */
  send(message: object): void;
  /** Writes bytes as they are. */
  write(text: string): void;
  /** Sends a request under the next id (from 1) and resolves with the whole answer; rejects when the process ends first. */
  request(method: string, params?: object): Promise<Message>;
  /** Resolves with the first message, past or future, that fits; rejects when the process ends first. */
  message(fits: (message: Message) => boolean): Promise<Message>;
  /** Like `message`, for any line of stdout that is a JSON object. */
  line(fits: (line: Message) => boolean): Promise<Message>;
  /** The 2025-11-25 handshake; resolves with the initialize result. */
  initialize(): Promise<Message>;
  /** Ends stdin and waits for the process to end by itself. */
  end(): Promise<{ code: number | null; signal: string | null }>;
  /** Resolves when the process has ended, whoever ended it; its stdout may still be held by a process it started. */
  readonly exited: Promise<{ code: number | null; signal: string | null }>;
  /** Resolves when the process has ended and all of its stdout has been read. */
  readonly ended: Promise<{ code: number | null; signal: string | null }>;
  /** Ends the process by SIGKILL to its own id, if it still runs. For afterEach. */
  kill(): Promise<void>;
}

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Command and arguments of one of our servers, compiled (compile.ts), to be run at the project's root. */
export function serverCommand(name: string): { command: string; args: string[]; cwd: string } {
  return { command: process.execPath, args: [serverFile(name)], cwd: root };
}

/** Starts `servers/<name>.ts` with `env` beside PATH and nothing else of ours. */
export function startServer(name: string, env: Readonly<Record<string, string>> = {}): RpcProcess {
  const { command, args, cwd } = serverCommand(name);
  const child = spawn(command, args, { cwd, env: { PATH: process.env.PATH, ...env }, stdio: "pipe" });
  return rpcProcess(child);
}

/** Starts an HTTP server of ours and waits for the line with its URL; it ends with its stdin, like the others. */
export async function startHttpServer(
  name: "http" | "hostile-http",
  env: Readonly<Record<string, string>> = {},
): Promise<RpcProcess & { readonly url: string; readonly otherUrl: string }> {
  const server = startServer(name, { END_WITH_STDIN: "1", ...env });
  const line = await server.line(({ url }) => typeof url === "string");
  return { ...server, ...line };
}

function rpcProcess(child: ChildProcess): RpcProcess {
  const { stdin, stdout, stderr, pid } = child;
  if (stdin === null || stdout === null || stderr === null || pid === undefined) throw new Error("did not start");
  const lines: string[] = [];
  const messages: Message[] = [];
  const waiting = new Set<() => void>();
  let errors = "";
  let nextId = 0;
  let over = false;

  stderr.setEncoding("utf8").on("data", (chunk: string) => {
    errors += chunk;
  });
  stdin.on("error", () => {}); // a server that is gone
  const reader = createInterface({ input: stdout }).on("line", (line) => {
    lines.push(line);
    const message = parsed(line);
    if (message !== undefined) messages.push(message);
    for (const look of waiting) look();
  });
  const exited = once(child, "exit").then(([code, signal]) => ({ code, signal }));
  const ended = Promise.all([exited, once(reader, "close")]).then(([how]) => {
    over = true;
    for (const look of waiting) look();
    return how;
  });

  function line(fits: (line: Message) => boolean): Promise<Message> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        const found = messages.find(fits);
        if (found === undefined && !over) return;
        waiting.delete(look);
        if (found !== undefined) resolve(found);
        else reject(new Error(`the server ended without that message; stderr: ${errors.slice(0, 2_000)}`));
      };
      waiting.add(look);
      look();
    });
  }

  const message = (fits: (message: Message) => boolean): Promise<Message> =>
    line((candidate) => candidate.jsonrpc === "2.0" && fits(candidate));

  function write(text: string): void {
    stdin?.write(text);
  }
  const send = (body: object): void => write(`${JSON.stringify({ jsonrpc: "2.0", ...body })}\n`);
  function request(method: string, params?: object): Promise<Message> {
    const id = ++nextId;
    send({ id, method, ...(params === undefined ? {} : { params }) });
    return message((m) => m.id === id && m.method === undefined);
  }

  return {
    pid,
    lines,
    stderr: () => errors,
    send,
    write,
    request,
    message,
    line,
    initialize: async () => {
      const clientInfo = { name: "rpc", version: "1.0.0" };
      const answer = await request("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo });
      send({ method: "notifications/initialized" });
      return answer.result;
    },
    end: () => {
      stdin.end();
      return ended;
    },
    exited,
    ended,
    kill: async () => {
      if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
      await exited;
      reader.close(); // a grandchild may hold stdout open
      stdout.destroy();
      await ended;
    },
  };
}

function parsed(line: string): Message | undefined {
  try {
    const value = JSON.parse(line) as Message;
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined; // noise: only in `lines`
  }
}
