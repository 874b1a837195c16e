// Inject: makes the schema that a model is shown, without the parameters that the host fills in when the call is sent.
//
//   inject-1. Apart from the injected parameters, the schema shown accepts everything that the server's own schema accepts.
//             Where a rule of the schema is about an injected parameter, the rule is not rewritten: the tool is refused.

import { isObject, type JsonObject, oneLine } from "../contracts/index.js";
import { own } from "./walk.js";

/** Keywords of the root whose rules may name a parameter. */
const RULES = [
  "allOf",
  "anyOf",
  "const",
  "dependencies",
  "dependentRequired",
  "dependentSchemas",
  "else",
  "enum",
  "if",
  "not",
  "oneOf",
  "propertyNames",
  "then",
];

/** The schema without `names`, or why there is none. The given schema is not changed. */
export function withoutInjected(
  schema: JsonObject,
  names: readonly string[],
): { readonly ok: true; readonly schema: JsonObject } | { readonly ok: false; readonly problem: string } {
  if (names.length === 0) return { ok: true, schema };
  const properties = own(schema, "properties");
  const left: JsonObject = { ...(isObject(properties) ? properties : {}) };
  const rules = RULES.map((rule) => own(schema, rule));
  if (refers(schema, rules)) rules.push(elsewhere(schema, names));
  for (const name of names) {
    if (!Object.hasOwn(left, name))
      return refuse(`\`${oneLine(name, 80)}\` is to be injected and is no parameter of it`);
    if (rules.some((rule) => mentions(rule, name)))
      return refuse(`\`${oneLine(name, 80)}\` is to be injected, but a rule of its schema is about it`);
    delete left[name];
  }
  const { default: _default, examples: _examples, ...rest } = schema; // both may name it, and no call needs them
  const shown: JsonObject = { ...rest, properties: left };
  const required = own(schema, "required");
  if (Array.isArray(required)) shown.required = required.filter((name) => !names.includes(name));
  const least = own(schema, "minProperties");
  if (typeof least === "number") shown.minProperties = Math.max(0, least - names.length);
  return { ok: true, schema: shown };
}

/** Whether the root or one of its rules has a reference, so that a rule of the root may stand somewhere else. */
function refers(schema: JsonObject, rules: readonly unknown[]): boolean {
  const keywords = ["$ref", "$dynamicRef"];
  return keywords.some(
    (keyword) => own(schema, keyword) !== undefined || rules.some((rule) => mentions(rule, keyword)),
  );
}

/** Everything that a reference can lead to, without the list `required` and without the schemas of these parameters. */
function elsewhere({ required: _, ...rest }: JsonObject, names: readonly string[]): JsonObject {
  const properties = Object.entries(isObject(rest["properties"]) ? rest["properties"] : {});
  return { ...rest, properties: Object.fromEntries(properties.filter(([name]) => !names.includes(name))) };
}

function refuse(problem: string): { readonly ok: false; readonly problem: string } {
  return { ok: false, problem };
}

/** Whether a name occurs anywhere as a key or a value. This finds too much rather than too little. */
function mentions(value: unknown, name: string): boolean {
  const pending = [value];
  while (pending.length > 0) {
    const item = pending.pop();
    if (item === name) return true;
    if (typeof item !== "object" || item === null) continue;
    if (!Array.isArray(item) && Object.hasOwn(item, name)) return true;
    for (const part of Object.values(item)) pending.push(part);
  }
  return false;
}
