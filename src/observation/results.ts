// The result store port: bodies of results, kept by content, readable only by the thread that got them.
//
//   R1. A body is stored before the ledger row that names it settles.
//   R2. A reference serves the thread it was made for and no other.

import type { ResultRef } from "../contracts/index.js";

export interface ResultStore {
  /** Keeps a body for a thread. Equal bodies are kept once; the reference is the same each time. */
  put(threadId: string, body: string): Promise<ResultRef>;
  /** The body, or undefined when this thread has no such reference. */
  read(threadId: string, ref: string): Promise<string | undefined>;
}
