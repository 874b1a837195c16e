// Host processes: started, listened to line by line, and ended each by its own id.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import type { Writable } from "node:stream";
import type { Action, Go, Plan, Said, Words } from "./plan.js";
import type { Found } from "./promises.js";

export type Halted = Extract<Said, { at: "halt" }>;

/** Milliseconds after which a host that says nothing has failed its cell. */
const SILENCE_MS = 60_000;

export class HostProcess {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  constructor(script: string, plan: Plan) {
    this.#child = spawn(process.execPath, [script, JSON.stringify(plan)], {
      stdio: ["pipe", "pipe", "inherit", "pipe"],
    });
    this.#child.on("error", () => {});
    this.#words.on("error", () => {});
    const lines = createInterface({ input: this.#child.stdout as NonNullable<ChildProcess["stdout"]> });
    this.#lines = lines[Symbol.asyncIterator]();
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  get #words(): Writable {
    return this.#child.stdio[3] as Writable;
  }

  /** The next line that fits; others are passed over. Rejects when it ends, fails or says nothing for long. */
  async said(fits: (said: Said) => boolean): Promise<Said> {
    let timer: NodeJS.Timeout | undefined;
    const silence = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error("a host said nothing for a minute")), SILENCE_MS);
    });
    try {
      return await Promise.race([this.#until(fits), silence]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Resolves when it has come to a halt. Of what it says until then, only that counts. */
  async halted(point: string): Promise<Halted> {
    const said = await this.said((one) => ("at" in one && one.at === "closed") || isHalt(one, point));
    if ("at" in said && said.at === "halt") return said;
    throw new Error(`it never came to ${point}: ${JSON.stringify(said)}`);
  }

  /** Resolves with what an action came to: the code of its error, or `""`. */
  async acted(action: Action["do"]): Promise<string> {
    const said = await this.said((one) => "at" in one && one.at === "acted" && one.action === action);
    return (said as Extract<Said, { at: "acted" }>).error;
  }

  /** What it finds at its start, where it looks. */
  async found(): Promise<Found> {
    const said = await this.said((one) => "at" in one && one.at === "found");
    return (said as Extract<Said, { at: "found" }>).found;
  }

  /** What it says at its end. */
  async done(): Promise<Words> {
    const said = await this.said((one) => "at" in one && one.at === "done");
    return (said as Extract<Said, { at: "done" }>).words;
  }

  go(go: Go = {}): void {
    this.#words.write(`${JSON.stringify(go)}\n`);
  }

  signal(signal: "SIGSTOP" | "SIGCONT"): void {
    process.kill(this.pid, signal);
  }

  /** SIGKILL to its own id; resolves when it is gone. */
  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const gone = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await gone;
  }

  /** Resolves when it has ended by itself. */
  async ended(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    await once(this.#child, "exit");
  }

  async #until(fits: (said: Said) => boolean): Promise<Said> {
    for (;;) {
      const { value, done } = await this.#lines.next();
      if (done) throw new Error("a host ended without the word that was waited for");
      const said = JSON.parse(value) as Said;
      if (!("at" in said)) throw new Error(said.error);
      if (fits(said)) return said;
    }
  }
}

function isHalt(said: Said, point: string): boolean {
  return "at" in said && said.at === "halt" && said.point === point;
}

const LOOK_MS = 5;

/** Resolves when a process that is not ours is gone; one that nobody reaps is gone, too. */
export async function gone(pid: number): Promise<void> {
  while (lives(pid)) await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
}

function lives(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(")") + 2));
  } catch {
    return process.platform !== "linux";
  }
}
