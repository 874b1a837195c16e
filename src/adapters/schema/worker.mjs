// The schema worker compiles schemas and checks values in a thread that can be stopped. It is plain JavaScript, because the
// thread has no loader. A hostile schema can use up its time and its memory, and the thread holds nothing else.
//
// Jobs: { compile, dialect, text } | { check, value } | { drop }. One at a time, so answers carry no number.

import { readlinkSync } from "node:fs";
import { parentPort } from "node:worker_threads";
import { Ajv } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";

const MAX_PROBLEMS = 8;
const compiled = new Map();

/** JavaScript's own patterns, with `u` where valid with it. The same rule as `patternOf` of the catalog. */
const regExp = Object.assign(
  (source) => {
    try {
      return new RegExp(source, "u");
    } catch {
      return new RegExp(source);
    }
  },
  { code: "pattern" },
);

const MAPS = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"];
const DATA = ["const", "enum", "default", "examples"];
/** Keywords that Ajv has and JSON Schema does not; `$async` would make every check come out as "valid". */
const NOT_JSON_SCHEMA = ["$async", "nullable", "discriminator"];

/** Removes those keywords where they are keywords; a parameter of the same name stays. */
function plain(node, keysAreNames) {
  if (typeof node !== "object" || node === null) return;
  if (Array.isArray(node)) {
    for (const item of node) plain(item, false);
    return;
  }
  if (!keysAreNames) for (const key of NOT_JSON_SCHEMA) delete node[key];
  for (const key of Object.keys(node))
    if (keysAreNames || !DATA.includes(key)) plain(node[key], !keysAreNames && MAPS.includes(key));
}

/** An Ajv of its own for each schema: ids that one schema claims are nothing to another. */
function compile(dialect, text) {
  const schema = JSON.parse(text);
  plain(schema, false);
  const options = {
    strict: false,
    logger: false,
    validateSchema: false, // keywords were checked by the catalog, and Ajv checks the kind of those it compiles
    meta: false,
    addUsedSchema: false,
    ownProperties: true, // `toString` is a parameter like any other
    useDefaults: false,
    coerceTypes: false,
    removeAdditional: false,
    code: { regExp },
  };
  const ajv = dialect === "draft-07" ? new Ajv(options) : new Ajv2020(options);
  addFormats.default(ajv);
  ajv.removeKeyword("id"); // an annotation since draft-06; Ajv refuses it
  return ajv.compile(schema);
}

function problemLine(error) {
  const { additionalProperty, unevaluatedProperty, allowedValues, allowedValue } = error.params;
  const name = additionalProperty ?? unevaluatedProperty;
  const values = allowedValues ?? (allowedValue === undefined ? undefined : [allowedValue]);
  let line = `${cut(error.instancePath, 200) || "/"}: ${cut(String(error.message), 200)}`;
  if (name !== undefined) line += `: \`${cut(String(name), 80)}\``;
  if (values !== undefined) line += `: ${cut(JSON.stringify(values.slice(0, 20)), 200)}`;
  return line;
}

/** The first characters of a text, as a reader counts them; at most `most` UTF-16 units of it. */
function cut(text, most) {
  if (text.length <= most) return text;
  let end = 0;
  for (const { segment, index } of characters.segment(text.slice(0, most + 1))) {
    if (index + segment.length > most) break;
    end = index + segment.length;
  }
  return text.slice(0, end);
}
const characters = new Intl.Segmenter("en", { granularity: "grapheme" });

function answer(job) {
  if (job.compile !== undefined) {
    compiled.set(job.compile, compile(job.dialect, job.text));
    return { compiled: true };
  }
  const validate = compiled.get(job.check);
  if (validate(job.value) === true) return { problems: [] };
  const problems = (validate.errors ?? []).slice(0, MAX_PROBLEMS).map(problemLine);
  return { problems: problems.length > 0 ? problems : ["/: it does not fit the schema"] };
}

parentPort.on("message", (job) => {
  if (job.drop !== undefined) {
    compiled.delete(job.drop);
    return;
  }
  try {
    parentPort.postMessage(answer(job));
  } catch (error) {
    parentPort.postMessage({ unusable: cut(String(error?.message ?? error), 300) });
  }
});
/** The number by which the system knows this thread, on Linux. */
function taskId() {
  try {
    return /\/task\/(\d+)$/.exec(readlinkSync("/proc/thread-self"))?.[1];
  } catch {
    return undefined;
  }
}

parentPort.postMessage({ ready: true, task: taskId() });
