// Says in one sentence why a value of the file is refused.
//
// It quotes only keys, types, bounds and the values that the file may use, never a value as expanded: that may be a secret.

import type { z } from "zod";
import { oneLine } from "../../contracts/index.js";
import type { Path } from "./strict-json.js";

/** `mcpServers.docs.args[0]`; a key with other characters than letters, digits, `_`, `$` and `-` is in brackets and quotes. One bounded line. */
export function pathText(path: Path): string {
  let text = "";
  for (const part of path) {
    if (typeof part === "number") text += `[${part}]`;
    else if (/^[\p{L}\p{N}_$-]+$/u.test(part)) text += text === "" ? part : `.${part}`;
    else text += `[${JSON.stringify(part)}]`;
  }
  return oneLine(text, 200);
}

/** What is wrong, as the end of a sentence that begins with the key. `given` is the value as it stands in the file. */
export function describeIssue(issue: z.core.$ZodIssue, given: unknown): string {
  switch (issue.code) {
    case "invalid_type":
      if (given === undefined) return `is missing; it must be ${kindOf(issue.expected)}`;
      return `must be ${kindOf(issue.expected)}, not ${typeOf(given)}`;
    case "invalid_value":
      return `must be ${oneOf(issue.values)}, not ${quote(given)}`;
    case "invalid_union":
      return `must be ${oneOf("options" in issue && Array.isArray(issue.options) ? issue.options : [])}, not ${quote(given)}`;
    case "too_small":
      return bound(issue.origin, issue.inclusive === false ? "more than" : "at least", issue.minimum);
    case "too_big":
      return bound(issue.origin, "at most", issue.maximum);
    case "invalid_key":
      return `has a key that ${issue.issues[0]?.message ?? "cannot be used"}`;
    case "custom":
      return issue.message;
    default:
      return `is not valid: ${issue.message.toLowerCase()}`;
  }
}

function bound(origin: string, relation: string, limit: number | bigint): string {
  if (origin === "string") return limit === 1 ? "must not be empty" : `must have ${relation} ${limit} characters`;
  return `must be ${relation} ${limit}`;
}

function oneOf(values: readonly unknown[]): string {
  const quoted = values.map((value) => `\`${String(value)}\``);
  return quoted.length === 1 ? (quoted[0] as string) : `one of ${quoted.join(", ")}`;
}

/** The text that the user wrote, or the type of any other value. `given` is not expanded, and the keys it stands under hold no secrets. */
function quote(given: unknown): string {
  return typeof given === "string" ? `\`${oneLine(given, 60)}\`` : typeOf(given);
}

const KINDS: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  int: "a whole number",
  boolean: "`true` or `false`",
  array: "a list",
  object: "an object",
  record: "an object",
};

function kindOf(expected: string): string {
  return KINDS[expected] ?? expected;
}

export function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (value === undefined) return "nothing";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "number") return Number.isInteger(value) ? "a number" : "a fraction";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
