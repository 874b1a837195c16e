// Digest: SHA-256 over RFC 8785 canonical JSON. The one way anything in toolgate is identified by content.
//
//   D1. Equal JSON values have equal digests, whatever the order of their keys.
//   D2. What canonical JSON cannot tell apart from something else is refused before hashing, never coerced.

import { createHash } from "node:crypto";
import { canonicalize } from "json-canonicalize";
import { z } from "zod";

/** Lower-case hex SHA-256. */
export const Digest = z.string().regex(/^[0-9a-f]{64}$/);
export type Digest = z.infer<typeof Digest>;

/** Deepest nesting a digest accepts. */
export const MAX_DEPTH = 64;

/** Digests a JSON value. Throws `TypeError` naming what cannot be hashed. */
export function digest(value: unknown): Digest {
  const problem = notHashable(value);
  if (problem) throw new TypeError(`cannot digest the value: ${problem}`);
  return sha256(canonicalize(value));
}

/** SHA-256 of text (as UTF-8) or bytes, in hex. */
export function sha256(data: string | Uint8Array): Digest {
  return createHash("sha256").update(data).digest("hex");
}

/** Says why a value has no faithful canonical JSON; undefined when it has one. Iterative: depth cannot overflow it. (D2) */
export function notHashable(value: unknown, maxDepth = MAX_DEPTH): string | undefined {
  const pending: [unknown, number][] = [[value, 0]];
  while (pending.length > 0) {
    const [item, depth] = pending.pop() as [unknown, number];
    if (depth > maxDepth) return `nested deeper than ${maxDepth}`;
    if (item === null || typeof item === "boolean") continue;
    if (typeof item === "string") {
      if (!isWellFormed(item)) return "a lone surrogate in a string";
    } else if (typeof item === "number") {
      if (!Number.isFinite(item)) return "a number that is not finite";
    } else if (Array.isArray(item)) {
      for (let index = 0; index < item.length; index++) {
        if (!(index in item)) return "a hole in an array";
        pending.push([item[index], depth + 1]);
      }
    } else if (typeof item === "object") {
      const prototype = Object.getPrototypeOf(item);
      if (prototype !== Object.prototype && prototype !== null) return "an object that is not plain JSON";
      if (Object.getOwnPropertySymbols(item).length > 0) return "a symbol as a key";
      for (const key of Object.keys(item)) {
        if (key === "__proto__") return "a key named __proto__";
        if (!isWellFormed(key)) return "a lone surrogate in a key";
        pending.push([(item as Record<string, unknown>)[key], depth + 1]);
      }
    } else {
      return `${typeof item} is not JSON`;
    }
  }
  return undefined;
}

const LONE_SURROGATE = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/;

/** `String.prototype.isWellFormed`, spelled out because ES2023's lib does not declare it. */
function isWellFormed(text: string): boolean {
  return !LONE_SURROGATE.test(text);
}

/** Size of a value's canonical JSON in UTF-8 bytes; 0 for what has none. */
export function canonicalBytes(value: unknown): number {
  return notHashable(value) === undefined ? Buffer.byteLength(canonicalize(value)) : 0;
}
