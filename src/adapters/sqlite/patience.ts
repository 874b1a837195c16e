// Patience: waiting for another process that holds the file. SQLite's own waiting stops every timer, signal and thread of this
// process for as long as it lasts, so it is asked to wait for a moment only, and the event loop runs between two tries.
//
//   sqlite-patience-1. One try keeps the event loop for at most `STEP_MS`. What cannot be had within `PATIENCE_MS` fails as busy.
//   sqlite-patience-2. What is written waits in one line for each open database: nothing is stored before what was asked for
//                      earlier.

import type Database from "better-sqlite3";
import { steadyMs } from "../process/clock.js";
import { isBusy } from "./failure.js";

/** Milliseconds for which SQLite itself waits. */
export const STEP_MS = 5;
/** Milliseconds from when something was asked for until it is given up. */
export const PATIENCE_MS = 5_000;
/** Milliseconds between the first tries, as SQLite's own waiting has them; the last one stands for all that follow. */
const PAUSES = [1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50, 100] as const;

/** The time by which is waited. */
export interface Waiting {
  readonly steady: () => number;
  readonly pause: (ms: number) => Promise<void>;
}

export interface Patience {
  /** Runs what reads, again while the file is held. Several wait side by side. */
  readonly reading: <T>(work: () => T | Promise<T>) => Promise<T>;
  /** Runs what writes, again while the file is held, in the order of the calls. */
  readonly writing: <T>(work: () => T) => Promise<T>;
}

const OF_PROCESS: Waiting = {
  steady: steadyMs,
  pause: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
};

const known = new WeakMap<Database.Database, Patience>();

/** The patience with a database: one line for everybody who writes on this connection. */
export function patienceWith(db: Database.Database, waiting: Waiting = OF_PROCESS): Patience {
  const patience = known.get(db) ?? createPatience(waiting);
  known.set(db, patience);
  return patience;
}

export function createPatience({ steady, pause }: Waiting = OF_PROCESS): Patience {
  let last: Promise<unknown> | undefined;
  const again = async <T>(work: () => T | Promise<T>, until: number): Promise<T> => {
    for (let tries = 0; ; tries++) {
      try {
        return await work();
      } catch (error) {
        if (!isBusy(error) || steady() >= until) throw error; // sqlite-patience-1
        await pause(PAUSES[Math.min(tries, PAUSES.length - 1)] as number);
      }
    }
  };
  return {
    reading: (work) => again(work, steady() + PATIENCE_MS),
    writing: async (work) => {
      const until = steady() + PATIENCE_MS;
      const before = last;
      if (before === undefined) {
        try {
          return work(); // the usual case: nobody waits, and nothing has to
        } catch (error) {
          if (!isBusy(error)) throw error;
        }
      }
      const mine = Promise.resolve(before).then(() => again(work, until)); // sqlite-patience-2
      const over = mine.then(
        () => undefined,
        () => undefined,
      );
      last = over;
      void over.then(() => {
        if (last === over) last = undefined;
      });
      return mine;
    },
  };
}
