// Whether a value is an object of named members, as JSON knows it.

/** True for an object that is neither null nor a list. Its members are not checked. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
