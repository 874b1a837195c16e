// Named points of a run. They are made at the ports of a host process by the test's own host (taps.ts); nothing in the
// sources knows of them, and they do nothing unless a host is started with a halt at one.
//
//   ledger.<method>.before|after       each method of the ledger's port
//   checkpoint.put.before|after        a checkpoint; checkpoint.writes: what a task wrote
//   model.<n>                          before the n-th request of this process to the model
//   send.before|half|after             a `tools/call` on its way into the server's stdin: no byte, half, all of it
//   receive.before|after               its answer, as it comes out of the server's stdout
//   run.<n>.after                      after the n-th run of the graph of this process has returned
//
//   At a halt that stands nothing else of the process goes on: its only thread blocks in the kernel.
//   A host whose runner is gone ends itself.

import { read, readSync, writeSync } from "node:fs";
import type { Go, Said, Words } from "./plan.js";
import type { WalPlace } from "./wal.js";

export interface Halt {
  readonly point: string;
  /**
   * `stand`: says so and stops, the whole process, until it is told to go on or killed. `wait`: the same, but only what
   * came to the point waits. `tell`: says so and goes on.
   */
  readonly do: "stand" | "wait" | "tell";
}

/** Where the runner's words come in. */
const WORDS_FD = 3;

/** One line to the runner, whole before this returns. */
export function say(said: Said): void {
  writeSync(1, `${JSON.stringify(said)}\n`);
}

/** The halts of a process, in order. */
export class Halts {
  readonly #left: Halt[];
  readonly #follow: (go: Go) => void;
  readonly #witness: (() => Promise<Words>) | undefined;
  readonly #synced: () => WalPlace | undefined;

  constructor(
    halts: readonly Halt[],
    parts: {
      readonly follow: (go: Go) => void;
      readonly witness: (() => Promise<Words>) | undefined;
      readonly synced: () => WalPlace | undefined;
    },
  ) {
    this.#left = [...halts];
    this.#follow = parts.follow;
    this.#witness = parts.witness;
    this.#synced = parts.synced;
  }

  /** Whether the next halt is here. */
  next(point: string): Halt | undefined {
    return this.#left[0]?.point === point ? this.#left[0] : undefined;
  }

  /** Comes to a point where the process can wait. */
  async at(point: string): Promise<void> {
    const halt = this.next(point);
    if (halt === undefined) return;
    this.#left.shift();
    const words = this.#witness === undefined ? {} : { words: await this.#witness() };
    say({ at: "halt", point, synced: this.#synced(), ...words });
    if (halt.do === "stand") this.#follow(standUntilTold());
    if (halt.do === "wait") this.#follow(await told());
  }

  /** Comes to a point in the middle of what cannot wait. */
  now(point: string): void {
    const halt = this.next(point);
    if (halt === undefined) return;
    if (halt.do === "wait") throw new Error(`nothing can wait at ${point}`);
    this.#left.shift();
    say({ at: "halt", point, synced: this.#synced() });
    if (halt.do === "stand") this.#follow(standUntilTold());
  }
}

/** N1 */
function standUntilTold(): Go {
  const byte = Buffer.alloc(1);
  let line = "";
  for (;;) {
    if (readSync(WORDS_FD, byte) === 0) end();
    if (byte[0] === 0x0a) return JSON.parse(line) as Go;
    line += byte.toString("latin1");
  }
}

/** The runner's next line, while the process goes on. */
export async function told(): Promise<Go> {
  let line = "";
  for (;;) {
    const byte = await nextByte();
    if (byte === "\n") return JSON.parse(line) as Go;
    line += byte;
  }
}

function nextByte(): Promise<string> {
  const byte = Buffer.alloc(1);
  return new Promise((resolve, reject) => {
    read(WORDS_FD, byte, 0, 1, null, (error, count) => {
      if (error) reject(error);
      else if (count === 0) end();
      else resolve(byte.toString("latin1"));
    });
  });
}

/** N2 */
function end(): never {
  process.kill(process.pid, "SIGKILL");
  throw new Error("unreachable");
}
