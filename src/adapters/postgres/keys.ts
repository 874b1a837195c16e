// Keys: what Postgres compares and indexes, made from text that may hold anything.
//
//   postgres-keys-1. Two different texts have two different keys. Postgres can hold neither NUL nor half of a surrogate pair, so
//                    these are spelled out; it cannot index long text, so that a long text is represented by its digest.
//
// Bodies are JSON, which spells out both by itself. What must be read back is read from a body, never from a key.

import { type Operation, type Owner, sha256 } from "../../contracts/index.js";

/** Characters beyond which a key is a digest. */
const LONGEST = 256;

const UNHELD = /[\\\0]|[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g;

/** The key of a text. (postgres-keys-1) */
export function key(text: string): string {
  if (text.length > LONGEST) return `\\#${sha256(JSON.stringify(text))}`;
  return text.replace(UNHELD, (char) => (char === "\\" ? "\\\\" : `\\u${char.charCodeAt(0).toString(16)};`));
}

export const keys = (texts: readonly string[]): string[] => [...new Set(texts.map(key))];

/** By this the leases of an owner are found. */
export function ownerKey({ machine, pid, started, instance }: Owner): string {
  return sha256(JSON.stringify([machine, pid, started, instance]));
}

/** Equal for writes that do the same. */
export function identicalKey({
  server,
  tool,
  argumentsDigest,
}: Pick<Operation, "server" | "tool" | "argumentsDigest">): string {
  return sha256(JSON.stringify([server, tool, argumentsDigest]));
}
