// Clock: time that cannot be turned back. The ledger measures lifetimes with it, beside the wall clock.
//
//   clock-1. `elapsed` never falls, and rises by every step forward that any process of the store has seen. So a clock that is
//            set back revives nothing that had expired, and a clock that is set forward expires what was open.
//   clock-2. It follows the wall clock's pace again right after a jump, so that an approval which is given after the clock was
//            corrected lives its whole life.

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

/** The later of two readings of the same instant, as two processes or a process and its store have it. (clock-1) */
export function later(a: Moment, b: Moment): Moment {
  return a.elapsed >= b.elapsed ? a : b;
}

/** Whether more than `lifeMs` passed since a moment, by either clock. */
export function outlived(since: Moment, lifeMs: number, now: Moment): boolean {
  return now.at - since.at > lifeMs || now.elapsed - since.elapsed > lifeMs;
}
