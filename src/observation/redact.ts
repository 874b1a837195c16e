// Redaction: takes the host's secret values out of text, in the spellings in which they usually get into it.
//
//   redact-1. No occurrence of a secret, or of one of its spellings, is left.
//   redact-2. Redacting twice gives the same as redacting once: the mark holds no secret, and none arises from the mark and
//             the characters beside it.
//   redact-3. The time grows with the length of the text, and with nothing else by much (matcher.ts, views.ts).
//
// In JSON every string, key and number is redacted by itself, and the result is JSON again. A value that is made for one call
// (a grant) is recognised by how it begins, and is taken out to its end in the same spellings.
//
// The spellings of a secret are: the secret itself, in upper and lower case; its bytes in hex; each of these with some or all
// characters escaped as in JSON, in a URL (with a space as `%20` or `+`) or in HTML; and its Base64 and Base64url encoding.
// Base64 is also found where the secret is a part of something longer that was encoded, in all three alignments: the characters
// that depend on the secret alone are removed, and up to two characters beside them stay. Other encodings, compression and a
// secret that is split are not recognised.

import { type JsonObject, MAX_DEPTH } from "../contracts/index.js";
import { createMatcher, merged, type Span } from "./matcher.js";
import { type View, viewsOf } from "./views.js";

/** Shorter values are not redacted, because they would be found in other words by chance. */
export const MIN_SECRET_CHARS = 6;

/** What is looked for: in any case, exactly, and exactly up to the end of what it begins. */
interface Needles {
  readonly folded: readonly string[];
  readonly exact: readonly string[];
  readonly begun: readonly string[];
}

/**
 * Makes a function that takes the secrets out of text, and everything that begins with one of `starts`. Without secrets and
 * starts the function returns text unchanged. `given`: the mark to leave, whatever the secrets are. (redact-2 is then the caller's.)
 */
export function createRedactor(
  secrets: readonly string[],
  starts: readonly string[] = [],
  given?: string,
): (text: string) => string {
  const needles = needlesOf(secrets, starts);
  return redactorOf([needles], [searchOf(needles)], given);
}

/**
 * The same for names, which have another meaning in another case: finds the secrets as they are written, as JSON, URL or
 * Base64 has them, and in no other case.
 */
export function createNameRedactor(
  secrets: readonly string[],
  starts: readonly string[] = [],
): (text: string) => string {
  const exact = long(secrets.filter((secret) => secret.length >= MIN_SECRET_CHARS).flatMap(writtenForms));
  const needles = { folded: [], exact, begun: needlesOf([], starts).begun };
  const find = finderOf(needles);
  return redactorOf([needles], [(text) => find({ text, placeOf: (at) => at })]);
}

function redactorOf(
  all: readonly Needles[],
  searches: readonly ((text: string) => Span[])[],
  given?: string,
): (text: string) => string {
  const words = all.flatMap(({ folded, exact, begun }) => [...folded, ...exact, ...begun]);
  if (words.length === 0) return (text) => text;
  const mark = given ?? markFor(words);
  return (text) => {
    let shown = text;
    for (;;) {
      const spans = merged(searches.flatMap((search) => search(shown)));
      if (spans.length === 0) return shown; // redact-2: each round takes characters out, so there is a last one
      shown = without(shown, spans, mark);
    }
  };
}

function without(text: string, spans: readonly Span[], mark: string): string {
  let end = 0;
  const pieces: string[] = [];
  for (const [from, to] of spans) {
    pieces.push(text.slice(end, from), mark);
    end = to;
  }
  return pieces.join("") + text.slice(end);
}

function searchOf(needles: Needles): (text: string) => Span[] {
  const find = finderOf(needles);
  return (text) => (text.length < MIN_SECRET_CHARS ? [] : viewsOf(text).flatMap(find));
}

/** What a value that was begun may go on with. */
const REST = /[A-Za-z0-9_.+/=%-]*/y;

function finderOf({ folded, exact, begun }: Needles): (view: View) => Span[] {
  const anyCase = createMatcher(folded, MIN_SECRET_CHARS);
  const sameCase = createMatcher(exact, MIN_SECRET_CHARS);
  const starting = createMatcher(begun, MIN_SECRET_CHARS);
  return ({ text, placeOf }) => {
    const found = [...sameCase(text), ...(folded.length === 0 ? [] : anyCase(fold(text)))];
    let end = 0;
    for (const [from, to] of starting(text)) {
      if (to <= end) continue; // inside of the one before
      REST.lastIndex = to;
      end = to + (REST.exec(text)?.[0].length ?? 0);
      found.push([from, end]);
    }
    return found.map(([from, to]): Span => [placeOf(from), placeOf(to)]);
  };
}

/** Lower case, character by character, so that places stay the same. */
function fold(text: string): string {
  return text.replaceAll("\u0130", "i").toLowerCase().replaceAll("\u03c2", "\u03c3"); // the one that grows; the one that depends on its place
}

function needlesOf(secrets: readonly string[], starts: readonly string[]): Needles {
  const usable = secrets.filter((secret) => secret.length >= MIN_SECRET_CHARS);
  return {
    folded: long(usable.flatMap(foldedForms)),
    exact: long(usable.flatMap(base64Forms)),
    begun: long(starts.flatMap((start) => [start, ...base64Forms(start)])),
  };
}

function long(forms: readonly string[]): string[] {
  return [...new Set(forms)].filter((form) => form.length >= MIN_SECRET_CHARS);
}

/** The number of values that are hidden beside the secrets. The oldest is dropped: a grant expires within minutes. */
const HIDDEN_KEPT = 256;

/** A redactor that learns further values: after `hide(value)` it takes that value out of all text as well. */
export function openRedactor(
  secrets: readonly string[],
  starts: readonly string[] = [],
): { readonly redact: (text: string) => string; readonly hide: (value: string) => void } {
  const hidden: string[] = [];
  const kept = needlesOf(secrets, starts);
  const search = searchOf(kept);
  let current = redactorOf([kept], [search]);
  return {
    redact: (text) => current(text),
    hide: (value) => {
      hidden.push(value);
      if (hidden.length > HIDDEN_KEPT) hidden.shift();
      const more = needlesOf(hidden, []);
      current = redactorOf([kept, more], [search, searchOf(more)]);
    },
  };
}

/** A stored body without the secrets in it. */
export function redactBody(body: string, redact: (text: string) => string): string {
  return JSON.stringify(redactJson(JSON.parse(body), redact));
}

/** Keywords of a tool's definition that only describe it. The other keywords decide which calls are valid. */
const SAYS = new Set(["title", "description", "$comment", "default", "examples"]);
/** Keywords of a schema whose keys are names that a server chose. */
const NAMES = new Set(["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"]);

/**
 * A copy of a tool's definition with what it says (titles, descriptions, defaults, examples) put through `say`. Names and
 * rules stay as they are: if they were changed, the call would be of another tool, or arguments that the server takes would be refused.
 */
export function rewordDefinition(value: unknown, say: (text: string) => string, depth = 0, named = false): unknown {
  if (typeof value !== "object" || value === null || depth > MAX_DEPTH) return value;
  if (Array.isArray(value)) return value.map((item) => rewordDefinition(item, say, depth + 1));
  const copy: JsonObject = {};
  for (const key of Object.keys(value)) {
    const item = (value as JsonObject)[key];
    const says = !named && SAYS.has(key);
    put(
      copy,
      key,
      says ? redactJson(item, say, depth + 1) : rewordDefinition(item, say, depth + 1, !named && NAMES.has(key)),
    );
  }
  return copy;
}

/** JSON data without the secrets in it. A number that spells one becomes text. */
function redactJson(value: unknown, redact: (text: string) => string, depth = 0): unknown {
  if (typeof value === "string") return redact(value);
  if (typeof value === "object" && value !== null) {
    if (depth > MAX_DEPTH) return value; // no body is nested that deeply, and a definition that is will be withheld
    if (Array.isArray(value)) return value.map((item) => redactJson(item, redact, depth + 1));
    const copy: JsonObject = {};
    for (const key of Object.keys(value))
      put(copy, redact(key), redactJson((value as JsonObject)[key], redact, depth + 1));
    return copy;
  }
  const text = String(value);
  const shown = redact(text);
  return shown === text ? value : shown;
}

/** Sets a key. Assigning `__proto__` would set the prototype instead. */
function put(object: JsonObject, key: string, value: unknown): void {
  if (key === "__proto__")
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
  else object[key] = value;
}

function foldedForms(secret: string): string[] {
  const cases = [secret, secret.toUpperCase()].map(fold); // a letter may have another lower case after it had its upper case
  const plus = cases.map((form) => form.replaceAll(" ", "+"));
  return [...cases, ...plus, Buffer.from(secret, "utf8").toString("hex")];
}

function base64Forms(secret: string): string[] {
  const whole = Buffer.from(secret, "utf8").toString("base64");
  const base64 = [whole, whole.replace(/=+$/, ""), ...[0, 1, 2].map((shift) => base64Core(secret, shift))];
  return [...base64, ...base64.map((form) => form.replaceAll("+", "-").replaceAll("/", "_"))];
}

/** The forms in which a secret may stand in a name. */
function writtenForms(secret: string): string[] {
  const encoded = percentEncoded(secret);
  const lower = encoded.replace(/%[0-9A-F]{2}/g, (hex) => hex.toLowerCase());
  const urls = [encoded, lower].flatMap((form) => [form, form.replaceAll("%20", "+")]);
  return [secret, JSON.stringify(secret).slice(1, -1), ...urls, ...base64Forms(secret)];
}

function percentEncoded(secret: string): string {
  try {
    return encodeURIComponent(secret);
  } catch {
    return secret; // a lone surrogate has no URL form
  }
}

/** The Base64 characters that are the same whatever stands before (`shift` bytes modulo 3) and after the secret. */
function base64Core(secret: string, shift: number): string {
  const bytes = Buffer.concat([Buffer.alloc(shift), Buffer.from(secret, "utf8")]);
  const first = Math.ceil((shift * 8) / 6);
  const last = Math.floor((bytes.length * 8) / 6);
  return bytes.toString("base64").slice(first, last);
}

/** A mark whose first and last characters are in no form, so that no form can reach into it. (redact-2) */
function markFor(forms: readonly string[]): string {
  const free = (char: string): boolean => !forms.some((form) => form.includes(char));
  const word = forms.some((form) => "redacted".includes(form)) ? "" : "redacted";
  for (const [open, close] of ["[]", "<>", "()", "{}", "‹›", "«»"].map((pair) => [...pair] as [string, string])) {
    if (free(open) && free(close)) return `${open}${word}${close}`;
  }
  for (let code = 0x2580; ; code++) {
    const block = String.fromCodePoint(code);
    if (free(block)) return `${block}${word}${block}`;
  }
}

/** Whether any string or key of a value holds a secret. It uses a list: a deeply nested value cannot overflow the stack. */
export function holdsSecret(value: unknown, redact: (text: string) => string): boolean {
  return mayHoldSecret(value, redact) && textsOf(value).some((text) => redact(text) !== text);
}

/**
 * A quick look: false when no string, key, number or other scalar of a value holds a secret. True when one does, or when
 * two that stand side by side read like one.
 */
export function mayHoldSecret(value: unknown, redact: (text: string) => string): boolean {
  const all = textsOf(value, true).join("\n");
  return redact(all) !== all;
}

/** The strings and keys of a value, and on demand its other scalars as text. */
function textsOf(value: unknown, scalars = false): string[] {
  const texts: string[] = [];
  const pending: unknown[] = [value];
  while (pending.length > 0) {
    const item = pending.pop();
    if (typeof item === "string") texts.push(item);
    else if (Array.isArray(item)) for (const inner of item) pending.push(inner);
    else if (typeof item === "object" && item !== null) {
      for (const key of Object.keys(item)) {
        texts.push(key);
        pending.push((item as JsonObject)[key]);
      }
    } else if (scalars) texts.push(String(item));
  }
  return texts;
}
