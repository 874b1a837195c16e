// A folder with a configuration, real servers behind it, and the command as a child process. Everything started here is
// ended by its own id.

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, watch, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readLog, type ServerEvent, type ServerEventName } from "../../servers/log.js";
import { commandFile } from "../support/compile.js";
import { serverCommand } from "../support/rpc.js";

/** Arguments of node for one command line, to be started anywhere. */
export const nodeArguments = (args: readonly string[]): string[] => [commandFile(), ...args];

export interface Ended {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Step {
  readonly say?: string;
  readonly calls?: readonly { readonly name: string; readonly args: unknown; readonly id?: string }[];
}

export class Workspace {
  readonly folder = mkdtempSync(join(tmpdir(), "toolgate-cli-"));
  readonly #running = new Set<ChildProcessWithoutNullStreams>();

  /** Writes a file, JSON unless it is text, and returns its path. */
  write(name: string, content: unknown): string {
    const path = join(this.folder, name);
    writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
    return path;
  }

  /** The configuration `toolgate.json`, with a script for the model and the servers named in `servers`. */
  configure(script: readonly Step[], more: Readonly<Record<string, unknown>> = {}): void {
    this.write("script.json", script);
    this.write("toolgate.json", { model: "scripted:script.json", ...more });
  }

  /** One of our servers as an entry of `mcpServers`; its effects are in the log. */
  server(name: "docs" | "deploy" | "odd-docs" | "odd-deploy", env: Readonly<Record<string, string>> = {}): object {
    return { ...serverCommand(name), env: { SERVER_LOG: this.#log, ...env } };
  }

  get #log(): string {
    return join(this.folder, "server.log");
  }

  log(...names: ServerEventName[]): ServerEvent[] {
    return readLog(this.#log, ...names);
  }

  /** Resolves when the log holds an event of this kind. */
  async logged(name: ServerEventName): Promise<ServerEvent> {
    const changes = watch(this.folder);
    try {
      for (;;) {
        const [event] = this.log(name);
        if (event !== undefined) return event;
        await once(changes, "change");
      }
    } finally {
      changes.close();
    }
  }

  /** Starts the command in this folder, with nobody at a terminal. */
  start(args: readonly string[], env: Readonly<Record<string, string>> = {}): Started {
    return this.spawn(process.execPath, nodeArguments(args), env);
  }

  spawn(command: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): Started {
    const child = spawn(command, [...args], {
      cwd: this.folder,
      env: { PATH: process.env.PATH, HOME: this.folder, ...env },
      stdio: "pipe",
    });
    this.#running.add(child);
    let [stdout, stderr] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    child.stdin.on("error", () => {}); // it may end without reading
    const ended = once(child, "close").then(([code, signal]): Ended => {
      this.#running.delete(child);
      return { code, signal, stdout, stderr };
    });
    return { child, ended, output: () => stdout };
  }

  /** Runs the command to its end. */
  run(...args: string[]): Promise<Ended> {
    return this.start(args).ended;
  }

  /** Runs it with --json: its exit code, and the one object it printed. */
  async json(...args: string[]): Promise<{ code: number | null; value: Report }> {
    const { code, stdout, stderr } = await this.run(...args, "--json");
    const lines = stdout.split("\n");
    if (lines.length !== 2 || lines[1] !== "") throw new Error(`not one line of JSON: ${stdout}\n${stderr}`);
    return { code, value: JSON.parse(lines[0] as string) as Report };
  }

  /**
   * Kills a host by its process id, and then its servers by theirs, because they would finish a running call first. The
   * servers ran a moment ago, so no other process can have got their ids.
   */
  async killHost({ child, ended }: Started): Promise<Ended> {
    child.kill("SIGKILL");
    const how = await ended;
    for (const { pid } of this.log("started")) if (pid !== undefined) endProcess(pid);
    return how;
  }

  async end(): Promise<void> {
    for (const child of this.#running) {
      child.kill("SIGKILL");
      await once(child, "close");
    }
    rmSync(this.folder, { recursive: true });
  }
}

export interface Started {
  readonly child: ChildProcessWithoutNullStreams;
  readonly ended: Promise<Ended>;
  readonly output: () => string;
}

// biome-ignore lint/suspicious/noExplicitAny: what was printed is read by literals in tests, not by types
export type Report = any;

function endProcess(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // it has ended
  }
}

/** Ids and times differ from run to run. */
export function masked(value: unknown): unknown {
  if (typeof value === "string") {
    if (/^[0-9a-f]{64}$/.test(value)) return "<digest>";
    if (/^[0-9a-f]{32}$/.test(value)) return "<id>";
    if (/^runs `\S+ \S+\/servers\/\w+\.js` in `\S+`$/.test(value)) return "runs `<server>`";
    return /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value) ? "<time>" : value;
  }
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(masked);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, masked(item)]));
}
