// Owners: a new owner for each run, known to this process until the run holds nothing any more.

import { createOwner, type OwnerHandle, watchOwners } from "../adapters/process/owner.js";
import type { RunOwner } from "../langgraph/thread-lease.js";
import type { OwnerLiveness } from "../ledger/port.js";

export interface Owners {
  readonly liveness: OwnerLiveness;
  readonly next: () => RunOwner;
  /** Nothing is in flight under any of them any more. */
  readonly end: () => void;
}

/** `machine` stands for the operating system's id. */
export function createOwners(machine: string | undefined): Owners {
  const living = new Set<OwnerHandle>();
  return {
    liveness: watchOwners(machine),
    next: () => {
      const handle = createOwner(machine);
      const held = new Set<string>();
      living.add(handle);
      return {
        owner: handle.owner,
        hold: (operationId) => {
          held.add(operationId);
          handle.hold(operationId);
        },
        release: (operationId) => {
          held.delete(operationId);
          handle.release(operationId);
          if (held.size > 0) return;
          handle.end();
          living.delete(handle);
        },
      };
    },
    end: () => {
      for (const handle of living) handle.end();
    },
  };
}
