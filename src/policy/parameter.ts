// Parameter: what the schema of a tool says of one argument, as far as it says it plainly.
//
// Local references are followed. What stands in a form that is not read here (patterns of names, references that lead
// nowhere, more than 256 schemas) counts as "may be anything": a rule is then judged at each call by the value alone.
//
// It is pure and never throws.

import { isObject, type JsonObject } from "../contracts/index.js";

/** What an argument may be. `undefined` in place of a list: anything. */
export interface Parameter {
  /** JSON types, `integer` as `number`. */
  readonly types: ReadonlySet<string> | undefined;
  /** The values that an `enum` or `const` leaves. */
  readonly values: readonly unknown[] | undefined;
  /** What the elements may be, where it may be a list. */
  readonly items: Parameter | undefined;
}

const ANYTHING: Parameter = { types: undefined, values: undefined, items: undefined };
const NOTHING: Parameter = { types: new Set(), values: [], items: undefined };
const MANY = ["allOf", "anyOf", "oneOf"] as const;
/** Keywords under which a parameter may stand that is not named where it is looked for. */
const ELSEWHERE = ["patternProperties", "dependentSchemas", "dependencies", "if", "then", "else", "$dynamicRef"];
const READ = 256;

interface Reader {
  readonly root: JsonObject;
  left: number;
}

/** What an argument may be; undefined when the schema names no such parameter. */
export function parameterOf(schema: JsonObject, name: string): Parameter | undefined {
  if (saysNothing(schema)) return ANYTHING;
  const reader: Reader = { root: schema, left: READ };
  const found = named(reader, schema, name);
  if (found === "maybe") return ANYTHING;
  return found.length === 0 ? undefined : both(found.map((one) => read(reader, one)));
}

/** Whether a schema speaks of no parameter at all, and takes all. */
function saysNothing(schema: JsonObject): boolean {
  const parts = ["properties", "$ref", ...MANY];
  return own(schema, "additionalProperties") !== false && parts.every((keyword) => own(schema, keyword) === undefined);
}

/** The schemas that a parameter has in this one and in those it is made of, or `maybe` where they cannot be known. */
function named(reader: Reader, schema: unknown, name: string): readonly unknown[] | "maybe" {
  if (!isObject(schema)) return [];
  if (--reader.left < 0) return "maybe";
  const properties = own(schema, "properties");
  if (isObject(properties) && Object.hasOwn(properties, name)) return [properties[name]];
  if (ELSEWHERE.some((keyword) => own(schema, keyword) !== undefined)) return "maybe";
  if (isObject(own(schema, "additionalProperties"))) return "maybe";
  const parts = MANY.flatMap((keyword) => listOf(own(schema, keyword)));
  const reference = own(schema, "$ref");
  if (reference !== undefined) {
    const target = targetOf(reader, reference);
    if (target === undefined) return "maybe";
    parts.push(target);
  }
  const found = parts.map((part) => named(reader, part, name));
  if (found.includes("maybe")) return "maybe";
  // In branches of which one holds, each may say another thing of it.
  const schemas = found.flat();
  return schemas.length > 1 ? [{ anyOf: schemas }] : schemas;
}

function read(reader: Reader, schema: unknown): Parameter {
  if (schema === false) return NOTHING;
  if (!isObject(schema) || --reader.left < 0) return ANYTHING;
  const said: Parameter[] = [plain(reader, schema)];
  if (own(schema, "$ref") !== undefined) said.push(read(reader, targetOf(reader, own(schema, "$ref"))));
  for (const part of listOf(own(schema, "allOf"))) said.push(read(reader, part));
  for (const keyword of ["anyOf", "oneOf"] as const) {
    const parts = listOf(own(schema, keyword));
    if (parts.length > 0) said.push(either(parts.map((part) => read(reader, part))));
  }
  return both(said);
}

function plain(reader: Reader, schema: JsonObject): Parameter {
  const values = Array.isArray(schema["enum"])
    ? schema["enum"]
    : Object.hasOwn(schema, "const")
      ? [schema["const"]]
      : undefined;
  const stated = own(schema, "type");
  const named = stated === undefined ? undefined : listOf(stated).length > 0 ? listOf(stated) : [stated];
  const types = named ?? values?.map(typeOf);
  const items = own(schema, "items");
  return {
    types:
      types === undefined ? undefined : new Set(types.map((type) => (type === "integer" ? "number" : String(type)))),
    values,
    items: isObject(items) ? read(reader, items) : undefined,
  };
}

/** What all of several say. */
function both(all: readonly Parameter[]): Parameter {
  return all.reduce(
    (one, other) => ({
      types:
        one.types && other.types
          ? new Set([...one.types].filter((type) => other.types?.has(type)))
          : (one.types ?? other.types),
      values: one.values ?? other.values,
      items: one.items ?? other.items,
    }),
    ANYTHING,
  );
}

/** What one of several says. */
function either(all: readonly Parameter[]): Parameter {
  const types = all.map((one) => one.types);
  const values = all.map((one) => one.values);
  const items = all.map((one) => one.items).filter((one) => one !== undefined);
  return {
    types: types.includes(undefined) ? undefined : new Set(types.flatMap((some) => [...(some ?? [])])),
    values: values.includes(undefined) ? undefined : values.flatMap((some) => some ?? []),
    items: items.length === 1 ? items[0] : undefined,
  };
}

/** What a local reference leads to. */
function targetOf({ root }: Reader, reference: unknown): unknown {
  if (reference === "#") return root;
  if (typeof reference !== "string" || !reference.startsWith("#/")) return undefined;
  let here: unknown = root;
  for (const step of reference.slice(2).split("/")) {
    if (typeof here !== "object" || here === null) return undefined;
    here = own(here as JsonObject, step.replaceAll("~1", "/").replaceAll("~0", "~"));
  }
  return here;
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The value of an own key: servers choose the keys. */
function own(object: JsonObject, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}
