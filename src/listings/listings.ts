// Listings: each server's last complete list, with what was made of each of its tools.
//
//   listing-1. A listing is replaced only by one that was begun later and is complete. A failed discovery leaves the listing
//              and marks it stale (G2).
//   listing-2. Threads that need the list of a server at the same time share one request for it, unless the server may list
//              something else since that request.
//   listing-3. A list that comes again, to the byte, stays the same listing. So what is asked before each write costs little,
//              and nothing is assembled anew.
//   listing-4. Pages between which the server said that its list has changed are not put together: they are walked again,
//              until the server says nothing or lists the same twice.
//   listing-5. What a claim compares is the newest list that is known, and never one of before a change that the server said.

import { isDeepStrictEqual } from "node:util";
import type { AssessedTool, ServerListing } from "../catalog/index.js";
import { type Digest, sha256, type WithheldTool } from "../contracts/index.js";
import type { ServerConnection, Servers } from "../contracts/mcp-port.js";
import { type ListedFor, listsAhead } from "./ahead.js";
import { listServer } from "./pages.js";
import { createToolReader, type ReadTool, type ToolReaderDeps } from "./tool-reader.js";

/** Milliseconds one page of a listing may take. */
const LIST_DEADLINE_MS = 30_000;
/** How often the pages of a server are walked where it changes them meanwhile. */
const WALKS = 3;
const CHANGES = `its list changed ${WALKS} times while it was read`;

export interface ListingsDeps extends ToolReaderDeps {
  readonly servers: Servers;
  /** Milliseconds that never go back, whatever becomes of the clock. */
  readonly steady: () => number;
}

/** A server's last complete list. */
export interface Held {
  readonly listing: ServerListing;
  /** Rises with each listing that was begun, of whatever server. */
  readonly begun: number;
  /** The server's generation when it was listed. */
  readonly generation: number;
  /** Digest of the list as it came; undefined where it is nested too deeply to be written out. */
  readonly raw: Digest | undefined;
  /** Digest of the list without secrets. */
  readonly content: Digest;
  /** By the server's own tool names. */
  readonly digests: ReadonlyMap<string, Digest>;
}

export interface Listings {
  /** Lists one server now. Never rejects. */
  list(name: string): Promise<ServerListing>;
  /** The server's last listing while it is not due, else a new one. Never rejects. */
  current(name: string): Promise<ServerListing>;
  /** Whether the server must be listed again before its tools are relied on: it may list something else since. */
  isDue(name: string): boolean;
  /** What it last listed; undefined when it never did in this process. */
  last(name: string): Held | undefined;
  /** Begins to list servers for the claim of a batch that is judged now. */
  verifyAhead(names: readonly string[], place: ListedFor): void;
  /** The digest of each of the server's tools as it lists them now, or why it could not be listed. */
  verify(name: string, place?: ListedFor): Promise<Verified>;
}

type Verified =
  | { readonly ok: true; readonly digests: ReadonlyMap<string, Digest> }
  | { readonly ok: false; readonly problem: string };

export function createListings(deps: ListingsDeps): Listings {
  const held = new Map<string, Held>();
  const read = createToolReader(deps);
  let begun = 0;

  /** listing-1 */
  function failed(name: string, problem: string): ServerListing {
    const last = held.get(name)?.listing;
    return last ? { ...last, status: "stale", problem } : { name, status: "failed", tools: [], problem };
  }

  function isDue(name: string): boolean {
    const last = held.get(name);
    const connection = deps.servers.connection(name);
    return last === undefined || connection === undefined || last.generation !== deps.servers.generation(name);
  }

  /** `onGeneration` is told the server's generation before the list is asked for. */
  async function list(name: string, onGeneration: (generation: number) => void = () => {}): Promise<ServerListing> {
    begun += 1;
    const mine = begun;
    const connected = await deps.servers.connect(name);
    if (!connected.ok) return failed(name, connected.problem);
    const { connection } = connected;
    const { listed, generation: walkedAt } = await walk(deps, connection, () => {
      const generation = deps.servers.generation(name); // before the listing: a change during it makes it due again
      onGeneration(generation);
      return generation;
    });
    if (!listed.ok) return failed(name, listed.problem);
    const { protocol } = connection;
    const tools = await read({ name, protocol }, listed.tools);
    const last = held.get(name);
    if (last !== undefined && last.begun > mine) return last.listing; // listing-1
    const raw = rawOf(tools);
    const same = last !== undefined && raw !== undefined && last.raw === raw && last.listing.protocol === protocol;
    const now = same ? last : { raw, ...listingOf(name, protocol, tools) }; // listing-3
    held.set(name, { ...now, begun: mine, generation: walkedAt });
    return now.listing;
  }

  const shared = sharing(deps.servers, list);
  const last = (name: string) => held.get(name);
  return {
    list: (name) => list(name),
    isDue,
    last,
    ...verifying({ list: (name) => list(name), isDue, last }, deps.steady),
    current: async (name) => (isDue(name) ? undefined : held.get(name)?.listing) ?? shared(name),
  };
}

/** Walks the pages of a server, anew where it says in between that they have changed. (listing-4) */
async function walk({ servers, limits }: ListingsDeps, connection: ServerConnection, begin: () => number) {
  let before: readonly unknown[] | undefined;
  for (let walks = 1; ; walks++) {
    const generation = begin();
    const listed = await listServer(
      (cursor) => connection.listPage(cursor, LIST_DEADLINE_MS, limits.pageBytes),
      limits,
    );
    const moved = !connection.closed && servers.generation(connection.name) !== generation;
    const settled = listed.ok && (listed.pages === 1 || isDeepStrictEqual(listed.tools, before));
    if (!moved || settled) return { listed, generation };
    before = listed.ok ? listed.tools : undefined;
    if (walks === WALKS) return { listed: { ok: false, problem: CHANGES } as const, generation };
  }
}

/** What a claim compares: the newest list that is known, never one of before a change that the server said. (listing-5) */
function verifying(
  { list, isDue, last }: Pick<Listings, "isDue" | "last" | "list">,
  steady: () => number,
): Pick<Listings, "verify" | "verifyAhead"> {
  const ahead = listsAhead<Verified>(steady);

  async function verify(name: string): Promise<Verified> {
    let before: ServerListing | undefined;
    for (let walks = 1; walks <= WALKS; walks++) {
      const listing = await list(name);
      if (listing.status !== "connected") return { ok: false, problem: listing.problem ?? "it could not be listed" };
      if (!isDue(name) || listing === before) return newest(name); // some servers say so whenever they list
      before = listing;
    }
    return { ok: false, problem: CHANGES };
  }

  /** Another list may have come since a claim's own. */
  function newest(name: string): Verified {
    const digests = last(name)?.digests;
    return digests === undefined ? { ok: false, problem: "it could not be listed" } : { ok: true, digests };
  }

  return {
    verifyAhead: (names, place) => ahead.begin(place, names, verify),
    verify: async (name, place) => {
      const before = place && (await ahead.take(place, name));
      if (before === undefined || (before.ok && isDue(name))) return verify(name);
      return before.ok ? newest(name) : before;
    },
  };
}

/** A listing that is on its way. `generation` is undefined until the server is connected. */
interface Running {
  generation: number | undefined;
  readonly listed: Promise<ServerListing>;
}

/** Lists a server, or joins a listing that is on its way and shows what the server would list if it were asked now. (listing-2) */
function sharing(
  servers: Servers,
  list: (name: string, onGeneration: (generation: number) => void) => Promise<ServerListing>,
): (name: string) => Promise<ServerListing> {
  const running = new Map<string, Running>();

  function isCurrent(name: string, { generation }: Running): boolean {
    if (generation === undefined) return true; // it has not been asked yet
    return servers.connection(name) !== undefined && generation === servers.generation(name);
  }

  return (name) => {
    const other = running.get(name);
    if (other !== undefined && isCurrent(name, other)) return other.listed;
    const listed = list(name, (generation) => {
      mine.generation = generation;
    }).finally(() => {
      if (running.get(name) === mine) running.delete(name);
    });
    const mine: Running = { generation: undefined, listed };
    running.set(name, mine);
    return listed;
  };
}

function listingOf(
  name: string,
  protocol: string,
  tools: readonly ReadTool[],
): Pick<Held, "listing" | "content" | "digests"> {
  const assessed: AssessedTool[] = [];
  const withheld: WithheldTool[] = [];
  const hidden: WithheldTool[] = [];
  const digests = new Map<string, Digest>();
  for (const one of tools) {
    if ("withheld" in one.tool) {
      withheld.push(one.tool.withheld);
      continue;
    }
    if ("hidden" in one.tool) {
      hidden.push(one.tool.hidden);
      continue;
    }
    assessed.push(one.tool.assessed);
    if (one.name !== undefined) digests.set(one.name, one.tool.digest);
  }
  const listing: ServerListing = { name, status: "connected", protocol, tools: [], assessed, withheld, hidden };
  return { listing, content: sha256(tools.map((one) => one.content).join()), digests };
}

/** The digest of a whole list, from those of its tools. */
function rawOf(tools: readonly ReadTool[]): Digest | undefined {
  const sums = tools.map((one) => one.raw);
  return sums.includes(undefined) ? undefined : sha256(sums.join());
}
