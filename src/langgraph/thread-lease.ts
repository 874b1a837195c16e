// Thread lease: what lets one run act for a thread, and no other run.
//
//   lease-4. What is still in flight when the run has ended, as after an abort, keeps its lease until it is settled.
//
//   lease-5. What a wall clock is set to changes nothing of how long a lease still lasts here.
//
// This process counts a lease from the moment before it asked the store for it. The store counts from later, so that the
// lease is over here before it is over in the store. Elapsed time is the longer of what two clocks of the machine say that
// nobody can set. One of them goes on while the machine sleeps: the store of another machine, whose clock went on as well, may
// have given the thread to somebody there. So a process that was stopped and a machine that slept both count.
//
// The lease is renewed at a third of its length while it is open. Once it has passed, or another run took the thread over,
// it never becomes valid again.

import { type Config, noThread, type Owner, ToolgateError, threadOfKey } from "../contracts/index.js";
import { type Ledger, runKey } from "../ledger/port.js";

/** Who claims in one run, and what it has in flight. An operation is held before it is claimed. */
export interface RunOwner {
  readonly owner: Owner;
  readonly hold: (operationId: string) => void;
  readonly release: (operationId: string) => void;
}

export interface Lease extends RunOwner {
  /** The run holds its thread. Where the graph is part of another one it holds only what it claimed. */
  readonly holdsThread: boolean;
  /** Whether this run may still act: send, above all. */
  readonly valid: () => boolean;
  /** Ends the heartbeat and gives the thread back. Rejects with `store_failed` where that could not be stored. */
  readonly close: () => Promise<void>;
}

export interface LeasePorts {
  readonly config: Pick<Config, "leaseMs">;
  readonly ledger: Pick<Ledger, "enter" | "leave" | "renew">;
  /** A new owner, for one run: two runs of one process are two owners. */
  readonly newOwner: () => RunOwner;
  /** Milliseconds that never go back, whatever becomes of the clock; only differences mean something. */
  readonly steady: () => number;
  /** The same, with the time in which the machine slept, and in coarser steps. */
  readonly uptime: () => number;
  /** Calls back every so many milliseconds until the returned function is called. */
  readonly every: (ms: number, tick: () => void) => () => void;
}

/** Takes a thread for a run. Throws `already_running` while it is another's, and `not_found` where it is another scope's. */
export async function takeThread(
  ports: LeasePorts,
  { threadId, scope }: { readonly threadId: string; readonly scope: string },
): Promise<Lease> {
  const mine = ports.newOwner();
  mine.hold(runKey(threadId));
  const since = readClocks(ports);
  const forget = () => mine.release(runKey(threadId));
  try {
    const entered = await ports.ledger.enter(threadId, mine.owner, ports.config.leaseMs, scope);
    if (entered.kind === "foreign") throw noThread(threadOfKey(threadId));
    if (entered.kind === "busy") throw runningElsewhere(threadId, entered.owner);
  } catch (error) {
    forget();
    throw error;
  }
  const open = openLease(ports, mine, since, true);
  return {
    ...open,
    close: async () => {
      await open.close();
      await ports.ledger.leave(threadId, mine.owner).finally(forget); // where it fails, the lease lapses by time
    },
  };
}

/** A lease on what is claimed, where the graph is part of another one and holds no thread. */
export function claimsOnly(ports: LeasePorts): Lease {
  return openLease(ports, ports.newOwner(), readClocks(ports), false);
}

interface Clocks {
  readonly uptime: number;
  readonly steady: number;
}

function readClocks(ports: LeasePorts): Clocks {
  return { uptime: ports.uptime(), steady: ports.steady() };
}

function openLease(ports: LeasePorts, mine: RunOwner, since: Clocks, holdsThread: boolean): Lease {
  const { leaseMs } = ports.config;
  const held = new Set<string>();
  let from = since;
  let [lost, closed] = [false, false];
  const valid = () => !lost && Math.max(ports.uptime() - from.uptime, ports.steady() - from.steady) < leaseMs; // lease-5
  const beat = () => {
    lost ||= !valid(); // a lease that has passed never becomes valid again
    if (lost) return;
    const asked = readClocks(ports); // before the store is asked, so that the lease ends here first
    ports.ledger.renew(mine.owner, leaseMs).then(
      (renewed) => {
        if (renewed && valid()) from = asked;
        lost ||= holdsThread && !closed && !renewed; // without a thread there may be nothing yet to renew
      },
      () => undefined, // a lease that is not renewed lapses by itself
    );
  };
  const stop = ports.every(Math.max(1, Math.floor(leaseMs / 3)), beat);
  const stopWhenQuiet = () => {
    if (closed && held.size === 0) stop(); // lease-4
  };
  return {
    ...mine,
    holdsThread,
    hold: (operationId) => {
      held.add(operationId);
      mine.hold(operationId);
    },
    release: (operationId) => {
      held.delete(operationId);
      mine.release(operationId);
      stopWhenQuiet();
    },
    valid,
    close: async () => {
      closed = true;
      stopWhenQuiet();
    },
  };
}

/** For a run that may not act any more: its thread may be another's by now. */
export function lapsed(key: string): ToolgateError {
  const threadId = threadOfKey(key);
  return new ToolgateError(
    "already_running",
    `this run stood still for longer than its lease (\`leaseMs\`): thread \`${threadId}\` may be another's`,
    "run the thread again to go on",
    { data: { threadId } },
  );
}

function runningElsewhere(key: string, owner: Owner): ToolgateError {
  const threadId = threadOfKey(key);
  return new ToolgateError(
    "already_running",
    `thread \`${threadId}\` is running elsewhere (process ${owner.pid})`,
    "wait for that run to end, then run the thread again",
    { data: { threadId } },
  );
}
