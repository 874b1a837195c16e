// Show: writes a call's arguments as text for the person who answers.
//
// It is pure.
//
//   show-1. Every argument has a line. A long value is shortened, with its size and digest; it is never left out.
//   show-2. Two different values never look the same. A value is shown as JSON text with hidden code points escaped and
//           backslashes doubled. Only when nothing in it needs escaping are its lines shown as they are.
//   show-3. A value cannot look like another line: each of its lines carries a mark that nothing else carries.
//   show-4. Arguments with which a call can do harm (paths, addresses, amounts) come first, wherever they are nested.

import { hasHidden, headOf, type JsonObject, quoted, sha256, tailOf, visibleJson } from "../contracts/index.js";

/** Characters above which a string value is shortened. What a host accepts by default is shown as a whole. */
export const FOLD_CHARS = 32_000;
const HEAD_CHARS = 1_200;
const TAIL_CHARS = 400;
/** JSON characters up to which an object or array stays on one line. */
const COMPACT_CHARS = 120;
const KEY_CHARS = 200;

/** Words in the keys of arguments with which a call can do harm. */
const TELLING = new Set(
  (
    "account address amount attendees bcc branch bucket cc cmd code command currency database delete destination dir " +
    "directory domain email environment file filename filenames folder force from host iban key location message " +
    "method mode operation owner path paths payee permission permissions phone price project quantity query recipient " +
    "recipients recursive repo repository role script server source sql subject table target to total uri url user value"
  ).split(" "),
);

/** The arguments, line by line. Those with which the call can do harm come first. */
export function showArguments(args: JsonObject): string[] {
  const shown = Object.entries(args).flatMap(([key, value]) => show(keyText(key), value, telling(key)));
  return [...shown.filter(({ first }) => first), ...shown.filter(({ first }) => !first)].flatMap(({ lines }) => lines); // show-4
}

/** Whether any key or string of a JSON value holds code points a reader cannot see. */
export function holdsHidden(value: unknown): boolean {
  if (typeof value === "string") return hasHidden(value);
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([key, item]) => hasHidden(key) || holdsHidden(item));
}

/** Every leaf of a JSON value under its path, as JSON. Empty objects and arrays are leaves. */
export function leaves(value: unknown, path = ""): [path: string, json: string][] {
  if (typeof value !== "object" || value === null) return [[path, JSON.stringify(value)]];
  const inside = parts(value, path);
  return inside.length === 0 ? [[path, JSON.stringify(value)]] : inside.flatMap(([at, item]) => leaves(item, at));
}

interface Shown {
  readonly lines: readonly string[];
  readonly first: boolean;
}

function show(path: string, value: unknown, first: boolean): Shown[] {
  if (typeof value === "string") return [{ lines: showText(path, value), first }];
  const json = JSON.stringify(value);
  const parted = typeof value === "object" && value !== null && json.length > COMPACT_CHARS;
  if (!parted) return [{ lines: [`${path}: ${visibleJson(value)}`], first: first || hasTellingKey(value) }];
  return parts(value, path).flatMap(([at, item, key]) => show(at, item, first || telling(key)));
}

function showText(path: string, text: string): string[] {
  if (text.length <= FOLD_CHARS) {
    const asLines = text.includes("\n") && !hasHidden(text); // show-2
    return asLines ? [`${path}: ${size(text)}`, ...block(text)] : [`${path}: ${quoted(text)}`];
  }
  const head = headOf(text, HEAD_CHARS);
  const tail = tailOf(text, TAIL_CHARS);
  const left = text.length - head.length - tail.length;
  const part = hasHidden(text) ? (piece: string) => block(quoted(piece)) : block;
  return [
    `${path}: ${size(text)}, ${Buffer.byteLength(text)} bytes, sha256 ${sha256(text)}`,
    ...part(head),
    `  … ${left} characters are not shown here; \`args\` has them`, // show-1
    ...part(tail),
  ];
}

/** Lines of a value, marked as such. (show-3) */
const block = (text: string): string[] => text.split("\n").map((line) => `  | ${line}`);

function size(text: string): string {
  const lines = text.split("\n").length;
  return `${text.length} characters${lines > 1 ? ` in ${lines} lines` : ""}`;
}

function parts(value: object, path: string): [path: string, item: unknown, key: string][] {
  if (Array.isArray(value)) return value.map((item, index) => [`${path}[${index}]`, item, ""]);
  return Object.entries(value).map(([key, item]) => {
    const text = keyText(key);
    const at = path === "" ? text : text.startsWith('"') ? `${path}[${text}]` : `${path}.${text}`;
    return [at, item, key];
  });
}

/** A key that is a plain word stays as it is; any other key is quoted. */
function keyText(key: string): string {
  if (key.length > KEY_CHARS) return `${quoted(headOf(key, KEY_CHARS))}… (sha256 ${sha256(key)})`;
  return /^[A-Za-z0-9_$-]+$/.test(key) ? key : quoted(key);
}

/** Whether a key contains such a word: `filePath`, `file_path` and `FILE-PATH` all contain `path`. */
function telling(key: string): boolean {
  const words = key.replace(/([a-z0-9])([A-Z])/g, "$1 $2").toLowerCase();
  return words.split(/[^a-z0-9]+/).some((word) => TELLING.has(word));
}

function hasTellingKey(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const entries = Array.isArray(value) ? value.map((item) => ["", item] as const) : Object.entries(value);
  return entries.some(([key, item]) => telling(key) || hasTellingKey(item));
}
