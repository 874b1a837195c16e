// Any sequence of calls on the port: the ledgers in memory, in SQLite and in Postgres answer alike, and no write is ever begun twice.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createMemoryLedger } from "../../src/adapters/memory/ledger.js";
import { createSqliteLedger } from "../../src/adapters/sqlite/ledger.js";
import type { Ledger, LedgerDeps } from "../../src/ledger/port.js";
import { type Model, steps } from "./ledger-steps.js";
import { query, START } from "./ledger-world.js";
import { postgresWorlds } from "./postgres-worlds.js";

const LONG = process.env.LONG_TESTS === "1";
const postgres = postgresWorlds();

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
async function compare(make: (deps: LedgerDeps) => Ledger | Promise<Ledger>, numRuns: number): Promise<void> {
  await fc.assert(
    fc.asyncProperty(fc.commands(steps, { maxCommands: 60, size: "max" }), async (commands) => {
      const clock = { now: START };
      const life: Model["life"] = new Map();
      const deps: LedgerDeps = { now: () => clock.now, liveness: (of) => life.get(of.instance) ?? "alive" };
      const ledger = createMemoryLedger(deps);
      const real = await make(deps);
      const model: Model = { ledger, clock, life, questions: [], claimed: [], begun: new Map(), next: { id: 1 } };
      await fc.asyncModelRun(() => ({ model, real }), commands);
      expect(await everything(real)).toEqual(await everything(ledger));
      for (const [id, times] of model.begun) {
        if ((await real.row(id))?.operation.effect === "write") expect(times).toBe(1); // G6
      }
      for (const threadId of ["t1", "t2"]) {
        const numbers = (await real.operations(threadId)).flatMap((row) => row.seq ?? []);
        expect(new Set(numbers).size).toBe(numbers.length); // L5
      }
      await real.close();
    }),
    { numRuns },
  );
}

describe("ledger adapters", () => {
  it("answer alike whatever is asked of them in whatever order, and begin no write twice (L1, L5, L6, G6)", async () => {
    await compare((deps) => createSqliteLedger(":memory:", deps), 100);
  }, 120_000);

  it(`Postgres answers alike, too: ${LONG ? 200 : 8} sequences (L1, L5, L6, G6)`, async () => {
    await compare(postgres.ledger, LONG ? 200 : 8);
  }, 600_000);
});
