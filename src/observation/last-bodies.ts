// Last bodies: a result that was just stored is read once without asking its store, because the tool message of a call is
// made right after its result was kept. Whatever is read later comes from the store.

import type { ResultStore } from "./results.js";

/** Bodies that wait to be read, and characters of all of them. */
const KEPT = { bodies: 64, chars: 4_000_000 } as const;

/** The same store. (results-2) */
export function withLastBodies(store: ResultStore): ResultStore {
  const bodies = new Map<string, string>();
  let chars = 0;

  /** Takes a body out. */
  function take(place: string): string | undefined {
    const body = bodies.get(place);
    bodies.delete(place);
    chars -= body?.length ?? 0;
    return body;
  }

  function keep(place: string, body: string): void {
    take(place);
    bodies.set(place, body);
    chars += body.length;
    for (const oldest of bodies.keys()) {
      if (bodies.size <= KEPT.bodies && chars <= KEPT.chars) return;
      take(oldest);
    }
  }

  return {
    put: async (threadId, body) => {
      const reference = await store.put(threadId, body);
      keep(placeOf(threadId, reference.ref), body);
      return reference;
    },
    forget: async (threadId) => {
      bodies.clear();
      chars = 0;
      await store.forget(threadId);
    },
    read: async (threadId, ref) => take(placeOf(threadId, ref)) ?? store.read(threadId, ref),
  };
}

function placeOf(threadId: string, ref: string): string {
  return JSON.stringify([threadId, ref]);
}
