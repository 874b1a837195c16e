// Contain: an error in a callback costs what the callback was about, and never the process.
//
// Node ends the process at an error that is thrown in an event handler or a timer, and at a promise that is rejected with
// nobody to hear of it. What such a callback calls may be somebody else's: an SDK, a listener of the host, a handler that was
// set on a transport. So each callback that adapters register goes through `contain`. A test looks for those that do not.
//
//   contain-1. A contained callback never throws, and what it returns is never a rejection, whatever it or `onFault` does.

/**
 * The same callback, made fit for an event, a timer or an SDK. `onFault` is told what was thrown or rejected with.
 * **Contract:** `onFault` may throw; what it throws is dropped.
 */
export function contain<Args extends unknown[]>(
  callback: (...args: Args) => unknown,
  onFault: (error: unknown) => unknown = () => {},
): (...args: Args) => void {
  const fault = (error: unknown): void => {
    try {
      const told = onFault(error);
      if (isPromise(told)) told.then(undefined, () => {});
    } catch {} // contain-1
  };
  return (...args) => {
    try {
      const work = callback(...args);
      if (isPromise(work)) work.then(undefined, fault);
    } catch (error) {
      fault(error);
    }
  };
}

function isPromise(value: unknown): value is Promise<unknown> {
  return value instanceof Promise;
}
