// Verify: the list that a claim compares its calls with.
//
//   listing-5. What a claim compares is the newest list that is known, and never one of before a change that the server said.

import type { ServerListing } from "../catalog/index.js";
import type { Digest } from "../contracts/index.js";
import { type ListedFor, listsAhead } from "./ahead.js";
import { CHANGES, WALKS } from "./walk.js";

export type Verified =
  | { readonly ok: true; readonly digests: ReadonlyMap<string, Digest> }
  /** `connected`: there was a connection, and the list failed. */
  | { readonly ok: false; readonly problem: string; readonly connected: boolean };

export interface Verify {
  /** Begins to list servers for the claim of a batch that is judged now. */
  verifyAhead(names: readonly string[], place: ListedFor): void;
  /** The digest of each of the server's tools as it lists them now, or why it could not be listed. */
  verify(name: string, place?: ListedFor): Promise<Verified>;
}

export interface VerifyDeps {
  /** Lists a server for a call, until then. Never rejects. */
  readonly list: (name: string, until: number) => Promise<ServerListing>;
  readonly isDue: (name: string) => boolean;
  readonly digests: (name: string) => ReadonlyMap<string, Digest> | undefined;
  readonly isConnected: (name: string) => boolean;
  /** Milliseconds that never go back. */
  readonly steady: () => number;
  /** Milliseconds for everything that one verification waits for. */
  readonly withinMs: number;
}

export function createVerify(deps: VerifyDeps): Verify {
  const { list, isDue, digests, isConnected, steady, withinMs } = deps;
  const ahead = listsAhead<Verified>(steady);

  async function verify(name: string): Promise<Verified> {
    const until = steady() + withinMs; // listing-6
    let before: ServerListing | undefined;
    for (let walks = 1; walks <= WALKS; walks++) {
      const listing = await list(name, until);
      if (listing.status !== "connected") return notListed(name, listing.problem);
      if (!isDue(name) || listing === before) return newest(name); // listing-5: some servers say so whenever they list
      before = listing;
    }
    return notListed(name, CHANGES);
  }

  function notListed(name: string, problem = "it could not be listed"): Verified {
    return { ok: false, problem, connected: isConnected(name) };
  }

  /** Another list may have come since a claim's own. */
  function newest(name: string): Verified {
    const listed = digests(name);
    return listed === undefined ? notListed(name) : { ok: true, digests: listed };
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
