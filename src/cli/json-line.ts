// JSON in and out of the command line.
//
//   cli-json-1. What is printed is one line of valid JSON in which no code point is hidden. It cannot steer the terminal that
//               shows it, and a program that parses it reads the same value.
//   cli-json-2. What is typed is read strictly: a key that is there twice is refused.

import { parseStrictJson } from "../adapters/config/strict-json.js";
import type { JsonObject } from "../contracts/index.js";
import { isObject } from "../contracts/object.js";
import { visibleJson } from "../contracts/text.js";

/** One line of JSON. (cli-json-1) */
export function jsonLine(value: object): string {
  return visibleJson(value, 0, jsonEscapes);
}

/** A code point as JSON escapes it: one `\uXXXX` for each of its UTF-16 units. */
function jsonEscapes(codePoint: string): string {
  const units = Array.from({ length: codePoint.length }, (_, at) => codePoint.charCodeAt(at));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
}

/** A JSON object as somebody typed it, or what is wrong with it. (cli-json-2) */
export function readArguments(text: string): { readonly value: JsonObject } | { readonly problem: string } {
  const parsed = parseStrictJson(text);
  if (!parsed.ok) return { problem: `line ${parsed.line}, column ${parsed.column}: ${parsed.problem}` };
  const { value } = parsed;
  if (!isObject(value)) return { problem: 'arguments are a JSON object, such as {"path": "a.txt"}' };
  return { value };
}
