// Measures untrusted JSON in bytes of its compact UTF-8 text.

import { isObject } from "../../contracts/index.js";

/** Bytes of a parsed value's JSON. Also right for values nested too deeply for `JSON.stringify`. */
export function jsonBytes(value: unknown): number {
  try {
    return Buffer.byteLength(JSON.stringify(value) ?? "");
  } catch {
    return walk(value);
  }
}

/** How many raw bytes are read for `maxBytes` of JSON: escapes and white space make the raw text longer. */
export function rawLimit(maxBytes: number): number {
  return maxBytes * 4 + 65_536;
}

/** Without recursion, because a few kilobytes of brackets are enough to overflow the stack. */
function walk(root: unknown): number {
  let bytes = 0;
  const open: unknown[] = [root];
  while (open.length > 0) {
    const value = open.pop();
    if (Array.isArray(value)) {
      bytes += 2 + Math.max(0, value.length - 1);
      for (const item of value) open.push(item);
    } else if (isObject(value)) {
      const entries = Object.entries(value);
      bytes += 2 + Math.max(0, entries.length - 1);
      for (const [key, item] of entries) {
        bytes += Buffer.byteLength(JSON.stringify(key)) + 1;
        open.push(item);
      }
    } else bytes += Buffer.byteLength(JSON.stringify(value) ?? "");
  }
  return bytes;
}
