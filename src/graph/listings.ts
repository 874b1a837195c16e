// Listings: each server's last complete list, with what was made of each of its tools.
//
// Tools are made ready a few at a time. Between two such slices the event loop gets to run, so that a catalog of thousands
// of tools does not stop the other threads of the process.
//
//   listing-1. A listing is replaced only by one that was begun later and is complete. A failed discovery leaves the listing
//              and marks it stale (G2).
//   listing-2. The host's secrets are taken out of a definition before anything is made of it. Digests cover what is left,
//              so a secret that is changed is no drift. A tool whose names or rules hold a secret cannot be reworded and is
//              withheld.
//   listing-3. What is asked before each write costs what is new: a tool that comes again, to the byte, keeps what was made
//              of it, and a list that comes again stays the same listing.

import {
  type AssembleOptions,
  type AssessedTool,
  assessTool,
  listServer,
  patternsOf,
  type ServerListing,
  type ServerRules,
  toolDigest,
} from "../catalog/index.js";
import { type Digest, oneLine, sha256, type WithheldTool } from "../contracts/index.js";
import type { Servers } from "../execution/server.js";
import { holdsSecret, mayHoldSecret, rewordDefinition, toBody } from "../observation/index.js";
import { CHARS_A_SLICE, createSlices, TOOLS_A_SLICE } from "./slices.js";

/** Milliseconds one page of a listing may take. */
const LIST_DEADLINE_MS = 30_000;

export interface ListingsDeps extends Pick<AssembleOptions, "limits" | "injected"> {
  readonly servers: Servers;
  /** Removes secrets from text. */
  readonly redact: (text: string) => string;
  /** Resolves after the event loop has run. **Contract:** does not reject. */
  readonly pause: () => Promise<void>;
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
  /** Whether the server must be listed again before its tools are relied on: it may list something else since. */
  isDue(name: string): boolean;
  /** What it last listed; undefined when it never did in this process. */
  last(name: string): Held | undefined;
}

interface Server {
  readonly name: string;
  readonly protocol: string;
}

/** What was made of one tool of a list. */
interface Made {
  /** Digest of its JSON text as it came; undefined where it is nested too deeply to be written out. */
  readonly raw: Digest | undefined;
  /** Digest of it without secrets. */
  readonly content: Digest;
  readonly name: string | undefined;
  readonly tool:
    | { readonly digest: Digest; readonly assessed: AssessedTool }
    /** It holds a secret where nothing can be reworded. */
    | { readonly withheld: WithheldTool };
}

export function createListings(deps: ListingsDeps): Listings {
  const held = new Map<string, Held>();
  /** By server: its protocol, and what was made of each tool by the digest of its text. (listing-3) */
  const kept = new Map<string, { readonly protocol: string; readonly tools: Map<Digest, Made> }>();
  const patterns = patternsOf(deps.limits);
  // With patterns that are no regular expressions no catalog is assembled, whatever its tools are.
  const usable = typeof patterns === "string" ? { tool: undefined, server: undefined } : patterns;
  const rules: ServerRules = { limits: deps.limits, injected: deps.injected, patterns: usable };
  const slices = createSlices(deps.pause);
  let begun = 0;

  return {
    last: (name) => held.get(name),
    isDue,
    async list(name) {
      begun += 1;
      const mine = begun;
      const connected = await deps.servers.connect(name);
      if (!connected.ok) return failed(name, connected.problem);
      const { connection } = connected;
      const generation = deps.servers.generation(name); // before the listing: a change during it makes it due again
      const listed = await listServer(
        (cursor) => connection.listPage(cursor, LIST_DEADLINE_MS, deps.limits.pageBytes),
        deps.limits,
      );
      if (!listed.ok) return failed(name, listed.problem);
      const { protocol } = connection;
      const made = await makeAll({ name, protocol }, listed.tools);
      const last = held.get(name);
      if (last !== undefined && last.begun > mine) return last.listing; // listing-1
      const raw = rawOf(made);
      const same = last !== undefined && raw !== undefined && last.raw === raw && last.listing.protocol === protocol;
      const now = same ? last : heldOf(name, protocol, made, raw); // listing-3
      held.set(name, { ...now, begun: mine, generation });
      return now.listing;
    },
  };

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

  /** Makes the tools of a list ready, slice by slice. (slices-1) */
  async function makeAll(server: Server, tools: readonly unknown[]): Promise<Made[]> {
    const earlier = kept.get(server.name);
    // Two listings of one server at the same time share what each of them makes.
    const known = earlier?.protocol === server.protocol ? earlier : { protocol: server.protocol, tools: new Map() };
    kept.set(server.name, known);
    const made: Made[] = [];
    if (tools.length > TOOLS_A_SLICE) await deps.pause(); // the page was parsed in this run of the event loop
    for (const raw of tools) {
      // Nothing is awaited between the answer that there is room and the tool: another listing could take it.
      for (let full = slices.full(); full !== undefined; full = slices.full()) await full;
      const text = jsonOf(raw);
      const sum = text === undefined ? undefined : sha256(text);
      const before = sum === undefined ? undefined : known.tools.get(sum);
      const one = before ?? make(server, raw, text, sum);
      if (sum !== undefined) known.tools.set(sum, one);
      made.push(one);
      slices.take(text?.length ?? CHARS_A_SLICE, before !== undefined);
    }
    // What is not listed any more is forgotten.
    const listed = new Set(made);
    for (const [sum, one] of known.tools) if (!listed.has(one)) known.tools.delete(sum);
    return made;
  }

  /** Takes the secrets out of a tool and assesses what is left. (listing-2) */
  function make(server: Server, raw: unknown, text: string | undefined, sum: Digest | undefined): Made {
    const clean = !mayHoldSecret(raw, deps.redact);
    const tool = clean ? raw : rewordDefinition(raw, deps.redact);
    const name = nameOf(tool);
    // `toBody` is total: a server may list what is nested too deeply to be written out.
    const content = clean && sum !== undefined ? sum : sha256(toBody(tool));
    if (!clean && holdsSecret(tool, deps.redact)) {
      const shown = name === undefined ? "" : oneLine(deps.redact(name), 128);
      const reason = "its definition holds a value that the host keeps secret";
      return { raw: sum, content, name, tool: { withheld: { server: server.name, tool: shown, reason } } };
    }
    const assessed = assessTool(server, tool, rules, clean ? text : undefined);
    const digest = assessed.ok ? assessed.entry.digest : toolDigest(tool);
    return { raw: sum, content, name, tool: { digest, assessed } };
  }
}

function heldOf(
  name: string,
  protocol: string,
  made: readonly Made[],
  raw: Digest | undefined,
): Omit<Held, "begun" | "generation"> {
  const assessed: AssessedTool[] = [];
  const withheld: WithheldTool[] = [];
  const digests = new Map<string, Digest>();
  for (const one of made) {
    if ("withheld" in one.tool) {
      withheld.push(one.tool.withheld);
      continue;
    }
    assessed.push(one.tool.assessed);
    if (one.name !== undefined) digests.set(one.name, one.tool.digest);
  }
  const listing: ServerListing = { name, status: "connected", protocol, tools: [], assessed, withheld };
  return { listing, raw, content: sha256(made.map((one) => one.content).join()), digests };
}

/** The digest of a whole list, from those of its tools. */
function rawOf(made: readonly Made[]): Digest | undefined {
  const sums = made.map((one) => one.raw);
  return sums.includes(undefined) ? undefined : sha256(sums.join());
}

function nameOf(tool: unknown): string | undefined {
  const name = (tool as { name?: unknown } | null)?.name;
  return typeof name === "string" ? name : undefined;
}

function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}
