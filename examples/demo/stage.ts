// Stage: a temporary folder, the real command, and the servers' own log, which verdicts come from.
//
//   G1. Every process that is started here is ended by its own id.
//   G2. Nothing is waited for by the clock: the log is watched.

import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, watch } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, type Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { readLog, type ServerEvent, type ServerEventName } from "../../servers/log.js";
import { runCommand } from "../../src/cli/program.js";
import type { RunReport } from "../../src/index.js";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** What a scene is played with. */
export interface Scene {
  /** A configuration file; a relative path is relative to the checkout. */
  readonly config: string;
  /** Variables beside DEMO_LOG and DEMO_STORE, which the stage sets. */
  readonly env: Readonly<Record<string, string>>;
}

export interface Told {
  readonly exitCode: number | null;
  readonly report: RunReport;
}

export class Stage {
  /** Removed in the end. */
  readonly folder = mkdtempSync(join(tmpdir(), "toolgate-demo-"));
  /** Of all servers of all scenes. */
  readonly log = join(this.folder, "server.log");
  readonly #running = new Set<ChildProcess>();

  /** Runs `toolgate …` in a new process to its end and tells what it reported. The command is printed as a person would type it. */
  async toolgate(args: readonly string[], scene: Scene): Promise<Told> {
    const child = this.#start(args, scene);
    const [out, errors] = [kept(child.stdout as Readable), kept(child.stderr as Readable)];
    const [exitCode] = (await once(child, "close")) as [number | null];
    return told(args, exitCode, out(), errors());
  }

  /** The same within this process, which takes half the time. Nothing but the store is shared from one command to the next. */
  async here(args: readonly string[], scene: Scene): Promise<Told> {
    announce(args);
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    const [out, errors] = [kept(stdout), kept(stderr)];
    const exitCode = await runCommand(this.#line(args, scene), {
      stdin: new PassThrough(),
      stdout,
      stderr,
      env: this.#env(scene),
      cwd: root,
      user: "demo",
      version: "demo",
      newId: randomUUID,
      stop: new AbortController().signal,
    });
    return told(args, exitCode, out(), errors());
  }

  /** Starts `toolgate …` and kills it, by its own id, as soon as the server has logged the effect of a write. */
  async killedInMidWrite(args: readonly string[], scene: Scene): Promise<void> {
    const before = this.events("effect").length;
    const child = this.#start(args, scene);
    const ended = once(child, "close");
    const seen = await Promise.race([this.#logged("effect", before + 1).then(() => true), ended.then(() => false)]);
    if (!seen) throw new Error(`toolgate ${args.join(" ")} ended before its write`);
    const server = this.events("started").at(-1)?.pid;
    child.kill("SIGKILL");
    await ended;
    if (server !== undefined) end(server); // without its host it would finish what is running first
    say("(killed with SIGKILL while the server was still at work)");
  }

  /** What the servers logged so far. */
  events(...names: ServerEventName[]): ServerEvent[] {
    return readLog(this.log, ...names);
  }

  async close(): Promise<void> {
    for (const child of this.#running) {
      child.kill("SIGKILL");
      await once(child, "close");
    }
    rmSync(this.folder, { recursive: true });
  }

  #start(args: readonly string[], scene: Scene): ChildProcess {
    announce(args);
    const child = spawn(process.execPath, ["--import", "tsx", "src/cli/main.ts", ...this.#line(args, scene)], {
      cwd: root,
      env: this.#env(scene),
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#running.add(child);
    child.once("close", () => this.#running.delete(child));
    return child;
  }

  #line(args: readonly string[], { config }: Scene): string[] {
    return [...args, "--config", config, "--json"];
  }

  #env({ env }: Scene): NodeJS.ProcessEnv {
    return { ...process.env, DEMO_LOG: this.log, DEMO_STORE: join(this.folder, "store"), ...env };
  }

  async #logged(name: ServerEventName, count: number): Promise<void> {
    const changes = watch(this.folder); // G2
    try {
      while (this.events(name).length < count) await once(changes, "change");
    } finally {
      changes.close();
    }
  }
}

/** Reads a stream as text; what came so far is returned whenever it is asked for. */
function kept(stream: Readable): () => string {
  let text = "";
  stream.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  return () => text;
}

function told(args: readonly string[], exitCode: number | null, out: string, errors: string): Told {
  if (out === "") throw new Error(`toolgate ${args.join(" ")} said nothing: ${errors}`);
  return { exitCode, report: JSON.parse(out) as RunReport };
}

function announce(args: readonly string[]): void {
  say(`$ toolgate ${args.map(typed).join(" ")}`);
}

/** An argument as a person would type it, a long one shortened. */
function typed(arg: string): string {
  const short = arg.length > TYPED_CHARS ? `${arg.slice(0, TYPED_CHARS)}…` : arg;
  if (!/[\s"'{}]/.test(short)) return short;
  return /["{}]/.test(short) ? `'${short}'` : `"${short}"`;
}
const TYPED_CHARS = 100;

function end(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // it has ended by itself
  }
}

export function say(line: string): void {
  process.stdout.write(`   ${line}\n`);
}
