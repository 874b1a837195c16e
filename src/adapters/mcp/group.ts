// Process groups: every server leads one of its own, so that a Ctrl-C at the terminal does not reach a server in
// mid-write, and so that everything it started can be ended with it.
//
//   P1. A group is ended politely first: end of stdin (the caller's part), SIGTERM, SIGKILL.
//   P2. When this process exits, however it does, no group that it started is left behind.

const POLL_MS = 20;
/** How long a group may take over SIGTERM when this process exits without having closed it. */
const EXIT_GRACE_MS = 200;

/** How long the end of a killed group is waited for. */
const KILL_MS = 2_000;

const groups = new Set<number>();
let guarding = false;

/** Ends the group with this process from now on (P2). */
export function guard(leader: number): void {
  groups.add(leader);
  if (guarding) return;
  guarding = true;
  process.on("exit", endAllNow);
}

/** Waits until the group is empty. False when it is not within `ms`. */
export async function emptied(leader: number, ms: number): Promise<boolean> {
  for (let waited = 0; alive(leader); waited += POLL_MS) {
    if (waited >= ms) return false;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  groups.delete(leader);
  return true;
}

export interface EndTimes {
  /** Milliseconds from the end of stdin to SIGTERM. */
  readonly eofMs: number;
  /** Milliseconds from SIGTERM to SIGKILL. */
  readonly termMs: number;
}

/** Ends a group whose stdin was closed already (P1). */
export async function endGroup(leader: number, times: EndTimes): Promise<void> {
  if (await emptied(leader, times.eofMs)) return;
  signal(leader, "SIGTERM");
  if (await emptied(leader, times.termMs)) return;
  signal(leader, "SIGKILL");
  // Dead members that nobody has reaped still count as members: the wait is bounded.
  await emptied(leader, KILL_MS);
  groups.delete(leader);
}

function signal(leader: number, name: "SIGTERM" | "SIGKILL" | 0): boolean {
  try {
    return process.kill(-leader, name);
  } catch {
    return false;
  }
}

function alive(leader: number): boolean {
  return signal(leader, 0);
}

/** Synchronous, for the `exit` event: nothing asynchronous runs any more. */
function endAllNow(): void {
  const left = [...groups].filter((leader) => signal(leader, "SIGTERM"));
  if (left.length === 0) return;
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, EXIT_GRACE_MS);
  for (const leader of left) signal(leader, "SIGKILL");
}
