// The storable form of what a model's adapter puts beside the calls of a message: plain JSON data that every checkpointer
// loads as it was saved, whatever class, circle or form it had before.
//
// What has no JSON is written as text or left out. What a loader would revive as an object, or would refuse to load (a key such
// as `lc`, deep nesting), is kept as its JSON text, which no loader parses.
//
//   storable-1. Total: no value throws, also where reading a property of it throws.
//   storable-2. What it returns survives every checkpointer (plain-data.ts), and making it storable again changes nothing.

import { MEANINGFUL, SAFE_DEPTH } from "./plain-data.js";

const UNSTORABLE = /\0|[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g;
const CIRCLE = "[circular]";
const NO_TEXT = "[not shown: it has no JSON text]";

/** Text without NUL and lone surrogates, which databases refuse: each becomes U+FFFD. */
export function storableText(text: string): string {
  return text.replace(UNSTORABLE, "\uFFFD");
}

/** A plain copy of any value. `undefined` where the value has no JSON, as a function has none. (storable-1, storable-2) */
export function storable(value: unknown): unknown {
  return plain(value, 0, new Set());
}

/** The same for an object whose own keys matter: a key that a loader would take for its own is left out. */
export function storableRecord(value: unknown): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return {};
  const record: Record<string, unknown> = {};
  for (const [key, inner] of entriesOf(value)) {
    const kept = MEANINGFUL.has(key) ? undefined : plain(inner, 1, new Set([value]));
    if (kept !== undefined) record[storableText(key)] = kept;
  }
  return record;
}

function plain(value: unknown, depth: number, above: Set<object>): unknown {
  switch (typeof value) {
    case "string":
      return storableText(value);
    case "number":
      return Number.isFinite(value) ? value : null; // as JSON has it
    case "bigint":
      return String(value);
    case "boolean":
      return value;
    case "object":
      return value === null ? null : plainObject(value, depth, above);
    case "undefined":
    case "function":
    case "symbol":
      return undefined;
  }
}

function plainObject(value: object, depth: number, above: Set<object>): unknown {
  if (above.has(value)) return CIRCLE;
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  above.add(value);
  try {
    const stated = statedJson(value);
    if (stated !== value) return plain(stated, depth, above);
    if (depth >= SAFE_DEPTH) return asText(value);
    if (Array.isArray(value)) return Array.from(value, (item) => plain(item, depth + 1, above) ?? null);
    const entries = entriesOf(value);
    if (entries.some(([key]) => MEANINGFUL.has(key))) return asText(value);
    const copy: Record<string, unknown> = {};
    for (const [key, inner] of entries) {
      const kept = plain(inner, depth + 1, above);
      if (kept !== undefined) copy[storableText(key)] = kept;
    }
    return copy;
  } catch {
    return NO_TEXT; // a proxy, or an array's own getter, that throws
  } finally {
    above.delete(value);
  }
}

/** What the object says its JSON is (a date, a URL), or what a map or a set holds. */
function statedJson(value: object): unknown {
  if (value instanceof Map || value instanceof Set) return [...value];
  const { toJSON } = value as { toJSON?: unknown };
  return typeof toJSON === "function" ? toJSON.call(value) : value;
}

/** The entries that can be read. A property whose getter throws is left out. */
function entriesOf(value: object): [string, unknown][] {
  const entries: [string, unknown][] = [];
  for (const key of Object.keys(value)) {
    try {
      entries.push([key, (value as Record<string, unknown>)[key]]);
    } catch {} // storable-1
  }
  return entries;
}

/** JSON text of a value that must not be stored as data. A circle, or more levels than the stack has, has none. */
function asText(value: object): string {
  try {
    return storableText(JSON.stringify(value, (_key, item) => (typeof item === "bigint" ? String(item) : item)));
  } catch {
    return NO_TEXT;
  }
}
