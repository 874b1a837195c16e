// Text from servers and models, made fit for a person's eyes: what is invisible is shown, what steers a terminal is not sent.
//
// Which code points are hidden is decided in one place, `visible.ts`, for terminals, JSON, questions and models alike.

import { hiddenIn } from "./visible.js";

/** Whether text holds code points a reader cannot see. */
export function hasHidden(text: string): boolean {
  for (const _ of hiddenIn(text)) return true;
  return false;
}

/** Shows every hidden code point as `\u{XXXX}`. Line feeds and tabs stay. Idempotent. */
export function escapeHidden(text: string): string {
  return replaceHidden(text, escaped);
}

/** Like `escapeHidden`, but two different texts never become one: `\u{202E}` that stands in the text becomes `\u{5C}u{202E}`. */
export function shown(text: string): string {
  return escapeHidden(text.replace(/\\(?=u\{[0-9A-Fa-f]+\})/g, "\\u{5C}"));
}

const escaped = (codePoint: string): string =>
  `\\u{${(codePoint.codePointAt(0) as number).toString(16).toUpperCase()}}`;

/** Replaces every hidden code point by what `write` makes of it, and the text between by what `keep` makes of that. */
export function replaceHidden(
  text: string,
  write: (codePoint: string) => string,
  keep: (part: string) => string = (part) => part,
): string {
  let made = "";
  let from = 0;
  for (const { at, codePoint } of hiddenIn(text)) {
    made += keep(text.slice(from, at)) + write(codePoint);
    from = at + codePoint.length;
  }
  return made + keep(text.slice(from));
}

/** A JSON string in which every hidden code point is an escape. */
export function quoted(text: string, write: (codePoint: string) => string = jsonOr(escaped)): string {
  return `"${replaceHidden(text, write, inside)}"`;
}

/** JSON text of a value. Each of its strings and keys is judged for itself, and hidden code points in it are escapes. */
export function visibleJson(value: unknown, indent = 0, write?: (codePoint: string) => string): string {
  const json = JSON.stringify(value, null, indent);
  if (/^[\n\x20-\x7E]*$/.test(json)) return json;
  return json.replace(/"[^"\\]*(?:\\.[^"\\]*)*"/g, (text) => quoted(JSON.parse(text) as string, write));
}

const inside = (text: string): string => JSON.stringify(text).slice(1, -1);

/** JSON's own escape of a code point, where it has one. */
const jsonOr =
  (write: (codePoint: string) => string) =>
  (codePoint: string): string =>
    inside(codePoint) === codePoint ? write(codePoint) : inside(codePoint);

/** One line of bounded, visible text: for log records, problems and error messages. Idempotent. */
export function oneLine(text: string, maxChars = 300): string {
  return cutText(escapeHidden(collapsed(text)), maxChars);
}

/** Text with each run of plain spaces and line ends as one space. A space of another kind stays, and is shown. */
export function collapsed(text: string): string {
  return text.replace(/[ \t\n\v\f\r\u2028\u2029]+/g, " ").replace(/^ | $/g, "");
}

/** At most `maxChars` UTF-16 units of text. What was left out is an ellipsis, and nothing that is seen as one character is cut. */
export function cutText(text: string, maxChars: number): string {
  return text.length <= maxChars ? text : `${headOf(text, maxChars - 1)}…`;
}

/** The longest beginning of a text of at most `maxChars` UTF-16 units that ends with a whole character and a whole escape. */
export function headOf(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  return text.slice(0, boundaryBefore(text, maxChars)).replace(/\\(?:u(?:\{[0-9A-Fa-f]*)?)?$/, "");
}

/** The end of a text, from the first whole character among its last `maxChars` UTF-16 units on. */
export function tailOf(text: string, maxChars: number): string {
  const from = text.length - maxChars;
  return from <= 0 ? text : text.slice(boundaryAfter(text, from));
}

/** No character that a reader sees is looked for further than this. */
const LONGEST = 64;
let segmenter: Intl.Segmenter | undefined;

/** The characters of a text as a reader counts them, each with where it begins. */
export function charactersOf(text: string): Iterable<{ readonly segment: string; readonly index: number }> {
  segmenter ??= new Intl.Segmenter("en", { granularity: "grapheme" });
  return segmenter.segment(text);
}

/** The last place at or before `at` at which no character is cut. */
export function boundaryBefore(text: string, at: number): number {
  if (at <= 0 || at >= text.length) return Math.min(Math.max(0, at), text.length);
  const start = wholeUnit(text, at - LONGEST);
  let last = start;
  for (const { index } of charactersOf(text.slice(start, at + LONGEST))) {
    if (start + index > at) break;
    last = start + index;
  }
  return last > start || start === 0 ? last : wholeUnit(text, at);
}

function boundaryAfter(text: string, at: number): number {
  const start = wholeUnit(text, at - LONGEST);
  for (const { index } of charactersOf(text.slice(start, at + LONGEST))) if (start + index >= at) return start + index;
  return at + LONGEST >= text.length ? text.length : wholeUnit(text, at);
}

/** `at`, or one before it when a surrogate pair would be cut there. */
function wholeUnit(text: string, at: number): number {
  if (at <= 0) return 0;
  return /^[\uDC00-\uDFFF]/.test(text[at] ?? "") && /[\uD800-\uDBFF]/.test(text[at - 1] ?? "") ? at - 1 : at;
}
