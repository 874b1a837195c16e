// Measures untrusted JSON: bytes of its compact UTF-8 text, and levels of nesting. Nothing here recurses.

import { isObject } from "../../contracts/index.js";

/**
 * The deepest message that is handed on. `JSON.stringify`, `structuredClone` and the SDK's own code recurse, and overflow the
 * stack at some thousands of levels.
 */
export const MAX_LEVELS = 512;

/** Bytes of a parsed value's JSON. Also right for values nested too deeply for `JSON.stringify`. */
export function jsonBytes(value: unknown): number {
  try {
    return Buffer.byteLength(JSON.stringify(value) ?? "");
  } catch {
    return walk(value);
  }
}

/** Whether a parsed value has containers within containers to more than `levels`. An object without any is one level. */
export function deeperThan(levels: number, root: unknown): boolean {
  let here = isContainer(root) ? [root] : [];
  for (let depth = 1; here.length > 0; depth++) {
    if (depth > levels) return true;
    const below: object[] = [];
    for (const container of here)
      for (const value of Array.isArray(container) ? container : Object.values(container))
        if (isContainer(value)) below.push(value);
    here = below;
  }
  return false;
}

function isContainer(value: unknown): value is object {
  return typeof value === "object" && value !== null;
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
