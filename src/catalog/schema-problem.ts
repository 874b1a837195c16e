// Schema: may this schema be used at all? These are static checks, made before anything is compiled.
//
// The checks are pure, synchronous and total, and use lists instead of recursion. A schema that passes can still be slow
// to check a value with: for that the schema checker has a time limit.
//
//   schema-1. Size, nodes and depth are bounded first; a schema that is over a bound is looked at no further.

import { type CatalogLimits, isObject, type JsonObject, MAX_DEPTH, notHashable, oneLine } from "../contracts/index.js";
import { inPlaceProblem, isReference, resolveRefs } from "./refs.js";
import { dialectAmong } from "./schema-checker.js";
import { type ShapeProblem, shapeProblem } from "./shape.js";
import { own, pathOf, placesOf } from "./walk.js";

export { type Dialect, dialectOf } from "./schema-checker.js";

export type SchemaLimits = Pick<CatalogLimits, "toolBytes" | "schemaDepth" | "schemaNodes"> &
  Partial<Pick<CatalogLimits, "refs">>;

/** Says why a schema cannot be used, in one line; undefined when it can. */
export function schemaProblem(schema: unknown, limits: SchemaLimits): string | undefined {
  return examine(schema, limits)?.text;
}

/**
 * As `schemaProblem`, telling apart a schema that is fine but for a pattern JavaScript cannot read. `plain`: the caller
 * knows that what the schema stands in is plain JSON.
 */
export function examine(schema: unknown, limits: SchemaLimits, plain = false): ShapeProblem | undefined {
  if (!isObject(schema)) return other("it is no object");
  const large = sizeProblem(schema, limits); // schema-1
  if (large !== undefined) return other(`it has ${large}`);
  const foreign = plain ? undefined : notHashable(schema, MAX_DEPTH);
  if (foreign !== undefined) return other(`it is no plain JSON: ${foreign}`);
  const seen = new Set<JsonObject>();
  const base = placesOf(schema, "", schema, seen);
  const dialect = dialectAmong(base);
  if (dialect === undefined) {
    const named = own(schema, "$schema");
    return other(`its dialect is not read here: \`${typeof named === "string" ? oneLine(named, 80) : "no string"}\``);
  }
  const refs = resolveRefs(base, seen);
  if (typeof refs === "string") return other(refs);
  const referring = limits.refs === "refuse" ? refs.places.find((place) => isReference(place.schema)) : undefined;
  if (referring !== undefined)
    return other(`it refers to another part at \`${oneLine(pathOf(referring), 120) || "/"}\``);
  let unreadable: ShapeProblem | undefined;
  for (const place of refs.places) {
    const problem = shapeProblem(place, dialect);
    if (problem?.kind === "shape") return problem;
    unreadable ??= problem;
  }
  const slow = inPlaceProblem(refs);
  return slow === undefined ? unreadable : other(slow);
}

function other(text: string): ShapeProblem {
  return { kind: "shape", text };
}

/**
 * Checks the bounds in one pass that stops at the first one that is broken. A node is an object or a list: an `enum` of
 * thousands of words is one node and many bytes. Bytes are counted from below, a character as at least one; `checkTool`
 * counts the bytes of the tool exactly.
 */
export function sizeProblem(value: unknown, limits: SchemaLimits): string | undefined {
  let bytes = 0;
  let nodes = 0;
  const parts: unknown[] = [value];
  const depths: number[] = [0]; // of the part at the same index
  while (parts.length > 0) {
    const part = parts.pop();
    const depth = depths.pop() as number;
    bytes += typeof part === "string" ? part.length + 2 : 1;
    if (typeof part === "object" && part !== null) {
      nodes += 1;
      if (nodes > limits.schemaNodes) return `more than ${limits.schemaNodes} nodes`;
      if (depth > limits.schemaDepth) return `nesting deeper than ${limits.schemaDepth}`;
      if (Array.isArray(part)) {
        for (const item of part) {
          parts.push(item);
          depths.push(depth + 1);
        }
      } else {
        for (const key of Object.keys(part)) {
          bytes += key.length + 3;
          parts.push((part as JsonObject)[key]);
          depths.push(depth + 1);
        }
      }
    }
    if (bytes > limits.toolBytes) return `more than ${limits.toolBytes} bytes`;
  }
  return undefined;
}
