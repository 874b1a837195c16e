// Walk: the subschemas of a JSON Schema, by position.
//
// A key is a keyword only where a schema stands: `$ref` below `properties` is a parameter's name, and `items` inside an
// `enum` is data. Iterative: a deep schema cannot overflow it.

import type { JsonObject } from "../contracts/index.js";

/** Keywords whose value is a schema. `items` may also be a list of them (draft-07). */
export const ONE = [
  "additionalItems",
  "additionalProperties",
  "contains",
  "contentSchema",
  "else",
  "if",
  "items",
  "not",
  "propertyNames",
  "then",
  "unevaluatedItems",
  "unevaluatedProperties",
] as const;

/** Keywords whose value is a list of schemas. */
export const MANY = ["allOf", "anyOf", "oneOf", "prefixItems"] as const;

/** Keywords whose value maps names to schemas. `dependencies` may also map them to lists of names. */
export const NAMED = [
  "$defs",
  "definitions",
  "dependencies",
  "dependentSchemas",
  "patternProperties",
  "properties",
] as const;

/** A schema and where it stands. `resource` is the nearest schema around it with an `$id`: what `#` refers to. */
export interface Place {
  readonly schema: JsonObject;
  /** JSON pointer. */
  readonly path: string;
  readonly resource: JsonObject;
}

/** Every subschema that is an object, `from` first. `seen` is added to and never entered twice. */
export function* places(from: Place, seen = new Set<JsonObject>()): Generator<Place> {
  const pending: Place[] = [from];
  for (let place = pending.pop(); place !== undefined; place = pending.pop()) {
    if (seen.has(place.schema)) continue;
    seen.add(place.schema);
    const id = own(place.schema, "$id");
    const resource = typeof id === "string" && !id.startsWith("#") ? place.schema : place.resource;
    const here = resource === place.resource ? place : { ...place, resource };
    yield here;
    for (const [path, child] of children(here.schema))
      if (isObject(child)) pending.push({ schema: child, path: `${here.path}${path}`, resource });
  }
}

function* children(schema: JsonObject): Generator<[string, unknown]> {
  for (const key of ONE) {
    const value = own(schema, key);
    if (Array.isArray(value)) for (const [index, item] of value.entries()) yield [`/${key}/${index}`, item];
    else yield [`/${key}`, value];
  }
  for (const key of MANY) {
    const value = own(schema, key);
    if (Array.isArray(value)) for (const [index, item] of value.entries()) yield [`/${key}/${index}`, item];
  }
  for (const key of NAMED) {
    const value = own(schema, key);
    if (isObject(value)) for (const [name, item] of Object.entries(value)) yield [`/${key}/${step(name)}`, item];
  }
}

/** A name as a step of a JSON pointer. */
function step(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value of an own key: servers choose the keys, so nothing inherited may answer for one. */
export function own(object: JsonObject, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}
