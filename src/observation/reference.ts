// The reference to a body: made from its thread and its content, so that it is the same each time, differs between
// threads, and tells one thread nothing of another's. (results-2)

import { type ResultRef, sha256 } from "../contracts/index.js";

/** Hex digits of a reference: 128 bits, short enough for a model to repeat. */
const REF_CHARS = 32;

export function referenceTo(threadId: string, body: Buffer): ResultRef {
  const content = sha256(body);
  return { ref: sha256(JSON.stringify([threadId, content])).slice(0, REF_CHARS), bytes: body.length, sha256: content };
}
