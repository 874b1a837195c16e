// Lease: what lets one run act for a thread, and no other.
//
//   A1. It is good from before it was asked for: as long as this side takes it to be good, the store does, too.
//   A2. Time is the longer of what the wall clock and the steady clock say, so that a process that was stopped, a machine
//       that slept and a clock that was set back all count.
//   A3. Renewed at a third of its length while it is open. Once it has passed, or was taken over, it never comes back.
//   A4. What is still in flight when the run has ended, as after an abort, keeps its lease until it is settled.

import { type Owner, ToolgateError } from "../contracts/index.js";
import { runKey } from "../ledger/port.js";
import type { Host, RunOwner } from "../graph/host.js";

export interface Lease extends RunOwner {
  /** Whether this run may still act: send, above all. */
  readonly good: () => boolean;
  /** Ends the heartbeat and gives the thread back. Never rejects. */
  readonly close: () => Promise<void>;
}

/** Takes a thread for a run. Throws `already_running` while it is another's. */
export async function takeThread(host: Host, threadId: string): Promise<Lease> {
  const mine = host.newOwner();
  mine.hold(runKey(threadId));
  const since = clocks(host);
  const leave = () => mine.release(runKey(threadId));
  try {
    const entered = await host.ledger.enter(threadId, mine.owner, host.config.leaseMs);
    if (entered.kind === "busy") throw runningElsewhere(threadId, entered.owner);
  } catch (error) {
    leave();
    throw error;
  }
  const open = openLease(host, mine, since, true);
  return {
    ...open,
    close: async () => {
      await open.close();
      await host.ledger.leave(threadId, mine.owner).catch(() => undefined); // it lapses
      leave();
    },
  };
}

/** A lease on what is claimed, where the graph is part of another one and holds no thread. */
export function claimsOnly(host: Host): Lease {
  return openLease(host, host.newOwner(), clocks(host), false);
}

interface Clocks {
  readonly wall: number;
  readonly steady: number;
}

function clocks(host: Host): Clocks {
  return { wall: host.now(), steady: host.steady() };
}

function openLease(host: Host, mine: RunOwner, since: Clocks, holdsThread: boolean): Lease {
  const { leaseMs } = host.config;
  const held = new Set<string>();
  let from = since;
  let [lost, closed] = [false, false];
  const good = () => !lost && Math.max(host.now() - from.wall, host.steady() - from.steady) < leaseMs; // A2
  const beat = () => {
    lost ||= !good(); // A3
    if (lost) return;
    const asked = clocks(host); // A1
    host.ledger.renew(mine.owner, leaseMs).then(
      (renewed) => {
        if (renewed && good()) from = asked;
        lost ||= holdsThread && !closed && !renewed; // without a thread there may be nothing yet to renew
      },
      () => undefined, // not renewed: it lapses by itself
    );
  };
  const stop = host.every(Math.max(1, Math.floor(leaseMs / 3)), beat);
  const stopWhenQuiet = () => {
    if (closed && held.size === 0) stop(); // A4
  };
  return {
    ...mine,
    hold: (operationId) => {
      held.add(operationId);
      mine.hold(operationId);
    },
    release: (operationId) => {
      held.delete(operationId);
      mine.release(operationId);
      stopWhenQuiet();
    },
    good,
    close: async () => {
      closed = true;
      stopWhenQuiet();
    },
  };
}

/** For a run that may not act any more: its thread may be another's by now. */
export function lapsed(threadId: string): ToolgateError {
  return new ToolgateError(
    "already_running",
    `this run stood still for longer than its lease (\`leaseMs\`), or a clock jumped: thread \`${threadId}\` may be another's`,
    "run the thread again to go on",
    { data: { threadId } },
  );
}

function runningElsewhere(threadId: string, owner: Owner): ToolgateError {
  return new ToolgateError(
    "already_running",
    `thread \`${threadId}\` is running elsewhere (process ${owner.pid})`,
    "wait for that run to end, then run the thread again",
    { data: { threadId } },
  );
}
