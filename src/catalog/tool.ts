// Tool: turns one tool as a server sent it into the entry that a snapshot holds, or says why the tool is withheld.
//
// It is pure, synchronous and total. The entry is a copy that shares nothing with the server's list.
//
//   entry-1. A name or a text is bounded before it is used, and the size of a tool before its schemas are examined.

import {
  aliasOf,
  type CatalogLimits,
  canonicalJson,
  canonicalObject,
  type Digest,
  digest,
  hasHidden,
  isObject,
  type JsonObject,
  notHashable,
  oneLine,
  sha256,
  type ToolEntry,
} from "../contracts/index.js";
import { deepFreeze } from "./freeze.js";
import { headerProblem } from "./headers.js";
import { withoutInjected } from "./inject.js";
import { examine, sizeProblem } from "./schema-problem.js";
import { stringsOnlyProblem } from "./strings.js";
import { own } from "./walk.js";

/** Characters a tool's own name may have. The specification recommends 128. */
const NAME_CHARS = 256;

/** The first protocol version that has `x-mcp-header`. Versions are dates, so they can be compared as text. */
const HEADERS_SINCE = "2026-07-28";

/** What the digest of a tool covers, as sent. */
const COVERED = ["name", "title", "description", "inputSchema", "outputSchema", "annotations"] as const;

export interface ToolRules {
  readonly limits: CatalogLimits;
  readonly protocol: string | undefined;
  readonly injected: (tool: string) => readonly string[];
}

export type CheckedTool =
  /** `content` is the digest of the entry itself: what the id of a snapshot is made of. */
  | { readonly ok: true; readonly entry: ToolEntry; readonly content: Digest; readonly note?: string }
  | { readonly ok: false; readonly reason: string };

/** The digest of a tool as sent. A value that cannot be digested gets a digest that no tool has. Never throws. */
export function toolDigest(raw: unknown): Digest {
  const covered = isObject(raw) ? coveredOf(raw) : undefined;
  return covered === undefined || notHashable(covered) !== undefined ? sha256("no tool") : digest(covered);
}

function coveredOf(raw: JsonObject): JsonObject {
  return Object.fromEntries(COVERED.filter((key) => own(raw, key) !== undefined).map((key) => [key, raw[key]]));
}

/** Says what keeps a value from being a tool's name; undefined when nothing does. */
export function nameProblem(name: unknown, pattern: RegExp | undefined): string | undefined {
  if (typeof name !== "string") return "it has no name";
  if (name === "") return "its name is empty";
  if (name.length > NAME_CHARS) return `its name has more than ${NAME_CHARS} characters`;
  if (/[\n\t]/.test(name) || hasHidden(name)) return "its name has characters that cannot be seen";
  if (pattern !== undefined && !pattern.test(name)) return "its name does not fit `catalog.limits.toolName`";
  return undefined;
}

/** Checks a tool whose name is known to be one. `known`: its JSON text, when the caller has it. */
export function checkTool(
  server: string,
  name: string,
  raw: JsonObject,
  rules: ToolRules,
  known?: string | undefined,
): CheckedTool {
  const { limits } = rules;
  const sizes = { ...limits, schemaNodes: Number.POSITIVE_INFINITY, schemaDepth: Number.POSITIVE_INFINITY };
  const large = sizeProblem(raw, sizes); // entry-1
  if (large !== undefined) return refuse(`it has ${large}`);
  const text = known ?? jsonText(raw);
  if (text === undefined) return refuse("it is nested too deeply");
  if (Buffer.byteLength(text) > limits.toolBytes) return refuse(`it has more than ${limits.toolBytes} bytes`);
  const texts = textsProblem(raw, limits.descriptionChars);
  if (texts !== undefined) return refuse(texts);
  if (onlyAsTask(raw)) return refuse("it runs only as a task, which this host does not do");

  const covered = coveredOf(raw);
  const foreign = notHashable(covered);
  const input = inputProblem(covered.inputSchema, rules, foreign === undefined);
  if (input !== undefined) return refuse(`input schema: ${input}`);
  const output = covered.outputSchema ?? undefined;
  const outputFault = output === undefined ? undefined : outputProblem(output, rules, foreign === undefined);
  if (foreign !== undefined) return refuse(`it is no plain JSON: ${foreign}`);

  const copy = coveredOf(JSON.parse(text) as JsonObject);
  const injected = rules.injected(name);
  const shown = withoutInjected(asObjectSchema(copy.inputSchema as JsonObject), injected);
  if (!shown.ok) return refuse(shown.problem);
  const still = injected.length === 0 ? undefined : examine(shown.schema, limits);
  if (still !== undefined) return refuse(`input schema without what is injected: ${still.text}`);

  const made = entryOf(server, name, copy, shown.schema, outputFault === undefined);
  if (outputFault === undefined) return { ok: true, ...made };
  return { ok: true, ...made, note: `results of \`${oneLine(name, 80)}\` are not checked: ${outputFault.text}` };
}

/** The JSON text of a value; undefined when it is nested too deeply for the engine to write it. */
function jsonText(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

/**
 * The entry of a tool, frozen. `copy` is what the server sent and `inputSchema` what the model is shown of it. An output
 * schema that cannot be used (`checked` is false) is left out: the tool stays, and its results are not checked.
 *
 * Both digests are made from the same canonical texts, so the schemas are written out once.
 */
function entryOf(
  server: string,
  name: string,
  copy: JsonObject,
  inputSchema: JsonObject,
  checked: boolean,
): { readonly entry: ToolEntry; readonly content: Digest } {
  const texts = textsOf(copy);
  const fields = {
    alias: aliasOf(server, name),
    server,
    tool: name,
    ...(typeof copy.title === "string" ? { title: copy.title } : {}),
    description: typeof copy.description === "string" ? copy.description : "",
    inputSchema,
    ...(isObject(copy.outputSchema) && checked ? { outputSchema: copy.outputSchema } : {}),
    ...(isObject(copy.annotations) ? { annotations: copy.annotations } : {}),
    digest: sha256(canonicalObject(texts)),
  };
  const shown = Object.entries(fields).map(([key, value]) => [
    key,
    value === copy[key] ? (texts[key] as string) : canonicalJson(value),
  ]);
  return { entry: deepFreeze(fields), content: sha256(canonicalObject(Object.fromEntries(shown))) };
}

/** The canonical JSON of each member. */
function textsOf(object: JsonObject): Record<string, string> {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, canonicalJson(value)]));
}

/** Says which text is none. Null counts as absent, because some servers write null for a text that they do not have. */
function textsProblem(raw: JsonObject, chars: number): string | undefined {
  for (const key of ["title", "description"]) {
    const text = own(raw, key) ?? "";
    if (typeof text !== "string") return `its ${key} is no text`;
    if (text.length > chars) return `its ${key} has more than ${chars} characters`;
  }
  return isObject(own(raw, "annotations") ?? {}) ? undefined : "its annotations are no object";
}

/** Spec 2025-11-25, server/tools: `execution.taskSupport` of `required` forbids a call that is no task. */
function onlyAsTask(raw: JsonObject): boolean {
  const execution = own(raw, "execution");
  return isObject(execution) && own(execution, "taskSupport") === "required";
}

/** A schema without a type at its root: the arguments of a call are an object in any case, and providers want it said. */
function asObjectSchema(schema: JsonObject): JsonObject {
  return own(schema, "type") === undefined ? { type: "object", ...schema } : schema;
}

function inputProblem(schema: unknown, { limits, protocol }: ToolRules, plain: boolean): string | undefined {
  const problem = examine(schema, limits, plain);
  if (problem !== undefined) return problem.text;
  if (!isObject(schema) || (own(schema, "type") ?? "object") !== "object") return "its root is not of type `object`";
  const properties = own(schema, "properties");
  const parameters = isObject(properties) ? Object.keys(properties).length : 0;
  if (limits.parameters !== undefined && parameters > limits.parameters)
    return `it has more than ${limits.parameters} parameters`;
  if (limits.schema === "strings-only") {
    const more = stringsOnlyProblem(schema);
    if (more !== undefined) return more;
  }
  return protocol !== undefined && protocol >= HEADERS_SINCE ? headerProblem(schema) : undefined;
}

/** Spec 2025-11-25, server/tools, "Output Schema": structured content is an object, which no other schema would take. */
function outputProblem(schema: unknown, { limits }: ToolRules, plain: boolean): { readonly text: string } | undefined {
  const problem = examine(schema, limits, plain);
  if (problem !== undefined || !isObject(schema)) return problem;
  const types = [own(schema, "type") ?? "object"].flat();
  return types.includes("object") ? undefined : { text: "its root is not of type `object`" };
}

function refuse(reason: string): CheckedTool {
  return { ok: false, reason: oneLine(reason) };
}
