// Redaction: takes the host's secret values out of text, in the forms in which they usually get into it.
//
//   redact-1. No occurrence of a secret, or of one of its forms, is left.
//   redact-2. Redacting twice gives the same as redacting once: the mark holds no secret, and none arises from the mark and
//             the characters beside it.
//
// In JSON every string, key and number is redacted by itself, and the result is JSON again. A value that is made for one call
// (a grant) is recognised by how it begins, and is taken out to its end in the same forms.
//
// The forms of a secret are: the secret itself; its JSON text; its URL encoding, with upper and lower case hex digits and with
// a space as `%20` or `+`; and its Base64 and Base64url encoding. Base64 is also found where the secret is a part of something
// longer that was encoded, in all three alignments: the characters that depend on the secret alone are removed, and up to two
// characters beside them stay. Other encodings, compression and a secret that is split are not recognised.

import { type JsonObject, MAX_DEPTH } from "../contracts/index.js";

/** Shorter values are not redacted, because they would be found in other words by chance. */
export const MIN_SECRET_CHARS = 6;

/**
 * Makes a function that takes the secrets out of text, and everything that begins with one of `starts`. Without secrets and
 * starts the function returns text unchanged. `given`: the mark to leave, whatever the secrets are. (redact-2 is then the caller's.)
 */
export function createRedactor(
  secrets: readonly string[],
  starts: readonly string[] = [],
  given?: string,
): (text: string) => string {
  const usable = secrets.filter((secret) => secret.length >= MIN_SECRET_CHARS);
  const forms = [...new Set(usable.flatMap(formsOf))].sort((a, b) => b.length - a.length); // longest first
  const begun = [...new Set(starts.flatMap(formsOf))].sort((a, b) => b.length - a.length);
  if (forms.length + begun.length === 0) return (text) => text;
  const whole = begun.map((start) => `${literal(start)}[A-Za-z0-9_.+/=%-]*`); // taken out to its end
  const pattern = new RegExp([...whole, ...forms.map(literal)].join("|"), "gu");
  const mark = given ?? markFor([...forms, ...begun]);
  return (text) => text.replace(pattern, () => mark);
}

/** The number of values that are hidden beside the secrets. The oldest is dropped: a grant expires within minutes. */
const HIDDEN_KEPT = 256;

/** A redactor that learns further values: after `hide(value)` it takes that value out of all text as well. */
export function openRedactor(
  secrets: readonly string[],
  starts: readonly string[] = [],
): { readonly redact: (text: string) => string; readonly hide: (value: string) => void } {
  const hidden: string[] = [];
  let current = createRedactor(secrets, starts);
  return {
    redact: (text) => current(text),
    hide: (value) => {
      hidden.push(value);
      if (hidden.length > HIDDEN_KEPT) hidden.shift();
      current = createRedactor([...secrets, ...hidden], starts);
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

function formsOf(secret: string): string[] {
  const encoded = percentEncoded(secret);
  const lower = encoded.replace(/%[0-9A-F]{2}/g, (hex) => hex.toLowerCase());
  const json = JSON.stringify(secret).slice(1, -1);
  const whole = Buffer.from(secret, "utf8").toString("base64");
  const base64 = [whole, whole.replace(/=+$/, ""), ...[0, 1, 2].map((shift) => base64Core(secret, shift))];
  const base64url = base64.map((form) => form.replaceAll("+", "-").replaceAll("/", "_"));
  const urls = [encoded, lower].flatMap((form) => [form, form.replaceAll("%20", "+")]);
  return [secret, json, ...urls, ...base64, ...base64url].filter((form) => form.length >= MIN_SECRET_CHARS);
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

function literal(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
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
