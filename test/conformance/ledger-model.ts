// Any sequence of calls on the port: two ledgers answer alike, and no write is ever begun twice.

import fc from "fast-check";
import { expect } from "vitest";
import { createMemoryLedger } from "../../src/adapters/memory/ledger.js";
import type { Ledger, LedgerDeps } from "../../src/ledger/port.js";
import { type Model, steps } from "./ledger-steps.js";
import { BOOTED, query, START } from "./ledger-world.js";

async function everything(ledger: Ledger): Promise<unknown> {
  return {
    threads: await ledger.threads(),
    operations: [await ledger.operations("t1"), await ledger.operations("t2"), await ledger.operations("t1", "turn-2")],
    open: await ledger.openRequests(),
    unknowns: await ledger.unknowns(),
    standing: await ledger.standing(query([], { haltScope: "server" })),
    proposals: [await ledger.proposal("p1"), await ledger.proposal("p2"), await ledger.proposal("p3")],
    requests: await ledger.modelRequests("t1", "turn-1"),
  };
}

/** Makes the same calls on the ledger in memory and on another. */
export async function compare(
  make: (deps: LedgerDeps) => Ledger | Promise<Ledger>,
  numRuns: number,
  of = steps,
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(fc.commands(of, { maxCommands: 60, size: "max" }), async (commands) => {
      const clock = { now: START };
      const life: Model["life"] = new Map();
      const steady = { now: BOOTED };
      const now = () => clock.now;
      const deps: LedgerDeps = { now, steady: () => steady.now, liveness: (of) => life.get(of.instance) ?? "alive" };
      const ledger = createMemoryLedger(deps);
      const real = await make(deps);
      const model: Model = {
        ledger,
        clock,
        steady,
        life,
        questions: [],
        claimed: [],
        begun: new Map(),
        next: { id: 1 },
      };
      await fc.asyncModelRun(() => ({ model, real }), commands);
      expect(await everything(real)).toEqual(await everything(ledger));
      for (const [id, times] of model.begun) {
        if ((await real.row(id))?.operation.effect === "write") expect(times).toBe(1); // G6
      }
      for (const threadId of ["t1", "t2"]) {
        const numbers = (await real.operations(threadId)).flatMap((row) => row.seq ?? []);
        expect(new Set(numbers).size).toBe(numbers.length); // ledger-5
      }
      await real.close();
    }),
    { numRuns },
  );
}
