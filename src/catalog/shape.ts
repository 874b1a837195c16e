// Shape: is each keyword of a schema the kind of value that its dialect demands?
//
// It checks what JSON Schema's own meta-schemas say about the keywords that a validator acts on, and refuses values that
// nothing could ever pass. Unknown keywords are annotations and may be anything.

import { isObject, type JsonObject, oneLine } from "../contracts/index.js";
import { type Dialect, patternOf } from "./schema-checker.js";
import { MANY, NAMED, ONE, pathOf, type SchemaPlace } from "./walk.js";

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

/** What a keyword's value must be, and what is said when it is something else. */
interface Rule {
  /** Of several keywords that are wrong, the one with the lowest rank is reported. */
  readonly rank: number;
  readonly fits: (value: unknown, dialect: Dialect) => boolean;
  readonly says: string;
}

const RULES = rulesByKeyword([
  [
    "type",
    (value) => isType(value) || (Array.isArray(value) && distinct(value) && value.every(isType)),
    "names no JSON type",
  ],
  ...COUNTS.map((key) => [key, isCount, "is no count"] as const),
  ...NUMBERS.map((key) => [key, isNumber, "is no number"] as const),
  ...STRINGS.map((key) => [key, isString, "is no string"] as const),
  ["multipleOf", (value) => isNumber(value) && value > 0, "is no number above zero"],
  ["uniqueItems", (value) => typeof value === "boolean", "is neither true nor false"],
  ["enum", (value) => Array.isArray(value) && value.length > 0, "is no list of values: nothing could pass it"],
  ...ONE.map((key) => [key, key === "items" ? isItems : isSchema, "is no schema"] as const),
  ...MANY.map((key) => [key, isSchemas, "is no list of schemas"] as const),
  ...NAMED.map((key) => {
    const fits = key === "dependencies" ? (item: unknown) => isSchema(item) || isNames(item) : isSchema;
    return [key, (value: unknown) => mapsTo(value, fits), "does not map names to schemas"] as const;
  }),
  ["required", isNames, "is no list of different names"],
  ["dependentRequired", (value) => mapsTo(value, isNames), "does not map names to lists of names"],
]);

function rulesByKeyword(rules: readonly (readonly [string, Rule["fits"], string])[]): ReadonlyMap<string, Rule> {
  return new Map(rules.map(([key, fits, says], rank) => [key, { rank, fits, says }]));
}

/** Says what is wrong with one schema's own keywords; those of its subschemas are not looked at. */
export function shapeProblem(place: SchemaPlace, dialect: Dialect): ShapeProblem | undefined {
  const { schema } = place;
  let first: { readonly key: string; readonly rule: Rule } | undefined;
  for (const key of Object.keys(schema)) {
    const rule = RULES.get(key);
    if (rule === undefined || (first !== undefined && first.rule.rank < rule.rank)) continue;
    if (!rule.fits(schema[key], dialect)) first = { key, rule };
  }
  if (first !== undefined) return problem(place, "shape", first.key, first.rule.says);
  return protoProblem(place) ?? patternProblem(place);
}

function problem(place: SchemaPlace, kind: ShapeProblem["kind"], keyword: string, says: string): ShapeProblem {
  return { kind, text: `\`${keyword}\` at \`${oneLine(pathOf(place), 120) || "/"}\` ${says}` };
}

/** Validators do not enforce a required `__proto__`: the requirement would silently have no effect. */
function protoProblem(place: SchemaPlace): ShapeProblem | undefined {
  const { required, dependentRequired } = ownOf(place.schema, "required", "dependentRequired");
  const lists = [required, ...Object.values(isObject(dependentRequired) ? dependentRequired : {})];
  if (!lists.some((list) => Array.isArray(list) && list.includes("__proto__"))) return undefined;
  return problem(place, "shape", "required", "asks for a key named `__proto__`");
}

function patternProblem(place: SchemaPlace): ShapeProblem | undefined {
  const { pattern, patternProperties } = ownOf(place.schema, "pattern", "patternProperties");
  if (pattern !== undefined && typeof pattern !== "string") return problem(place, "shape", "pattern", "is no string");
  const sources = Object.keys(isObject(patternProperties) ? patternProperties : {});
  for (const source of pattern === undefined ? sources : [pattern, ...sources])
    if (patternOf(source) === undefined)
      return problem(place, "pattern", "pattern", `is none that JavaScript reads: \`${oneLine(source, 60)}\``);
  return undefined;
}

function ownOf<Key extends string>(schema: JsonObject, ...keys: readonly Key[]): { [K in Key]?: unknown } {
  const found: { [K in Key]?: unknown } = {};
  for (const key of keys) if (Object.hasOwn(schema, key)) found[key] = schema[key];
  return found;
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

/** A list of schemas is a tuple, which only draft-07 knows. */
function isItems(value: unknown, dialect: Dialect): boolean {
  return isSchema(value) || (dialect === "draft-07" && isSchemas(value));
}

function mapsTo(value: unknown, fits: (item: unknown) => boolean): boolean {
  return isObject(value) && Object.values(value).every(fits);
}

function isNames(value: unknown): boolean {
  return Array.isArray(value) && value.every(isString) && distinct(value);
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
