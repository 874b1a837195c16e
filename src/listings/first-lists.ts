// First lists: the first complete list of each server in each scope, kept in the store of snapshots. What a later list adds or
// changes is told by it.
//
//   first-list-1. The list that was kept first stays: neither a later list, another host nor a forgotten thread changes it.
//   first-list-2. Which list it is, is kept under an id made from scope and server, and sealed where the host has a secret that
//                 outlives it. The list itself is kept under an id made from its content, once for all scopes. What the store
//                 says otherwise, because another hand changed it, is not believed.
//   first-list-3. A first list never changes, so that each is read once in a process.
//   first-list-4. No checkpoint names a first list. What a run keeps therefore waits for no sync of its own: whatever that run
//                 has synced later, before it sends, asks or ends, has the list synced as well.
//
// Under a new secret (and none of the previous ones) the first lists are others: whoever has only the old one could have
// written them.

import { createHmac, timingSafeEqual } from "node:crypto";
import {
  type Digest,
  digest,
  FirstList,
  FirstListOf,
  type KnownTool,
  type SnapshotBody,
  sha256,
} from "../contracts/index.js";
import type { Survives } from "../ledger/port.js";
import type { SealSecrets } from "../ledger/seals.js";

export interface FirstListDeps {
  /** Keeps a body under its id; the first one stays. */
  readonly ledger: {
    putSnapshot(body: SnapshotBody, survives: Survives): Promise<void>;
    snapshot(id: Digest): Promise<SnapshotBody | undefined>;
  };
  readonly seals: SealSecrets | undefined;
}

export type Found =
  | { readonly kind: "kept"; readonly tools: ReadonlyMap<string, KnownTool> }
  /** Another hand changed what is kept. */
  | { readonly kind: "edited" }
  | { readonly kind: "none" };

export interface FirstLists {
  of(scope: string, server: string): Promise<Found>;
  /** Keeps a list, unless there is an earlier one. `list` is asked only then. `survives`: see first-list-4. */
  keep(scope: string, server: string, list: () => readonly KnownTool[] | undefined, survives?: Survives): Promise<void>;
}

/** First lists that a process remembers. */
const REMEMBERED = 4_096;
/** The texts of this many different lists are remembered; scopes share them. */
const LISTS_REMEMBERED = 256;

export function createFirstLists({ ledger, seals }: FirstListDeps): FirstLists {
  const keys = seals === undefined ? [undefined] : [seals.secret, ...seals.previous].map(keyOf);
  const known = new Map<string, Digest>();
  const lists = new Map<Digest, ReadonlyMap<string, KnownTool>>();

  async function listOf(id: Digest): Promise<Found> {
    const before = lists.get(id);
    if (before !== undefined) return { kind: "kept", tools: before };
    const parsed = FirstList.safeParse(await ledger.snapshot(id));
    if (!parsed.success || parsed.data.id !== id || idOf(parsed.data) !== id) return { kind: "edited" }; // first-list-2
    const tools = new Map(parsed.data.tools.map((tool) => [tool.name, tool]));
    remember(lists, id, tools, LISTS_REMEMBERED);
    return { kind: "kept", tools };
  }

  async function find(scope: string, server: string): Promise<Found> {
    const name = JSON.stringify([scope, server]);
    const before = known.get(name);
    if (before !== undefined) return listOf(before); // first-list-3
    for (const key of keys) {
      const stored = await ledger.snapshot(nameOf(scope, server, key));
      if (stored === undefined) continue;
      const parsed = FirstListOf.safeParse(stored);
      const holds = parsed.success && isSealed(parsed.data, key);
      if (!holds || parsed.data.scope !== scope || parsed.data.server !== server) return { kind: "edited" }; // first-list-2
      remember(known, name, parsed.data.list, REMEMBERED);
      return listOf(parsed.data.list);
    }
    return { kind: "none" };
  }

  return {
    of: find,
    async keep(scope, server, list, survives = "power-loss") {
      if (known.has(JSON.stringify([scope, server]))) return; // the usual case asks nobody
      if ((await find(scope, server)).kind !== "none") return; // first-list-1
      const tools = list();
      if (tools === undefined) return;
      const content = { server, tools: [...tools] };
      const id = idOf(content);
      await ledger.putSnapshot({ id, ...content }, survives);
      const [key] = keys;
      await ledger.putSnapshot(sealed({ id: nameOf(scope, server, key), scope, server, list: id }, key), survives);
    },
  };
}

function idOf({ server, tools }: Pick<FirstList, "server" | "tools">): Digest {
  // Tools by their digests, each computed alone: nested in one value they would reach the depth bound sooner.
  return digest(["first list", server, tools.map((tool) => digest(tool))]);
}

/** Under which id it is kept which list is the first one. */
function nameOf(scope: string, server: string, key: Buffer | undefined): Digest {
  const text = JSON.stringify(["first list of", scope, server]);
  return key === undefined ? sha256(text) : mac(key, text).toString("hex");
}

function keyOf(secret: string): Buffer {
  return mac(secret, "toolgate first lists");
}

function sealed(first: Omit<FirstListOf, "seal">, key: Buffer | undefined): FirstListOf {
  return key === undefined ? first : { ...first, seal: sealOf(first, key).toString("hex") };
}

function isSealed({ seal, ...first }: FirstListOf, key: Buffer | undefined): boolean {
  if (key === undefined) return true;
  const right = sealOf(first, key);
  const given = Buffer.from(seal ?? "", "hex");
  return given.length === right.length && timingSafeEqual(given, right);
}

function sealOf({ id, scope, server, list }: Omit<FirstListOf, "seal">, key: Buffer): Buffer {
  return mac(key, JSON.stringify(["seal", id, scope, server, list]));
}

function mac(key: string | Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}

function remember<K, T>(kept: Map<K, T>, key: K, value: T, most: number): void {
  kept.set(key, value);
  if (kept.size > most) kept.delete(kept.keys().next().value as K);
}
