// Process groups. Every server leads one of its own, so that a Ctrl-C at the terminal does not reach a server in the
// middle of a write, and so that everything the server started can be ended with it.
//
//   group-1. A group is ended politely first: end of stdin (the caller's part), then SIGTERM, then SIGKILL.
//   group-2. When this process ends by its own doing (it returns, calls `process.exit`, or throws an error that nobody
//            catches), its `exit` event ends every group that it started. A process that is ended from outside has no such
//            event: by SIGKILL, by a signal that it does not handle, by a crash of the runtime. Then each server sees only
//            the end of its stdin, and one that ignores that lives on.
//   group-3. A group counts as gone only when the system says that it does not exist. A group that this process may not
//            signal (EPERM) exists.
//
// Windows has no process groups: there only the server's own process is ended, and what it started lives on.

import { contain } from "../process/contain.js";

const POLL_MS = 20;
/** Milliseconds that a group gets between SIGTERM and SIGKILL when this process exits without having ended it. */
const EXIT_GRACE_MS = 200;
/** How long the end of a killed group is waited for. */
const KILL_MS = 2_000;

/** Each group that may still be there, with what is called once it is gone. */
const groups = new Map<number, () => void>();
let guarding = false;

/**
 * Sees to it that the group is ended when this process exits (group-2). `leader` is the id of the process that leads it;
 * `onGone` is called once the group is gone. **Contract:** `onGone` must not throw.
 */
export function guard(leader: number, onGone: () => void = () => {}): void {
  groups.set(leader, onGone);
  if (guarding) return;
  guarding = true;
  process.on("exit", contain(endAllNow));
}

export interface EndTimes {
  /** Milliseconds from the end of stdin to SIGTERM. */
  readonly eofMs: number;
  /** Milliseconds from SIGTERM to SIGKILL. */
  readonly termMs: number;
}

/**
 * Ends a group whose stdin was closed already (group-1). False where a process of it is still listed after SIGKILL: one that
 * the system cannot end yet, or a dead one that nobody has reaped, as where Node runs as process 1 of a container.
 */
export async function endGroup(leader: number, times: EndTimes): Promise<boolean> {
  if (await isGoneWithin(leader, times.eofMs)) return true;
  signalGroup(leader, "SIGTERM");
  if (await isGoneWithin(leader, times.termMs)) return true;
  signalGroup(leader, "SIGKILL");
  return isGoneWithin(leader, KILL_MS); // a group that is not gone is tried again when this process exits
}

/** Waits until no process of the group is left. False when one still is after `ms`. */
export async function isGoneWithin(leader: number, ms: number): Promise<boolean> {
  for (let waited = 0; signalGroup(leader, 0); waited += POLL_MS) {
    if (waited >= ms) return false;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  forget(leader);
  return true;
}

function forget(leader: number): void {
  groups.get(leader)?.();
  groups.delete(leader);
}

/** Sends a signal; 0 sends none and only looks. False when there is no such group any more. */
function signalGroup(leader: number, name: "SIGTERM" | "SIGKILL" | 0): boolean {
  try {
    return process.kill(process.platform === "win32" ? leader : -leader, name);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH"; // group-3
  }
}

/** Synchronous, because nothing asynchronous runs after the `exit` event. It cannot poll either: nothing reaps the dead here. */
function endAllNow(): void {
  const all = [...groups.keys()];
  const left = all.filter((leader) => signalGroup(leader, "SIGTERM"));
  for (const leader of all) if (!left.includes(leader)) forget(leader);
  if (left.length === 0) return;
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, EXIT_GRACE_MS);
  for (const leader of left) {
    signalGroup(leader, "SIGKILL");
    forget(leader);
  }
}
