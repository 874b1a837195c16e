// Results in memory: for tests and for hosts that say they want nothing kept. (results-1, results-2, results-3)

import type { ResultRef } from "../../contracts/index.js";
import { bodyOf, referenceTo } from "../../observation/reference.js";
import type { ResultStore } from "../../observation/results.js";

export function createMemoryResults(): ResultStore {
  const bodies = new Map<string, Buffer>();
  const references = new Map<string, { readonly threadId: string; readonly sha256: string }>();
  return {
    put: async (threadId, body): Promise<ResultRef> => {
      const bytes = Buffer.from(body, "utf8");
      const reference = referenceTo(threadId, bytes);
      if (!bodies.has(reference.sha256)) bodies.set(reference.sha256, bytes);
      references.set(reference.ref, { threadId, sha256: reference.sha256 });
      return reference;
    },
    read: async (threadId, ref) => {
      const found = references.get(ref);
      const body = found?.threadId === threadId ? bodies.get(found.sha256) : undefined;
      return body && bodyOf(threadId, ref, () => body);
    },
    forget: async (threadId) => {
      for (const [ref, found] of references) if (found.threadId === threadId) references.delete(ref);
      const kept = new Set([...references.values()].map(({ sha256 }) => sha256));
      for (const sha256 of bodies.keys()) if (!kept.has(sha256)) bodies.delete(sha256);
    },
  };
}
