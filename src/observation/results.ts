// The port of the result store, which keeps the bodies of results by their content.
//
//   results-1. A body is stored before the ledger row that names it settles.
//   results-2. A reference can be read by the thread it was made for and by no other.
//   results-3. What is read is what was put: a body that was changed in the store is an error and not a result.

import type { ResultRef } from "../contracts/index.js";

export interface ResultStore {
  /** Keeps a body for a thread. Equal bodies are kept once; the reference is the same each time. */
  put(threadId: string, body: string): Promise<ResultRef>;
  /** The body, or undefined when this thread has no such reference. Rejects with `store_failed` where it was changed. */
  read(threadId: string, ref: string): Promise<string | undefined>;
  /** Takes out what a thread had for good; a body goes with its last reference. */
  forget(threadId: string): Promise<void>;
}
