// Catalog: the servers' last complete lists, kept for as long as they are good, and the snapshot assembled from them.
//
//   K1. A listing is replaced only by a later complete one; a failed discovery leaves it, marked stale (G2).
//   K2. A server that may list something else (new connection, list_changed, drift seen) is listed again before the
//       next model request.
//   K3. A snapshot is in the store before anything names it.

import {
  type AssembleResult,
  assemble,
  type LocalTool,
  listServer,
  loadSnapshot,
  type ServerListing,
  toolDigest,
} from "../catalog/index.js";
import type { Config, Digest, ToolEntry, ToolSnapshot } from "../contracts/index.js";
import type { Ledger } from "../execution/ledger.js";
import type { Servers } from "../execution/server.js";
import { builtInTools } from "./builtins.js";

export interface CatalogDeps {
  readonly config: Config;
  readonly servers: Servers;
  readonly ledger: Ledger;
  /** The host's own tools. */
  readonly locals: readonly LocalTool[];
  /** Names of parameters the host injects into a tool. */
  readonly injected: (server: string, tool: string) => readonly string[];
}

/** Milliseconds one page of a listing may take. */
const LIST_DEADLINE_MS = 30_000;

interface Held {
  readonly listing: ServerListing;
  /** The server's generation when it was listed. */
  readonly generation: number;
}

export interface Catalog {
  /** Lists what is due and assembles. `previous`: the thread's snapshot, for servers that cannot be listed now. */
  assemble(names: readonly string[], previous: ToolSnapshot | undefined): Promise<AssembleResult>;
  /** Whether one of these servers may list something else than what was assembled. */
  due(names: readonly string[]): boolean;
  /** Lists one server now. */
  list(name: string): Promise<ServerListing>;
  /** The digest of each of the server's tools as it lists them now, or why it could not be listed. */
  verify(name: string): Promise<{ ok: true; digests: ReadonlyMap<string, Digest> } | { ok: false; problem: string }>;
  /** The snapshot with this id, from memory or the store; undefined when there is none or its content has another id. */
  snapshot(id: Digest): Promise<ToolSnapshot | undefined>;
  publish(snapshot: ToolSnapshot): Promise<void>;
  /** The snapshot published last, for whichever thread. */
  latest(): ToolSnapshot | undefined;
}

export function createCatalog(deps: CatalogDeps): Catalog {
  const held = new Map<string, Held>();
  const known = new Map<Digest, ToolSnapshot>();
  let latest: ToolSnapshot | undefined;
  const { limits, onInvalid } = deps.config.catalog;

  async function list(name: string): Promise<ServerListing> {
    const connected = await deps.servers.connect(name);
    if (!connected.ok) return failed(name, connected.problem);
    const { connection } = connected;
    const generation = deps.servers.generation(name); // before the listing: a change during it makes it due again
    const listed = await listServer(
      (cursor) => connection.listPage(cursor, LIST_DEADLINE_MS, limits.pageBytes),
      limits,
    );
    if (!listed.ok) return failed(name, listed.problem);
    const listing: ServerListing = { name, status: "connected", protocol: connection.protocol, tools: listed.tools };
    held.set(name, { listing, generation });
    return listing;
  }

  /** K1 */
  function failed(name: string, problem: string): ServerListing {
    const last = held.get(name)?.listing;
    return last ? { ...last, status: "stale", problem } : { name, status: "failed", tools: [], problem };
  }

  function isDue(name: string): boolean {
    const last = held.get(name);
    const connection = deps.servers.connection(name);
    return last === undefined || connection === undefined || last.generation !== deps.servers.generation(name); // K2
  }

  return {
    list,
    due: (names) => names.some(isDue),

    async assemble(names, previous) {
      const listings = await Promise.all(
        names.map((name) => (isDue(name) ? list(name) : Promise.resolve((held.get(name) as Held).listing))),
      );
      const carried = listings.map((listing) => carryOver(listing, previous));
      return assemble(carried, [...builtInTools(deps.config), ...deps.locals], {
        limits,
        onInvalid,
        injected: deps.injected,
      });
    },

    async verify(name) {
      const listing = await list(name);
      if (listing.status !== "connected") return { ok: false, problem: listing.problem ?? "it could not be listed" };
      const digests = new Map<string, Digest>();
      for (const raw of listing.tools) {
        const tool = (raw as { name?: unknown } | null)?.name;
        if (typeof tool === "string") digests.set(tool, toolDigest(raw));
      }
      return { ok: true, digests };
    },

    async snapshot(id) {
      const cached = known.get(id);
      if (cached) return cached;
      const loaded = loadSnapshot(await deps.ledger.snapshot(id));
      if (loaded && loaded.id === id) remember(known, loaded);
      return loaded?.id === id ? loaded : undefined;
    },

    async publish(snapshot) {
      if (!known.has(snapshot.id)) await deps.ledger.putSnapshot(snapshot); // K3
      remember(known, snapshot);
      latest = snapshot;
    },

    latest: () => latest,
  };
}

/** A server that never listed in this process, but did earlier in this thread, keeps what that snapshot had. (K1) */
function carryOver(listing: ServerListing, previous: ToolSnapshot | undefined): ServerListing {
  if (listing.status !== "failed" || previous === undefined) return listing;
  const entries: ToolEntry[] = previous.tools.filter((entry) => entry.server === listing.name);
  return entries.length > 0 ? { ...listing, status: "stale", entries } : listing;
}

const SNAPSHOTS_KEPT = 32;

function remember(known: Map<Digest, ToolSnapshot>, snapshot: ToolSnapshot): void {
  known.delete(snapshot.id);
  known.set(snapshot.id, snapshot);
  if (known.size > SNAPSHOTS_KEPT) known.delete(known.keys().next().value as Digest);
}
