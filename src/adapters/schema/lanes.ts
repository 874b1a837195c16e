// Lanes: which check runs where, so that a slow one stands in nobody else's way.
//
// There are two lanes of one thread each. Checks run in the quick lane unless their schema was slow before. A check that
// takes longer than `QUICK_MS` there leaves it: where the slow lane is free, the two lanes change their threads and the
// check goes on where it is; where it is not, the check is broken off and made again in the slow lane. A third thread is
// kept warm, because it takes longer to start one than a healthy check may wait.
//
//   lane-1. A check of a schema that was not slow waits for at most one other check that is, and for it no longer than
//           `QUICK_MS`. Schemas that were quick before go first.
//   lane-2. Servers are served in turn, in either lane.
//   lane-3. At most one slow check runs at a time, so that slow checks take at most one processor.
//   lane-4. What waits for a schema goes to the slow lane as soon as one of its checks is slow, and is answered as
//           `suspects.ts` says as soon as one is stopped.

import { contain } from "../process/contain.js";
import { createFairLine, type FairLine } from "./fair-line.js";
import { QUICK_MS, type Suspects } from "./suspects.js";
import { type Answer, askWorker, cpuMs, start, stop, type Thread } from "./worker-thread.js";

/** How many compiled schemas a thread holds, and how many are remembered to have been quick. */
const MAX_COMPILED = 256;
/** How many times longer compiling may take than a check before it leaves the quick lane: a new thread compiles slowly. */
const QUICK_COMPILE_FACTOR = 8;
/** Compiling may take longer than a check: it happens once, and its time grows with the schema's size, which is bounded. */
const COMPILE_FACTOR = 20;

export interface Job {
  /** Whose schema it is: a server's name. */
  readonly from: string;
  /** The server and its schema, for what is remembered of it. */
  readonly schema: string;
  /** The schema alone, for what is compiled. */
  readonly key: string;
  readonly text: string;
  readonly dialect: string;
  readonly value: unknown;
  readonly digest: () => string | undefined;
}

export type Done = { readonly problems: readonly string[] } | { readonly unusable: string };

export interface LanesOptions {
  readonly limitMs: number;
  readonly memoryMb: number;
  readonly suspects: Suspects;
}

interface Waiting {
  readonly job: Job;
  readonly settle: (done: Done) => void;
}

/** A check that is being made. */
interface Running extends Waiting {
  readonly thread: Thread;
  /** It was handed to the thread. */
  asked: boolean;
  /** It has taken longer than `QUICK_MS`. */
  overdue: boolean;
}

interface Lane {
  thread: Thread | undefined;
  running: Running | undefined;
  readonly next: () => Waiting | undefined;
}

export class Lanes {
  readonly #options: LanesOptions;
  /** Checks of schemas that were quick before, and of those of which nothing is known. */
  readonly #proved: FairLine<Waiting> = createFairLine();
  readonly #unproved: FairLine<Waiting> = createFairLine();
  readonly #suspected: FairLine<Waiting> = createFairLine();
  readonly #quick: Lane = {
    thread: undefined,
    running: undefined,
    next: () => this.#proved.take() ?? this.#unproved.take(),
  };
  readonly #slow: Lane = { thread: undefined, running: undefined, next: () => this.#suspected.take() };
  readonly #quickBefore = new Set<string>();
  readonly #ending = new Set<Promise<void>>();
  #warm: Thread | undefined;
  #closed = false;

  constructor(options: LanesOptions) {
    this.#options = options;
  }

  /** Never rejects. */
  run(job: Job): Promise<Done> {
    return new Promise((settle) => {
      this.#add({ job, settle });
      this.#relieve();
      this.#go();
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const thread of [this.#quick.thread, this.#slow.thread, this.#warm])
      if (thread !== undefined) this.#end(thread, "the checker is closed");
    for (const line of [this.#proved, this.#unproved, this.#suspected])
      for (const { settle } of line.takeAll(() => true)) settle({ unusable: "the checker is closed" });
    while (this.#ending.size > 0) await Promise.all(this.#ending);
  }

  #add(waiting: Waiting): void {
    const { job } = waiting;
    const reason = this.#options.suspects.known(job.schema, job.digest);
    if (reason !== undefined) waiting.settle({ unusable: reason });
    else if (this.#options.suspects.isSlow(job.schema)) this.#suspected.add(job.from, waiting);
    else (this.#quickBefore.has(job.schema) ? this.#proved : this.#unproved).add(job.from, waiting);
  }

  #go(): void {
    for (const lane of [this.#quick, this.#slow]) {
      if (lane.running !== undefined || this.#closed) continue;
      const waiting = lane.next();
      if (waiting !== undefined) void this.#make(lane, waiting);
    }
  }

  /** Makes a check, in whichever lane it is in by the time it ends. */
  async #make(lane: Lane, waiting: Waiting): Promise<void> {
    let running: Running | undefined;
    let done: Done;
    try {
      lane.thread = this.#threadOf(lane);
      running = { ...waiting, thread: lane.thread, asked: false, overdue: false };
      lane.running = running;
      done = await this.#ask(running);
    } catch {
      done = { unusable: "the checker could not be started" }; // worker-2
    }
    const ended = [this.#quick, this.#slow].find((one) => one.running === running);
    if (running !== undefined && ended === undefined) return; // it was broken off and waits in the slow lane
    if (ended !== undefined) ended.running = undefined;
    if (running !== undefined) this.#note(running, done);
    waiting.settle(done);
    if (!this.#closed && this.#warm?.lost !== undefined) this.#warm = undefined;
    if (!this.#closed && running !== undefined) this.#warm ??= this.#tryStart();
    this.#go();
  }

  async #ask(running: Running): Promise<Done> {
    const { thread, job } = running;
    const { limitMs } = this.#options;
    thread.worker.ref(); // a check waits, so the process must stay alive
    let stopWatching = () => {};
    try {
      const ready = await thread.ready;
      if ("unusable" in ready) return ready;
      running.asked = true;
      if (!thread.compiled.has(job.key)) {
        const { key, dialect, text } = job;
        stopWatching = this.#watch(running, QUICK_MS * QUICK_COMPILE_FACTOR);
        const made = await askWorker(thread, { compile: key, dialect, text }, limitMs * COMPILE_FACTOR);
        stopWatching();
        if ("unusable" in made) return made;
      }
      stopWatching = this.#watch(running, QUICK_MS);
      markUsed(thread, job.key);
      const answer: Answer = await askWorker(thread, { check: job.key, value: job.value }, limitMs);
      if ("unusable" in answer || "problems" in answer) return answer;
      return { problems: ["/: it was not checked"] }; // worker-2
    } finally {
      stopWatching();
      if (thread.lost === undefined) thread.worker.unref(); // whoever ends it waits for its end
    }
  }

  /** Notes when the thread has worked longer for a check than it may in the quick lane. */
  #watch(running: Running, quickMs: number): () => void {
    const begun = cpuMs(running.thread);
    let over = false;
    let timer: NodeJS.Timeout | undefined;
    const look = contain(() => {
      if (over) return; // when the process was busy, the answer may have been there
      if (cpuMs(running.thread) - begun < quickMs) timer = setTimeout(tick, QUICK_MS);
      else this.#overdue(running);
    });
    const tick = contain(() => void setImmediate(look));
    timer = setTimeout(tick, quickMs);
    return () => {
      over = true;
      clearTimeout(timer);
    };
  }

  #overdue(running: Running): void {
    running.overdue = true;
    this.#options.suspects.slow(running.job.schema);
    this.#sortAnew(running.job.schema);
    this.#relieve();
    this.#go();
  }

  /** Puts what waits for a schema where it belongs by what is known now, or answers it. (lane-4) */
  #sortAnew(schema: string): void {
    for (const line of [this.#proved, this.#unproved, this.#suspected])
      for (const waiting of line.takeAll(({ job }) => job.schema === schema)) this.#add(waiting);
  }

  /** Makes way for those who wait behind a check that is overdue. (lane-1) */
  #relieve(): void {
    const running = this.#quick.running;
    if (running?.overdue !== true || this.#closed) return;
    if (this.#slow.running === undefined) {
      const idle = this.#slow.thread;
      Object.assign(this.#slow, { running, thread: running.thread });
      Object.assign(this.#quick, { running: undefined, thread: idle });
    } else if (this.#proved.size + this.#unproved.size > 0) {
      Object.assign(this.#quick, { running: undefined, thread: undefined });
      this.#end(running.thread, "it was broken off");
      this.#suspected.add(running.job.from, { job: running.job, settle: running.settle }); // lane-3
    }
  }

  #note({ job, thread, asked, overdue }: Running, done: Done): void {
    const { suspects } = this.#options;
    if (!asked || this.#closed) return; // nothing is known of the schema
    if (thread.lost !== undefined && "unusable" in done) {
      suspects.stopped(job.schema, job.digest(), done.unusable);
      this.#quickBefore.delete(job.schema);
      this.#sortAnew(job.schema);
      return;
    }
    suspects.ended(job.schema, !overdue);
    if (overdue) return;
    this.#quickBefore.delete(job.schema);
    this.#quickBefore.add(job.schema);
    const [oldest] = this.#quickBefore;
    if (this.#quickBefore.size > MAX_COMPILED && oldest !== undefined) this.#quickBefore.delete(oldest);
  }

  #threadOf(lane: Lane): Thread {
    if (lane.thread !== undefined && lane.thread.lost === undefined) return lane.thread;
    const warm = lane === this.#quick ? this.#warm : undefined; // the slow lane leaves it to the quick one
    if (warm !== undefined) this.#warm = undefined;
    return warm !== undefined && warm.lost === undefined ? warm : start(this.#options.memoryMb);
  }

  #tryStart(): Thread | undefined {
    try {
      return start(this.#options.memoryMb);
    } catch {
      return undefined;
    }
  }

  #end(thread: Thread, reason: string): void {
    const ended = stop(thread, reason).finally(() => this.#ending.delete(ended));
    this.#ending.add(ended);
  }
}

/** Notes that a schema was used. Above the limit the least recently used one is dropped. */
function markUsed(thread: Thread, key: string): void {
  thread.compiled.delete(key);
  thread.compiled.add(key);
  const [oldest] = thread.compiled;
  if (thread.compiled.size <= MAX_COMPILED || oldest === undefined) return;
  thread.compiled.delete(oldest);
  thread.worker.postMessage({ drop: oldest });
}
