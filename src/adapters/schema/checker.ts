// The schema checker: Ajv in worker threads that are stopped when a check takes too long (worker-1).
//
// A check sees a copy of the value, so it cannot change it. A compiled schema is found by the schema's own text and not by
// the caller's key alone, so two schemas under one key stay apart. A thread that is lost, a start that fails and an answer
// that comes too late all make the check `unusable` (worker-2).
//
// What was slow is remembered for each server's schema by itself (`suspects.ts`); which check runs where is decided in
// `lanes.ts`. An idle thread does not keep the process alive.

import type { SchemaChecker, SchemaVerdict } from "../../catalog/schema-checker.js";
import { type Digest, type JsonObject, oneLine, sha256 } from "../../contracts/index.js";
import { steadyMs } from "../process/clock.js";
import { type Done, type Job, Lanes } from "./lanes.js";
import { prepareSchema, type SchemaTexts } from "./prepared.js";
import { createSuspects } from "./suspects.js";

/**
 * Creates a checker. No thread is started before the first check.
 *
 * `limitMs`: milliseconds from the posting of a check to its end, up to four times that on a machine too busy to run it;
 * compiling a schema, once, may take 20 times as long.
 * @default 250
 *
 * `memoryMb`: megabytes that compiled schemas and a check may need. @default 256
 *
 * `steady`: milliseconds that never go back.
 */
export function createSchemaChecker(
  options: { readonly limitMs?: number; readonly memoryMb?: number; readonly steady?: () => number } = {},
): SchemaChecker {
  return new WorkerChecker(options.limitMs ?? 250, options.memoryMb ?? 256, options.steady ?? steadyMs);
}

class WorkerChecker implements SchemaChecker {
  readonly #lanes: Lanes;
  readonly #texts: SchemaTexts = new WeakMap();
  #closed = false;

  constructor(limitMs: number, memoryMb: number, steady: () => number) {
    this.#lanes = new Lanes({ limitMs, memoryMb, suspects: createSuspects(steady) });
  }

  async check(key: Digest, schema: JsonObject, value: unknown, from = ""): Promise<SchemaVerdict> {
    const prepared = prepareSchema(schema, this.#texts);
    if (typeof prepared === "string") return unusable(prepared);
    if (this.#closed) return unusable("the checker is closed");
    const { text, sum, dialect } = prepared;
    const schemaKey = `${key}:${sum}`;
    const job: Job = {
      from,
      schema: `${from} ${schemaKey}`,
      key: schemaKey,
      text,
      dialect,
      value,
      digest: once(value),
    };
    return verdictOf(await this.#lanes.run(job));
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#lanes.close();
  }
}

/** The digest of a value, made when it is asked for first; undefined where the value is no JSON. */
function once(value: unknown): () => Digest | undefined {
  let made: { readonly sum: Digest | undefined } | undefined;
  return () => {
    made ??= { sum: sumOf(value) };
    return made.sum;
  };
}

function sumOf(value: unknown): Digest | undefined {
  try {
    const text = JSON.stringify(value);
    return text === undefined ? undefined : sha256(text);
  } catch {
    return undefined;
  }
}

function verdictOf(answer: Done): SchemaVerdict {
  if ("unusable" in answer) return unusable(answer.unusable);
  const { problems } = answer;
  return problems.length === 0 ? { valid: true } : { valid: false, problems: problems.map((text) => oneLine(text)) };
}

function unusable(reason: string): SchemaVerdict {
  return { valid: false, unusable: oneLine(reason) };
}
