// Catalog: the servers' last complete lists, kept for as long as they are good, and the snapshot assembled from them.
//
//   C1. A listing is replaced only by a later complete one; a failed discovery leaves it, marked stale (G2).
//   C2. A server that may list something else (new connection, list_changed) is listed again before the next model
//       request, and a listing that differs from what the snapshot was made of (drift) leads to a new snapshot.
//   C3. A snapshot is in the store before anything names it.
//   C4. The host's secrets are taken out of a definition before anything is made of it; digests cover what is left, so a
//       secret that is changed is no drift.
//       A tool whose names or rules hold one cannot be reworded and is withheld.
//   C5. What is asked before each write costs what is new: a list that came again, to the byte, keeps what was made of it,
//       and the same listings keep their snapshot.

import {
  type AssembleResult,
  assemble,
  type LocalTool,
  listServer,
  loadSnapshot,
  type ServerListing,
  toolDigest,
} from "../catalog/index.js";
import { type Config, type Digest, oneLine, sha256, type ToolSnapshot, type WithheldTool } from "../contracts/index.js";
import type { Servers } from "../contracts/servers.js";
import { builtInTools } from "../execution/built-ins.js";
import type { Ledger } from "../ledger/port.js";
import { holdsSecret, rewordDefinition, toBody } from "../observation/index.js";

export interface CatalogDeps {
  readonly config: Config;
  readonly servers: Servers;
  readonly ledger: Ledger;
  /** The host's own tools. */
  readonly locals: readonly LocalTool[];
  /** Names of parameters the host injects into a tool. */
  readonly injected: (server: string, tool: string) => readonly string[];
  /** Removes secrets from text. */
  readonly redact: (text: string) => string;
}

/** Milliseconds one page of a listing may take. */
const LIST_DEADLINE_MS = 30_000;

interface Held {
  readonly listing: ServerListing;
  /** The server's generation when it was listed. */
  readonly generation: number;
  /** Digest of the list as it came; undefined where it is nested too deeply to be written out. */
  readonly raw: Digest | undefined;
  /** Digest of the list without secrets. */
  readonly content: Digest;
  /** By the server's own tool names. */
  readonly digests: ReadonlyMap<string, Digest>;
}

export interface Catalog {
  /** Lists what is due and assembles. `previous`: the thread's snapshot, for servers that cannot be listed now. */
  assemble(names: readonly string[], previous: ToolSnapshot | undefined): Promise<AssembleResult>;
  /** Whether one of these servers must be listed again before its tools are relied on. */
  due(names: readonly string[]): boolean;
  /** Whether a snapshot of these servers would now be another than this one, or nobody knows. */
  moved(snapshotId: Digest | undefined, names: readonly string[]): boolean;
  /** Lists one server now. */
  list(name: string): Promise<ServerListing>;
  /** The digest of each of the server's tools as it lists them now, or why it could not be listed. */
  verify(name: string): Promise<{ ok: true; digests: ReadonlyMap<string, Digest> } | { ok: false; problem: string }>;
  /** The digest of each of the server's tools as it last listed them; undefined when it never did in this process. */
  digests(name: string): ReadonlyMap<string, Digest> | undefined;
  /** The snapshot with this id, from memory or the store; undefined when there is none or its content has another id. */
  snapshot(id: Digest): Promise<ToolSnapshot | undefined>;
  publish(snapshot: ToolSnapshot): Promise<void>;
  /** The snapshot published last, for whichever thread. */
  latest(): ToolSnapshot | undefined;
}

export function createCatalog(deps: CatalogDeps): Catalog {
  const held = new Map<string, Held>();
  const known = new Map<Digest, ToolSnapshot>();
  /** What each snapshot was made of: the content of every server's list. */
  const madeOf = new Map<Digest, ReadonlyMap<string, Digest | undefined>>();
  let latest: ToolSnapshot | undefined;
  let assembledFrom: { readonly listings: readonly ServerListing[]; readonly result: AssembleResult } | undefined;
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
    const raw = rawDigest(listed.tools);
    const last = held.get(name);
    if (last && raw !== undefined && last.raw === raw && last.listing.protocol === connection.protocol) {
      held.set(name, { ...last, generation }); // C5
      return last.listing;
    }
    const reworded = listed.tools.map((tool) => rewordDefinition(tool, deps.redact)); // C4
    const tools = reworded.filter((tool) => !holdsSecret(tool, deps.redact));
    const withheld = reworded
      .filter((tool) => !tools.includes(tool))
      .map((tool) => withheldFor(name, tool, deps.redact));
    const listing: ServerListing = { name, status: "connected", protocol: connection.protocol, tools, withheld };
    held.set(name, {
      listing,
      generation,
      raw,
      content: sha256(toBody(reworded)), // total: a server may list what is nested too deeply to be written out
      digests: digestsOf(tools),
    });
    return listing;
  }

  /** C1 */
  function failed(name: string, problem: string): ServerListing {
    const last = held.get(name)?.listing;
    return last ? { ...last, status: "stale", problem } : { name, status: "failed", tools: [], problem };
  }

  function isDue(name: string): boolean {
    const last = held.get(name);
    const connection = deps.servers.connection(name);
    return last === undefined || connection === undefined || last.generation !== deps.servers.generation(name); // C2
  }

  return {
    list,
    due: (names) => names.some(isDue),
    moved(snapshotId, names) {
      const made = snapshotId === undefined ? undefined : madeOf.get(snapshotId);
      return made === undefined || names.some((name) => isDue(name) || held.get(name)?.content !== made.get(name));
    },

    async assemble(names, previous) {
      const listings = await Promise.all(
        names.map((name) => (isDue(name) ? list(name) : Promise.resolve((held.get(name) as Held).listing))),
      );
      const carried = listings.map((listing) => carryOver(listing, previous));
      const known = sameItems(carried, assembledFrom?.listings) ? assembledFrom?.result : undefined; // C5
      const assembled =
        known ??
        assemble(carried, [...builtInTools(deps.config), ...deps.locals], {
          limits,
          onInvalid,
          injected: deps.injected,
        });
      assembledFrom = { listings: carried, result: assembled };
      if (assembled.ok) {
        remember(madeOf, assembled.snapshot.id, new Map(names.map((name) => [name, held.get(name)?.content])));
      }
      return assembled;
    },

    async verify(name) {
      const listing = await list(name);
      if (listing.status !== "connected") return { ok: false, problem: listing.problem ?? "it could not be listed" };
      return { ok: true, digests: (held.get(name) as Held).digests };
    },

    digests: (name) => held.get(name)?.digests,

    async snapshot(id) {
      const cached = known.get(id);
      if (cached) return cached;
      const loaded = loadSnapshot(await deps.ledger.snapshot(id));
      if (loaded && loaded.id === id) remember(known, id, loaded);
      return loaded?.id === id ? loaded : undefined;
    },

    async publish(snapshot) {
      if (!known.has(snapshot.id)) await deps.ledger.putSnapshot(snapshot); // C3
      remember(known, snapshot.id, snapshot);
      latest = snapshot;
    },

    latest: () => latest,
  };
}

/** A server that never listed in this process, but did earlier in this thread, keeps what that snapshot had. (C1) */
function carryOver(listing: ServerListing, previous: ToolSnapshot | undefined): ServerListing {
  if (listing.status !== "failed" || previous === undefined) return listing;
  const entries = previous.tools.filter((entry) => entry.server === listing.name);
  const withheld = previous.withheld.filter((row) => row.server === listing.name);
  return entries.length > 0 ? { ...listing, status: "stale", entries, withheld } : listing;
}

function withheldFor(server: string, tool: unknown, redact: (text: string) => string): WithheldTool {
  const name = (tool as { name?: unknown } | null)?.name;
  const shown = typeof name === "string" ? oneLine(redact(name), 128) : "";
  return { server, tool: shown, reason: "its definition holds a value that the host keeps secret" };
}

function rawDigest(tools: readonly unknown[]): Digest | undefined {
  try {
    return sha256(JSON.stringify(tools));
  } catch {
    return undefined;
  }
}

/** The very same objects in the same order: a listing that failed or is stale is a new one each time. */
function sameItems<T>(some: readonly T[], others: readonly T[] | undefined): boolean {
  return some.length === others?.length && some.every((item, index) => item === others[index]);
}

function digestsOf(tools: readonly unknown[]): ReadonlyMap<string, Digest> {
  return new Map(
    tools.flatMap((raw) => {
      const name = (raw as { name?: unknown } | null)?.name;
      return typeof name === "string" ? [[name, toolDigest(raw)] as const] : [];
    }),
  );
}

const SNAPSHOTS_KEPT = 32;

function remember<T>(kept: Map<Digest, T>, id: Digest, value: T): void {
  kept.delete(id);
  kept.set(id, value);
  if (kept.size > SNAPSHOTS_KEPT) kept.delete(kept.keys().next().value as Digest);
}
