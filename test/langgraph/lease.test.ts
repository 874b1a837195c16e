// A run's own view of its lease: which clocks count, with all of them in the test's hands.

import { expect, test } from "vitest";
import { type LeasePorts, takeThread } from "../../src/langgraph/thread-lease.js";

const LEASE_MS = 15_000;

async function taken() {
  const clock = { steady: 1_000, uptime: 9_000 };
  let renews = true;
  let beat = () => {};
  const ports: LeasePorts = {
    config: { leaseMs: LEASE_MS },
    ledger: {
      enter: async () => ({ kind: "entered" }),
      leave: async () => undefined,
      renew: async () => renews,
    },
    newOwner: () => ({
      owner: { machine: "m", pid: 1, started: "", instance: "i" },
      hold: () => {},
      release: () => {},
    }),
    steady: () => clock.steady,
    uptime: () => clock.uptime,
    every: (_, tick) => {
      beat = tick;
      return () => {};
    },
  };
  const lease = await takeThread(ports, { threadId: "t1", scope: "local" });
  const pass = (ms: number) => {
    clock.steady += ms;
    clock.uptime += ms;
  };
  const renewing = async (answer: boolean) => {
    renews = answer;
    beat();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { lease, clock, pass, renewing };
}

test("it lasts as long as was asked for, and from each heartbeat again (lease-5)", async () => {
  const { lease, pass, renewing } = await taken();
  pass(LEASE_MS - 1);
  expect(lease.valid()).toBe(true);
  await renewing(true);
  pass(LEASE_MS - 1);
  expect(lease.valid()).toBe(true);
  pass(1);
  expect(lease.valid()).toBe(false);
  await renewing(true); // never valid again
  expect(lease.valid()).toBe(false);
});

// A laptop was closed, another machine took the thread over in the database, and the laptop went on where it was.
test("a machine that slept for longer than the lease has none any more", async () => {
  const { lease, clock } = await taken();
  clock.uptime += LEASE_MS - 1;
  expect(lease.valid()).toBe(true);
  clock.uptime += 1; // the clock that sleeps with the machine stands still
  expect(lease.valid()).toBe(false);
});

test("another run that took the thread over ends it at the next heartbeat", async () => {
  const { lease, renewing } = await taken();
  await renewing(false);
  expect(lease.valid()).toBe(false);
});
