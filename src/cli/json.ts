// JSON in and out of the command line.
//
//   J1. What is printed is one line of valid JSON in which no code point is hidden: a terminal that shows it is not
//       steered by it, and a program that parses it reads the same value.
//   J2. What is typed is read strictly: a key that stands twice is refused, not silently halved.

import { parseStrictJson } from "../adapters/config/json.js";
import type { JsonObject } from "../contracts/index.js";
import { isObject } from "../contracts/object.js";
import { replaceHidden } from "../contracts/text.js";

/** One line of JSON. (J1) */
export function jsonLine(value: object): string {
  return replaceHidden(JSON.stringify(value), jsonEscapes);
}

/** A code point as JSON escapes it: one `\uXXXX` for each of its UTF-16 units. */
function jsonEscapes(codePoint: string): string {
  const units = Array.from({ length: codePoint.length }, (_, at) => codePoint.charCodeAt(at));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
}

/** A JSON object as somebody typed it, or what is wrong with it. (J2) */
export function readArguments(text: string): { readonly value: JsonObject } | { readonly problem: string } {
  const read = parseStrictJson(text);
  if (!read.ok) return { problem: `line ${read.line}, column ${read.column}: ${read.problem}` };
  const { value } = read;
  if (!isObject(value)) return { problem: 'arguments are a JSON object, such as {"path": "a.txt"}' };
  return { value };
}
