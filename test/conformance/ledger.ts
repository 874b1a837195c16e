// What every ledger adapter must do: the invariants ledger-1 to ledger-10 of the port, with a clock and owners in the
// test's hands.

import { describe, expect, it } from "vitest";
import { type Outcome, outcomeOf, rejected, type SettledRow, sha256, threadKey } from "../../src/contracts/index.js";
import { clockSuite } from "./ledger-clocks.js";
import {
  ACTS,
  approve,
  askOne,
  BOOTED,
  batch,
  claimOne,
  claimsOf,
  FAILED,
  LEASE,
  type MakeLedger,
  OK,
  operation,
  owner,
  propose,
  query,
  read,
  request,
  rowOf,
  run,
  SNAPSHOT,
  START,
  said,
  send,
  stands,
  TOOL,
  TTL,
  UNAVAILABLE,
  UNKNOWN,
  verdict,
  type World,
  world,
} from "./ledger-world.js";

const HALTED = "rejected (halted) by halt";
const HOST_GONE = "result_unknown (host_gone) by host";

export function ledgerSuite(name: string, make: MakeLedger): void {
  const fresh = (): Promise<World> => world(make);
  clockSuite(name, make);

  describe(`${name}: proposals and snapshots`, () => {
    it("keeps a snapshot once, under its id", async () => {
      const { ledger } = await fresh();
      const snapshot = { id: SNAPSHOT, servers: [], tools: [], withheld: [{ server: "s", tool: "t", reason: "why" }] };
      await ledger.putSnapshot(snapshot);
      await ledger.putSnapshot({ ...snapshot, withheld: [] });
      expect(await ledger.snapshot(SNAPSHOT)).toEqual(snapshot);
      expect(await ledger.snapshot(sha256("another"))).toBeUndefined();
    });

    it("keeps a server's list, and which one was the first of a scope, in the same way", async () => {
      const { ledger } = await fresh();
      const tool = { name: "save", digest: sha256("save"), description: "Saves.", inputSchema: { type: "object" } };
      const list = { id: sha256("list"), server: "docs", tools: [tool, { name: "look", digest: sha256("look") }] };
      const first = { id: sha256("first"), scope: "a", server: "docs", list: list.id, seal: "5ea1" };
      await ledger.putSnapshot(list);
      await ledger.putSnapshot(first);
      await ledger.putSnapshot({ ...first, list: sha256("later") });
      expect(await ledger.snapshot(list.id)).toEqual(list);
      expect(await ledger.snapshot(first.id)).toEqual(first);
    });

    it("records a model request and its proposal once, whatever comes under its id later", async () => {
      const at = await fresh();
      const save = operation();
      await propose(at, [save]);
      await propose(at, [save, operation({ index: 1 })]);
      const proposal = await at.ledger.proposal("p1");
      expect(proposal?.calls.map((call) => call.callId)).toEqual(["call-0"]);
      expect((await at.ledger.modelRequests("t1", "turn-1")).map((one) => one.requestId)).toEqual(["request-p1"]);
      expect(await at.ledger.standing(query([]))).toMatchObject({ modelRequests: 1, activeMs: 20 });
      expect(await at.ledger.proposal("p2")).toBeUndefined();
    });

    it("lists threads, the latest activity first", async () => {
      const at = await fresh();
      await propose(at, [operation()]);
      at.clock.now += 1_000;
      await propose(at, [operation({ proposalId: "p2" })], { threadId: "t2" });
      at.clock.now += 1_000;
      await claimOne(at, operation());
      expect(await at.ledger.threads()).toEqual([
        { threadId: "t1", scope: "local", lastAt: START + 2_000 },
        { threadId: "t2", scope: "local", lastAt: START + 1_000 },
      ]);
    });
  });

  describe(`${name}: the life of an operation`, () => {
    it("goes from claimed to dispatching to settled, each step with its facts (ledger-1)", async () => {
      const at = await fresh();
      const save = operation();
      await propose(at, [save]);
      const claim = await claimOne(at, save);
      expect(claim).toEqual({ kind: "claimed", operationId: save.id, fence: 1, attempt: 1, seq: 1 });
      expect(await rowOf(at, save)).toEqual({
        operation: save,
        threadId: "t1",
        scope: "local",
        turnId: "turn-1",
        toolDigest: TOOL,
        state: "claimed",
        owner: owner("a"),
        leaseUntil: START + LEASE,
        leaseSteady: BOOTED + LEASE,
        fence: 1,
        attempt: 1,
        seq: 1,
        sent: false,
        createdAt: START,
      });
      at.clock.now += 10;
      expect(await at.ledger.begin(save.id, 1, ACTS)).toEqual({ kind: "dispatching", sentAt: START + 10 });
      expect(await rowOf(at, save)).toMatchObject({ state: "dispatching", sent: true, sentAt: START + 10 });
      at.clock.now += 30;
      const result = { ref: "0123", bytes: 12, sha256: sha256("body") };
      expect(await at.ledger.settle({ operationId: save.id, fence: 1, outcome: OK, sent: true, result })).toBe(true);
      expect(await rowOf(at, save)).toMatchObject({ state: "settled", outcome: OK, result, settledAt: START + 40 });
      expect(await at.ledger.standing(query([]))).toMatchObject({ calls: 1, writes: 1, activeMs: 20 + 30 });
    });

    it("a settled operation is answered from the ledger, marked as replayed (ledger-1) (transition-1)", async () => {
      const at = await fresh();
      for (const [index, outcome] of [OK, FAILED, UNKNOWN].entries()) {
        const call = operation({ index, proposalId: `p${index}` });
        const where = { threadId: `t${index}` };
        await run(at, call, outcome, where);
        const again = await claimOne(at, call, where);
        expect(again).toMatchObject({ kind: "settled", replayed: true, row: { outcome, attempt: 1 } });
      }
    });

    it("an unavailable read is claimed again as the next attempt, and starts clean (ledger-1)", async () => {
      const at = await fresh();
      const load = read();
      await run(at, load, UNAVAILABLE);
      expect(await claimOne(at, load)).toEqual({ kind: "claimed", operationId: load.id, fence: 2, attempt: 2 });
      const row = await rowOf(at, load);
      expect(row).toMatchObject({ state: "claimed", sent: false });
      expect(outcomeOf(row) ?? (row as SettledRow).sentAt ?? (row as SettledRow).settledAt).toBeUndefined();
    });

    it("an unavailable write is claimed again only if it never reached dispatching (ledger-1) (transition-1)", async () => {
      const at = await fresh();
      const [never, reached] = [operation({ index: 0 }), operation({ index: 1 })] as const;
      await claimOne(at, never);
      await at.ledger.settle({ operationId: never.id, fence: 1, outcome: UNAVAILABLE, sent: false });
      expect(await claimOne(at, never)).toMatchObject({ kind: "claimed", fence: 2, attempt: 2, seq: 2 });
      await at.ledger.begin(never.id, 2, ACTS);
      await at.ledger.settle({ operationId: never.id, fence: 2, outcome: FAILED, sent: true });

      await send(at, reached);
      await at.ledger.settle({ operationId: reached.id, fence: 1, outcome: UNAVAILABLE, sent: false });
      expect(said(await claimOne(at, reached))).toBe("unavailable (not_sent) by host, replayed");
    });

    it("an old fence begins nothing and settles nothing (ledger-4) (settle-2)", async () => {
      const at = await fresh();
      const save = operation();
      await claimOne(at, save, { owner: owner("a") });
      at.life.set("a", "gone");
      expect(await claimOne(at, save, { owner: owner("b") })).toMatchObject({ kind: "claimed", fence: 2, attempt: 2 });
      expect(await at.ledger.begin(save.id, 1, ACTS)).toEqual({ kind: "lost" });
      expect(await at.ledger.settle({ operationId: save.id, fence: 1, outcome: OK, sent: true })).toBe(false);
      expect(await at.ledger.settleLate({ operationId: save.id, fence: 1, outcome: OK, sent: true })).toBe(false);
      expect(await rowOf(at, save)).toMatchObject({ state: "claimed", owner: owner("b"), fence: 2 });
    });

    it("begins only what is claimed, once (ledger-4)", async () => {
      const at = await fresh();
      const save = operation();
      expect(await at.ledger.begin(save.id, 1, ACTS)).toEqual({ kind: "lost" });
      await send(at, save);
      expect(await at.ledger.begin(save.id, 1, ACTS)).toEqual({ kind: "lost" });
      expect(await at.ledger.standing(query([]))).toMatchObject({ calls: 1 });
    });

    it("the first settlement stands; the same one again is confirmed, another is not (ledger-6) (settle-3)", async () => {
      const at = await fresh();
      const save = operation();
      await run(at, save, OK);
      const again = { operationId: save.id, fence: 1, sent: true };
      expect(await at.ledger.settle({ ...again, outcome: OK })).toBe(true);
      expect(await at.ledger.settle({ ...again, outcome: FAILED })).toBe(false);
      expect(await stands(at, save)).toBe("ok (success) by server");
      expect(await at.ledger.standing(query([]))).toMatchObject({ calls: 1, activeMs: 0 });
    });

    it("renews the lease of what an owner has in flight, and of nothing else (ledger-4)", async () => {
      const at = await fresh();
      const [mine, other, done] = [read({ index: 0 }), read({ index: 1 }), read({ index: 2 })] as const;
      await claimOne(at, mine);
      await claimOne(at, other, { owner: owner("b") });
      await run(at, done, OK);
      at.clock.now += 5_000;
      await at.ledger.renew(owner("a"), LEASE);
      expect(((await rowOf(at, mine)) as SettledRow).leaseUntil).toBe(START + 5_000 + LEASE);
      expect(((await rowOf(at, other)) as SettledRow).leaseUntil).toBe(START + LEASE);
      expect(((await rowOf(at, done)) as SettledRow).leaseUntil).toBe(START + LEASE);
    });
  });

  describe(`${name}: owners`, () => {
    it("a claimed operation is busy for everybody, its own owner included, while the owner lives (ledger-2)", async () => {
      const at = await fresh();
      const save = operation();
      await claimOne(at, save, { owner: owner("a") });
      const busy = { kind: "busy", operationId: save.id, owner: owner("a") };
      expect(await claimOne(at, save, { owner: owner("b") })).toEqual(busy);
      expect(await claimOne(at, save, { owner: owner("a") })).toEqual(busy);
    });

    it("while a call of the batch is being sent, the writes behind it are not taken from the run that sends (ledger-2)", async () => {
      const at = await fresh();
      const [first, second] = [operation(), operation({ index: 1 })];
      await at.ledger.claim(batch([first, second]));
      await at.ledger.begin(first.id, 1, ACTS);
      at.life.set(second.id, "gone"); // claimed, but not held yet: its turn has not come
      const claims = claimsOf(await at.ledger.claim(batch([first, second], { owner: owner("b") })));
      expect(claims.map((claim) => claim.kind)).toEqual(["busy", "busy"]);
      expect(await rowOf(at, second)).toMatchObject({ owner: owner("a"), fence: 1 });
    });

    it("an owner that cannot be asked keeps its claim until its lease lapses (ledger-2)", async () => {
      const at = await fresh();
      const save = operation();
      await claimOne(at, save);
      at.life.set("a", "unknown");
      at.clock.now = START + LEASE - 1;
      expect(await claimOne(at, save, { owner: owner("b") })).toMatchObject({ kind: "busy" });
      at.clock.now = START + LEASE;
      expect(await claimOne(at, save, { owner: owner("b") })).toMatchObject({ kind: "claimed", fence: 2 });
    });

    it("a write left in dispatching by a dead owner becomes unknown with the claim, and is not sent again (ledger-1) (transition-2)", async () => {
      const at = await fresh();
      const save = operation();
      await send(at, save);
      expect(await claimOne(at, save)).toMatchObject({ kind: "busy" });
      at.life.set("a", "gone");
      const claim = await claimOne(at, save, { owner: owner("b") });
      expect(said(claim)).toBe(HOST_GONE);
      expect(await stands(at, save)).toBe(HOST_GONE);
      expect(await rowOf(at, save)).toMatchObject({ fence: 2, attempt: 1, sent: true });
    });

    it("a read left in dispatching by a dead owner runs again (ledger-1) (transition-1)", async () => {
      const at = await fresh();
      const load = read();
      await send(at, load);
      expect(await claimOne(at, load)).toMatchObject({ kind: "busy" });
      at.life.set("a", "gone");
      expect(await claimOne(at, load, { owner: owner("b") })).toMatchObject({ kind: "claimed", fence: 2, attempt: 2 });
    });

    it("what was sent as a write is not sent again because the host calls it a read now (ledger-1)", async () => {
      const at = await fresh();
      const save = operation();
      await send(at, save);
      at.life.set("a", "gone");
      expect(said(await claimOne(at, { ...save, effect: "read" }, { owner: owner("b") }))).toBe(HOST_GONE);
    });

    it("an operation named twice in a batch is claimed once (ledger-2)", async () => {
      const at = await fresh();
      const load = read();
      const claims = claimsOf(await at.ledger.claim(batch([load, load])));
      expect(claims.map((claim) => claim.kind)).toEqual(["claimed", "busy"]);
    });

    it("sweeps what dead owners left: writes always, reads when told to, claimed rows never (ledger-1)", async () => {
      const at = await fresh();
      const [save, load, waiting, living] = [operation(), read({ index: 1 }), read({ index: 2 }), read({ index: 3 })];
      await send(at, load);
      await claimOne(at, waiting);
      await send(at, living, { owner: owner("b") });
      await send(at, save);
      at.life.set("a", "gone");
      expect((await at.ledger.sweep({ threadId: "t1", reads: false })).map((row) => row.operation.id)).toEqual([
        save.id,
      ]);
      expect((await at.ledger.sweep({ reads: true })).map((row) => row.operation.id)).toEqual([load.id]);
      expect(await stands(at, load)).toBe("unavailable (host_gone) by host");
      expect(await stands(at, waiting)).toBe("claimed");
      expect(await stands(at, living)).toBe("dispatching");
      expect(await at.ledger.sweep({ threadId: "t2", reads: true })).toEqual([]);
    });
  });

  describe(`${name}: threads`, () => {
    it("an operation of another thread or scope is refused, and the true thread's is not touched (ledger-2) (claim-1)", async () => {
      const at = await fresh();
      const save = operation();
      await propose(at, [save]);
      for (const where of [{ threadId: "t2" }, { scope: "other" }]) {
        const claim = await claimOne(at, save, where);
        expect(said(claim)).toBe("rejected (other_thread) by host");
        expect(claim).toMatchObject({ row: { operation: { id: save.id } } });
        expect(await at.ledger.row(save.id)).toBeUndefined();
        expect(await at.ledger.rows("p1")).toEqual([]);
      }
      expect((await at.ledger.operations("t2")).map((row) => outcomeOf(row)?.reason)).toEqual(["other_thread"]);
      expect(await claimOne(at, save)).toMatchObject({ kind: "claimed", fence: 1 });
      const before = await rowOf(at, save);
      expect(said(await claimOne(at, save, { threadId: "t2" }))).toBe("rejected (other_thread) by host");
      expect(await rowOf(at, save)).toEqual(before);
    });

    it("another thread cannot refuse an operation either, nor ask about it (ledger-2)", async () => {
      const at = await fresh();
      const save = operation();
      await propose(at, [save]);
      const outcome = rejected("withdrawn", "host", "it was withdrawn");
      const foreign = { operation: save, threadId: "t2", scope: "local", turnId: "turn-9", toolDigest: TOOL };
      const [row] = await at.ledger.refuse([{ ...foreign, outcome }]);
      expect(outcomeOf(row)?.reason).toBe("other_thread");
      const asked = await askOne(at, save, { threadId: "t2" });
      expect(await at.ledger.request(asked.request.approvalId)).toBeUndefined();
      expect(await at.ledger.answer([{ verdict: verdict(asked) }])).toEqual([{ kind: "not_found" }]);
      expect(await at.ledger.row(save.id)).toBeUndefined();
    });

    it("numbers the writes of each thread from 1 and never twice; reads have no number (ledger-5) (claim-3)", async () => {
      const at = await fresh();
      const first = claimsOf(await at.ledger.claim(batch([operation(), read({ index: 1 }), operation({ index: 2 })])));
      expect(first.map((claim) => (claim.kind === "claimed" ? claim.seq : claim.kind))).toEqual([1, undefined, 2]);
      expect(await claimOne(at, operation({ proposalId: "q" }), { threadId: "t2" })).toMatchObject({ seq: 1 });
      at.life.set("a", "gone");
      expect(await claimOne(at, operation(), { owner: owner("b") })).toMatchObject({ seq: 3 });
    });
  });

  describe(`${name}: the halt`, () => {
    it("an unknown write halts the thread's writes, not its reads, nor another thread (ledger-2)", async () => {
      const at = await fresh();
      await run(at, operation(), UNKNOWN);
      const [save, load] = [operation({ proposalId: "p2" }), read({ proposalId: "p2", index: 1 })];
      const claims = claimsOf(await at.ledger.claim(batch([save, load], { ledgerSeq: 1 })));
      expect(claims.map(said)).toEqual([HALTED, "claimed"]);
      expect(await claimOne(at, operation({ proposalId: "p3" }), { threadId: "t2" })).toMatchObject({
        kind: "claimed",
      });
    });

    it("under haltScope server it halts writes of the scope to that server, and the thread's own (ledger-2)", async () => {
      const at = await fresh();
      await run(at, operation(), UNKNOWN);
      const claimed = async (threadId: string, server: string, scope: string, proposalId: string) => {
        const call = operation({ server, proposalId });
        return said(await claimOne(at, call, { threadId, scope, haltScope: "server", ledgerSeq: 1 }));
      };
      expect(await claimed("t2", "documents", "local", "p2")).toBe(HALTED);
      expect(await claimed("t2", "mail", "local", "p3")).toBe("claimed");
      expect(await claimed("t3", "documents", "other", "p4")).toBe("claimed");
      expect(await claimed("t1", "mail", "local", "p5")).toBe(HALTED);
    });

    it("a write of the thread that a dead owner was sending is unknown, and halts (ledger-2)", async () => {
      const at = await fresh();
      const sending = operation();
      await send(at, sending);
      const next = operation({ proposalId: "p2" });
      const busy = await claimOne(at, next, { owner: owner("b"), ledgerSeq: 1 });
      expect(busy).toEqual({ kind: "busy", operationId: next.id, owner: owner("a") });
      expect(await stands(at, next)).toBe("no row");
      at.life.set("a", "gone");
      expect(said(await claimOne(at, next, { owner: owner("b"), ledgerSeq: 1 }))).toBe(HALTED);
      expect(await stands(at, sending)).toBe(HOST_GONE);
    });

    it("what an earlier call of the batch turns out to be halts the later ones (ledger-2)", async () => {
      const at = await fresh();
      const [first, second] = [operation(), operation({ index: 1 })];
      await at.ledger.claim(batch([first, second]));
      await at.ledger.begin(first.id, 1, ACTS);
      at.life.set("a", "gone");
      const claims = claimsOf(await at.ledger.claim(batch([first, second], { owner: owner("b") })));
      expect(claims.map(said)).toEqual([HOST_GONE, HALTED]);
    });

    it("refuses a verdict given before the halt, and does not consume it (ledger-2)", async () => {
      const at = await fresh();
      const asked = operation({ proposalId: "p2", decision: "ask" });
      const yes = await approve(at, asked);
      await run(at, operation(), UNKNOWN);
      expect(said(await claimOne(at, asked, { verdicts: [yes], ledgerSeq: 1 }))).toBe(HALTED);
      expect(await at.ledger.request(yes.approvalId)).toMatchObject({ consumed: false });
    });

    it("begin looks again: a write that became unknown since the claim (ledger-2) (claim-1)", async () => {
      const at = await fresh();
      const [first, second, load] = [operation(), operation({ index: 1 }), read({ index: 2 })];
      await at.ledger.claim(batch([first, second, load]));
      await at.ledger.begin(first.id, 1, ACTS);
      await at.ledger.settle({ operationId: first.id, fence: 1, outcome: UNKNOWN, sent: true });
      const halted = await at.ledger.begin(second.id, 1, ACTS);
      expect(halted.kind).toBe("halted");
      expect(await stands(at, second)).toBe(HALTED);
      expect(await rowOf(at, second)).toMatchObject({ sent: false });
      expect(await at.ledger.begin(load.id, 1, ACTS)).toMatchObject({ kind: "dispatching" });
    });

    it("begin looks as far as the claim was told to (ledger-2)", async () => {
      const at = await fresh();
      const [near, far] = [operation({ proposalId: "p2" }), operation({ proposalId: "p3" })];
      await claimOne(at, near, { threadId: "t2" });
      await claimOne(at, far, { threadId: "t3", haltScope: "server" });
      await run(at, operation(), UNKNOWN);
      expect(await at.ledger.begin(near.id, 1, ACTS)).toMatchObject({ kind: "dispatching" });
      expect(await at.ledger.begin(far.id, 1, ACTS)).toMatchObject({ kind: "halted" });
    });

    it("settling the unknown write lifts the halt (ledger-2)", async () => {
      const at = await fresh();
      const unknown = operation();
      await run(at, unknown, UNKNOWN);
      at.life.set("a", "gone");
      await at.ledger.resolve(unknown.id, "happened", { by: "someone" });
      const next = operation({ proposalId: "p2", args: { next: true } });
      expect(await claimOne(at, next, { ledgerSeq: 1 })).toMatchObject({ kind: "claimed" });
    });
  });

  describe(`${name}: guards`, () => {
    const again = operation({ proposalId: "p2" });

    it("an identical earlier write is asked about, even if allowed; nothing of the batch is claimed (ledger-2)", async () => {
      const at = await fresh();
      await run(at, operation({ args: { n: 0 } }), OK);
      const load = read({ proposalId: "p2", index: 1 });
      const result = await at.ledger.claim(
        batch([load, operation({ proposalId: "p2", args: { n: 0 } })], { ledgerSeq: 1 }),
      );
      expect(result).toEqual({ kind: "ask", operationIds: [again.id] });
      expect(await at.ledger.rows("p2")).toEqual([]);
    });

    it.each([
      ["claimed", "ask"],
      ["dispatching", "busy"],
      ["ok", "ask"],
      ["result_unknown", HALTED],
      ["failed", "claimed"],
      ["unavailable", "claimed"],
    ])("an identical write that is %s: %s (ledger-2)", async (state, expected) => {
      const at = await fresh();
      const first = operation();
      const claim = await claimOne(at, first);
      const fence = claim.kind === "claimed" ? claim.fence : 0;
      if (state !== "claimed") await at.ledger.begin(first.id, fence, ACTS);
      const outcome = { ok: OK, result_unknown: UNKNOWN, failed: FAILED, unavailable: UNAVAILABLE }[state];
      const sent = outcome !== UNAVAILABLE;
      if (outcome) await at.ledger.settle({ operationId: first.id, fence, outcome, sent });
      const result = await at.ledger.claim(batch([again], { ledgerSeq: 1 }));
      expect(result.kind === "ask" ? "ask" : said(result.claims[0])).toBe(expected);
    });

    // A server answered 303 after it had done what was asked. The call was settled as not run, and the identical one went out
    // with nobody asked.
    it.each<[what: string, expected: "ask" | "claimed", outcome: Outcome]>([
      ["turned away", "ask", { ...UNAVAILABLE, reason: "turned_away" }],
      ["failed by an HTTP status", "ask", { ...FAILED, reason: "server_error" }],
      ["refused by a server that is vouched for", "claimed", rejected("server", "server", "no")],
      ["failed by its own contract", "claimed", { ...FAILED, reason: "contract" }],
      ["failed, as a read-back found", "claimed", { ...FAILED, reason: "read_back" }],
    ])("an identical write that was sent and %s: %s (ledger-2)", async (_what, expected, outcome) => {
      const at = await fresh();
      const first = operation();
      const fence = await send(at, first);
      await at.ledger.settle({ operationId: first.id, fence, outcome, sent: true });
      const repeats = (await at.ledger.standing(query([again], { ledgerSeq: 1 }))).repeats;
      expect(repeats.size).toBe(expected === "ask" ? 1 : 0);
      const claim = async (ledgerSeq: number) => {
        const result = await at.ledger.claim(batch([again], { ledgerSeq }));
        return result.kind === "ask" ? "ask" : said(result.claims[0]);
      };
      expect(await claim(1)).toBe(expected);
      if (expected === "ask")
        expect((await at.ledger.standing(query([again], { ledgerSeq: 0 }))).ahead).toHaveLength(1);
    });

    it("an identical write of which a person says that it did not happen was sent all the same (ledger-2)", async () => {
      const at = await fresh();
      const first = operation();
      await run(at, first, UNKNOWN);
      at.life.set("a", "gone");
      await at.ledger.resolve(first.id, "did_not_happen", { by: "someone" });
      expect(await at.ledger.claim(batch([again], { ledgerSeq: 1 }))).toEqual({
        kind: "ask",
        operationIds: [again.id],
      });
    });

    it("repeat deny refuses it, repeat allow runs it, other arguments and other threads are no repeat (ledger-2)", async () => {
      const at = await fresh();
      await run(at, operation(), OK);
      const where = { ledgerSeq: 1 };
      expect(said(await claimOne(at, again, { ...where, repeat: "deny" }))).toBe("rejected (denied) by policy");
      expect(said(await claimOne(at, operation({ proposalId: "p3" }), { ...where, repeat: "allow" }))).toBe("claimed");
      const other = operation({ proposalId: "p4", args: { n: 99 } });
      expect(said(await claimOne(at, other, { ledgerSeq: 2 }))).toBe("claimed");
      expect(said(await claimOne(at, operation({ proposalId: "p5" }), { threadId: "t2" }))).toBe("claimed");
    });

    it("the second identical write of one message is a repeat of the first, not the first of the second (ledger-2)", async () => {
      const at = await fresh();
      const [first, second] = [operation({ args: {} }), operation({ index: 1, args: {} })];
      const twice = batch([first, second]);
      expect(await at.ledger.claim(twice)).toEqual({ kind: "ask", operationIds: [second.id] });
      const yes = await approve(at, second, { seen: [first.id] });
      const both = batch([first, second], { verdicts: [yes] });
      expect(claimsOf(await at.ledger.claim(both)).map((claim) => claim.kind)).toEqual(["claimed", "claimed"]);
      at.life.set("a", "gone"); // abandoned before anything was sent: the same batch is claimed again under the same yes
      const after = await at.ledger.claim({ ...both, owner: owner("b") });
      expect(claimsOf(after).map((claim) => claim.kind)).toEqual(["claimed", "claimed"]);
    });

    it("writes this branch has not seen are asked about, whatever policy says (ledger-2)", async () => {
      const at = await fresh();
      const other = operation({ args: { other: true } });
      await run(at, other, OK);
      const save = operation({ proposalId: "p2" });
      const unseen = batch([save], { ledgerSeq: 0, repeat: "allow" });
      expect(await at.ledger.claim(unseen)).toEqual({ kind: "ask", operationIds: [save.id] });
      const yes = await approve(at, save, { seen: [other.id] });
      expect(claimsOf(await at.ledger.claim({ ...batch([save], { verdicts: [yes] }) }))[0]?.kind).toBe("claimed");
    });

    it("reads, seen writes, writes of this proposal, rejected and unavailable ones are not ahead (ledger-2)", async () => {
      const at = await fresh();
      await run(at, operation({ args: { seen: true } }), OK); // 1
      const turnedAway = operation({ proposalId: "px", args: { turned: "away" } });
      await run(at, turnedAway, UNAVAILABLE, { ledgerSeq: 1 }); // 2
      const refused = operation({ proposalId: "py", args: { refused: true } });
      await claimOne(at, refused, { ledgerSeq: 1 }); // 3
      const no = rejected("withdrawn", "host", "it was withdrawn");
      await at.ledger.settle({ operationId: refused.id, fence: 1, outcome: no, sent: false });
      const [one, two] = [operation({ proposalId: "p2" }), operation({ proposalId: "p2", index: 1 })];
      await run(at, one, OK, { ledgerSeq: 1 }); // 4
      expect(await claimOne(at, two, { ledgerSeq: 1 })).toMatchObject({ kind: "claimed", seq: 5 });
      const load = read({ proposalId: "p3" });
      expect(await claimOne(at, load, { ledgerSeq: 0 })).toMatchObject({ kind: "claimed" });
    });

    it("an approval covers the earlier writes it showed and no others (ledger-2) (admission-3)", async () => {
      const at = await fresh();
      const first = operation();
      await run(at, first, OK);
      const yes = await approve(at, again, { seen: [first.id] });
      const unseen = operation({ proposalId: "px", args: { between: true } });
      await run(at, unseen, OK, { ledgerSeq: 1 });
      const tried = batch([again], { verdicts: [yes], ledgerSeq: 1 });
      expect(await at.ledger.claim(tried)).toEqual({ kind: "ask", operationIds: [again.id] });
      const more = await approve(at, again, { seen: [first.id, unseen.id] });
      const covered = batch([again], { verdicts: [more], ledgerSeq: 1 });
      expect(claimsOf(await at.ledger.claim(covered))[0]?.kind).toBe("claimed");
    });

    it("standing names what the claim will find, and an operation is never its own repeat", async () => {
      const at = await fresh();
      const first = operation();
      await run(at, first, OK);
      const standing = await at.ledger.standing(query([again], { ledgerSeq: 0 }));
      const ref = { operationId: first.id, alias: "mcp__documents__save", state: "ok", sentAt: START };
      expect([...standing.repeats]).toEqual([[again.id, [ref]]]);
      expect(standing.ahead).toEqual([ref]);
      const own = await at.ledger.standing(query([first], { ledgerSeq: 0 }));
      expect([...own.repeats]).toEqual([]);
      expect(own.ahead).toEqual([]);
    });

    it("standing names unknown writes, of the scope too under haltScope server, abandoned ones included", async () => {
      const at = await fresh();
      const [mine, theirs] = [operation(), operation({ proposalId: "p2" })];
      await send(at, mine);
      await run(at, theirs, UNKNOWN, { threadId: "t2" });
      await run(at, operation({ proposalId: "p3" }), UNKNOWN, { threadId: "t3", scope: "other" });
      at.life.set("a", "gone");
      const ids = async (haltScope: "thread" | "server") =>
        (await at.ledger.standing(query([], { haltScope }))).unknownWrites.map(({ operationId, state, server }) => ({
          operationId,
          state,
          server,
        }));
      const found = (of: typeof mine) => ({ operationId: of.id, state: "result_unknown", server: "documents" });
      expect(await ids("thread")).toEqual([found(mine)]);
      expect(await ids("server")).toEqual([found(theirs), found(mine)]);
      expect(await stands(at, mine)).toBe("dispatching");
    });
  });

  describe(`${name}: verdicts`, () => {
    const asked = operation({ decision: "ask" });

    it("an ask without a verdict claims nothing of its batch (ledger-2) (claim-2)", async () => {
      const at = await fresh();
      const load = read({ index: 1 });
      expect(await at.ledger.claim(batch([load, asked]))).toEqual({ kind: "ask", operationIds: [asked.id] });
      expect(await at.ledger.row(load.id)).toBeUndefined();
      expect(await at.ledger.row(asked.id)).toBeUndefined();
    });

    // One approval could be used again, or for another call.
    it("a verdict is consumed by the claim it permits; another claim finds the operation as it stands (ledger-3) (claim-2)", async () => {
      const at = await fresh();
      const yes = await approve(at, asked);
      expect(await claimOne(at, asked, { verdicts: [yes] })).toMatchObject({ kind: "claimed" });
      expect(await at.ledger.request(yes.approvalId)).toMatchObject({ consumed: true });
      expect(said(await claimOne(at, asked, { verdicts: [yes] }))).toBe("busy");
      await at.ledger.begin(asked.id, 1, ACTS);
      await at.ledger.settle({ operationId: asked.id, fence: 1, outcome: OK, sent: true });
      expect(said(await claimOne(at, asked, { verdicts: [yes] }))).toBe("ok (success) by server, replayed");
    });

    it("a claim that was abandoned before the send goes on under the verdict it consumed (ledger-3) (admission-4)", async () => {
      const at = await fresh();
      const yes = await approve(at, asked);
      await claimOne(at, asked, { verdicts: [yes] });
      at.life.set("a", "gone");
      const next = await claimOne(at, asked, { verdicts: [yes], owner: owner("b") });
      expect(next).toMatchObject({ kind: "claimed", fence: 2 });
    });

    // An approval's number could be used for a call that it was not given for.
    it.each([
      ["another seal", { mac: "forged" }, {}],
      ["another approval", { approvalId: "approval-of-something-else" }, {}],
      ["another tool definition", {}, { toolDigest: sha256("changed definition") }],
    ])("a verdict with %s asks, and burns nothing (ledger-2)", async (_, forged, where) => {
      const at = await fresh();
      const yes = await approve(at, asked);
      const tried = batch([asked], { verdicts: [{ ...yes, ...forged }], ...where });
      expect(await at.ledger.claim(tried)).toEqual({ kind: "ask", operationIds: [asked.id] });
      expect(await at.ledger.request(yes.approvalId)).toMatchObject({ consumed: false });
      expect(await claimOne(at, asked, { verdicts: [yes] })).toMatchObject({ kind: "claimed" });
    });

    // An approval's number could be used again, or for another call.
    it("a verdict is for one operation: other arguments, another call, another thread (ledger-2)", async () => {
      const at = await fresh();
      const yes = await approve(at, asked);
      const other = operation({ decision: "ask", args: { n: "other" } });
      const borrowed = batch([other]);
      const [wanted] = borrowed.operations;
      const verdictOf = { approvalId: yes.approvalId, mac: yes.mac };
      const tried = { ...borrowed, operations: [{ ...wanted, verdict: verdictOf } as NonNullable<typeof wanted>] };
      expect(await at.ledger.claim(tried)).toEqual({ kind: "ask", operationIds: [other.id] });
      expect(said(await claimOne(at, asked, { verdicts: [yes], threadId: "t2" }))).toBe(
        "rejected (other_thread) by host",
      );
      expect(await at.ledger.request(yes.approvalId)).toMatchObject({ consumed: false });
      expect(await claimOne(at, asked, { verdicts: [yes] })).toMatchObject({ kind: "claimed" });
    });

    it("no verdict runs what policy denies (ledger-2)", async () => {
      const at = await fresh();
      const yes = await approve(at, asked);
      const denied = operation({ decision: "deny" });
      expect(said(await claimOne(at, denied, { verdicts: [yes] }))).toBe("rejected (denied) by policy");
    });

    it("a verdict that was superseded by a newer question asks (ledger-2)", async () => {
      const at = await fresh();
      const yes = await approve(at, asked);
      const newer = await askOne(at, asked, { seen: [sha256("earlier")] });
      expect(await at.ledger.asked([asked.id])).toEqual([{ request: newer.request, consumed: false, expired: false }]);
      const tried = batch([asked], { verdicts: [yes] });
      expect(await at.ledger.claim(tried)).toEqual({ kind: "ask", operationIds: [asked.id] });
      expect(await at.ledger.answer([{ verdict: yes }])).toMatchObject([{ kind: "already_decided", verdict: yes }]);
    });

    it("is valid to the last millisecond of its time, counted from the batch's last verdict (ledger-2)", async () => {
      const at = await fresh();
      const second = operation({ decision: "ask", index: 1 });
      const first = await approve(at, asked);
      at.clock.now += TTL;
      const last = await approve(at, second);
      at.clock.now += TTL;
      const claims = claimsOf(await at.ledger.claim(batch([asked, second], { verdicts: [first, last] })));
      expect(claims.map((claim) => claim.kind)).toEqual(["claimed", "claimed"]);
    });

    // The expiry of an approval was stored and never checked, so that a yes worked for ever.
    // The model was told that the call would run once approved, although the question had expired.
    it("one millisecond later it was not run, and a person is told so (ledger-2)", async () => {
      const at = await fresh();
      const yes = await approve(at, asked);
      at.clock.now += TTL + 1;
      const claim = await claimOne(at, asked, { verdicts: [yes] });
      expect(said(claim)).toBe("rejected (expired) by expiry");
      expect(claim.kind === "settled" && claim.row.outcome?.message).toContain("it was not run");
      expect(await at.ledger.request(yes.approvalId)).toMatchObject({ consumed: false });
    });

    it("the question's own expiry ends its verdict too (ledger-2)", async () => {
      const at = await fresh();
      const yes = await approve(at, asked, { ttlMs: 1_000 });
      at.clock.now += 1_001;
      expect(said(await claimOne(at, asked, { verdicts: [yes] }))).toBe("rejected (expired) by expiry");
    });

    // The wall clock was set back, and what depended on its order or on a lifetime went wrong.
    it("a clock set back does not revive an expired verdict (ledger-2) (clock-1)", async () => {
      const at = await fresh();
      const yes = await approve(at, asked);
      at.clock.now += TTL + 1;
      await at.ledger.openRequests(); // the store has seen this time
      at.clock.now -= 3_600_000;
      expect(said(await claimOne(at, asked, { verdicts: [yes] }))).toBe("rejected (expired) by expiry");
    });

    it("a clock set forward expires what was open; what is approved after it was mended lives its life (ledger-2) (clock-1) (clock-2)", async () => {
      const at = await fresh();
      const yes = await approve(at, asked);
      at.clock.now += 30 * 24 * 3_600_000;
      expect(said(await claimOne(at, asked, { verdicts: [yes] }))).toBe("rejected (expired) by expiry");
      at.clock.now = START + 1_000;
      const later = operation({ decision: "ask", proposalId: "p2" });
      const fresh_ = await approve(at, later);
      at.clock.now += TTL;
      expect(said(await claimOne(at, later, { verdicts: [fresh_] }))).toBe("claimed");
      const last = operation({ decision: "ask", proposalId: "p3", index: 5 });
      const stale = await approve(at, last);
      at.clock.now += TTL + 1;
      expect(said(await claimOne(at, last, { verdicts: [stale], ledgerSeq: 1 }))).toBe("rejected (expired) by expiry");
    });

    it("an unavailable operation that cannot be claimed again stays unavailable (ledger-1) (admission-5)", async () => {
      const at = await fresh();
      const yes = await approve(at, asked);
      await claimOne(at, asked, { verdicts: [yes] });
      await at.ledger.settle({ operationId: asked.id, fence: 1, outcome: UNAVAILABLE, sent: false });
      expect(await claimOne(at, asked, { verdicts: [yes] })).toMatchObject({ kind: "claimed", attempt: 2 });
      await at.ledger.settle({ operationId: asked.id, fence: 2, outcome: UNAVAILABLE, sent: false });
      at.clock.now += TTL + 1;
      expect(said(await claimOne(at, asked, { verdicts: [yes] }))).toBe("unavailable (not_sent) by host, replayed");
    });
  });

  describe(`${name}: questions and answers`, () => {
    const asked = operation({ decision: "ask" });

    // A read whose host had died while it was sent was asked about anew, and no list of open questions had it.
    it("lists the question about a read that was being sent, once whoever sent it is gone", async () => {
      const at = await fresh();
      const load = read({ decision: "ask" });
      await propose(at, [load]);
      await send(at, load, { verdicts: [await approve(at, load)] });
      expect(await at.ledger.openRequests()).toEqual([]);
      at.life.set("a", "gone");
      const again = await askOne(at, load, { approvalId: "again", seen: [sha256("more")] });
      const row = await rowOf(at, load);
      expect(row.state).toBe("dispatching");
      for (const threadId of ["t1", undefined]) {
        expect(await at.ledger.openRequests(threadId)).toEqual([{ ...again, row }]);
      }
    });

    it("asks once: an open question that shows as much stays, one that shows less is replaced (ask-2)", async () => {
      const at = await fresh();
      const [earlier, more] = [sha256("earlier"), sha256("more")];
      const first = await askOne(at, asked, { approvalId: "first", seen: [earlier] });
      expect(first).toEqual({
        request: {
          approvalId: "first",
          operationId: asked.id,
          threadId: "t1",
          scope: "local",
          argumentsDigest: asked.argumentsDigest,
          toolDigest: TOOL,
          why: "a rule asks",
          seen: [earlier],
          createdAt: START,
          expiresAt: START + 604_800_000,
        },
        consumed: false,
        expired: false,
      });
      expect(await stands(at, asked)).toBe("proposed");
      expect(await askOne(at, asked, { approvalId: "second", seen: [earlier] })).toEqual(first);
      expect(await askOne(at, asked, { approvalId: "third", seen: [] })).toEqual(first);
      const wider = await askOne(at, asked, { approvalId: "fourth", seen: [earlier, more] });
      expect(wider.request.approvalId).toBe("fourth");
      const changed = sha256("changed definition");
      expect(
        (await askOne(at, asked, { approvalId: "fifth", toolDigest: changed, seen: [earlier] })).request,
      ).toMatchObject({
        approvalId: "fifth",
        toolDigest: changed,
      });
    });

    it("what the host fills in is part of what is asked and approved (G4)", async () => {
      const at = await fresh();
      const plain = await askOne(at, asked, { approvalId: "plain" });
      const first = await askOne(at, asked, { approvalId: "first", injects: ["grant", "id"] });
      expect(first.request).toMatchObject({ approvalId: "first", injects: ["grant", "id"] });
      expect(await askOne(at, asked, { approvalId: "again", injects: ["grant", "id"] })).toEqual(first);
      const yes = verdict(first, { injects: ["grant", "id"] });
      expect(await at.ledger.answer([{ verdict: verdict(plain) }])).toMatchObject([{ kind: "already_decided" }]);
      expect(await at.ledger.answer([{ verdict: { ...yes, injects: ["id"] } }])).toEqual([{ kind: "not_found" }]);
      expect(await at.ledger.answer([{ verdict: yes }])).toEqual([{ kind: "stored" }]);
      expect(await at.ledger.asked([asked.id])).toEqual([{ ...first, verdict: yes, answeredAt: START }]);
      const claim = (injects?: string[]) => {
        const whole = batch([asked], { verdicts: [yes] });
        return at.ledger.claim({
          ...whole,
          operations: whole.operations.map((one) => ({ ...one, ...(injects && { injects }) })),
        });
      };
      expect(await claim()).toEqual({ kind: "ask", operationIds: [asked.id] });
      expect(await claim(["grant"])).toEqual({ kind: "ask", operationIds: [asked.id] });
      expect(await claim(["grant", "id"])).toMatchObject({ kind: "claims", claims: [{ kind: "claimed" }] });
    });

    it("where a call goes and who it is called as is part of what is asked and approved (ask-2) (admission-2) (G4)", async () => {
      const at = await fresh();
      const [here, there] = [sha256("here"), sha256("there")];
      const goes = (digest: string, moved = 0) => ({ text: "runs `node bank.js`", digest, moved });
      const silent = await askOne(at, asked, { approvalId: "silent" }); // as older stores hold it
      const first = await askOne(at, asked, { approvalId: "first", destination: goes(here) });
      expect(first.request).toMatchObject({ approvalId: "first", destination: goes(here) });
      expect(await askOne(at, asked, { approvalId: "again", destination: goes(here, 7) })).toEqual(first);
      const second = await askOne(at, asked, { approvalId: "second", destination: goes(there, 1) });
      expect(second.request).toMatchObject({ approvalId: "second", destination: goes(there, 1) });
      expect(await at.ledger.answer([{ verdict: verdict(silent) }])).toMatchObject([{ kind: "already_decided" }]);
      for (const other of [{}, { destination: here }]) {
        expect(await at.ledger.answer([{ verdict: verdict(second, other) }])).toEqual([{ kind: "not_found" }]);
      }
      const yes = verdict(second, { destination: there });
      expect(await at.ledger.answer([{ verdict: yes }])).toEqual([{ kind: "stored" }]);
      expect(await at.ledger.asked([asked.id])).toEqual([{ ...second, verdict: yes, answeredAt: START }]);
      const claim = (destination?: string) => {
        const whole = batch([asked], { verdicts: [yes] });
        const operations = whole.operations.map((one) => ({ ...one, ...(destination && { destination }) }));
        return at.ledger.claim({ ...whole, operations });
      };
      for (const other of [undefined, here]) {
        expect(await claim(other)).toEqual({ kind: "ask", operationIds: [asked.id] });
      }
      expect(await at.ledger.request("second")).toMatchObject({ consumed: false });
      expect(await claim(there)).toMatchObject({ kind: "claims", claims: [{ kind: "claimed" }] });
    });

    it("a yes to a question that names no destination is no yes to a call that has one (ask-2) (admission-2) (G4)", async () => {
      const at = await fresh();
      const yes = await approve(at, asked);
      const whole = batch([asked], { verdicts: [yes] });
      const operations = whole.operations.map((one) => ({ ...one, destination: sha256("here") }));
      expect(await at.ledger.claim({ ...whole, operations })).toEqual({ kind: "ask", operationIds: [asked.id] });
      const destination = { text: "runs `node bank.js`", digest: sha256("here"), moved: 0 };
      expect((await askOne(at, asked, { approvalId: "anew", destination })).request.approvalId).toBe("anew");
    });

    it("answers in the order asked, one for each request, whatever stands", async () => {
      const at = await fresh();
      const done = operation({ index: 1 });
      await run(at, done, OK);
      const answers = await at.ledger.ask([request(done), request(asked)]);
      expect(answers.map((one) => one.request.operationId)).toEqual([done.id, asked.id]);
      expect(await at.ledger.openRequests()).toHaveLength(1);
    });

    it("lists open questions with their rows: unanswered, not expired, not settled", async () => {
      const at = await fresh();
      const [waiting, answered, refused, elsewhere] = [0, 1, 2, 3].map((index) =>
        operation({ index, decision: "ask" }),
      );
      const open = await askOne(at, waiting as typeof asked);
      await approve(at, answered as typeof asked);
      await askOne(at, refused as typeof asked);
      const refusal = { operation: refused as typeof asked, threadId: "t1", scope: "local", turnId: "turn-1" };
      await at.ledger.refuse([{ ...refusal, toolDigest: TOOL, outcome: rejected("withdrawn", "host", "withdrawn") }]);
      await askOne(at, { ...(elsewhere as typeof asked), proposalId: "p9" }, { threadId: "t2" });
      const row = await rowOf(at, waiting as typeof asked);
      expect(await at.ledger.openRequests("t1")).toEqual([{ ...open, row }]);
      expect(await at.ledger.openRequests()).toHaveLength(2);
      at.clock.now += 604_800_001;
      expect(await at.ledger.openRequests()).toEqual([]);
    });

    it("the first answer wins, the second is told what stands (ledger-6) (ask-1)", async () => {
      const at = await fresh();
      const question = await askOne(at, asked);
      const [yes, no] = [verdict(question), verdict(question, { type: "reject", mac: "another" })];
      expect(await at.ledger.answer([{ verdict: yes }, { verdict: no }])).toMatchObject([
        { kind: "stored" },
        { kind: "already_decided", verdict: yes, row: { state: "proposed" } },
      ]);
      expect(await at.ledger.asked([asked.id])).toEqual([{ ...question, verdict: yes, answeredAt: START }]);
      expect(await at.ledger.openRequests()).toEqual([]);
    });

    it("knows no question of that id, nor an answer to another operation (ledger-6)", async () => {
      const at = await fresh();
      const question = await askOne(at, asked);
      const lost = verdict(question, { approvalId: "unheard-of" });
      const swapped = verdict(question, { operationId: sha256("another operation") });
      const answers = await at.ledger.answer([{ verdict: lost }, { verdict: swapped }]);
      expect(answers).toEqual([{ kind: "not_found" }, { kind: "not_found" }]);
    });

    // A read that was being sent when its host died could not be answered by a host with another secret, by nobody.
    it("a verdict whose key is gone may be given again while its operation is undecided, whoever used it (ledger-6)", async () => {
      const at = await fresh();
      const question = await askOne(at, asked);
      const [old, again, wrong] = ["old", "new", "wrong"].map((mac) => verdict(question, { mac }));
      await at.ledger.answer([{ verdict: old as typeof again & object }]);
      const retry = (mac: string) =>
        at.ledger.answer([{ verdict: again as NonNullable<typeof again>, supersedes: mac }]);
      expect(await retry((wrong as NonNullable<typeof wrong>).mac)).toMatchObject([{ kind: "already_decided" }]);
      expect(await retry("old")).toEqual([{ kind: "stored" }]);
      await claimOne(at, asked, { verdicts: [again as NonNullable<typeof again>] });
      const third = verdict(question, { mac: "third" });
      const thirdFor = () => at.ledger.answer([{ verdict: third, supersedes: "new" }]);
      expect(await thirdFor()).toMatchObject([{ kind: "already_decided" }]); // somebody has it in hand
      expect(await at.ledger.openRequests("t1", { answered: true })).toEqual([]);
      at.life.set("a", "gone");
      expect(await at.ledger.openRequests("t1", { answered: true })).toMatchObject([{ verdict: { mac: "new" } }]);
      expect(await at.ledger.openRequests("t1")).toEqual([]);
      expect(await thirdFor()).toEqual([{ kind: "stored" }]);
      expect(await claimOne(at, asked, { owner: owner("b"), verdicts: [third] })).toMatchObject({ kind: "claimed" });
    });

    it("a rejection settles its operation with it, and is remembered for the turn", async () => {
      const at = await fresh();
      const question = await askOne(at, asked);
      const no = verdict(question, { type: "reject", message: "not now" });
      const outcome = rejected("person", "person", "not now");
      expect(await at.ledger.answer([{ verdict: no, settles: outcome }])).toEqual([{ kind: "stored" }]);
      expect(await rowOf(at, asked)).toMatchObject({ state: "settled", outcome, sent: false });
      const rejections = async (where: object) =>
        (await at.ledger.standing({ ...query([]), proposalId: "p2", ...where })).rejections;
      const { argumentsDigest } = asked;
      expect(await rejections({})).toEqual([{ server: "documents", tool: "save", argumentsDigest }]);
      expect(await rejections({ turnId: "turn-2" })).toEqual([]);
      expect(await rejections({ proposalId: "p1" })).toEqual([]); // its siblings are not touched
      expect(await at.ledger.answer([{ verdict: verdict(question) }])).toMatchObject([{ kind: "already_decided" }]);
    });

    it("an edit settles the old operation and approves the new one in one step", async () => {
      const at = await fresh();
      const question = await askOne(at, asked);
      const edited = { ...operation({ decision: "ask", args: { n: "edited" } }), replaces: asked.id };
      const wanted = request(edited, { approvalId: "approval-of-the-edit" });
      const approval = verdict({ request: { ...question.request, ...requestFacts(wanted) } });
      const result = await at.ledger.answer([
        {
          verdict: verdict(question, { type: "edit" }),
          settles: rejected("edited", "person", "someone changed its arguments"),
          edit: { request: wanted, verdict: approval },
        },
      ]);
      expect(result).toEqual([{ kind: "stored" }]);
      expect(await stands(at, asked)).toBe("rejected (edited) by person");
      expect(await rowOf(at, asked)).toMatchObject({ replacedBy: edited.id });
      expect(await rowOf(at, edited)).toMatchObject({ state: "proposed", operation: { replaces: asked.id } });
      expect((await at.ledger.rows("p1")).map((row) => row.operation.id)).toEqual([asked.id, edited.id]);
      expect(await at.ledger.asked([edited.id])).toMatchObject([{ verdict: approval, consumed: false }]);
      expect(await claimOne(at, edited, { verdicts: [approval] })).toMatchObject({ kind: "claimed" });
    });

    it("an edit into a call that has a row already changes nothing (ledger-6)", async () => {
      const at = await fresh();
      const question = await askOne(at, asked);
      const edit = { request: request(asked, { approvalId: "again" }), verdict: verdict(question) };
      const result = await at.ledger.answer([{ verdict: verdict(question, { type: "edit" }), edit }]);
      expect(result).toMatchObject([{ kind: "already_decided", row: { state: "proposed" } }]);
      expect(await at.ledger.openRequests()).toHaveLength(1);
    });

    // The model was told to wait for an approval although its question had expired.
    it("an answer to an expired question settles the operation as expired (ask-3)", async () => {
      const at = await fresh();
      const question = await askOne(at, asked, { ttlMs: 1_000 });
      at.clock.now += 1_001;
      expect(await at.ledger.answer([{ verdict: verdict(question, { at: at.clock.now }) }])).toEqual([
        { kind: "expired" },
      ]);
      expect(await stands(at, asked)).toBe("rejected (expired) by expiry");
      expect(outcomeOf(await rowOf(at, asked))?.message).toContain("it was not run");
    });

    // The wall clock went backwards, and what depended on its order or on a lifetime went wrong.
    it("a clock set back does not reopen an expired question (clock-1)", async () => {
      const at = await fresh();
      const question = await askOne(at, asked, { ttlMs: 1_000 });
      at.clock.now += 1_001;
      await at.ledger.threads();
      at.clock.now -= 60_000;
      expect(await at.ledger.openRequests()).toEqual([]);
      expect(await at.ledger.answer([{ verdict: verdict(question) }])).toEqual([{ kind: "expired" }]);
    });

    it("an operation under way takes no answer", async () => {
      const at = await fresh();
      const question = await askOne(at, asked);
      await claimOne(at, operation(), {}); // policy allows it by now
      expect(await at.ledger.answer([{ verdict: verdict(question) }])).toMatchObject([
        { kind: "already_decided", row: { state: "claimed" } },
      ]);
    });

    it("an abandoned claim that a guard now hits can be asked about again", async () => {
      const at = await fresh();
      const yes = await approve(at, asked);
      await claimOne(at, asked, { verdicts: [yes] });
      at.life.set("a", "gone");
      const between = operation({ proposalId: "p2", args: { between: true } });
      await run(at, between, OK, { ledgerSeq: 1, owner: owner("b") });
      const again = { verdicts: [yes], owner: owner("b") };
      expect(await at.ledger.claim(batch([asked], again))).toEqual({ kind: "ask", operationIds: [asked.id] });
      const question = await askOne(at, asked, { approvalId: "newer", seen: [between.id] });
      expect((await at.ledger.openRequests()).map((one) => one.request.approvalId)).toEqual(["newer"]);
      const newer = verdict(question);
      expect(await at.ledger.answer([{ verdict: newer }])).toEqual([{ kind: "stored" }]);
      expect(await claimOne(at, asked, { verdicts: [newer], owner: owner("b") })).toMatchObject({
        kind: "claimed",
        fence: 2,
        seq: 3,
      });
    });
  });

  describe(`${name}: refusals`, () => {
    const save = operation();
    const refusal = (more: Partial<ReturnType<typeof rejected>> = {}) => ({
      operation: save,
      threadId: "t1",
      scope: "local",
      turnId: "turn-1",
      toolDigest: TOOL,
      outcome: { ...rejected("denied", "policy", "a rule denies it"), ...more },
    });

    it("settles what is missing, proposed or abandoned before the send", async () => {
      const at = await fresh();
      const [row] = await at.ledger.refuse([refusal()]);
      expect(row).toMatchObject({ state: "settled", outcome: { reason: "denied" }, fence: 0, sent: false });
      expect(await rowOf(at, save)).toEqual(row);

      const asked = operation({ index: 1, decision: "ask" });
      await askOne(at, asked);
      await at.ledger.refuse([{ ...refusal(), operation: asked }]);
      expect(await stands(at, asked)).toBe("rejected (denied) by policy");

      const abandoned = operation({ index: 2 });
      await claimOne(at, abandoned);
      expect(await at.ledger.refuse([{ ...refusal(), operation: abandoned }])).toMatchObject([{ state: "claimed" }]);
      at.life.set("a", "gone");
      expect(await at.ledger.refuse([{ ...refusal(), operation: abandoned }])).toMatchObject([{ state: "settled" }]);
    });

    it("returns what is settled or being sent as it stands, however often it is told (ledger-6)", async () => {
      const at = await fresh();
      await send(at, save);
      at.life.set("a", "gone");
      expect(await at.ledger.refuse([refusal()])).toEqual([await rowOf(at, save)]);
      await at.ledger.settle({ operationId: save.id, fence: 1, outcome: OK, sent: true });
      expect(await at.ledger.refuse([refusal(), refusal()])).toMatchObject([{ outcome: OK }, { outcome: OK }]);
    });

    it("a refusal for its budget is remembered for the turn", async () => {
      const at = await fresh();
      expect(await at.ledger.standing(query([]))).toMatchObject({ budgetSpent: false, finalMade: false });
      await at.ledger.refuse([refusal({ reason: "budget", by: "budget" })]);
      expect(await at.ledger.standing(query([]))).toMatchObject({ budgetSpent: true, calls: 0 });
      expect(await at.ledger.standing(query([], { turnId: "turn-2" }))).toMatchObject({ budgetSpent: false });
    });

    it("a call without a route is kept as it came", async () => {
      const at = await fresh();
      const unknown = operation({ server: null, tool: null, alias: "no_such_tool" });
      const nothing = { ...unknown, decision: null };
      await at.ledger.refuse([{ ...refusal(), operation: nothing, toolDigest: null }]);
      expect(await rowOf(at, nothing)).toMatchObject({ operation: nothing, toolDigest: null });
    });
  });

  describe(`${name}: counting`, () => {
    it("counts calls and writes when they are dispatched, built-ins never", async () => {
      const at = await fresh();
      const connect = read({ index: 0, server: "local", tool: "connect_server", alias: "connect_server" });
      const result = read({ index: 1, server: "local", tool: "read_result", alias: "read_result" });
      const local = read({ index: 2, server: "local", tool: "read_file", alias: "read_file" });
      for (const call of [connect, result, local]) await run(at, call, OK);
      await claimOne(at, operation({ index: 3 }));
      expect(await at.ledger.standing(query([]))).toMatchObject({ calls: 1, writes: 0 });
      await at.ledger.begin(operation({ index: 3 }).id, 1, ACTS);
      expect(await at.ledger.standing(query([]))).toMatchObject({ calls: 2, writes: 1 });
      expect(await at.ledger.standing(query([], { threadId: "t2" }))).toMatchObject({ calls: 0, modelRequests: 0 });
    });

    it("knows the final request of a turn", async () => {
      const at = await fresh();
      const times = { startedAt: START, endedAt: START + 5 };
      const record = { requestId: "r", threadId: "t1", turnId: "turn-1", snapshotId: SNAPSHOT, tools: [], ...times };
      await at.ledger.propose({ ...record, final: true });
      expect(await at.ledger.standing(query([]))).toMatchObject({ modelRequests: 1, activeMs: 5, finalMade: true });
      expect(await at.ledger.modelRequests("t1", "turn-1")).toEqual([{ ...record, final: true }]);
    });

    it("lists operations of a thread and of a turn in order of creation", async () => {
      const at = await fresh();
      const [one, two] = [read({ index: 4 }), read({ index: 1, proposalId: "p2" })];
      await run(at, one, OK);
      await run(at, two, OK, { turnId: "turn-2" });
      await run(at, read({ proposalId: "p3" }), OK, { threadId: "t2" });
      expect((await at.ledger.operations("t1")).map((row) => row.operation.id)).toEqual([one.id, two.id]);
      expect((await at.ledger.operations("t1", "turn-2")).map((row) => row.operation.id)).toEqual([two.id]);
    });
  });

  describe(`${name}: clocks`, () => {
    it("a yes lives its whole life by the ledger's clock, whatever the clock of the host that sealed it", async () => {
      for (const hour of [-3_600_000, 3_600_000]) {
        const at = await fresh();
        const asked = operation({ decision: "ask" });
        const yes = verdict(await askOne(at, asked), { at: START + hour });
        expect(await at.ledger.answer([{ verdict: yes }])).toEqual([{ kind: "stored" }]);
        at.clock.now += TTL;
        expect(said(await claimOne(at, asked, { verdicts: [yes] }))).toBe("claimed");
        const other = operation({ proposalId: "p2", decision: "ask" });
        const late = verdict(await askOne(at, other), { at: at.clock.now + hour });
        await at.ledger.answer([{ verdict: late }]);
        at.clock.now += TTL + 1;
        expect(said(await claimOne(at, other, { verdicts: [late] }))).toBe("rejected (expired) by expiry");
      }
    });
  });

  describe(`${name}: runs`, () => {
    const [save, other] = [operation(), operation({ index: 1 })];

    it("a thread is one run's at a time, until it is given back (ledger-8)", async () => {
      const { ledger } = await fresh();
      expect(await ledger.enter("t1", owner("a"), LEASE)).toEqual({ kind: "entered" });
      expect(await ledger.enter("t1", owner("a"), LEASE)).toEqual({ kind: "entered" });
      expect(await ledger.enter("t1", owner("b"), LEASE)).toEqual({ kind: "busy", owner: owner("a") });
      expect(await ledger.enter("t2", owner("b"), LEASE)).toEqual({ kind: "entered" });
      await ledger.leave("t1", owner("b"));
      expect(await ledger.enter("t1", owner("b"), LEASE)).toEqual({ kind: "busy", owner: owner("a") });
      await ledger.leave("t1", owner("a"));
      expect(await ledger.enter("t1", owner("b"), LEASE)).toEqual({ kind: "entered" });
    });

    // A host of another scope answered a thread's questions and ran its writes.
    it("a thread is of the scope whose run took it first, and of no other ever after (ledger-9) (thread-3)", async () => {
      const { ledger } = await fresh();
      expect(await ledger.scopeOf("t1")).toBeUndefined();
      expect(await ledger.enter("t1", owner("a"), LEASE, "north")).toEqual({ kind: "entered" });
      expect(await ledger.enter("t1", owner("b"), LEASE, "south")).toEqual({ kind: "foreign" });
      await ledger.leave("t1", owner("a"));
      for (const scope of ["south", "local", undefined]) {
        expect(await ledger.enter("t1", owner("b"), LEASE, scope)).toEqual({ kind: "foreign" });
      }
      expect([await ledger.scopeOf("t1"), await ledger.adopt("t1", "south")]).toEqual(["north", "north"]);
      expect(await ledger.enter("t1", owner("b"), LEASE, "north")).toEqual({ kind: "entered" });

      expect(await ledger.adopt("t2", "south")).toBe("south");
      expect(await ledger.enter("t2", owner("a"), LEASE, "north")).toEqual({ kind: "foreign" });
      expect(await ledger.enter("t3", owner("a"), LEASE)).toEqual({ kind: "entered" });
      const [listed] = [await ledger.threads()];
      expect(listed.map(({ threadId, scope }) => `${threadId} ${scope}`).sort()).toEqual([
        "t1 north",
        "t2 south",
        "t3 local",
      ]);
    });

    it("a key that names a scope is that scope's, whoever asks for it (ledger-9) (thread-key-1)", async () => {
      const { ledger } = await fresh();
      const key = threadKey("north", "t1");
      expect(await ledger.scopeOf(key)).toBe("north");
      expect(await ledger.enter(key, owner("a"), LEASE, "south")).toEqual({ kind: "foreign" });
      expect(await ledger.adopt(key, "south")).toBe("north");
      expect(await ledger.enter(key, owner("a"), LEASE)).toEqual({ kind: "entered" });
      expect(await ledger.enter("t1", owner("b"), LEASE)).toEqual({ kind: "entered" });
      expect(await ledger.enter(threadKey("south", "t1"), owner("c"), LEASE)).toEqual({ kind: "entered" });
      expect((await ledger.threads()).map(({ scope }) => scope).sort()).toEqual(["local", "north", "south"]);
    });

    it("the thread of an owner that is gone, or was not heard of for its lease, may be taken (ledger-8) (thread-2)", async () => {
      const at = await fresh();
      await at.ledger.enter("t1", owner("a"), LEASE);
      at.life.set("a", "gone");
      expect(await at.ledger.enter("t1", owner("b"), LEASE)).toEqual({ kind: "entered" });
      at.life.set("b", "unknown");
      at.clock.now += LEASE - 1;
      expect(await at.ledger.renew(owner("b"), LEASE)).toBe(true);
      at.clock.now += LEASE - 1;
      expect(await at.ledger.enter("t1", owner("c"), LEASE)).toEqual({ kind: "busy", owner: owner("b") });
      at.clock.now += 1;
      expect(await at.ledger.enter("t1", owner("c"), LEASE)).toEqual({ kind: "entered" });
      expect(await at.ledger.renew(owner("b"), LEASE)).toBe(false);
    });

    it("nobody else proposes, asks, claims, begins or refuses in it (ledger-8) (transaction-1)", async () => {
      const at = await fresh();
      await propose(at, [save, other]);
      await claimOne(at, save, { owner: owner("a") });
      at.life.set("a", "unknown");
      at.clock.now += LEASE;
      await at.ledger.enter("t1", owner("b"), LEASE);
      const taken = { code: "already_running" };
      const record = { requestId: "r9", threadId: "t1", turnId: "turn-1", snapshotId: SNAPSHOT, tools: [] };
      const times = { startedAt: at.clock.now, endedAt: at.clock.now, final: false };
      await expect(at.ledger.propose({ ...record, ...times }, owner("a"))).rejects.toMatchObject(taken);
      await expect(at.ledger.ask([request(other)], owner("a"))).rejects.toMatchObject(taken);
      const refusal = { operation: other, threadId: "t1", scope: "local", turnId: "turn-1", toolDigest: TOOL };
      const outcome = rejected("withdrawn", "host", "it was withdrawn");
      await expect(at.ledger.refuse([{ ...refusal, outcome }], owner("a"))).rejects.toMatchObject(taken);
      expect(await at.ledger.begin(save.id, 1, ACTS)).toEqual({ kind: "lost" });
      expect(await at.ledger.claim(batch([save, other], { owner: owner("a") }))).toEqual({
        kind: "claims",
        claims: [save, other].map(({ id }) => ({ kind: "busy", operationId: id, owner: owner("b") })),
      });
      expect(await at.ledger.modelRequests("t1", "turn-1")).toHaveLength(1);
      expect(await at.ledger.row(other.id)).toBeUndefined();
    });

    it("a run that no longer holds its thread does nothing in it, also when nobody else holds it (ledger-8)", async () => {
      const at = await fresh();
      await propose(at, [save]);
      await at.ledger.enter("t1", owner("a"), LEASE);
      at.life.set("a", "unknown");
      at.clock.now += LEASE;
      await at.ledger.enter("t1", owner("b"), LEASE);
      await at.ledger.leave("t1", owner("b"));
      await expect(at.ledger.ask([request(save)], owner("a"))).rejects.toMatchObject({ code: "already_running" });
      expect(await at.ledger.openRequests("t1")).toEqual([]);
    });

    it("whoever takes a thread fences off what a gone owner left in it (ledger-4) (ledger-8) (thread-1)", async () => {
      const at = await fresh();
      const look = read({ index: 2 });
      await propose(at, [save, other, look]);
      await send(at, save, { owner: owner("a") });
      await send(at, look, { owner: owner("a") });
      at.life.set("a", "unknown");
      at.clock.now += LEASE;
      await at.ledger.enter("t1", owner("b"), LEASE);
      expect(await stands(at, save)).toBe(HOST_GONE);
      for (const { id: operationId } of [save, look]) {
        expect(await at.ledger.settle({ operationId, fence: 1, outcome: OK, sent: true })).toBe(false);
      }
      expect(await rowOf(at, look)).toMatchObject({ state: "dispatching", fence: 2 });
    });
  });

  describe(`${name}: unknown outcomes`, () => {
    const save = operation();
    const by = { by: "someone", note: "I looked" };

    it("a late answer settles an unknown outcome once (ledger-1) (settle-1)", async () => {
      const at = await fresh();
      await run(at, save, UNKNOWN);
      const late = { ...OK, evidence: { attempted: true, how: "response", late: true } };
      const result = { ref: "r", bytes: 3, sha256: sha256("body") };
      const settlement = { operationId: save.id, fence: 1, outcome: late, sent: true, result };
      expect(await at.ledger.settleLate(settlement)).toBe(true);
      expect(await rowOf(at, save)).toMatchObject({ outcome: late, result });
      expect(await at.ledger.settleLate({ ...settlement, outcome: FAILED })).toBe(false);
      expect(await stands(at, save)).toBe("ok (success) by server");
    });

    it("a late answer that proves nothing still leaves its words, and the outcome open (ledger-1)", async () => {
      const at = await fresh();
      await run(at, save, UNKNOWN);
      const words = { ...UNKNOWN, reason: "tool_error" as const, message: "disk error" };
      expect(await at.ledger.settleLate({ operationId: save.id, fence: 1, outcome: words, sent: true })).toBe(true);
      expect(await at.ledger.settleLate({ operationId: save.id, fence: 1, outcome: OK, sent: true })).toBe(true);
    });

    it("an owner that was taken for gone says nothing any more, late or not (ledger-4)", async () => {
      const at = await fresh();
      await send(at, save);
      at.life.set("a", "gone");
      await at.ledger.sweep({ reads: false });
      const said = { operationId: save.id, fence: 1, outcome: OK, sent: true };
      expect(await at.ledger.settle(said)).toBe(false);
      expect(await at.ledger.settleLate(said)).toBe(false);
      expect(await stands(at, save)).toBe(HOST_GONE);
    });

    it("lists unknown writes, swept first, those left by a person included", async () => {
      const at = await fresh();
      const [left, abandoned] = [save, operation({ proposalId: "p2" })];
      await run(at, left, UNKNOWN);
      await at.ledger.resolve(left.id, "leave", by);
      await send(at, abandoned, { threadId: "t2", owner: owner("b") });
      at.life.set("b", "gone");
      expect((await at.ledger.unknowns("t1")).map((row) => row.operation.id)).toEqual([left.id]);
      expect((await at.ledger.unknowns()).map((row) => row.operation.id)).toEqual([left.id, abandoned.id]);
      expect(await stands(at, abandoned)).toBe(HOST_GONE);
    });

    it.each([
      ["happened", "ok (resolved) by person"],
      ["did_not_happen", "failed (resolved) by person"],
      ["leave", "result_unknown (deadline) by host"],
    ] as const)("a person says %s: %s", async (type, expected) => {
      const at = await fresh();
      await run(at, save, UNKNOWN);
      at.life.set("a", "gone");
      at.clock.now += 500;
      const resolved = await at.ledger.resolve(save.id, type, by);
      expect(resolved.kind).toBe("resolved");
      expect(await stands(at, save)).toBe(expected);
      expect(await rowOf(at, save)).toMatchObject({ resolution: { type, at: START + 500, ...by } });
    });

    it("the first word stands: who comes later is told (ledger-6) (settle-1)", async () => {
      const at = await fresh();
      await run(at, save, UNKNOWN);
      at.life.set("a", "gone");
      await at.ledger.resolve(save.id, "leave", by);
      await at.ledger.resolve(save.id, "leave", { by: "another" });
      expect(await rowOf(at, save)).toMatchObject({ resolution: { type: "leave", by: "someone" } });
      await at.ledger.resolve(save.id, "happened", { by: "another" });
      const third = await at.ledger.resolve(save.id, "did_not_happen", by);
      expect(third).toMatchObject({
        kind: "already_settled",
        row: { resolution: { type: "happened", by: "another" } },
      });
      expect(await at.ledger.settleLate({ operationId: save.id, fence: 1, outcome: OK, sent: true })).toBe(false);
    });

    it.each([
      ["happened", "ok (read_back) by server"],
      ["did_not_happen", "failed (read_back) by server"],
      ["nothing", "result_unknown (deadline) by host"],
    ] as const)("a read-back found %s: %s, with its evidence (ledger-1)", async (found, expected) => {
      const at = await fresh();
      await run(at, save, { ...UNKNOWN, evidence: { attempted: true, how: "deadline" } });
      at.life.set("a", "gone");
      at.clock.now += 500;
      const row = await at.ledger.readBack(save.id, { tool: "mcp__s__look", found, detail: "it said so" });
      expect(await stands(at, save)).toBe(expected);
      const readBack = { tool: "mcp__s__look", found, detail: "it said so", at: START + 500 };
      expect(outcomeOf(row)?.evidence).toEqual({ attempted: true, how: "deadline", readBack });
      expect(await rowOf(at, save)).toEqual(row);
    });

    it("a read-back that found nothing leaves the outcome to whoever knows; one that did is the last word (ledger-1) (ledger-6)", async () => {
      const at = await fresh();
      await run(at, save, UNKNOWN);
      at.life.set("a", "gone");
      const said = { tool: "mcp__s__look", detail: "" };
      await at.ledger.readBack(save.id, { ...said, found: "nothing" });
      await at.ledger.readBack(save.id, { ...said, found: "happened" });
      await at.ledger.readBack(save.id, { ...said, found: "did_not_happen" });
      expect(await stands(at, save)).toBe("ok (read_back) by server");
      expect(await at.ledger.resolve(save.id, "did_not_happen", by)).toMatchObject({ kind: "already_settled" });
      expect(await at.ledger.settleLate({ operationId: save.id, fence: 1, outcome: FAILED, sent: true })).toBe(false);
      expect(await at.ledger.standing(query([]))).toMatchObject({ unknownWrites: [] });
    });

    it("a read-back's did_not_happen is only evidence while the sender may still get its answer (ledger-1)", async () => {
      const at = await fresh();
      await run(at, save, UNKNOWN);
      const said = { tool: "mcp__s__look", found: "did_not_happen", detail: "not there" } as const;
      expect(await at.ledger.readBack(save.id, said)).toMatchObject({
        outcome: { status: "result_unknown", evidence: { readBack: { found: "did_not_happen" } } },
      });
      at.life.set("a", "unknown");
      expect(await at.ledger.readBack(save.id, said)).toMatchObject({ outcome: { status: "result_unknown" } });
      at.clock.now += LEASE;
      expect(await at.ledger.readBack(save.id, said)).toMatchObject({ outcome: { status: "failed" } });
    });

    it("a read-back says nothing of what is unheard of, in flight, settled, or a read (ledger-6)", async () => {
      const at = await fresh();
      const found = { tool: "mcp__s__look", found: "did_not_happen", detail: "" } as const;
      expect(await at.ledger.readBack(save.id, found)).toBeUndefined();
      const [flying, done, look] = [operation(), operation({ proposalId: "p2" }), read({ proposalId: "p3" })];
      await run(at, done, OK, { threadId: "t2" });
      await run(at, look, UNKNOWN, { threadId: "t3" });
      await send(at, flying);
      for (const one of [flying, done, look]) {
        const before = await rowOf(at, one);
        expect(await at.ledger.readBack(one.id, found)).toEqual(before);
        expect(await rowOf(at, one)).toEqual(before);
      }
    });

    it("did_not_happen is refused while the sender may still get its answer", async () => {
      const at = await fresh();
      await run(at, save, UNKNOWN);
      expect(await at.ledger.resolve(save.id, "did_not_happen", by)).toMatchObject({ kind: "owner_alive" });
      at.life.set("a", "unknown");
      expect(await at.ledger.resolve(save.id, "did_not_happen", by)).toMatchObject({ kind: "owner_alive" });
      at.clock.now += LEASE;
      expect(await at.ledger.resolve(save.id, "did_not_happen", by)).toMatchObject({ kind: "resolved" });
    });

    it("did_not_happen is refused for as long as the sender listens, which may be longer than its lease", async () => {
      const at = await fresh();
      await send(at, save);
      at.life.set("a", "unknown");
      const listening = { fence: 1, outcome: UNKNOWN, sent: true, listensMs: 4 * LEASE };
      await at.ledger.settle({ operationId: save.id, ...listening });
      at.clock.now += 4 * LEASE - 1;
      expect(await at.ledger.resolve(save.id, "did_not_happen", by)).toMatchObject({ kind: "owner_alive" });
      at.clock.now += 1;
      expect(await at.ledger.resolve(save.id, "did_not_happen", by)).toMatchObject({ kind: "resolved" });
    });

    it("what a dead owner was sending is swept, then resolved; what is in flight is not unknown yet", async () => {
      const at = await fresh();
      await send(at, save);
      expect(await at.ledger.resolve(save.id, "happened", by)).toMatchObject({ kind: "owner_alive" });
      at.life.set("a", "gone");
      expect(await at.ledger.resolve(save.id, "did_not_happen", by)).toMatchObject({ kind: "resolved" });
      expect(await stands(at, save)).toBe("failed (resolved) by person");
    });

    it("nothing is unknown of what is unheard of, was not sent, or is settled", async () => {
      const at = await fresh();
      expect(await at.ledger.resolve(save.id, "happened", by)).toEqual({ kind: "not_found" });
      await claimOne(at, save);
      expect(await at.ledger.resolve(save.id, "happened", by)).toEqual({ kind: "not_found" });
      await at.ledger.begin(save.id, 1, ACTS);
      await at.ledger.settle({ operationId: save.id, fence: 1, outcome: FAILED, sent: true });
      expect(await at.ledger.resolve(save.id, "happened", by)).toMatchObject({ kind: "already_settled" });
    });
  });
}

function requestFacts({ approvalId, operation: of, toolDigest }: ReturnType<typeof request>) {
  return { approvalId, operationId: of.id, argumentsDigest: of.argumentsDigest, toolDigest };
}
