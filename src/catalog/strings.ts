// Strings: checks the tightest kind of schema that a host can insist on, a closed object of required string fields.

import { isObject, type JsonObject, oneLine } from "../contracts/index.js";
import { own } from "./walk.js";

const ROOT = ["$schema", "additionalProperties", "description", "properties", "required", "title", "type"];
const FIELD = ["description", "title", "type"];
const NAME = /^[a-z][a-z0-9_]{0,31}$/;

/** Says why a schema is not of that kind; undefined when it is. `limits.parameters` bounds the number of fields. */
export function stringsOnlyProblem(schema: JsonObject): string | undefined {
  const foreign = Object.keys(schema).find((key) => !ROOT.includes(key));
  if (foreign !== undefined) return `\`${oneLine(foreign, 60)}\` is more than required string fields`;
  if (own(schema, "additionalProperties") !== false) return "it does not say `additionalProperties: false`";
  const properties = own(schema, "properties") ?? {};
  const required = own(schema, "required") ?? [];
  if (!isObject(properties) || !Array.isArray(required)) return "it has no plain list of fields";
  for (const [name, field] of Object.entries(properties)) {
    const shown = oneLine(name, 60);
    if (!NAME.test(name)) return `the field \`${shown}\` is not named \`${NAME.source}\``;
    if (!isObject(field) || own(field, "type") !== "string") return `the field \`${shown}\` is no string`;
    if (Object.keys(field).some((key) => !FIELD.includes(key))) return `the field \`${shown}\` is more than a string`;
    if (!required.includes(name)) return `the field \`${shown}\` is not required`;
  }
  const unknown = required.find((name) => typeof name !== "string" || !Object.hasOwn(properties, name));
  return unknown === undefined ? undefined : "it requires a field that it does not have";
}
