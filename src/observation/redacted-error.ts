// Errors without secrets: of the host's tools, of a model's provider, of a store. Whoever catches one may print all of it.
//
//   error-1. The same error is handed on where it holds no secret. Otherwise it is a copy of the same class, with every text
//            of it redacted: message, stack, further properties, causes and the errors of a bundle.

/** How deep data in an error is looked at. */
const LEVELS = 16;

type Redact = (text: string) => string;

/** The error, or a copy of it without secrets. (error-1) */
export function redactedError<T>(error: T, redact: Redact): T {
  return clean(error, redact, 0, new Map()) as T;
}

function clean(value: unknown, redact: Redact, level: number, known: Map<object, unknown>): unknown {
  if (typeof value === "string") return redact(value);
  if (typeof value !== "object" || value === null || level > LEVELS) return value;
  if (known.has(value)) return known.get(value);
  known.set(value, value); // what a circle comes back to
  const error = value instanceof Error;
  const prototype = Object.getPrototypeOf(value);
  if (!error && !Array.isArray(value) && prototype !== Object.prototype && prototype !== null) return value; // of a class: not ours to copy
  const changed = changesOf(value, error, redact, level, known);
  if (changed.size === 0) return value;
  const copy = Array.isArray(value) ? [...value] : Object.create(prototype, Object.getOwnPropertyDescriptors(value));
  for (const [key, shown] of changed) {
    const enumerable = Object.getOwnPropertyDescriptor(value, key)?.enumerable ?? false;
    Object.defineProperty(copy, key, { value: shown, writable: true, configurable: true, enumerable });
  }
  known.set(value, copy);
  return copy;
}

/** The properties that are another value without secrets. What cannot be read cannot be printed either. */
function changesOf(
  value: object,
  error: boolean,
  redact: Redact,
  level: number,
  known: Map<object, unknown>,
): Map<string, unknown> {
  const changed = new Map<string, unknown>();
  const inherited = error ? ["name", "message", "code"] : []; // of a `DOMException` the class has them
  for (const key of new Set([...Object.getOwnPropertyNames(value), ...inherited])) {
    try {
      const before = (value as Record<string, unknown>)[key];
      const after = clean(before, redact, level + 1, known);
      if (after !== before) changed.set(key, after);
    } catch {}
  }
  if (changed.size > 0 && error) keepInherited(value, inherited, changed);
  return changed;
}

/** A copy of a `DOMException` cannot be asked for what its class would say. */
function keepInherited(value: object, names: readonly string[], changed: Map<string, unknown>): void {
  for (const name of names) {
    const said = (value as Record<string, unknown>)[name];
    if (said !== undefined && !changed.has(name) && !Object.hasOwn(value, name)) changed.set(name, said);
  }
}
