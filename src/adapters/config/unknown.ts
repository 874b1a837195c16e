// Finds keys of the file that toolgate does not know, and the known key that was probably meant.

import { z } from "zod";
import { type Finding, isObject, nearest } from "../../contracts/index.js";
import { ConfigFile } from "./file.js";
import { pathText } from "./issues.js";
import { mayRestrict } from "./restricting.js";
import type { Path } from "./strict-json.js";

/** A key that toolgate does not know. */
export interface UnknownKey {
  readonly path: Path;
  /** The known key that was probably meant. */
  readonly meant: string | undefined;
  /** Whether it may have been meant to restrict something. */
  readonly restricts: boolean;
}

/** Each unknown key of a file's value, in the order they stand. */
export function unknownKeys(value: unknown): UnknownKey[] {
  const found: UnknownKey[] = [];
  walk(ConfigFile, value, [], found);
  return found;
}

/** The warning about a key that restricts nothing. */
export function unknownKeyFinding({ path, meant }: UnknownKey): Finding {
  const advice = meant === undefined ? "" : `; did you mean \`${meant}\`?`;
  const message = `unknown key \`${pathText(path)}\` is ignored${advice}`;
  return { level: "warning", code: "unknown_key", message };
}

function walk(schema: z.core.$ZodType, value: unknown, path: Path, found: UnknownKey[]): void {
  if (!isObject(value)) return;
  const inner = unwrap(schema, value);
  if (inner instanceof z.ZodRecord) {
    for (const [key, item] of Object.entries(value)) walk(inner.valueType, item, [...path, key], found);
  } else if (inner instanceof z.ZodObject) {
    const shape: z.core.$ZodShape = inner.shape;
    for (const [key, item] of Object.entries(value)) {
      const field = Object.hasOwn(shape, key) ? shape[key] : undefined;
      if (field) walk(field, item, [...path, key], found);
      else found.push(unknownKey([...path, key], item, Object.keys(shape)));
    }
  }
}

/** The schema that names the keys of `value`, out of wrappers and unions. */
function unwrap(schema: z.core.$ZodType, value: object): z.core.$ZodType {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault)
    return unwrap(schema.unwrap(), value);
  if (schema instanceof z.ZodDiscriminatedUnion) {
    const kind = schema.def.discriminator;
    const given = (value as Record<string, unknown>)[kind];
    const option = schema.options.find(
      (candidate) => candidate instanceof z.ZodObject && candidate.shape[kind]?.safeParse(given).success,
    );
    return option ?? schema;
  }
  return schema;
}

function unknownKey(path: Path, value: unknown, known: readonly string[]): UnknownKey {
  const meant = nearest(String(path.at(-1)), known, 1)[0];
  return { path, meant, restricts: mayRestrict(path, value, meant) };
}
