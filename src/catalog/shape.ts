// Shape: is each keyword of a schema the kind of value its dialect demands?
//
// What JSON Schema's own meta-schemas say, for the keywords a validator acts on, plus what no value could ever pass.
// Unknown keywords are annotations and may be anything.

import { type JsonObject, oneLine } from "../contracts/index.js";
import { type Dialect, patternOf } from "./checker.js";
import { isObject, MANY, NAMED, ONE, own, type Place } from "./walk.js";

const TYPES: readonly unknown[] = ["array", "boolean", "integer", "null", "number", "object", "string"];
const COUNTS = [
  "maxContains",
  "maxItems",
  "maxLength",
  "maxProperties",
  "minContains",
  "minItems",
  "minLength",
  "minProperties",
];
const NUMBERS = ["exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum"];
const STRINGS = ["$anchor", "$dynamicAnchor", "$id", "format"];

export type ShapeProblem = { readonly kind: "shape" | "pattern"; readonly text: string };

/** Says what is wrong with one schema's own keywords, its subschemas' aside. */
export function shapeProblem({ schema, path }: Place, dialect: Dialect): ShapeProblem | undefined {
  const wrong = (keyword: string, says: string): ShapeProblem => ({
    kind: "shape",
    text: `\`${keyword}\` at \`${oneLine(path, 120) || "/"}\` ${says}`,
  });
  const type = own(schema, "type");
  if (type !== undefined && !(Array.isArray(type) ? distinct(type) && type.every(isType) : isType(type)))
    return wrong("type", "names no JSON type");
  for (const key of COUNTS) if (!isAbsentOr(schema, key, isCount)) return wrong(key, "is no count");
  for (const key of NUMBERS) if (!isAbsentOr(schema, key, isNumber)) return wrong(key, "is no number");
  for (const key of STRINGS) if (!isAbsentOr(schema, key, isString)) return wrong(key, "is no string");
  if (!isAbsentOr(schema, "multipleOf", (value) => isNumber(value) && value > 0))
    return wrong("multipleOf", "is no number above zero");
  if (!isAbsentOr(schema, "uniqueItems", (value) => typeof value === "boolean"))
    return wrong("uniqueItems", "is neither true nor false");
  if (!isAbsentOr(schema, "enum", (value) => Array.isArray(value) && value.length > 0))
    return wrong("enum", "is no list of values: nothing could pass it");
  return schemasProblem(schema, dialect, wrong) ?? namesProblem(schema, wrong) ?? patternProblem(schema, wrong);
}

type Wrong = (keyword: string, says: string) => ShapeProblem;

function schemasProblem(schema: JsonObject, dialect: Dialect, wrong: Wrong): ShapeProblem | undefined {
  for (const key of ONE) {
    const tuple = key === "items" && dialect === "draft-07";
    if (!isAbsentOr(schema, key, (value) => isSchema(value) || (tuple && isSchemas(value))))
      return wrong(key, "is no schema");
  }
  for (const key of MANY) if (!isAbsentOr(schema, key, isSchemas)) return wrong(key, "is no list of schemas");
  for (const key of NAMED) {
    const fits = key === "dependencies" ? (value: unknown) => isSchema(value) || isNames(value) : isSchema;
    if (!isAbsentOr(schema, key, (value) => isObject(value) && Object.values(value).every(fits)))
      return wrong(key, "does not map names to schemas");
  }
  return undefined;
}

function namesProblem(schema: JsonObject, wrong: Wrong): ShapeProblem | undefined {
  if (!isAbsentOr(schema, "required", isNames)) return wrong("required", "is no list of different names");
  const dependent = own(schema, "dependentRequired");
  if (dependent !== undefined && !(isObject(dependent) && Object.values(dependent).every(isNames)))
    return wrong("dependentRequired", "does not map names to lists of names");
  // Validators do not enforce it: the requirement would be silently void.
  if ([own(schema, "required"), ...Object.values(isObject(dependent) ? dependent : {})].some(asksForProto))
    return wrong("required", "asks for a key named `__proto__`");
  return undefined;
}

function patternProblem(schema: JsonObject, wrong: Wrong): ShapeProblem | undefined {
  const pattern = own(schema, "pattern");
  if (pattern !== undefined && typeof pattern !== "string") return wrong("pattern", "is no string");
  const named = own(schema, "patternProperties");
  for (const source of [...(pattern === undefined ? [] : [pattern]), ...Object.keys(isObject(named) ? named : {})])
    if (patternOf(source) === undefined)
      return {
        kind: "pattern",
        text: wrong("pattern", `is none that JavaScript reads: \`${oneLine(source, 60)}\``).text,
      };
  return undefined;
}

function isAbsentOr(schema: JsonObject, key: string, fits: (value: unknown) => boolean): boolean {
  return !Object.hasOwn(schema, key) || fits(schema[key]);
}

function isType(value: unknown): boolean {
  return TYPES.includes(value);
}

function isSchema(value: unknown): boolean {
  return isObject(value) || typeof value === "boolean";
}

function isSchemas(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 && value.every(isSchema);
}

function isNames(value: unknown): boolean {
  return Array.isArray(value) && value.every(isString) && distinct(value);
}

function asksForProto(value: unknown): boolean {
  return Array.isArray(value) && value.includes("__proto__");
}

function distinct(values: readonly unknown[]): boolean {
  return new Set(values).size === values.length;
}

function isString(value: unknown): value is string {
  return typeof value === "string";
}

function isNumber(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

function isCount(value: unknown): boolean {
  return isNumber(value) && Number.isInteger(value) && value >= 0;
}
