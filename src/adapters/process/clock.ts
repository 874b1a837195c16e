// Clock: the two clocks of this machine that nobody can set. Only differences between readings mean something, and on Linux
// every process of the machine reads the same.

import { uptime } from "node:os";

/** Milliseconds since the machine was started. The time in which it sleeps does not count (CLOCK_MONOTONIC). */
export function steadyMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** The same, and the time in which the machine sleeps counts, too (CLOCK_BOOTTIME). It has steps of some milliseconds. */
export function uptimeMs(): number {
  return uptime() * 1_000;
}
