// The schema checker: Ajv in a worker thread that is stopped when a check takes too long (worker-1).
//
// A check sees a copy of the value, so it cannot change it. A compiled schema is found by the schema's own text and not by
// the caller's key alone, so two schemas under one key stay apart. A thread that is lost, a start that fails and an answer
// that comes too late all make the check `unusable` (worker-2).
//
// There is one thread with one job at a time; other jobs wait in line. An idle thread does not keep the process alive.

import { dialectOf, type SchemaChecker, type SchemaVerdict } from "../../catalog/schema-checker.js";
import { type Digest, type JsonObject, oneLine, sha256 } from "../../contracts/index.js";
import { type Answer, askWorker, start, stop, type Thread } from "./worker-thread.js";

/** How many compiled schemas the thread holds. */
const MAX_COMPILED = 256;

/** Compiling may take longer than a check: it happens once, and its time grows with the schema's size, which is bounded. */
const COMPILE_FACTOR = 20;

interface Job {
  readonly key: string;
  readonly text: string;
  readonly dialect: string;
  readonly value: unknown;
  readonly settle: (verdict: SchemaVerdict) => void;
}

/**
 * Creates a checker. No thread is started before the first check.
 *
 * `limitMs`: milliseconds from the posting of a check to its end, up to four times that on a machine too busy to run it;
 * compiling a schema, once, may take 20 times as long.
 * @default 250
 *
 * `memoryMb`: megabytes that compiled schemas and a check may need. @default 256
 */
export function createSchemaChecker(
  options: { readonly limitMs?: number; readonly memoryMb?: number } = {},
): SchemaChecker {
  return new WorkerChecker(options.limitMs ?? 250, options.memoryMb ?? 256);
}

class WorkerChecker implements SchemaChecker {
  readonly #limitMs: number;
  readonly #memoryMb: number;
  readonly #queue: Job[] = [];
  readonly #texts: SchemaTexts = new WeakMap();
  #thread: Thread | undefined;
  #working = false;
  #closed = false;

  constructor(limitMs: number, memoryMb: number) {
    this.#limitMs = limitMs;
    this.#memoryMb = memoryMb;
  }

  check(key: Digest, schema: JsonObject, value: unknown): Promise<SchemaVerdict> {
    return new Promise((settle) => {
      const prepared = prepareSchema(schema, this.#texts);
      if (typeof prepared === "string") return settle(unusable(prepared));
      const { text, sum, dialect } = prepared;
      this.#queue.push({ key: `${key}:${sum}`, text, dialect, value, settle });
      void this.#work();
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    const last = this.#thread;
    this.#thread = undefined;
    if (last !== undefined) await stop(last, "the checker is closed");
    await this.#work();
  }

  /** Runs the queued jobs one after the other. */
  async #work(): Promise<void> {
    if (this.#working) return;
    this.#working = true;
    for (let job = this.#queue.shift(); job !== undefined; job = this.#queue.shift()) {
      job.settle(await this.#run(job).catch(() => unusable("the checker could not be started"))); // worker-2
    }
    this.#working = false;
  }

  async #run(job: Job): Promise<SchemaVerdict> {
    if (this.#closed) return unusable("the checker is closed");
    const thread = this.#livingThread();
    thread.worker.ref(); // a check waits, so the process must stay alive
    try {
      const ready = await thread.ready;
      if ("unusable" in ready) return unusable(ready.unusable);
      if (!thread.compiled.has(job.key)) {
        const { key, dialect, text } = job;
        const made = await askWorker(thread, { compile: key, dialect, text }, this.#limitMs * COMPILE_FACTOR);
        if ("unusable" in made) return unusable(made.unusable);
      }
      markUsed(thread, job.key);
      return verdictOf(await askWorker(thread, { check: job.key, value: job.value }, this.#limitMs));
    } finally {
      if (thread.lost === undefined) thread.worker.unref(); // whoever ends it waits for its end
    }
  }

  #livingThread(): Thread {
    if (this.#thread === undefined || this.#thread.lost !== undefined) this.#thread = start(this.#memoryMb);
    return this.#thread;
  }
}

function verdictOf(answer: Answer): SchemaVerdict {
  if ("unusable" in answer) return unusable(answer.unusable);
  const problems = "problems" in answer ? answer.problems : ["/: it was not checked"]; // worker-2
  return problems.length === 0 ? { valid: true } : { valid: false, problems: problems.map((text) => oneLine(text)) };
}

interface PreparedSchema {
  readonly text: string;
  readonly sum: Digest;
  readonly dialect: string;
}

type SchemaTexts = WeakMap<JsonObject, PreparedSchema>;

/** The text that is compiled and that identifies the schema. The text of a frozen schema is remembered. */
function prepareSchema(schema: JsonObject, texts: SchemaTexts): PreparedSchema | string {
  const known = texts.get(schema);
  if (known !== undefined) return known;
  try {
    const dialect = dialectOf(schema);
    if (dialect === undefined) return "the schema's dialect is not read here";
    const text = JSON.stringify(schema);
    const prepared = { text, sum: sha256(text), dialect };
    if (Object.isFrozen(schema)) texts.set(schema, prepared);
    return prepared;
  } catch {
    return "the schema cannot be written as JSON";
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

function unusable(reason: string): SchemaVerdict {
  return { valid: false, unusable: oneLine(reason) };
}
