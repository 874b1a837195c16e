// Suspects: which schemas were slow, and what a check against one of them is answered without being made.
//
// A schema whose check was stopped could be checked again and again, each time for as long as a check may take: by a
// server whose pattern backtracks, by a model that writes the one value that it backtracks on, or by eight threads that
// wrote the same call. On the other hand one bad value must not disable a tool whose pattern is merely careless.
//
//   suspect-1. The very value that was stopped is answered with the same reason for `SAME_VALUE_MS`.
//   suspect-2. Any other value is answered with the reason during a pause of 1, 2, 4 and at most 8 s after the schema was
//              stopped, and checked again afterwards. A check that ends makes the next pause a short one again.
//   suspect-3. A schema is slow once a check took longer than `QUICK_MS`, until one takes less.
//   suspect-4. What is remembered is bounded: the schemas, and the values of each.

import type { Digest } from "../../contracts/index.js";

/** Milliseconds that a check may take before it stands in nobody else's way. */
export const QUICK_MS = 25;
const SAME_VALUE_MS = 60_000;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 8_000;
const SCHEMAS_KEPT = 256;
const VALUES_KEPT = 16;

export interface Suspects {
  /** Why a check of this value would be in vain now; undefined where it is to be made. `value`: its digest, where it is needed. */
  known(schema: string, value: () => Digest | undefined): string | undefined;
  isSlow(schema: string): boolean;
  /** A check took longer than `QUICK_MS`. */
  slow(schema: string): void;
  /** A check was stopped for this reason. */
  stopped(schema: string, value: Digest | undefined, reason: string): void;
  /** A check ended by itself, and quickly or not. */
  ended(schema: string, quickly: boolean): void;
}

interface Suspect {
  isSlow: boolean;
  /** The reason, and until when it is given for any value. */
  reason: string;
  until: number;
  pauseMs: number;
  /** When each of the values was stopped. */
  readonly values: Map<Digest, number>;
}

/** `steady`: milliseconds that never go back. */
export function createSuspects(steady: () => number): Suspects {
  const suspects = new Map<string, Suspect>();

  function suspect(schema: string): Suspect {
    const known = suspects.get(schema) ?? { isSlow: true, reason: "", until: 0, pauseMs: 0, values: new Map() };
    known.isSlow = true;
    suspects.delete(schema);
    suspects.set(schema, known);
    forgetOldest(suspects, SCHEMAS_KEPT); // suspect-4
    return known;
  }

  return {
    known(schema, value) {
      const found = suspects.get(schema);
      if (found === undefined || found.reason === "") return undefined;
      const leftMs = found.until - steady();
      if (leftMs > 0) return `${found.reason}; it is checked again in ${Math.ceil(leftMs / 1_000)} s`; // suspect-2
      const sum = value();
      const at = sum === undefined ? undefined : found.values.get(sum);
      return at !== undefined && steady() - at < SAME_VALUE_MS ? found.reason : undefined; // suspect-1
    },
    isSlow: (schema) => suspects.get(schema)?.isSlow ?? false,
    slow: (schema) => void suspect(schema),
    stopped(schema, value, reason) {
      const found = suspect(schema);
      found.reason = reason;
      found.pauseMs = Math.min(found.pauseMs === 0 ? FIRST_PAUSE_MS : 2 * found.pauseMs, LONGEST_PAUSE_MS);
      found.until = steady() + found.pauseMs;
      if (value === undefined) return;
      found.values.delete(value);
      found.values.set(value, steady());
      forgetOldest(found.values, VALUES_KEPT); // suspect-4
    },
    ended(schema, quickly) {
      const found = suspects.get(schema);
      if (found === undefined) return;
      found.pauseMs = 0;
      if (quickly) found.isSlow = false; // suspect-3
    },
  };
}

function forgetOldest<T>(kept: Map<string, T>, most: number): void {
  if (kept.size > most) kept.delete(kept.keys().next().value as string);
}
