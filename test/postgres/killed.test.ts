// A server that is killed under load: its hosts live, say so in words, and go on when it is back.

import { describe, expect, it } from "vitest";
import { outcomeOf, ToolgateError } from "../../src/contracts/index.js";
import { ACTS, OK, operation, propose, query } from "../conformance/ledger-world.js";
import { hosts } from "./hosts.js";

const at = hosts({ own: true });
const LONG = process.env.LONG_TESTS === "1";

describe.skipIf(process.env.DATABASE_URL)("a server that is killed (F05)", () => {
  it("under load: store_failed while it is gone, nothing begun twice, every write settled in the end", async () => {
    const url = await at.server().freshDatabase();
    const host = at.open(url, { clock: "host", patienceMs: 300 });
    await host.ledger.threads();
    const begun = new Map<string, number>();
    const failures: unknown[] = [];
    let settled = 0;
    let failed = signal();
    let enough = signal();

    /** Goes on with what was refused, until it is done: as a host does that runs its thread again. */
    const until = async <T>(call: () => Promise<T>): Promise<T> => {
      for (;;) {
        try {
          return await call();
        } catch (error) {
          failures.push(error);
          failed.tell();
        }
      }
    };
    const worker = async (n: number, calls: number) => {
      const where = { threadId: `t${n}`, ledgerSeq: 1_000 };
      for (let call = 0; call < calls; call++) {
        const save = operation({ proposalId: `p-${n}-${call}`, args: { n, call } });
        await until(() => propose(host, [save], where));
        const claim = { threadId: `t${n}`, turnId: "turn-1", scope: "local", proposalId: save.proposalId };
        await until(() => host.ledger.claim(batchOf(save, claim)));
        const row = await until(() => host.ledger.row(save.id));
        const started = await until(() => host.ledger.begin(save.id, row?.fence ?? 0, ACTS));
        if (started.kind === "dispatching") begun.set(save.id, (begun.get(save.id) ?? 0) + 1);
        await until(() =>
          host.ledger.settle({ operationId: save.id, fence: row?.fence ?? 0, outcome: OK, sent: true }),
        );
        settled += 1;
        if (settled % 5 === 0) enough.tell();
      }
    };

    const work = Promise.all(Array.from({ length: 5 }, (_, n) => worker(n, LONG ? 40 : 8)));
    for (let kill = 0; kill < (LONG ? 4 : 1); kill++) {
      await enough.told;
      enough = signal();
      failed = signal();
      await at.server().kill();
      await failed.told;
      await at.server().restart();
    }
    await work;
    expect(failures.length).toBeGreaterThan(0);
    for (const error of failures) {
      expect(error).toBeInstanceOf(ToolgateError);
      expect(error).toMatchObject({
        code: "store_failed",
        hint: "check that the database runs and can be reached, then try again; what was stored stays",
      });
    }
    expect([...begun.values()].filter((times) => times > 1)).toEqual([]);
    const calls = LONG ? 40 : 8;
    for (let n = 0; n < 5; n++) {
      const rows = await host.ledger.operations(`t${n}`);
      expect(rows.map((row) => outcomeOf(row)?.status)).toEqual(Array.from({ length: calls }, () => "ok"));
      expect(await host.ledger.standing(query([], { threadId: `t${n}` }))).toMatchObject({ modelRequests: calls });
    }
  }, 120_000);
});

function signal() {
  let tell: () => void = () => undefined;
  const told = new Promise<void>((resolve) => {
    tell = resolve;
  });
  return { told, tell };
}

function batchOf(
  save: ReturnType<typeof operation>,
  place: { threadId: string; turnId: string; scope: string; proposalId: string },
) {
  const owner = { machine: "machine", pid: 7, started: "boot:1", instance: "a" };
  const times = { leaseMs: 15_000, ttlMs: 60_000 };
  const request = { operation: save, toolDigest: "0".repeat(64), repeat: "ask" as const };
  return { ...place, ...times, ledgerSeq: 1_000, haltScope: "thread" as const, owner, operations: [request] };
}
