// Last bodies: one read from memory, then the store; bounded.

import { expect, test } from "vitest";
import { withLastBodies } from "../../src/observation/last-bodies.js";
import type { ResultStore } from "../../src/observation/results.js";

function counted() {
  const reads: string[] = [];
  const inner: ResultStore = {
    put: async (threadId, body) => ({ ref: `${threadId}-${body.slice(0, 8)}`, bytes: body.length, sha256: "" }),
    read: async (_threadId, ref) => {
      reads.push(ref);
      return "from the store";
    },
    forget: async () => {},
  };
  return { reads, store: withLastBodies(inner) };
}

test("what was just put is read once without the store, and from it afterwards", async () => {
  const { store, reads } = counted();
  const { ref } = await store.put("t1", "");
  expect([await store.read("t1", ref), await store.read("t1", ref)]).toEqual(["", "from the store"]);
  expect(reads).toEqual([ref]);
});

// A reference that is guessed or overheard must stay of no use to another thread.
test("another thread's reference is asked of the store (results-2)", async () => {
  const { store, reads } = counted();
  const { ref } = await store.put("t1", "of t1");
  expect(await store.read("t2", ref)).toBe("from the store");
  expect(reads).toEqual([ref]);
});

test("what a thread had is not read once it is forgotten", async () => {
  const { store } = counted();
  const { ref } = await store.put("t1", "its own");
  await store.forget("t1");
  expect(await store.read("t1", ref)).toBe("from the store");
});

test("a body that could not be stored is not read", async () => {
  const store = withLastBodies({
    put: () => Promise.reject(new Error("full")),
    read: async () => undefined,
    forget: async () => {},
  });
  await expect(store.put("t1", "body")).rejects.toThrow("full");
  expect(await store.read("t1", "t1-body")).toBeUndefined();
});

test("64 bodies wait at most, and 4,000,000 characters of them; the oldest go first", async () => {
  const { store } = counted();
  const refs = await Promise.all(Array.from({ length: 65 }, (_, n) => store.put("t1", `${n} body`)));
  expect(await store.read("t1", refs[0]?.ref as string)).toBe("from the store");
  expect(await store.read("t1", refs[1]?.ref as string)).toBe("1 body");
  const large = await store.put("t1", "x".repeat(4_000_000));
  expect(await store.read("t1", refs[64]?.ref as string)).toBe("from the store");
  expect((await store.read("t1", large.ref))?.length).toBe(4_000_000);
  const tooLarge = await store.put("t1", "y".repeat(4_000_001));
  expect((await store.read("t1", tooLarge.ref))?.length).toBe("from the store".length);
});
