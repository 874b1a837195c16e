// Digest: SHA-256 over RFC 8785 canonical JSON. It is the one way in which anything in toolgate is identified by content.
//
// Equal JSON values have equal digests, whatever the order of their keys. A value that canonical JSON cannot tell apart from
// another one is refused before it is hashed; it is never turned into something else.

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
  return sha256(canonicalJson(value));
}

/** SHA-256 of text (as UTF-8) or bytes, in hex. */
export function sha256(data: string | Uint8Array): Digest {
  return createHash("sha256").update(data).digest("hex");
}

/** The canonical JSON text of a value. **Contract:** `notHashable` has nothing to say of the value. */
export function canonicalJson(value: unknown): string {
  return canonicalize(value);
}

/**
 * The canonical JSON text of an object, put together from the canonical texts of its members. Large members are written
 * once where several objects have them. **Contract:** no member is named `toJSON`.
 */
export function canonicalObject(members: Readonly<Record<string, string>>): string {
  const pairs = Object.keys(members)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${members[key]}`);
  return `{${pairs.join(",")}}`;
}

/**
 * Says why a value has no faithful canonical JSON; undefined when it has one. It uses a list instead of recursion, so a
 * deeply nested value cannot overflow the stack.
 */
export function notHashable(value: unknown, maxDepth = MAX_DEPTH): string | undefined {
  const items: unknown[] = [value];
  const depths: number[] = [0]; // of the item at the same index
  while (items.length > 0) {
    const item = items.pop();
    const depth = depths.pop() as number;
    if (depth > maxDepth) return `nested deeper than ${maxDepth}`;
    if (item === null || typeof item === "boolean") continue;
    if (typeof item === "string") {
      if (!isWellFormed(item)) return "a lone surrogate in a string";
    } else if (typeof item === "number") {
      if (!Number.isFinite(item)) return "a number that is not finite";
    } else if (Array.isArray(item)) {
      for (let index = 0; index < item.length; index++) {
        if (!(index in item)) return "a hole in an array";
        items.push(item[index]);
        depths.push(depth + 1);
      }
    } else if (typeof item === "object") {
      const prototype = Object.getPrototypeOf(item);
      if (prototype !== Object.prototype && prototype !== null) return "an object that is not plain JSON";
      if (Object.getOwnPropertySymbols(item).length > 0) return "a symbol as a key";
      for (const key of Object.keys(item)) {
        if (key === "__proto__") return "a key named __proto__";
        if (!isWellFormed(key)) return "a lone surrogate in a key";
        items.push((item as Record<string, unknown>)[key]);
        depths.push(depth + 1);
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
  return notHashable(value) === undefined ? Buffer.byteLength(canonicalJson(value)) : 0;
}
