// Prepare: what the ledger could not record is not run.

import { expect, test } from "vitest";
import { createMemoryLedger } from "../../src/adapters/memory/ledger.js";
import { ToolgateError } from "../../src/contracts/index.js";
import type { ExecutionPorts, Run } from "../../src/execution/ports.js";
import { claim } from "../../src/execution/prepare.js";
import type { Batch, BatchCall } from "../../src/gate/batch.js";
import type { Ledger } from "../../src/ledger/port.js";
import { approve, operation, owner, TOOL, TTL, world } from "../conformance/ledger-world.js";

test("a claim that the ledger could not record runs nothing, and the same yes is good for the next one (prepare-3)", async () => {
  const at = await world(createMemoryLedger);
  const save = operation({ decision: "ask" });
  const yes = await approve(at, save);
  const call = { operation: save, entry: { digest: TOOL }, settings: undefined, yes } as unknown as BatchCall;
  const place = { threadId: "t1", scope: "local" };
  const batch = { ...place, turnId: "turn-1", proposalId: save.proposalId, calls: [call] } as unknown as Batch;
  const run = { ledgerSeq: 0, lease: { owner: owner("a") } } as unknown as Run;
  const config = { haltScope: "thread", leaseMs: 15_000, approvals: { ttlMs: TTL } };
  const by = (ledger: Ledger) => claim({ config, ledger } as unknown as ExecutionPorts, batch, [call], run);

  const full = new ToolgateError("store_failed", "the disk is full", "free some space");
  expect(await by({ ...at.ledger, claim: () => Promise.reject(full) })).toMatchObject({
    kind: "unrecorded",
    outcome: { status: "unavailable", reason: "not_sent" },
  });
  expect(await at.ledger.request(yes.approvalId)).toMatchObject({ consumed: false });
  expect(await by(at.ledger)).toMatchObject({ kind: "claims", claims: [{ kind: "claimed", attempt: 1 }] });
  expect(await at.ledger.request(yes.approvalId)).toMatchObject({ consumed: true });
});
