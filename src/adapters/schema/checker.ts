// The schema checker: Ajv in a worker thread that is stopped when a check takes too long (worker-1).
//
// A check sees a copy of the value, so it cannot change it. A compiled schema is found by the schema's own text and not by
// the caller's key alone, so two schemas under one key stay apart. A thread that is lost, a start that fails and an answer
// that comes too late all make the check `unusable` (worker-2).
//
// There is one thread with one job at a time; other jobs wait in line. An idle thread does not keep the process alive.

import { dialectOf, type SchemaChecker, type SchemaVerdict } from "../../catalog/checker.js";
import { type Digest, type JsonObject, oneLine, sha256 } from "../../contracts/index.js";
import { ask, start, stop, type Thread } from "./thread.js";

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
  const limitMs = options.limitMs ?? 250;
  const memoryMb = options.memoryMb ?? 256;
  const line: Job[] = [];
  const texts = new WeakMap<JsonObject, { text: string; sum: Digest; dialect: string }>();
  let thread: Thread | undefined;
  let working = false;
  let closed = false;

  return {
    check(key, schema, value) {
      return new Promise((settle) => {
        const prepared = readSchema(schema, texts);
        if (typeof prepared === "string") return settle(unusable(prepared));
        const { text, sum, dialect } = prepared;
        line.push({ key: `${key}:${sum}`, text, dialect, value, settle });
        void work();
      });
    },

    async close() {
      closed = true;
      const last = thread;
      thread = undefined;
      if (last !== undefined) await stop(last, "the checker is closed");
      await work();
    },
  };

  async function work(): Promise<void> {
    if (working) return;
    working = true;
    for (let job = line.shift(); job !== undefined; job = line.shift()) {
      job.settle(await run(job).catch(() => unusable("the checker could not be started"))); // worker-2
    }
    working = false;
  }

  async function run(job: Job): Promise<SchemaVerdict> {
    if (closed) return unusable("the checker is closed");
    const current = thread?.lost === undefined && thread !== undefined ? thread : start(memoryMb);
    thread = current;
    current.worker.ref(); // a check waits, so the process must stay alive
    try {
      const ready = await current.ready;
      if ("unusable" in ready) return unusable(ready.unusable);
      if (!current.compiled.has(job.key)) {
        const { key, dialect, text } = job;
        const made = await ask(current, { compile: key, dialect, text }, limitMs * COMPILE_FACTOR);
        if ("unusable" in made) return unusable(made.unusable);
      }
      markUsed(current, job.key);
      const answer = await ask(current, { check: job.key, value: job.value }, limitMs);
      if ("unusable" in answer) return unusable(answer.unusable);
      const problems = "problems" in answer ? answer.problems : ["/: it was not checked"]; // worker-2
      return problems.length === 0
        ? { valid: true }
        : { valid: false, problems: problems.map((text) => oneLine(text)) };
    } finally {
      current.worker.unref();
    }
  }
}

/** The text that is compiled and that identifies the schema. The text of a frozen schema is remembered. */
function readSchema(
  schema: JsonObject,
  texts: WeakMap<JsonObject, { text: string; sum: Digest; dialect: string }>,
): { text: string; sum: Digest; dialect: string } | string {
  const known = texts.get(schema);
  if (known !== undefined) return known;
  try {
    const dialect = dialectOf(schema);
    if (dialect === undefined) return "the schema's dialect is not read here";
    const text = JSON.stringify(schema);
    const read = { text, sum: sha256(text), dialect };
    if (Object.isFrozen(schema)) texts.set(schema, read);
    return read;
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
