// Pauses: which servers failed, why, and when each may be tried again.
//
// A server fails when it cannot be connected or its list cannot be read. Without pauses a server that hangs, or that ends
// right after its start, would be started and waited for again by every batch of every thread.
//
//   pauses-1. After the n-th failure in a row a server is tried again after 1 s, 2 s, 4 s and so on, at most after
//             `LONGEST_MS`, counted from the end of the try. Tries that went on at the same time count once.
//   pauses-2. A complete list ends the row of failures, and nothing else does: a server that connects and does not list has
//             not recovered.

const FIRST_MS = 1_000;
/** The longest time for which a server that failed is left alone. */
export const LONGEST_MS = 60_000;

export interface Pauses {
  /** The server could not be connected or listed. `since`: the steady reading at the beginning of that try. */
  failed(name: string, problem: string, since: number): void;
  /** It gave its complete list. */
  listed(name: string): void;
  /** Why it failed last; undefined when it did not fail since its last complete list. */
  problem(name: string): string | undefined;
  /** Milliseconds until it may be tried again: 0 when it may be now. */
  waitMs(name: string): number;
}

interface Failure {
  readonly problem: string;
  /** The steady reading when it failed. */
  readonly at: number;
  readonly pauseMs: number;
}

/** `steady`: milliseconds that never go back. */
export function createPauses(steady: () => number): Pauses {
  const failures = new Map<string, Failure>();
  return {
    failed(name, problem, since) {
      const last = failures.get(name);
      const at = steady();
      if (last === undefined) failures.set(name, { problem, at, pauseMs: FIRST_MS });
      else if (since < last.at)
        failures.set(name, { ...last, problem }); // pauses-1
      else failures.set(name, { problem, at, pauseMs: Math.min(2 * last.pauseMs, LONGEST_MS) });
    },
    listed: (name) => void failures.delete(name), // pauses-2
    problem: (name) => failures.get(name)?.problem,
    waitMs(name) {
      const last = failures.get(name);
      return last === undefined ? 0 : Math.max(0, last.at + last.pauseMs - steady());
    },
  };
}
