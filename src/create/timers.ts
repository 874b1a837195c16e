// Timers of this process, as the rooms ask for them.

import { contain } from "../adapters/process/contain.js";

/** Calls `tick` every so many milliseconds until the returned function is called. Does not keep the process alive. */
export function every(ms: number, tick: () => void): () => void {
  const timer = setInterval(contain(tick), ms);
  timer.unref();
  return () => clearInterval(timer);
}

/** `elapsed` resolves after so many milliseconds, or as soon as `cancel` is called. */
export function after(ms: number): { elapsed: Promise<void>; cancel: () => void } {
  let cancel = () => {};
  const elapsed = new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms);
    cancel = () => {
      clearTimeout(timer);
      resolve();
    };
  });
  return { elapsed, cancel };
}

/** Resolves after the event loop has run. */
export function pause(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
