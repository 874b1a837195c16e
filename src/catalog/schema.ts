// Schema: may this schema be used at all? Static checks, before anything is compiled.
//
// Pure, synchronous, total, iterative. What passes can still be slow to check: that is what the checker's limit is for.
//
//   K8. Size, nodes and depth are bounded first; what is over a bound is looked at no further.

import { type CatalogLimits, MAX_DEPTH, notHashable, oneLine } from "../contracts/index.js";
import { dialectOf } from "./checker.js";
import { inPlaceProblem, isReference, resolveRefs } from "./refs.js";
import { type ShapeProblem, shapeProblem } from "./shape.js";
import { isObject, own } from "./walk.js";

export { type Dialect, dialectOf } from "./checker.js";

export type SchemaLimits = Pick<CatalogLimits, "toolBytes" | "schemaDepth" | "schemaNodes"> &
  Partial<Pick<CatalogLimits, "refs">>;

/** Says why a schema cannot be used, in one line; undefined when it can. */
export function schemaProblem(schema: unknown, limits: SchemaLimits): string | undefined {
  return examine(schema, limits)?.text;
}

/** As `schemaProblem`, telling apart a schema that is fine but for a pattern JavaScript cannot read. */
export function examine(schema: unknown, limits: SchemaLimits): ShapeProblem | undefined {
  const other = (text: string): ShapeProblem => ({ kind: "shape", text });
  if (!isObject(schema)) return other("it is no object");
  const large = sizeProblem(schema, limits); // K8
  if (large !== undefined) return other(`it has ${large}`);
  const foreign = notHashable(schema, MAX_DEPTH);
  if (foreign !== undefined) return other(`it is no plain JSON: ${foreign}`);
  const dialect = dialectOf(schema);
  if (dialect === undefined) {
    const named = own(schema, "$schema");
    return other(`its dialect is not read here: \`${typeof named === "string" ? oneLine(named, 80) : "no string"}\``);
  }
  const refs = resolveRefs(schema);
  if (typeof refs === "string") return other(refs);
  const referring = limits.refs === "refuse" ? refs.places.find((place) => isReference(place.schema)) : undefined;
  if (referring !== undefined) return other(`it refers to another part at \`${oneLine(referring.path, 120) || "/"}\``);
  let unreadable: ShapeProblem | undefined;
  for (const place of refs.places) {
    const problem = shapeProblem(place, dialect);
    if (problem?.kind === "shape") return problem;
    unreadable ??= problem;
  }
  const slow = inPlaceProblem(refs);
  return slow === undefined ? unreadable : other(slow);
}

/**
 * Bounds in one pass that stops at the first one hit. A node is an object or a list: an `enum` of thousands of words is
 * one node and many bytes. Bytes are counted from below (a character is at least one); the exact count is the tool's.
 */
export function sizeProblem(value: unknown, limits: SchemaLimits): string | undefined {
  let bytes = 0;
  let nodes = 0;
  const pending: [unknown, number][] = [[value, 0]];
  for (let item = pending.pop(); item !== undefined; item = pending.pop()) {
    const [part, depth] = item;
    bytes += typeof part === "string" ? part.length + 2 : 1;
    if (typeof part === "object" && part !== null) {
      nodes += 1;
      if (nodes > limits.schemaNodes) return `more than ${limits.schemaNodes} nodes`;
      if (depth > limits.schemaDepth) return `nesting deeper than ${limits.schemaDepth}`;
      for (const key of Object.keys(part)) {
        if (!Array.isArray(part)) bytes += key.length + 3;
        pending.push([(part as Record<string, unknown>)[key], depth + 1]);
      }
    }
    if (bytes > limits.toolBytes) return `more than ${limits.toolBytes} bytes`;
  }
  return undefined;
}
