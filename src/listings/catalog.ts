// Catalog: keeps the snapshot that is assembled from the servers' last complete lists, and the snapshots of other threads.
//
// A listing that differs from what a thread's snapshot was made of leads to a new snapshot before the next model request. A
// snapshot is in the store before anything names it. While the listings are the same, nothing is assembled again.

import {
  type AssembleResult,
  assemble,
  knownTools,
  type LocalTool,
  loadSnapshot,
  type ServerListing,
} from "../catalog/index.js";
import {
  type Config,
  type Digest,
  type KnownTool,
  oneLine,
  type Servers,
  type ToolEntry,
  type ToolSnapshot,
} from "../contracts/index.js";
import type { Ledger } from "../ledger/port.js";
import { isHiding } from "../policy/index.js";
import { createListings, type Listings } from "./listings.js";

export interface CatalogDeps {
  readonly config: Config;
  readonly servers: Servers;
  readonly ledger: Pick<Ledger, "putSnapshot" | "snapshot">;
  /** The tools that no server lists: the built-ins and the host's own. */
  readonly locals: readonly LocalTool[];
  /** Names of parameters the host injects into a tool. */
  readonly injected: (server: string, tool: string) => readonly string[];
  /** Why the host does not offer a tool of a server; undefined for one that it offers. */
  readonly hidden: (server: string, tool: string) => string | undefined;
  /** Why the host's own rules keep a tool back; undefined when they do not. */
  readonly keptBack?: (entry: ToolEntry) => string | undefined;
  /** Removes secrets from what a definition says. */
  readonly redact: (text: string) => string;
  /** The same for its names and rules, which mean something else in another case. @default `redact` */
  readonly redactNames?: (text: string) => string;
  /**
   * Resolves after the event loop has run, as a promise of `setImmediate` does. It is awaited between slices of a large
   * catalog. **Contract:** does not reject.
   */
  readonly pause: () => Promise<void>;
  /** Milliseconds that never go back, whatever becomes of the clock. */
  readonly steady: () => number;
}

export interface Catalog {
  /** Lists what is due and assembles. `previous`: the thread's snapshot, for servers that cannot be listed now. */
  assemble(names: readonly string[], previous: ToolSnapshot | undefined): Promise<AssembleResult>;
  /** Whether one of these servers must be listed again before its tools are relied on. */
  due(names: readonly string[]): boolean;
  /**
   * Whether a snapshot of these servers would now be another than this one, or nobody knows yet. A server whose list cannot be
   * known now has not changed it.
   */
  moved(snapshotId: Digest | undefined, names: readonly string[]): boolean;
  /** Lists one server now. */
  list(name: string): Promise<ServerListing>;
  /** The digest of each of the server's tools as it lists them now, or why it could not be listed. */
  verify: Listings["verify"];
  /** Begins to list servers for the claim of a batch that is judged now; `verify` with the same place uses it. */
  verifyAhead: Listings["verifyAhead"];
  /** Connects a server for a call, unless it failed a moment ago. */
  connect: Listings["connect"];
  /** The digest of each of the server's tools as it last listed them; undefined when it never did in this process. */
  digests(name: string): ReadonlyMap<string, Digest> | undefined;
  /** The server's tools as it last listed them, as they are kept; undefined when it never did in this process. */
  known(name: string): readonly KnownTool[] | undefined;
  /** The snapshot with this id, from memory or the store; undefined when there is none or its content has another id. */
  snapshot(id: Digest): Promise<ToolSnapshot | undefined>;
  publish(snapshot: ToolSnapshot): Promise<void>;
  /** The snapshot published last, for whichever thread. */
  latest(): ToolSnapshot | undefined;
}

export function createCatalog(deps: CatalogDeps): Catalog {
  const { servers, injected, hidden, redact, redactNames, pause, steady } = deps;
  const { limits } = deps.config.catalog;
  const listings = createListings({ limits, servers, injected, hidden, redact, redactNames, pause, steady });
  const assembler = createAssembler(deps, listings);
  const known = new Map<Digest, ToolSnapshot>();
  const storing = new Map<Digest, Promise<void>>();
  let latest: ToolSnapshot | undefined;

  /** Threads that begin at the same time store their snapshot once. */
  function store(snapshot: ToolSnapshot): Promise<void> {
    const before = storing.get(snapshot.id);
    if (before !== undefined) return before;
    const stored = (async () => {
      await pause(); // to write out a large snapshot is a slice of its own
      await deps.ledger.putSnapshot(snapshot);
      await pause();
    })().finally(() => storing.delete(snapshot.id));
    storing.set(snapshot.id, stored);
    return stored;
  }

  return {
    ...assembler,
    list: (name) => listings.list(name),
    due: (names) => names.some(listings.isDue),

    verify: listings.verify,
    verifyAhead: listings.verifyAhead,
    connect: listings.connect,
    digests: (name) => listings.last(name)?.digests,
    known: (name) => {
      const last = listings.last(name);
      return last && knownTools(last.listing.assessed ?? [], last.digests);
    },

    async snapshot(id) {
      const cached = known.get(id);
      if (cached) return cached;
      const loaded = loadSnapshot(await deps.ledger.snapshot(id));
      if (loaded?.id !== id) return undefined;
      remember(known, id, loaded);
      return loaded;
    },

    async publish(snapshot) {
      if (!known.has(snapshot.id)) await store(snapshot);
      remember(known, snapshot.id, snapshot);
      latest = snapshot;
    },

    latest: () => latest,
  };
}

function createAssembler(deps: CatalogDeps, listings: Listings): Pick<Catalog, "assemble" | "moved"> {
  /** What each snapshot was made of: the content of every server's list. */
  const madeOf = new Map<Digest, ReadonlyMap<string, Digest | undefined>>();
  let last: { readonly listings: readonly ServerListing[]; readonly result: AssembleResult } | undefined;
  const { limits, onInvalid } = deps.config.catalog;
  const isRequired = (name: string) => deps.config.mcpServers[name]?.required === true;
  const contentOf = (name: string) => listings.last(name)?.content;

  return {
    moved(snapshotId, names) {
      const made = snapshotId === undefined ? undefined : madeOf.get(snapshotId);
      return (
        made === undefined || names.some((name) => listings.isWorthListing(name) || contentOf(name) !== made.get(name))
      );
    },

    async assemble(names, previous) {
      const listed = await Promise.all(names.map((name) => listings.current(name, isRequired(name))));
      const carried = listed.map((listing) => carryOver(listing, previous, deps.hidden));
      const known = sameItems(carried, last?.listings) ? last?.result : undefined;
      const { injected, keptBack } = deps;
      const options = { limits, onInvalid, injected, ...(keptBack && { keptBack }) };
      const result = known ?? assemble(carried, deps.locals, options);
      last = { listings: carried, result };
      if (result.ok) remember(madeOf, result.snapshot.id, new Map(names.map((name) => [name, contentOf(name)])));
      return result;
    },
  };
}

/** A server that never listed in this process, but did earlier in this thread, keeps what that snapshot had. (listing-1) */
function carryOver(
  listing: ServerListing,
  previous: ToolSnapshot | undefined,
  hidden: CatalogDeps["hidden"],
): ServerListing {
  if (listing.status !== "failed" || previous === undefined) return listing;
  const own = previous.tools.filter((entry) => entry.server === listing.name);
  const entries = own.filter((entry) => hidden(listing.name, entry.tool) === undefined); // it may have been offered then
  if (entries.length === 0) return listing;
  const left = previous.withheld.filter((row) => row.server === listing.name);
  const now = own.flatMap(({ server, tool }) => {
    const reason = hidden(server, tool);
    return reason === undefined ? [] : [{ server, tool: oneLine(tool, 128), reason }];
  });
  const withheld = left.filter((row) => !isHiding(row));
  return { ...listing, status: "stale", entries, withheld, hidden: [...left.filter(isHiding), ...now] };
}

/** The very same objects in the same order: a listing that failed or is stale is a new one each time. */
function sameItems<T>(some: readonly T[], others: readonly T[] | undefined): boolean {
  return some.length === others?.length && some.every((item, index) => item === others[index]);
}

const SNAPSHOTS_KEPT = 32;

function remember<T>(kept: Map<Digest, T>, id: Digest, value: T): void {
  kept.delete(id);
  kept.set(id, value);
  if (kept.size > SNAPSHOTS_KEPT) kept.delete(kept.keys().next().value as Digest);
}
