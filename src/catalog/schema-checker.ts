// The port of the schema checker, which says whether a value fits a schema that a server sent.
//
// A check always ends: one that takes too long is stopped, and nothing that a schema does stops the process.
//
//   checker-1. A check reads only: it fills in no default, coerces no type and removes no key.
//   checker-2. Two schemas never influence one another, whatever `$id` they claim.
//   checker-3. A value that cannot be checked is not valid.

import type { Digest, JsonObject } from "../contracts/index.js";
import { isObject } from "../contracts/index.js";
import { own, placesOf, type SchemaPlace } from "./walk.js";

export type SchemaVerdict =
  | { readonly valid: true }
  /** What is wrong with the value: at most 8 bounded lines, each beginning with a JSON pointer. */
  | { readonly valid: false; readonly problems: readonly string[] }
  /** Nothing can be said of the value: the schema does not compile, or checking took too long. One bounded line. */
  | { readonly valid: false; readonly unusable: string };

export interface SchemaChecker {
  /**
   * Checks a value. `key` is the digest under which the compiled schema is kept; `from` is the server that the schema came
   * from, so that what one server's schemas cost is not another's. Never rejects.
   */
  check(key: Digest, schema: JsonObject, value: unknown, from?: string): Promise<SchemaVerdict>;
  close(): Promise<void>;
}

export type Dialect = "2020-12" | "draft-07";

const DIALECTS: readonly (readonly [RegExp, Dialect])[] = [
  [/^https?:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/, "2020-12"],
  [/^https?:\/\/json-schema\.org\/draft-07\/schema#?$/, "draft-07"],
];

/**
 * The dialect a schema is read in: by `$schema`; without one 2020-12, or draft-07 when some `items` is a list (a tuple,
 * which 2020-12 does not know). Undefined for a dialect toolgate does not read.
 */
export function dialectOf(schema: unknown): Dialect | undefined {
  return isObject(schema) ? dialectAmong(placesOf(schema)) : undefined;
}

/** The dialect of the schema at the first of these places; they are what `placesOf` found in it. */
export function dialectAmong(places: readonly SchemaPlace[]): Dialect | undefined {
  const named = places[0] === undefined ? undefined : own(places[0].schema, "$schema");
  if (named !== undefined) {
    if (typeof named !== "string") return undefined;
    return DIALECTS.find(([pattern]) => pattern.test(named))?.[1];
  }
  return places.some(({ schema }) => Array.isArray(own(schema, "items"))) ? "draft-07" : "2020-12";
}

/** A `pattern` as toolgate reads it, here and in the worker: JavaScript's, with `u` where it is valid with it. */
export function patternOf(source: string): RegExp | undefined {
  for (const flags of ["u", ""]) {
    try {
      return new RegExp(source, flags);
    } catch {}
  }
  return undefined;
}
