// Inject: the schema a model is shown, without the parameters the host fills in at the send.
//
//   K7. What is shown accepts everything the server's own schema accepts, injected parameters aside. Where leaving a
//       parameter out would mean to rewrite a rule about it, the tool is refused instead.

import { type JsonObject, oneLine } from "../contracts/index.js";
import { isObject, own } from "./walk.js";

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

/** The schema without `names`, or why it cannot be had. The schema given is not changed. */
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
  const { default: _default, examples: _examples, ...rest } = schema; // they may name it, and say nothing a call needs
  const shown: JsonObject = { ...rest, properties: left };
  const required = own(schema, "required");
  if (Array.isArray(required)) shown.required = required.filter((name) => !names.includes(name));
  const least = own(schema, "minProperties");
  if (typeof least === "number") shown.minProperties = Math.max(0, least - names.length);
  return { ok: true, schema: shown };
}

/** Whether a rule of the root stands somewhere else: at the end of a reference that the root or one of its rules makes. */
function refers(schema: JsonObject, rules: readonly unknown[]): boolean {
  const keywords = ["$ref", "$dynamicRef"];
  return keywords.some(
    (keyword) => own(schema, keyword) !== undefined || rules.some((rule) => mentions(rule, keyword)),
  );
}

/** Everything a reference can lead to, but for the list of what is required and what the parameters themselves say. */
function elsewhere({ required: _, ...rest }: JsonObject, names: readonly string[]): JsonObject {
  const properties = Object.entries(isObject(rest["properties"]) ? rest["properties"] : {});
  return { ...rest, properties: Object.fromEntries(properties.filter(([name]) => !names.includes(name))) };
}

function refuse(problem: string): { readonly ok: false; readonly problem: string } {
  return { ok: false, problem };
}

/** Whether a name occurs anywhere, as a key or a value: too broad rather than too narrow. */
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
