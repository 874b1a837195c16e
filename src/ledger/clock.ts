// Time that cannot be turned back: what the ledger measures lifetimes with, beside the wall clock.
//
//   K1. `elapsed` never falls, and rises by every step forward that any process of the store has seen. So a clock set
//       back revives nothing that had expired, and a clock set forward expires what was open.
//   K2. It follows the wall clock's pace again right after a jump: an approval given after the clock was mended lives
//       its whole life, which it would not if times were compared with the highest one ever seen.

/** A reading of both clocks. Milliseconds; `at` is the wall clock's, `elapsed` has no meaning but its differences. */
export interface Moment {
  readonly at: number;
  readonly elapsed: number;
}

/** The reading at `at`, given the last one. */
export function advance(last: Moment | undefined, at: number): Moment {
  if (last === undefined) return { at, elapsed: at };
  return { at, elapsed: last.elapsed + Math.max(0, at - last.at) };
}

/** The later of two readings of the same instant, as two processes or a process and its store have it. (K1) */
export function later(a: Moment, b: Moment): Moment {
  return a.elapsed >= b.elapsed ? a : b;
}

/** Whether more than `lifeMs` passed since a moment, by either clock. */
export function outlived(since: Moment, lifeMs: number, now: Moment): boolean {
  return now.at - since.at > lifeMs || now.elapsed - since.elapsed > lifeMs;
}
