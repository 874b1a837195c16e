// Walk: finds the subschemas of a JSON Schema by their position.
//
// A key is a keyword only where a schema stands: `$ref` below `properties` is the name of a parameter, and `items` inside
// an `enum` is data. The walk uses a list instead of recursion, so a deeply nested schema cannot overflow the stack.

import { isObject, type JsonObject } from "../contracts/index.js";

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

/** Each of these keywords with its rank: children are visited in this order, whatever the order of a schema's keys. */
const RANKS: ReadonlyMap<string, number> = new Map([...ONE, ...MANY, ...NAMED].map((keyword, rank) => [keyword, rank]));
const NAMED_KEYWORDS: ReadonlySet<string> = new Set(NAMED);

/** A schema and where it stands. */
export interface SchemaPlace {
  readonly schema: JsonObject;
  /** The nearest schema around it, or itself, that has an `$id`: what `#` refers to. */
  readonly resource: JsonObject;
  /** The place it was found from, or the JSON pointer at which the walk began. */
  readonly from: SchemaPlace | string;
  /** The keyword of `from` under which it stands, and its name or index there if it is one of several. */
  readonly keyword: string;
  readonly name: string | number | undefined;
}

/** The JSON pointer of a place. It is written only when somebody asks: most places are never named. */
export function pathOf(place: SchemaPlace): string {
  let path = "";
  let here: SchemaPlace | string = place;
  while (typeof here !== "string") {
    if (here.keyword !== "") path = `/${here.keyword}${here.name === undefined ? "" : `/${step(here.name)}`}${path}`;
    here = here.from;
  }
  return `${here}${path}`;
}

/**
 * Every subschema that is an object, `schema` itself first. `path` is its JSON pointer and `resource` what `#` refers to
 * there. Each schema found is added to `seen`, and one that is in `seen` already is not entered again.
 */
export function placesOf(
  schema: JsonObject,
  path = "",
  resource = schema,
  seen = new Set<JsonObject>(),
): SchemaPlace[] {
  const found: SchemaPlace[] = [];
  const pending: SchemaPlace[] = [
    { schema, resource: resourceOf(schema, resource), from: path, keyword: "", name: undefined },
  ];
  for (let place = pending.pop(); place !== undefined; place = pending.pop()) {
    if (seen.has(place.schema)) continue;
    seen.add(place.schema);
    found.push(place);
    addChildren(place, pending);
  }
  return found;
}

function addChildren(from: SchemaPlace, pending: SchemaPlace[]): void {
  for (const keyword of keywordsOf(from.schema)) {
    const value = from.schema[keyword];
    const add = (schema: unknown, name?: string | number) => {
      if (!isObject(schema)) return;
      pending.push({ schema, resource: resourceOf(schema, from.resource), from, keyword, name });
    };
    if (NAMED_KEYWORDS.has(keyword)) {
      if (isObject(value)) for (const name of Object.keys(value)) add(value[name], name);
    } else if (Array.isArray(value)) {
      value.forEach(add);
    } else if (!(MANY as readonly string[]).includes(keyword)) {
      add(value);
    }
  }
}

/** The keywords of a schema that may hold schemas, by rank. */
function keywordsOf(schema: JsonObject): string[] {
  const found: string[] = [];
  for (const key of Object.keys(schema)) if (RANKS.has(key)) found.push(key);
  return found.length < 2 ? found : found.sort((a, b) => (RANKS.get(a) as number) - (RANKS.get(b) as number));
}

function resourceOf(schema: JsonObject, around: JsonObject): JsonObject {
  const id = own(schema, "$id");
  return typeof id === "string" && !id.startsWith("#") ? schema : around;
}

/** A name as a step of a JSON pointer. */
function step(name: string | number): string {
  return String(name).replaceAll("~", "~0").replaceAll("/", "~1");
}

/** The value of an own key: servers choose the keys, so nothing inherited may answer for one. */
export function own(object: JsonObject, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}
