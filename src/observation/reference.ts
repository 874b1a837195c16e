// The reference to a body: made from its thread and its content, so that it is the same each time, differs between
// threads, and tells one thread nothing of another's. (results-2)

import { type ResultRef, sha256, ToolgateError, threadOfKey } from "../contracts/index.js";

/** Hex digits of a reference: 128 bits, short enough for a model to repeat. */
const REF_CHARS = 32;

export function referenceTo(threadId: string, body: Buffer): ResultRef {
  const content = sha256(body);
  return { ref: sha256(JSON.stringify([threadId, content])).slice(0, REF_CHARS), bytes: body.length, sha256: content };
}

/** The text of a stored body. Throws `store_failed` where it is not the one that the reference was made from. (results-3) */
export async function bodyOf(threadId: string, ref: string, load: () => Buffer | Promise<Buffer>): Promise<string> {
  let cause: unknown;
  try {
    const body = await load();
    const names = [threadId, threadOfKey(threadId)]; // a thread that moved to its scope keeps the references it had
    if (names.some((name) => referenceTo(name, body).ref === ref)) return body.toString("utf8");
  } catch (error) {
    cause = error; // it does not decompress, or is no bytes at all
  }
  throw new ToolgateError(
    "store_failed",
    `the stored result ${ref} is not what toolgate recorded: its body was changed in the store`,
    "restore the store from a backup; do not rely on this result",
    { data: { ref }, cause },
  );
}
