// Plain: copies a value as JSON data, or finds that it is none.
//
// It is pure and never throws. No getter of the value runs, a later change of the value does not change the copy, and neither
// cycles nor shared parts can make the copy endless.

/** Stands for a value that is no JSON data. */
const NOT_PLAIN = Symbol("not plain JSON data");

const MAX_NODES = 100_000;
const MAX_DEPTH = 100;

/** Copies JSON data. A property that is undefined counts as absent. Any other part that is no JSON makes the result `NOT_PLAIN`. */
export function plain(value: unknown): unknown {
  let nodes = 0;

  function copy(item: unknown, depth: number): unknown {
    if (item === null || typeof item === "string" || typeof item === "boolean") return item;
    if (typeof item === "number") return Number.isFinite(item) ? item : NOT_PLAIN;
    if (typeof item !== "object" || depth > MAX_DEPTH || ++nodes > MAX_NODES) return NOT_PLAIN;
    if (Array.isArray(item)) return copyArray(item, depth);
    const prototype = Object.getPrototypeOf(item);
    return prototype === Object.prototype || prototype === null ? copyObject(item, depth) : NOT_PLAIN;
  }

  function copyArray(items: readonly unknown[], depth: number): unknown {
    const copied: unknown[] = [];
    for (let index = 0; index < items.length; index++) {
      const item = copyOwn(Object.getOwnPropertyDescriptor(items, index), depth);
      if (item === NOT_PLAIN) return NOT_PLAIN;
      copied.push(item);
    }
    return copied;
  }

  function copyObject(item: object, depth: number): unknown {
    const copied: Record<string, unknown> = {};
    for (const key of Object.keys(item)) {
      const property = Object.getOwnPropertyDescriptor(item, key);
      if (property && "value" in property && property.value === undefined) continue;
      const value = copyOwn(property, depth);
      if (value === NOT_PLAIN || key === "__proto__") return NOT_PLAIN;
      copied[key] = value;
    }
    return copied;
  }

  function copyOwn(property: PropertyDescriptor | undefined, depth: number): unknown {
    return property && "value" in property ? copy(property.value, depth + 1) : NOT_PLAIN;
  }

  return copy(value, 0);
}
