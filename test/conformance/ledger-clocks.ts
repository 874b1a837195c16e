// What every ledger adapter must do where a clock is set: leases of one machine are counted on the clock of its boot, those
// of another machine on the store's. Each case says what the wall clock, the steady clock and the owner's process do.

import { describe, expect, it } from "vitest";
import {
  ACTS,
  BOOTED,
  claimOne,
  LEASE,
  type MakeLedger,
  OK,
  operation,
  owner,
  run,
  said,
  send,
  stands,
  UNKNOWN,
  type World,
  world,
} from "./ledger-world.js";

const HOUR = 3_600_000;
const HOST_GONE = "result_unknown (host_gone) by host";
const NOTHING = "failed (resolved) by person";

/** Time passes for every clock. */
function pass(at: World, ms: number): void {
  at.clock.now += ms;
  at.steady.now += ms;
}

export function clockSuite(name: string, make: MakeLedger): void {
  const fresh = (): Promise<World> => world(make);
  const save = operation();
  const by = { by: "someone" };
  const deny = (at: World, of = save) => at.ledger.resolve(of.id, "did_not_happen", by).then(({ kind }) => kind);
  const look = (at: World) =>
    at.ledger
      .readBack(save.id, { tool: "mcp__s__look", found: "did_not_happen", detail: "" })
      .then(() => stands(at, save));

  describe(`${name}: a clock that is set`, () => {
    // With one host's clock an hour ahead, a host that was stopped for three seconds lost its thread to that one.
    it("forward by an hour ends no lease of a process of this machine (transition-3)", async () => {
      const at = await fresh();
      await at.ledger.enter("t1", owner("a"), LEASE);
      await send(at, save);
      at.life.set("a", "here");
      at.clock.now += HOUR;
      pass(at, LEASE - 1);
      expect(await at.ledger.enter("t1", owner("b"), LEASE)).toEqual({ kind: "busy", owner: owner("a") });
      expect(await at.ledger.sweep({ reads: true })).toEqual([]);
      expect(said(await claimOne(at, save, { owner: owner("b") }))).toBe("busy");
      expect(await deny(at)).toBe("owner_alive");
      expect(await stands(at, save)).toBe("dispatching");
    });

    it.each([-HOUR, 0, HOUR])(
      "by %i ms: a process of this machine that was stopped for its lease is taken over, no sooner and no later (transition-3)",
      async (set) => {
        const at = await fresh();
        await at.ledger.enter("t1", owner("a"), LEASE);
        await send(at, save);
        at.life.set("a", "here");
        at.clock.now += set;
        pass(at, LEASE - 1);
        expect(await at.ledger.enter("t1", owner("b"), LEASE)).toMatchObject({ kind: "busy" });
        pass(at, 1);
        expect(await at.ledger.enter("t1", owner("b"), LEASE)).toEqual({ kind: "entered" });
        expect(await stands(at, save)).toBe(HOST_GONE);
        expect(await at.ledger.settle({ operationId: save.id, fence: 1, outcome: OK, sent: true })).toBe(false);
      },
    );

    it("counts for an owner of another machine, whatever this one's steady clock says (transition-3)", async () => {
      const at = await fresh();
      await at.ledger.enter("t1", owner("a"), LEASE);
      await send(at, save);
      at.life.set("a", "unknown");
      at.steady.now += HOUR;
      at.clock.now += LEASE - 1;
      expect(await at.ledger.enter("t1", owner("b"), LEASE)).toMatchObject({ kind: "busy" });
      expect(await at.ledger.sweep({ reads: true })).toEqual([]);
      at.clock.now += 1;
      expect(await at.ledger.enter("t1", owner("b"), LEASE)).toEqual({ kind: "entered" });
      expect(await stands(at, save)).toBe(HOST_GONE);
    });

    it("a heartbeat extends the lease by both clocks, of the thread and of what is in flight (transition-3)", async () => {
      const at = await fresh();
      await at.ledger.enter("t1", owner("a"), LEASE);
      await send(at, save);
      at.life.set("a", "here");
      pass(at, 10_000);
      expect(await at.ledger.renew(owner("a"), LEASE)).toBe(true);
      const renewed = { leaseUntil: at.clock.now + LEASE, leaseSteady: BOOTED + 10_000 + LEASE };
      expect(await at.ledger.row(save.id)).toMatchObject(renewed);
      at.clock.now += HOUR;
      pass(at, LEASE - 1);
      expect(await at.ledger.enter("t1", owner("b"), LEASE)).toMatchObject({ kind: "busy" });
      expect(await at.ledger.sweep({ reads: true })).toEqual([]);
      pass(at, 1);
      expect(await at.ledger.enter("t1", owner("b"), LEASE)).toEqual({ kind: "entered" });
    });
  });

  describe(`${name}: did_not_happen`, () => {
    it("is refused while a process of this machine may still send, also after it lost its lease (transition-4)", async () => {
      const at = await fresh();
      await send(at, save);
      at.life.set("a", "here");
      pass(at, LEASE);
      expect(await deny(at)).toBe("owner_alive");
      expect(await stands(at, save)).toBe(HOST_GONE);
      expect(await look(at)).toBe(HOST_GONE);
      at.clock.now += HOUR;
      pass(at, ACTS - LEASE - 1);
      expect(await deny(at)).toBe("owner_alive");
      expect(await look(at)).toBe(HOST_GONE);
      pass(at, 1);
      expect(await deny(at)).toBe("resolved");
      expect(await stands(at, save)).toBe(NOTHING);
    });

    it("a read-back's is taken as soon as the process of this machine may send no more (transition-4)", async () => {
      const at = await fresh();
      await send(at, save);
      at.life.set("a", "here");
      pass(at, ACTS - 1);
      await at.ledger.sweep({ reads: false });
      expect(await look(at)).toBe(HOST_GONE);
      pass(at, 1);
      expect(await look(at)).toBe("failed (read_back) by server");
    });

    it("is taken at once when the process has ended, whatever it might have done (transition-4)", async () => {
      const at = await fresh();
      await send(at, save);
      at.life.set("a", "gone");
      expect(await deny(at)).toBe("resolved");
    });

    it("is taken from a living process that renews but is past what it said, and its outcome is not (transition-4)", async () => {
      const at = await fresh();
      await send(at, save);
      at.life.set("a", "here");
      pass(at, ACTS);
      await at.ledger.renew(owner("a"), LEASE);
      expect(await deny(at)).toBe("resolved");
      expect(await at.ledger.settle({ operationId: save.id, fence: 1, outcome: OK, sent: true })).toBe(false);
    });

    it("is refused while a late answer is awaited, and no longer (transition-4)", async () => {
      const at = await fresh();
      await send(at, save);
      at.life.set("a", "here");
      pass(at, ACTS - 5_000);
      await at.ledger.settle({ operationId: save.id, fence: 1, outcome: UNKNOWN, sent: true, listensMs: 20_000 });
      at.clock.now += HOUR;
      pass(at, 4_999);
      expect(await deny(at)).toBe("owner_alive");
      expect(await look(at)).toBe("result_unknown (deadline) by host");
      pass(at, 1);
      expect(await deny(at)).toBe("resolved");
    });

    it("a living process of this machine that holds nothing in flight refuses nothing (transition-4)", async () => {
      const at = await fresh();
      await run(at, save, UNKNOWN);
      at.life.set("a", "here");
      expect(await deny(at)).toBe("resolved");
      const heard = operation({ proposalId: "p2" });
      await send(at, heard, { threadId: "t2" });
      const said = { operationId: heard.id, fence: 1, outcome: UNKNOWN, sent: true };
      await at.ledger.settle({ ...said, listensMs: 20_000 });
      await at.ledger.settleLate(said); // it heard an answer that proves nothing
      expect(await deny(at, heard)).toBe("resolved");
    });
  });
}
