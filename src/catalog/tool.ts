// Tool: one tool as a server sent it -> the entry a snapshot holds, or the reason it is withheld.
//
// Pure, synchronous, total. The entry is a copy: nothing the server's list holds is shared with it.
//
//   K6. A name or text is bounded before it is used, and a tool's size before anything of it is walked for good.

import {
  aliasOf,
  type CatalogLimits,
  type Digest,
  digest,
  hasHidden,
  type JsonObject,
  notHashable,
  oneLine,
  sha256,
  type ToolEntry,
} from "../contracts/index.js";
import { headerProblem } from "./headers.js";
import { withoutInjected } from "./inject.js";
import { examine, sizeProblem } from "./schema.js";
import { stringsOnlyProblem } from "./strings.js";
import { isObject, own } from "./walk.js";

/** Characters a tool's own name may have. The specification recommends 128. */
export const NAME_CHARS = 256;

/** First protocol version with `x-mcp-header`. Versions are dates and compare as text. */
const HEADERS_SINCE = "2026-07-28";

/** What the digest of a tool covers, as sent. */
const COVERED = ["name", "title", "description", "inputSchema", "outputSchema", "annotations"] as const;

export interface ToolRules {
  readonly limits: CatalogLimits;
  /** `limits.toolName`, compiled. */
  readonly namePattern: RegExp | undefined;
  readonly protocol: string | undefined;
  readonly injected: (tool: string) => readonly string[];
}

export type CheckedTool =
  | { readonly ok: true; readonly entry: ToolEntry; readonly note?: string }
  | { readonly ok: false; readonly reason: string };

/** The digest of a tool as sent; of what no digest can cover, one that no tool has. Total. */
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

/** Checks a tool whose name is known to be one. */
export function checkTool(server: string, name: string, raw: JsonObject, rules: ToolRules): CheckedTool {
  const { limits } = rules;
  const sizes = { ...limits, schemaNodes: Number.POSITIVE_INFINITY, schemaDepth: Number.POSITIVE_INFINITY };
  const large = sizeProblem(raw, sizes); // K6
  if (large !== undefined) return refuse(`it has ${large}`);
  const bytes = jsonBytes(raw);
  if (bytes === undefined) return refuse("it is nested too deeply");
  if (bytes > limits.toolBytes) return refuse(`it has more than ${limits.toolBytes} bytes`);

  const texts = textsProblem(raw, limits.descriptionChars);
  if (texts !== undefined) return refuse(texts);
  const input = own(raw, "inputSchema");
  const schemas = inputProblem(input, rules);
  if (schemas !== undefined) return refuse(`input schema: ${schemas}`);
  const output = own(raw, "outputSchema") ?? undefined;
  const outputFault = output === undefined ? undefined : examine(output, limits);
  if (outputFault?.kind === "shape") return refuse(`output schema: ${outputFault.text}`);

  const covered = coveredOf(raw);
  const foreign = notHashable(covered);
  if (foreign !== undefined) return refuse(`it is no plain JSON: ${foreign}`);
  const copy = JSON.parse(JSON.stringify(covered)) as JsonObject;
  const shown = withoutInjected(copy.inputSchema as JsonObject, rules.injected(name));
  if (!shown.ok) return refuse(shown.problem);
  const still = examine(shown.schema, limits);
  if (still !== undefined) return refuse(`input schema without what is injected: ${still.text}`);

  const entry: ToolEntry = {
    alias: aliasOf(server, name),
    server,
    tool: name,
    ...(typeof copy.title === "string" ? { title: copy.title } : {}),
    description: typeof copy.description === "string" ? copy.description : "",
    inputSchema: shown.schema,
    // An output schema with a pattern only another language can read says nothing here: the tool stays, unchecked.
    ...(isObject(copy.outputSchema) && outputFault === undefined ? { outputSchema: copy.outputSchema } : {}),
    ...(isObject(copy.annotations) ? { annotations: copy.annotations } : {}),
    digest: digest(covered),
  };
  if (outputFault === undefined) return { ok: true, entry };
  return { ok: true, entry, note: `results of \`${oneLine(name, 80)}\` are not checked: ${outputFault.text}` };
}

/** Null counts as absent: some servers write what they do not have that way. */
function textsProblem(raw: JsonObject, chars: number): string | undefined {
  for (const key of ["title", "description"]) {
    const text = own(raw, key) ?? "";
    if (typeof text !== "string") return `its ${key} is no text`;
    if (text.length > chars) return `its ${key} has more than ${chars} characters`;
  }
  return isObject(own(raw, "annotations") ?? {}) ? undefined : "its annotations are no object";
}

function inputProblem(schema: unknown, { limits, protocol }: ToolRules): string | undefined {
  const problem = examine(schema, limits);
  if (problem !== undefined) return problem.text;
  if (!isObject(schema) || own(schema, "type") !== "object") return "its root is not of type `object`";
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

/** Size of the tool as JSON; undefined when it cannot be written (nested too deeply for the engine). */
function jsonBytes(value: unknown): number | undefined {
  try {
    return Buffer.byteLength(JSON.stringify(value));
  } catch {
    return undefined;
  }
}

function refuse(reason: string): CheckedTool {
  return { ok: false, reason: oneLine(reason) };
}
