// The schema checker: Ajv in a worker thread that is killed when a check takes too long.
//
//   K11. A check ends: what takes too long is stopped with its thread, and the next check gets a new one.
//   K12. A check looks and does not touch: it sees a copy of the value.
//   K13. Schemas do not see one another: what is kept is found by the schema's own text, not by the key alone.
//   K14. Silence is no yes: a lost thread, a failed start or a late answer is `unusable`.
//
// One thread, one job in it at a time, the rest in line. Idle, it does not keep the process alive.

import { dialectOf, type SchemaChecker, type SchemaVerdict } from "../../catalog/checker.js";
import { type Digest, type JsonObject, oneLine, sha256 } from "../../contracts/index.js";
import { ask, start, stop, type Thread } from "./thread.js";

/** Compiled schemas kept in the thread. */
const KEPT = 256;

/** Compiling grows with a schema's bounded size, not with what it was built to do, and happens once: it may take longer. */
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
        const read = readSchema(schema, texts);
        if (typeof read === "string") return settle(unusable(read));
        line.push({ key: `${key}:${read.sum}`, text: read.text, dialect: read.dialect, value, settle });
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
      job.settle(await run(job).catch(() => unusable("the checker could not be started"))); // K14
    }
    working = false;
  }

  async function run(job: Job): Promise<SchemaVerdict> {
    if (closed) return unusable("the checker is closed");
    const current = thread?.lost === undefined && thread !== undefined ? thread : start(memoryMb);
    thread = current;
    current.worker.ref(); // somebody waits
    try {
      const ready = await current.ready;
      if ("unusable" in ready) return unusable(ready.unusable);
      if (!current.compiled.has(job.key)) {
        const { key, dialect, text } = job;
        const made = await ask(current, { compile: key, dialect, text }, limitMs * COMPILE_FACTOR);
        if ("unusable" in made) return unusable(made.unusable);
      }
      keep(current, job.key);
      const answer = await ask(current, { check: job.key, value: job.value }, limitMs);
      if ("unusable" in answer) return unusable(answer.unusable);
      const problems = "problems" in answer ? answer.problems : ["/: it was not checked"]; // K14
      return problems.length === 0
        ? { valid: true }
        : { valid: false, problems: problems.map((text) => oneLine(text)) };
    } finally {
      current.worker.unref();
    }
  }
}

/** The schema's text is what is compiled and what it is found by; a frozen schema is written once. (K13) */
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

/** The least recently used schema makes room. */
function keep(thread: Thread, key: string): void {
  thread.compiled.delete(key);
  thread.compiled.add(key);
  const [oldest] = thread.compiled;
  if (thread.compiled.size <= KEPT || oldest === undefined) return;
  thread.compiled.delete(oldest);
  thread.worker.postMessage({ drop: oldest });
}

function unusable(reason: string): SchemaVerdict {
  return { valid: false, unusable: oneLine(reason) };
}
