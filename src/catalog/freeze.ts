// Freeze: makes a value immutable to the bottom.

/**
 * Freezes a value and everything in it. It uses a list instead of recursion. A part that is frozen already is taken to be
 * frozen to the bottom.
 */
export function deepFreeze<T>(value: T): T {
  const pending: unknown[] = [value];
  while (pending.length > 0) {
    const item = pending.pop();
    if (typeof item !== "object" || item === null || Object.isFrozen(item)) continue;
    Object.freeze(item);
    for (const key of Object.keys(item)) {
      const part = (item as Record<string, unknown>)[key];
      if (typeof part === "object") pending.push(part);
    }
  }
  return value;
}
