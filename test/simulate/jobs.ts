// Jobs: many runs, side by side in processes. Each takes every so-manieth seed; what a seed comes to does not depend on
// which process runs it.

import { type ChildProcess, fork } from "node:child_process";
import { draw } from "./draw.js";
import { runPlan } from "./run.js";
import { add, count, emptyTally, type Tally } from "./tally.js";

export interface Range {
  /** The first seed. */
  readonly from: number;
  readonly runs: number;
}

/** A process reports after so many runs. */
const REPORT_EVERY = 50;

/** Runs the seeds `from`, `from + step`, … within the range, and tells of them in portions. */
export async function runSeeds(
  range: Range,
  first: number,
  step: number,
  tell: (part: Tally) => void | Promise<void>,
): Promise<void> {
  let part = emptyTally();
  for (let index = first; index < range.runs; index += step) {
    const seed = range.from + index;
    count(part, seed, await runPlan(draw(seed)));
    if (part.runs < REPORT_EVERY) continue;
    await tell(part);
    part = emptyTally();
  }
  await tell(part);
}

/** All runs of a range over so many processes. Every process is ended when this returns or throws. */
export async function runAll(range: Range, jobs: number, progress: (tally: Tally) => void): Promise<Tally> {
  const tally = emptyTally();
  const take = (part: Tally) => {
    add(tally, part);
    progress(tally);
  };
  if (jobs === 1) {
    await runSeeds(range, 0, 1, take);
    return tally;
  }
  const children: ChildProcess[] = [];
  try {
    await Promise.all(
      Array.from({ length: jobs }, (_, job) => {
        const child = fork(new URL("./main.ts", import.meta.url), ["--job", `${job}/${jobs}`, ...argumentsOf(range)], {
          execArgv: [...process.execArgv, "--max-semi-space-size=64"], // short-lived objects, by the million
        });
        children.push(child);
        return ended(child, take);
      }),
    );
  } finally {
    for (const child of children) child.kill("SIGKILL");
  }
  return tally;
}

function argumentsOf({ from, runs }: Range): string[] {
  return ["--seed", String(from), "--runs", String(runs)];
}

function ended(child: ChildProcess, take: (part: Tally) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    child.on("message", (part) => take(part as Tally));
    child.on("error", reject);
    child.on("exit", (code) =>
      code === 0 ? resolve() : reject(new Error(`a process of the simulator ended with ${code}`)),
    );
  });
}
