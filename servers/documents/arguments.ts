// Arguments: turns the arguments of a call into values, or names the field and the rule that it broke. Pure; never throws.
//
//   documents-arguments-1. A field that the tool does not have is refused, whatever its value.
//   documents-arguments-2. Values are never changed or converted: `true` is not 1, " 1" is no number, a name is not
//                          trimmed.
//   documents-arguments-3. A string with a lone surrogate is refused: it has no form in UTF-8, so that the file
//                          would differ from what was approved.

import type { Refusal } from "./answer.js";
import { BOUNDS, FILENAME, OPERATION_ID } from "./contracts.js";

export type Parsed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly refusal: Refusal };
type Given = Readonly<Record<string, unknown>>;
/** The rule that a value breaks. */
type Rule = (value: unknown) => string | undefined;

export interface SearchArguments {
  readonly query: string;
  readonly max_results: number;
}
export interface SaveArguments {
  readonly filename: string;
  readonly content: string;
  readonly approval_token: string;
  readonly operation_id: string | undefined;
}

export function searchArguments(given: Given): Parsed<SearchArguments> {
  return check(given, { query: characters(BOUNDS.query) }, { max_results: wholeNumber(BOUNDS.results) }, (value) => ({
    query: value.query as string,
    max_results: (value.max_results as number | undefined) ?? BOUNDS.results,
  }));
}

export function readArguments(given: Given): Parsed<{ readonly filename: string }> {
  return check(given, { filename: fileName }, {}, (value) => ({ filename: value.filename as string }));
}

export function saveArguments(given: Given): Parsed<SaveArguments> {
  const required = { filename: fileName, content: reportContent, approval_token: grantText };
  return check(given, required, { operation_id: operationId }, (value) => ({
    filename: value.filename as string,
    content: value.content as string,
    approval_token: value.approval_token as string,
    operation_id: value.operation_id as string | undefined,
  }));
}

export function operationArguments(given: Given): Parsed<{ readonly operation_id: string }> {
  const build = (value: Given) => ({ operation_id: value.operation_id as string });
  return check(given, { operation_id: operationId }, {}, build);
}

function check<T>(
  given: Given,
  required: Readonly<Record<string, Rule>>,
  optional: Readonly<Record<string, Rule>>,
  build: (given: Given) => T,
): Parsed<T> {
  const refuse = (field: string, rule: string): Parsed<T> => ({ ok: false, refusal: { field, rule } });
  for (const field of Object.keys(given))
    if (!Object.hasOwn(required, field) && !Object.hasOwn(optional, field))
      return refuse(shown(field), "is not a field of this tool"); // documents-arguments-1
  for (const [field, rule] of [...Object.entries(required), ...Object.entries(optional)]) {
    if (!Object.hasOwn(given, field)) {
      if (Object.hasOwn(required, field)) return refuse(field, "is missing");
      continue;
    }
    const broken = rule(given[field]);
    if (broken !== undefined) return refuse(field, broken);
  }
  return { ok: true, value: build(given) };
}

/** A name that somebody else chose, for a message. */
function shown(name: string): string {
  return name.replace(/[^\x20-\x7e]|`/gu, "?").slice(0, 40);
}

const lone = /\p{Surrogate}/u;
/** Length in characters, as JSON Schema counts them. */
const length = (text: string): number => [...text].length;

function characters(most: number): Rule {
  const rule = `must be a string of 1 to ${most} characters`;
  return (value) => {
    // A character is one or two code units: the first test keeps the counting of what is far too long short.
    if (typeof value !== "string" || value.length > 2 * most) return rule;
    if (length(value) < 1 || length(value) > most) return rule;
    return lone.test(value) ? "must be well-formed Unicode" : undefined; // documents-arguments-3
  };
}

const contentCharacters = characters(BOUNDS.contentChars);
const reportContent: Rule = (value) =>
  contentCharacters(value) ??
  (Buffer.byteLength(value as string) > BOUNDS.contentBytes
    ? `must be at most ${BOUNDS.contentBytes} bytes in UTF-8`
    : undefined);
const grantText = characters(BOUNDS.grantChars);

const wholeNumber =
  (most: number): Rule =>
  (value) =>
    typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= most
      ? undefined
      : `must be a whole number from 1 to ${most}`;

const fileName: Rule = (value) =>
  typeof value === "string" && FILENAME.test(value)
    ? undefined
    : "must be a file name of 1 to 64 letters, digits, `-` or `_`, the first a letter or digit, with `.md` at its end";

const operationId: Rule = (value) =>
  typeof value === "string" && OPERATION_ID.test(value) ? undefined : "must be 64 lower-case hexadecimal digits";
