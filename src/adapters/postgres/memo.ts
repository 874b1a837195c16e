// Memo: the images of threads as this process loaded or stored them last, so that what follows (the claim after the look, the
// step to `dispatching` after the claim, the settlement after both) need not load them again. A stale one is found out
// when it is stored.

import type { Digest, Owner } from "../../contracts/index.js";
import type { LeaseEnd, ReadSet } from "../../ledger/tables.js";
import type { Image } from "./image.js";
import { key, ownerKey } from "./keys.js";

/** Threads whose images are kept. */
const KEPT = 200;

export class Memo {
  private readonly images = new Map<string, Image>();
  private readonly threads = new Map<Digest, string>();
  private readonly holders = new Map<string, string>();

  /** The thread of an operation that was stored here. */
  threadOf(operationId: Digest): string | undefined {
    return this.threads.get(operationId);
  }

  /** The threads that an owner holds, as far as was stored here. */
  heldBy(owner: Owner): string[] {
    const held = this.holders.get(ownerKey(owner));
    return held === undefined ? [] : [held];
  }

  /** Takes the image out that holds all that a readSet of one thread names. */
  take(readSet: ReadSet): Image | undefined {
    const [operation] = readSet.operations ?? [];
    const threadId = readSet.threads?.[0] ?? (operation && this.threads.get(operation));
    const image = threadId === undefined ? undefined : this.images.get(threadId);
    if (threadId === undefined || !image?.covers(readSet)) return undefined;
    this.images.delete(threadId);
    return image;
  }

  /** Keeps an image, if it is of one thread and no later one is kept. */
  keep(image: Image, operations: Iterable<Digest>): void {
    const [threadId] = image.headers.keys();
    if (threadId === undefined || image.headers.size > 1 || image.unknownEverywhere) return;
    const versionOf = (of: Image | undefined) => of?.headers.get(threadId)?.version ?? 0;
    if (versionOf(this.images.get(threadId)) > versionOf(image)) return;
    this.images.delete(threadId);
    this.images.set(threadId, image);
    for (const id of operations) this.threads.set(id, threadId);
    const holder = image.headers.get(threadId)?.holder;
    if (holder) this.holders.set(ownerKey(holder.owner), threadId);
    drop(this.images, KEPT);
    drop(this.threads, 10 * KEPT);
    drop(this.holders, 10 * KEPT);
  }

  /** What is kept of a thread is of no more use. */
  drop(threadId: string): void {
    this.images.delete(threadId);
  }

  /** A heartbeat wrote these threads, by their keys, and made these versions of them. */
  renewed(owner: Owner, lease: LeaseEnd, versions: ReadonlyMap<string, number>): void {
    for (const [threadId, image] of this.images) {
      const version = versions.get(key(threadId));
      const header = image.headers.get(threadId);
      if (version === undefined || header?.version !== version - 1) continue;
      header.version = version;
      image.renewed(owner, lease);
    }
  }
}

/** Drops the oldest beyond so many. */
function drop(from: Map<string, unknown>, kept: number): void {
  for (const oldest of from.keys()) {
    if (from.size <= kept) return;
    from.delete(oldest);
  }
}
