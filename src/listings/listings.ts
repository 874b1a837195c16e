// Listings: each server's last complete list, with what was made of each of its tools.
//
//   listing-1. A listing is replaced only by one that was begun later and is complete. A failed discovery leaves the listing
//              and marks it stale (G2).
//   listing-3. A list that comes again, to the byte, stays the same listing. So what is asked before each write costs little,
//              and nothing is assembled anew.
//   listing-7. Nobody's turn waits for a server that failed before. When its pause is over it is tried beside the turn; until
//              it lists again, its last complete list stands, marked stale. Only a required server that never listed is
//              waited for, because no turn can go on without it.
//   listing-8. A connection that worked and is lost while it is listed is no failure of the server: an HTTP session ends so.
//              It is opened again without a pause.

import type { AssessedTool, ServerListing } from "../catalog/index.js";
import { type Digest, sha256, type WithheldTool } from "../contracts/index.js";
import type { ConnectResult, Servers } from "../contracts/mcp-port.js";
import { createPauses, type Pauses } from "./pauses.js";
import { createSharing } from "./sharing.js";
import { createToolReader, type ReadTool, type ToolReaderDeps } from "./tool-reader.js";
import { createVerify, type Verify } from "./verify.js";
import { walk } from "./walk.js";

/** Milliseconds that a listing may take, where the servers say no other time. */
const LIST_WITHIN_MS = 30_000;

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

export interface Listings extends Verify {
  /** Lists one server now, although it may have failed a moment ago. Never rejects. */
  list(name: string): Promise<ServerListing>;
  /** The server's last listing while it is not due; else a new one, or what stands while it fails. Never rejects. (listing-7) */
  current(name: string, required?: boolean): Promise<ServerListing>;
  /** Connects a server for a call. One that failed a moment ago is not tried: the answer says so. Never rejects. */
  connect(name: string): Promise<ConnectResult>;
  /** Whether the server must be listed again before its tools are relied on: it may list something else since. */
  isDue(name: string): boolean;
  /** Whether listing it could bring something now: it is due, and it neither failed a moment ago nor is being tried again. */
  isWorthListing(name: string): boolean;
  /** What it last listed; undefined when it never did in this process. */
  last(name: string): Held | undefined;
}

/** One try to list a server. */
interface Try {
  /** Is told the server's generation before the list is asked for. */
  readonly onGeneration?: (generation: number) => void;
  /** The try is for a call: a server that failed a moment ago is not connected. */
  readonly forCall?: boolean;
  /** When it must have ended, on the steady clock. @default LIST_WITHIN_MS from now */
  readonly until?: number;
}

export function createListings(deps: ListingsDeps): Listings {
  const { servers, steady } = deps;
  const kept = new KeptListings(deps);
  const shared = createSharing(servers, (name, onGeneration) => kept.list(name, { onGeneration }));
  const verifying = createVerify({
    list: (name, until) => kept.list(name, { until, forCall: true }),
    isDue: (name) => kept.isDue(name),
    digests: (name) => kept.last(name)?.digests,
    isConnected: (name) => servers.connection(name) !== undefined,
    steady,
    withinMs: kept.withinMs,
  });
  return {
    ...verifying,
    list: (name) => kept.list(name),
    connect: (name) => kept.connect(name),
    isDue: (name) => kept.isDue(name),
    isWorthListing(name) {
      if (!kept.isDue(name)) return false;
      return kept.problem(name) === undefined || (kept.waitMs(name) === 0 && !shared.isRunning(name));
    },
    last: (name) => kept.last(name),
    async current(name, required = false) {
      if (!kept.isDue(name)) return kept.last(name)?.listing ?? shared.list(name);
      const problem = kept.problem(name);
      if (problem === undefined) return shared.list(name);
      const listed = kept.waitMs(name) === 0 ? shared.list(name) : undefined; // listing-7
      return (required && kept.last(name) === undefined ? listed : undefined) ?? kept.standing(name, problem);
    },
  };
}

/** The last complete list of each server, and what stands of one that cannot be listed now. */
class KeptListings {
  readonly withinMs: number;
  readonly #deps: ListingsDeps;
  readonly #read: ReturnType<typeof createToolReader>;
  readonly #pauses: Pauses;
  readonly #held = new Map<string, Held>();
  readonly #down = new Map<string, ServerListing>();
  #begun = 0;

  constructor(deps: ListingsDeps) {
    this.#deps = deps;
    this.#read = createToolReader(deps);
    this.#pauses = createPauses(deps.steady);
    this.withinMs = deps.servers.connectTimeoutMs ?? LIST_WITHIN_MS;
  }

  last(name: string): Held | undefined {
    return this.#held.get(name);
  }

  /** Why it failed last; undefined when it did not fail since its last complete list. */
  problem(name: string): string | undefined {
    return this.#pauses.problem(name);
  }

  /** Milliseconds until a server that failed may be tried again. */
  waitMs(name: string): number {
    return this.#pauses.waitMs(name);
  }

  isDue(name: string): boolean {
    const { servers } = this.#deps;
    const last = this.#held.get(name);
    return last === undefined || servers.connection(name) === undefined || last.generation !== servers.generation(name);
  }

  /** What stands of a server that could not be listed; the same object while nothing changes. (listing-1) */
  standing(name: string, problem: string): ServerListing {
    const last = this.#held.get(name)?.listing;
    const before = this.#down.get(name);
    if (before !== undefined && before.problem === problem && before.assessed === last?.assessed) return before;
    const now: ServerListing = last
      ? { ...last, status: "stale", problem }
      : { name, status: "failed", tools: [], problem };
    this.#down.set(name, now);
    return now;
  }

  /** Connects a server for a call. One that failed a moment ago is left alone. */
  async connect(name: string): Promise<ConnectResult> {
    const { servers, steady } = this.#deps;
    const waitMs = this.waitMs(name);
    if (waitMs > 0 && servers.connection(name) === undefined) {
      const again = `it is tried again in ${Math.ceil(waitMs / 1_000)} s`;
      return { ok: false, problem: `${this.problem(name) ?? "it failed"}; ${again}` };
    }
    const since = steady();
    const connected = await servers.connect(name);
    if (!connected.ok) this.#pauses.failed(name, connected.problem, since);
    return connected;
  }

  async list(name: string, { onGeneration, forCall = false, until }: Try = {}): Promise<ServerListing> {
    const { servers, steady } = this.#deps;
    this.#begun += 1;
    const begun = this.#begun;
    const since = steady();
    const before = servers.connection(name);
    const connected = await (forCall ? this.connect(name) : servers.connect(name));
    if (!connected.ok && forCall) return { name, status: "failed", tools: [], problem: connected.problem };
    if (!connected.ok) return this.#failed(name, connected.problem, since);
    const { connection } = connected;
    const time = { until: until ?? since + this.withinMs, withinMs: this.withinMs }; // listing-6
    const { listed, generation } = await walk(this.#deps, connection, time, () => {
      const now = servers.generation(name); // before the listing: a change during it makes it due again
      onGeneration?.(now);
      return now;
    });
    if (!listed.ok && connection === before && connection.closed) return this.standing(name, listed.problem); // listing-8
    if (!listed.ok) return this.#failed(name, listed.problem, since);
    const { protocol } = connection;
    return this.#keep(name, protocol, await this.#read({ name, protocol }, listed.tools), { begun, generation });
  }

  #failed(name: string, problem: string, since: number): ServerListing {
    this.#pauses.failed(name, problem, since);
    return this.standing(name, problem);
  }

  #keep(
    name: string,
    protocol: string,
    tools: readonly ReadTool[],
    at: Pick<Held, "begun" | "generation">,
  ): ServerListing {
    this.#pauses.listed(name);
    const last = this.#held.get(name);
    if (last !== undefined && last.begun > at.begun) return last.listing; // listing-1
    const raw = rawOf(tools);
    const same = last !== undefined && raw !== undefined && last.raw === raw && last.listing.protocol === protocol;
    const now = same ? last : { raw, ...listingOf(name, protocol, tools) }; // listing-3
    this.#held.set(name, { ...now, ...at });
    return now.listing;
  }
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
