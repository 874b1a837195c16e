// Prepared: the text of a schema, as it is compiled, and which schema it is.

import { dialectOf } from "../../catalog/schema-checker.js";
import { type Digest, type JsonObject, sha256 } from "../../contracts/index.js";

export interface PreparedSchema {
  readonly text: string;
  readonly sum: Digest;
  readonly dialect: string;
}

export type SchemaTexts = WeakMap<JsonObject, PreparedSchema>;

/** The text that is compiled and that identifies the schema. The text of a frozen schema is remembered. */
export function prepareSchema(schema: JsonObject, texts: SchemaTexts): PreparedSchema | string {
  const known = texts.get(schema);
  if (known !== undefined) return known;
  try {
    const dialect = dialectOf(schema);
    if (dialect === undefined) return "the schema's dialect is not read here";
    const text = JSON.stringify(schema);
    const prepared = { text, sum: sha256(text), dialect };
    if (Object.isFrozen(schema)) texts.set(schema, prepared);
    return prepared;
  } catch {
    return "the schema cannot be written as JSON";
  }
}
