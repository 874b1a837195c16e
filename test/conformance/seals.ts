// What every store must notice once its rows are sealed (ledger-10): what another hand took out, changed or put back. The
// other hand is the same store without the seals, and one statement that takes a row out.

import { describe, expect, it } from "vitest";
import { type OperationRow, sha256 } from "../../src/contracts/index.js";
import { createLedger } from "../../src/ledger/ledger.js";
import type { Ledger, LedgerDeps } from "../../src/ledger/port.js";
import type { Store, Tables } from "../../src/ledger/tables.js";
import {
  ACTS,
  approve,
  askOne,
  batch,
  claimOne,
  OK,
  operation,
  owner,
  propose,
  run,
  SNAPSHOT,
  stands,
  UNKNOWN,
  type World,
  world,
} from "./ledger-world.js";

export const SEALS = { secret: "a secret that outlives the process, 1", previous: [] };
const ROTATED = { secret: "a secret that outlives the process, 2", previous: [SEALS.secret] };

/** The same ledger, whose rows come without their seals: whoever compares rows compares what they say. */
export function withoutSeals(ledger: Ledger): Ledger {
  const plain = (value: unknown): unknown => {
    if (value === undefined || value instanceof Map) return value;
    return JSON.parse(JSON.stringify(value, (key, item: unknown) => (key === "seal" ? undefined : item)));
  };
  return new Proxy(ledger, {
    get: (target, name: keyof Ledger) => {
      const method = target[name] as (...args: unknown[]) => Promise<unknown>;
      // `look` and `standing` hold maps, and their rows are not compared. A snapshot is kept as it was given, whatever it
      // holds. A ledger is no promise: it has no `then`.
      if (typeof method !== "function" || ["look", "snapshot", "standing"].includes(name)) return method;
      return async (...args: unknown[]) => plain(await method(...args));
    },
  });
}

export interface Tampered {
  readonly store: Store;
  /** Takes a row out as nobody but another hand would. */
  readonly takeOut: (operationId: string) => Promise<void>;
}

interface At extends World, Tampered {
  readonly deps: LedgerDeps;
  readonly another: (seals?: LedgerDeps["seals"]) => Ledger;
  /** What another hand does with the tables. */
  readonly byHand: (threadId: string, change: (tables: Tables) => void) => Promise<void>;
}

export function sealSuite(name: string, make: () => Tampered | Promise<Tampered>): void {
  const fresh = async (seals: LedgerDeps["seals"] = SEALS): Promise<At> => {
    const made = await make();
    const another = (deps: LedgerDeps, of: LedgerDeps["seals"]) => createLedger(made.store, { ...deps, seals: of });
    const at = await world((deps) => another(deps, seals));
    const byHand = (threadId: string, change: (tables: Tables) => void) =>
      made.store.write(
        () => ({ threads: [threadId], history: { threadId }, requests: { threadId }, card: true }),
        change,
        "kill",
      );
    return { ...at, ...made, another: (of = seals) => another(at.deps, of), byHand };
  };
  const save = operation();
  const next = operation({ index: 1 });
  /** A thread with an unknown write and a proposed one. */
  const unknownWrite = async (at: At) => {
    await propose(at, [save, next]);
    await run(at, save, UNKNOWN);
  };
  const enter = (ledger: Ledger, threadId = "t1") => ledger.enter(threadId, owner("b"), 15_000);
  const edit = (at: At, change: (row: OperationRow) => OperationRow, id = save.id) =>
    at.byHand("t1", (tables) => tables.putRow(change(tables.row(id) as OperationRow)));

  describe(`${name}: seals`, () => {
    it("takes a thread that nobody else changed, in this host and in another one (sealing-3)", async () => {
      const at = await fresh();
      await unknownWrite(at);
      expect(await enter(at.ledger)).toEqual({ kind: "entered" });
      expect(await enter(at.another(), "t2")).toEqual({ kind: "entered" });
      await at.ledger.leave("t1", owner("b"));
      expect(await enter(at.another())).toEqual({ kind: "entered" });
    });

    it("notices a row that was taken out, and stops that thread and no other (ledger-10, sealing-2)", async () => {
      const at = await fresh();
      await unknownWrite(at);
      await propose(at, [operation({ proposalId: "p2" })], { threadId: "t2" });
      await at.takeOut(save.id);
      for (const ledger of [at.ledger, at.another()]) {
        await expect(enter(ledger)).rejects.toMatchObject({ code: "store_tampered", data: { threadId: "t1" } });
        await expect(ledger.verify("t1")).rejects.toThrow("1 of its 1 operations are missing");
      }
      expect(await enter(at.ledger, "t2")).toEqual({ kind: "entered" });
    });

    it("notices an unknown write that was made to look settled, or as if it had never begun (sealing-1)", async () => {
      for (const change of [
        (row: OperationRow) => ({ ...row, outcome: { ...UNKNOWN, status: "failed" } }) as OperationRow,
        ({ operation: of, threadId, scope, turnId, toolDigest, createdAt, seal }: OperationRow) =>
          ({
            ...{ operation: of, threadId, scope, turnId, toolDigest, createdAt, seal },
            ...{ state: "proposed", fence: 0, attempt: 0, sent: false },
          }) as OperationRow,
      ]) {
        const at = await fresh();
        await unknownWrite(at);
        await edit(at, change);
        await expect(enter(at.ledger)).rejects.toThrow(`operation \`${save.id}\` was changed`);
        await expect(claimOne(at, save)).rejects.toMatchObject({ code: "store_tampered" });
        await expect(at.ledger.resolve(save.id, "did_not_happen", { by: "ann" })).rejects.toThrow("was changed");
      }
    });

    it("notices a row that was put back to what it was", async () => {
      const at = await fresh();
      await propose(at, [save]);
      await claimOne(at, save);
      const claimed = (await at.ledger.row(save.id)) as OperationRow;
      await at.ledger.begin(save.id, claimed.fence, ACTS);
      await at.ledger.settle({ operationId: save.id, fence: claimed.fence, outcome: UNKNOWN, sent: true });
      await edit(at, () => claimed);
      await expect(enter(at.ledger)).rejects.toThrow("an operation stands as it stood earlier");
    });

    it("notices a thread whose seal was taken away, changed, or taken from another thread", async () => {
      const at = await fresh();
      await unknownWrite(at);
      await propose(at, [operation({ proposalId: "p2" })], { threadId: "t2" });
      await run(at, operation({ proposalId: "p2" }), UNKNOWN, { threadId: "t2" });
      let other = "";
      await at.byHand("t2", (tables) => {
        other = tables.head("t2") ?? "";
      });
      for (const [head, code] of [
        ["", "store_tampered"],
        ["1.1.1.1.0.00000000.x", "secret_missing"], // by a key that nobody here has
        [other, "store_tampered"],
      ] as const) {
        await at.byHand("t1", (tables) => tables.setHead("t1", head));
        await expect(enter(at.ledger)).rejects.toMatchObject({ code });
      }
    });

    it("notices a write number that was set back", async () => {
      const at = await fresh();
      await propose(at, [save, next]);
      await run(at, save, OK);
      await at.byHand("t1", (tables) => tables.nextSeq("t1"));
      await expect(claimOne(at, next)).rejects.toThrow("the number of its last write was changed");
    });

    it("stores what came of a call whose row was changed meanwhile, and says so at the next run (sealing-4)", async () => {
      const at = await fresh();
      await propose(at, [save]);
      const [claim] = [await claimOne(at, save)];
      const fence = (claim as { fence: number }).fence;
      await at.ledger.begin(save.id, fence, ACTS);
      await edit(at, (row) => ({ ...row, attempt: 9 }));
      expect(await at.ledger.settle({ operationId: save.id, fence, outcome: UNKNOWN, sent: true })).toBe(true);
      expect(await stands(at, save)).toBe("result_unknown (deadline) by host");
      await expect(enter(at.ledger)).rejects.toThrow("was changed");
    });

    it("goes on under a new secret that names the old one, and says which secret is missing without it", async () => {
      const at = await fresh();
      await propose(at, [save, next]);
      await run(at, next, OK);
      await run(at, save, UNKNOWN);
      const rotated = at.another(ROTATED);
      expect(await enter(rotated)).toEqual({ kind: "entered" });
      await rotated.resolve(save.id, "happened", { by: "ann" });
      await rotated.leave("t1", owner("b"));
      expect(await enter(at.another(ROTATED))).toEqual({ kind: "entered" });
      await at.another(ROTATED).leave("t1", owner("b"));
      await expect(enter(at.another({ ...ROTATED, previous: [] }))).rejects.toMatchObject({
        code: "secret_missing",
        hint: expect.stringContaining("add the secret it was sealed with to `approvals.previousSecrets`"),
      });
    });

    it("seals nothing without a secret, calls nothing tampered, and does not go on with a sealed thread (sealing-5)", async () => {
      const at = await fresh(undefined);
      const unsealed = createLedger(at.store, at.deps);
      await propose({ ...at, ledger: unsealed }, [save]);
      await run({ ...at, ledger: unsealed }, save, UNKNOWN);
      expect((await unsealed.row(save.id))?.seal).toBeUndefined();
      await edit(at, (row) => ({ ...row, attempt: 9 }));
      expect(await enter(unsealed)).toEqual({ kind: "entered" });
      await at.another(SEALS).leave("t1", owner("b")); // its first change seals what it finds
      await expect(enter(unsealed)).rejects.toMatchObject({ code: "secret_missing" });
    });

    it("seals once what an earlier version left, and nothing that comes without a seal later", async () => {
      const at = await fresh();
      const unsealed = createLedger(at.store, at.deps);
      await propose({ ...at, ledger: unsealed }, [save]);
      await run({ ...at, ledger: unsealed }, save, UNKNOWN);
      expect(await enter(at.ledger)).toEqual({ kind: "entered" });
      await propose({ ...at, ledger: unsealed }, [operation({ proposalId: "p2" })], { threadId: "t2" });
      await run({ ...at, ledger: unsealed }, operation({ proposalId: "p2" }), UNKNOWN, { threadId: "t2" });
      await expect(enter(at.another(), "t2")).rejects.toThrow("it bears no seal");
    });

    it("accepts a thread by a person's word: what may have been sent is unknown from then on", async () => {
      const at = await fresh();
      await unknownWrite(at);
      await edit(at, (row) => ({ ...row, outcome: { ...UNKNOWN, status: "failed" } }) as OperationRow);
      const accepted = await at.ledger.accept("t1", { by: "ann", note: "looked at the bank" });
      expect(accepted).toMatchObject({
        kind: "accepted",
        unknown: [{ operation: { id: save.id } }, { operation: { id: next.id } }],
      });
      expect(await enter(at.another())).toEqual({ kind: "entered" });
      const rows = await at.ledger.operations("t1");
      expect(await Promise.all(rows.map((row) => stands(at, row.operation)))).toEqual([
        "result_unknown (store_tampered) by host",
        "result_unknown (store_tampered) by host",
      ]);
      expect(rows.map((row) => row.state === "settled" && row.outcome.message)).toContain(
        "the record of it was changed by another hand, so it may or may not have happened; ann accepted the thread: looked at the bank",
      );
    });

    it("knows a row that was taken out as unknown once the thread is accepted (accept-1)", async () => {
      const at = await fresh();
      await unknownWrite(at);
      await at.takeOut(save.id);
      await at.ledger.accept("t1", { by: "ann", note: "restored" });
      expect(await claimOne(at, save)).toMatchObject({
        kind: "settled",
        row: { outcome: { status: "result_unknown" } },
      });
      expect((await at.ledger.unknowns("t1")).map((row) => row.operation.id)).toContain(save.id);
      expect(await at.ledger.accept("t9", { by: "ann", note: "" })).toEqual({ kind: "not_found" });
    });

    it("forgets what a thread was about, and keeps a sealed row with digests of each operation (forget-2)", async () => {
      const at = await fresh();
      const snapshot = { id: SNAPSHOT, servers: [], tools: [], withheld: [] };
      await at.ledger.putSnapshot(snapshot);
      const [secret, asked] = [
        operation({ args: { to: "ann@example.org" } }),
        operation({ index: 1, decision: "ask" }),
      ];
      await propose(at, [secret, asked]);
      await run(at, secret, { ...OK, message: "sent to ann@example.org" });
      await askOne(at, asked, { why: "ann@example.org is asked about" });
      await enter(at.ledger);
      expect(await at.ledger.forget("t1", owner("b"))).toEqual({ kind: "forgotten" });
      await at.ledger.leave("t1", owner("b"));
      expect(await at.ledger.snapshot(SNAPSHOT)).toBeUndefined();
      expect(await at.ledger.openRequests()).toEqual([]);
      expect(await at.ledger.asked([asked.id])).toEqual([]);
      expect(await at.ledger.threads()).toEqual([]);
      const rows = await at.ledger.operations("t1");
      expect(JSON.stringify(rows)).not.toContain("example");
      expect(rows.map((row) => [row.operation.id, row.operation.argumentsDigest, row.operation.arguments])).toEqual([
        [secret.id, secret.argumentsDigest, {}],
        [asked.id, asked.argumentsDigest, {}],
      ]);
      expect([await stands(at, secret), await stands(at, asked)]).toEqual([
        "ok (success) by server",
        "rejected (withdrawn) by host",
      ]);
      at.clock.now += 1_000;
      expect(await enter(at.another())).toEqual({ kind: "entered" }); // the seals hold
      const again = operation({ proposalId: "p2", args: { to: "ann@example.org" } });
      await propose(at, [again]);
      expect(await at.ledger.claim(batch([again], { ledgerSeq: 9, owner: owner("b") }))).toMatchObject({ kind: "ask" });
      expect(await at.ledger.threads()).toMatchObject([{ threadId: "t1" }]); // it is used again
    });

    it("keeps a snapshot that another thread was shown", async () => {
      const at = await fresh();
      await at.ledger.putSnapshot({ id: SNAPSHOT, servers: [], tools: [], withheld: [] });
      await propose(at, [save]);
      await propose(at, [operation({ proposalId: "p2" })], { threadId: "t2" });
      await enter(at.ledger);
      await at.ledger.forget("t1", owner("b"));
      expect(await at.ledger.snapshot(SNAPSHOT)).toMatchObject({ id: SNAPSHOT });
    });

    it("keeps the first list of a server, which is of no thread", async () => {
      const at = await fresh();
      const list = { id: sha256("list"), server: "docs", tools: [] };
      const first = { id: sha256("first"), scope: "local", server: "docs", list: list.id };
      await at.ledger.putSnapshot(list);
      await at.ledger.putSnapshot(first);
      await propose(at, [save]);
      await enter(at.ledger);
      expect(await at.ledger.forget("t1", owner("b"))).toEqual({ kind: "forgotten" });
      expect(await at.ledger.snapshot(list.id)).toEqual(list);
      expect(await at.ledger.snapshot(first.id)).toEqual(first);
    });

    it("forgets nothing of a thread with an unknown write, nor for a run that does not hold it (forget-1)", async () => {
      const at = await fresh();
      await unknownWrite(at);
      await expect(at.ledger.forget("t1", owner("b"))).rejects.toMatchObject({ code: "already_running" });
      await enter(at.ledger);
      expect(await at.ledger.forget("t1", owner("b"))).toMatchObject({
        kind: "unsettled",
        rows: [{ state: "settled" }],
      });
      expect((await at.ledger.row(save.id))?.operation.arguments).toEqual({ n: 0 });
    });

    it("notices a response of the model and an owner that was changed (sealing-1)", async () => {
      const asked = operation({ decision: "ask" });
      const before = await fresh();
      await propose(before, [asked]);
      const yes = await approve(before, asked);
      await before.byHand("t1", (tables) => {
        const proposal = tables.modelRequests("t1")[0]?.proposal;
        if (proposal) tables.putProposal({ ...proposal, calls: [] });
      });
      await expect(claimOne(before, asked, { verdicts: [yes] })).rejects.toMatchObject({ code: "store_tampered" });

      const at = await fresh();
      await propose(at, [save]);
      const claim = await claimOne(at, save);
      await at.ledger.begin(save.id, (claim as { fence: number }).fence, ACTS);
      await edit(at, (row) => ({ ...row, owner: owner("nobody") }) as OperationRow);
      at.life.set("nobody", "gone");
      await at.ledger.unknowns(); // sweeps
      await expect(at.ledger.resolve(save.id, "did_not_happen", { by: "ann" })).rejects.toThrow("was changed");
      await expect(at.ledger.unknowns("t1")).rejects.toThrow("was changed");
    });

    // A row whose seal was made to look like another secret's was taken as it stood, and its write was sent again.
    it("does not believe a row that bears a seal of a secret it does not have, when a person accepts it (accept-1)", async () => {
      for (const [status, becomes] of [
        ["failed", "result_unknown (store_tampered) by host"],
        ["ok", "ok (deadline) by host"],
      ]) {
        const at = await fresh();
        await propose(at, [save]);
        await run(at, save, UNKNOWN);
        await edit(at, (row) => ({ ...row, outcome: { ...UNKNOWN, status }, seal: "1.00000000.x.y" }) as OperationRow);
        await expect(enter(at.ledger)).rejects.toMatchObject({ code: "secret_missing" });
        await expect(at.ledger.resolve(save.id, "happened", { by: "ann" })).rejects.toMatchObject({
          code: "secret_missing",
        });
        await at.ledger.accept("t1", { by: "ann", note: "looked" });
        expect(await stands(at, save)).toBe(becomes);
      }
    });

    it("finds nothing to accept in a thread that nobody changed", async () => {
      const at = await fresh();
      await propose(at, [save, next]);
      await askOne(at, next);
      expect(await at.ledger.accept("t1", { by: "ann", note: "why not" })).toEqual({ kind: "accepted", unknown: [] });
      expect(await stands(at, next)).toBe("proposed");
    });

    it("accepts no thread that a run holds", async () => {
      const at = await fresh();
      await unknownWrite(at);
      await enter(at.ledger);
      expect(await at.ledger.accept("t1", { by: "ann", note: "" })).toMatchObject({ kind: "busy" });
    });
  });
}
