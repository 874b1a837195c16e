// The worker thread in which schemas are compiled and values checked, and how it is ended.
//
//   worker-1. What takes too long is stopped together with its thread. The process's own event loop goes on meanwhile.
//   worker-2. A check without an answer is not a yes: whatever a lost thread still owes is answered with the reason of its
//             loss.

import { readFileSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { contain } from "../process/contain.js";

/** How often a limit is waited for again while the machine is too busy for the thread to have worked that long. */
const PATIENCE = 3;

export type Answer =
  | { readonly problems: readonly string[] }
  | { readonly compiled: true }
  | { readonly ready: true; readonly task?: string | undefined }
  | { readonly unusable: string };

/** A thread and the keys of the schemas compiled in it. `settle` is set while the thread owes an answer. */
export interface Thread {
  readonly worker: Worker;
  readonly ready: Promise<Answer>;
  readonly compiled: Set<string>;
  settle?: (answer: Answer) => void;
  /** The number by which Linux knows the thread. */
  task?: string | undefined;
  lost?: string;
}

/** Starts a thread that is stopped when it needs more than `memoryMb`. */
export function start(memoryMb: number): Thread {
  const worker = new Worker(new URL("./worker.mjs", import.meta.url), {
    env: {}, // so that no secret of the process is in it
    execArgv: [], // no loader of the process: the worker is plain JavaScript
    resourceLimits: { maxOldGenerationSizeMb: memoryMb, maxYoungGenerationSizeMb: 16, stackSizeMb: 4 },
  });
  let begun: (answer: Answer) => void = () => {};
  const ready = new Promise<Answer>((resolve) => {
    begun = resolve;
  });
  const thread: Thread = { worker, ready, compiled: new Set(), settle: begun };
  const failed = (error: unknown) => lose(thread, `the checker failed: ${(error as Error).message}`);
  worker.on(
    "message",
    contain((message: Answer) => {
      if ("ready" in message) thread.task = message.task;
      answered(thread, message);
    }, failed),
  );
  worker.on(
    "error",
    contain((error: NodeJS.ErrnoException) => {
      if (error.code !== "ERR_WORKER_OUT_OF_MEMORY") return failed(error);
      lose(thread, "the check needed too much memory and was stopped");
    }),
  );
  worker.on(
    "exit",
    contain(() => lose(thread, "the checker ended without an answer")),
  );
  worker.unref(); // after the listeners: to listen for messages keeps the process alive
  return thread;
}

/**
 * Posts a job and waits for its answer, the loss of the thread, or the limit, which ends the thread. While the
 * thread has had less of the processor than the limit, the limit is waited for again, three times at most. (worker-1)
 */
export function askWorker(thread: Thread, job: object, limitMs: number): Promise<Answer> {
  return new Promise((resolve) => {
    if (thread.lost !== undefined) return resolve({ unusable: thread.lost });
    const begun = cpuMs(thread);
    let patience = PATIENCE;
    const expire = contain(() => {
      if (thread.settle !== settle) return;
      if (cpuMs(thread) - begun < limitMs && patience-- > 0) timer = setTimeout(late, limitMs);
      else void stop(thread, `checking took over ${limitMs} ms and was stopped`);
    });
    // Waits for one more turn of the event loop: when the process was busy, the answer may be there and not yet read.
    const late = contain(() => void setImmediate(expire));
    let timer = setTimeout(late, limitMs);
    const settle = (answer: Answer) => {
      clearTimeout(timer);
      resolve(answer);
    };
    thread.settle = settle;
    try {
      thread.worker.postMessage(job);
    } catch {
      answered(thread, { problems: ["/: it is not JSON"] });
    }
  });
}

/**
 * Milliseconds of the processor that the thread has had. Where the system does not say, those of the whole process: the
 * thread has had no more.
 */
export function cpuMs({ task }: Thread): number {
  if (task !== undefined) {
    try {
      const nanoseconds = Number(readFileSync(`/proc/self/task/${task}/schedstat`, "utf8").split(" ")[0]);
      if (nanoseconds > 0) return nanoseconds / 1e6;
    } catch {
      // The thread has ended, or the system keeps no such account.
    }
  }
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

function answered(thread: Thread, answer: Answer): void {
  const settle = thread.settle;
  delete thread.settle;
  settle?.(answer);
}

/** Marks the thread as lost and answers what it owes with the reason (worker-2). The first reason stands. */
function lose(thread: Thread, reason: string): void {
  thread.lost ??= reason;
  answered(thread, { unusable: thread.lost });
}

/** Resolves when the thread has ended. The process lives until then, also where nothing else keeps it alive. */
export async function stop(thread: Thread, reason: string): Promise<void> {
  lose(thread, reason);
  thread.worker.ref();
  await thread.worker.terminate();
}
