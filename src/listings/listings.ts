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
import { createPauses } from "./pauses.js";
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
  const held = new Map<string, Held>();
  const read = createToolReader(deps);
  const pauses = createPauses(steady);
  const down = new Map<string, ServerListing>();
  const withinMs = servers.connectTimeoutMs ?? LIST_WITHIN_MS;
  let begun = 0;

  /** What stands of a server that could not be listed; the same object while nothing changes. (listing-1) */
  function standing(name: string, problem: string): ServerListing {
    const last = held.get(name)?.listing;
    const before = down.get(name);
    if (before !== undefined && before.problem === problem && before.assessed === last?.assessed) return before;
    const now: ServerListing = last
      ? { ...last, status: "stale", problem }
      : { name, status: "failed", tools: [], problem };
    down.set(name, now);
    return now;
  }

  function failed(name: string, problem: string, since: number): ServerListing {
    pauses.failed(name, problem, since);
    return standing(name, problem);
  }

  function isDue(name: string): boolean {
    const last = held.get(name);
    const connection = servers.connection(name);
    return last === undefined || connection === undefined || last.generation !== servers.generation(name);
  }

  async function connect(name: string): Promise<ConnectResult> {
    const waitMs = pauses.waitMs(name);
    if (waitMs > 0 && servers.connection(name) === undefined) {
      const again = `it is tried again in ${Math.ceil(waitMs / 1_000)} s`;
      return { ok: false, problem: `${pauses.problem(name) ?? "it failed"}; ${again}` };
    }
    const since = steady();
    const connected = await servers.connect(name);
    if (!connected.ok) pauses.failed(name, connected.problem, since);
    return connected;
  }

  async function list(name: string, { onGeneration, forCall = false, until }: Try = {}): Promise<ServerListing> {
    begun += 1;
    const mine = begun;
    const since = steady();
    const before = servers.connection(name);
    const connected = await (forCall ? connect(name) : servers.connect(name));
    if (!connected.ok && forCall) return { name, status: "failed", tools: [], problem: connected.problem };
    if (!connected.ok) return failed(name, connected.problem, since);
    const { connection } = connected;
    const time = { until: until ?? since + withinMs, withinMs }; // listing-6
    const { listed, generation: walkedAt } = await walk(deps, connection, time, () => {
      const generation = servers.generation(name); // before the listing: a change during it makes it due again
      onGeneration?.(generation);
      return generation;
    });
    if (!listed.ok && connection === before && connection.closed) return standing(name, listed.problem); // listing-8
    if (!listed.ok) return failed(name, listed.problem, since);
    const { protocol } = connection;
    const tools = await read({ name, protocol }, listed.tools);
    pauses.listed(name);
    const last = held.get(name);
    if (last !== undefined && last.begun > mine) return last.listing; // listing-1
    const raw = rawOf(tools);
    const same = last !== undefined && raw !== undefined && last.raw === raw && last.listing.protocol === protocol;
    const now = same ? last : { raw, ...listingOf(name, protocol, tools) }; // listing-3
    held.set(name, { ...now, begun: mine, generation: walkedAt });
    return now.listing;
  }

  const shared = createSharing(servers, (name, onGeneration) => list(name, { onGeneration }));
  const verifying = createVerify({
    list: (name, until) => list(name, { until, forCall: true }),
    isDue,
    digests: (name) => held.get(name)?.digests,
    isConnected: (name) => servers.connection(name) !== undefined,
    steady,
    withinMs,
  });
  return {
    ...verifying,
    list: (name) => list(name),
    connect,
    isDue,
    isWorthListing: (name) =>
      isDue(name) && (pauses.problem(name) === undefined || (pauses.waitMs(name) === 0 && !shared.isRunning(name))),
    last: (name) => held.get(name),
    current: async (name, required = false) => {
      if (!isDue(name)) return held.get(name)?.listing ?? shared.list(name);
      const problem = pauses.problem(name);
      if (problem === undefined) return shared.list(name);
      const listed = pauses.waitMs(name) === 0 ? shared.list(name) : undefined; // listing-7
      return (required && !held.has(name) ? listed : undefined) ?? standing(name, problem);
    },
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
