// World: everything that is outside a host: time, chance, faults, what really happened. A host reaches it through ports
// only, and every call of a port passes `port`, where the host may be struck.
//
//   simulated-world-1. A host that crashed is abandoned: nothing it waits for ever comes, nothing it started within
//                      itself goes on. What it had sent is under way all the same.
//   simulated-world-2. A paused host goes on where it was; what came meanwhile comes then, in order.

import { ToolgateError } from "../../src/contracts/index.js";
import { createFacts, type Facts, strike } from "./facts.js";
import { createHistory, type History } from "./history.js";
import type { FaultPlan, HostPlan, Plan } from "./plan.js";
import { type Random, randomOf } from "./random.js";
import { createTimeline, type Ticket, type Timeline } from "./timeline.js";

/** Epoch milliseconds at which every run begins. */
export const START = 1_800_000_000_000;

export interface World {
  readonly plan: Plan;
  readonly timeline: Timeline;
  readonly random: Random;
  readonly history: History;
  readonly facts: Facts;
  /** Faults still to come; none from `heal` on. */
  readonly strikes: (port: string) => readonly HostFault[];
  /** The server's faults for its n-th call, listing or connecting. */
  readonly serverFault: (
    kind: "answer" | "drift" | "list_fails" | "connect_fails",
    nth: number,
  ) => FaultPlan | undefined;
  readonly heal: () => void;
  readonly newId: (kind: string) => string;
  /** Resolves so many virtual milliseconds from now. */
  readonly sleep: (ms: number) => Promise<void>;
}

export type HostFault = Extract<FaultPlan, { readonly at: unknown }>;

export function createWorld(plan: Plan): World {
  const timeline = createTimeline();
  const history = createHistory(() => timeline.now);
  const facts = createFacts((line) => history.say("check", line));
  facts.clocksOff = plan.hosts.some(({ offMs }) => offMs !== 0);
  facts.troubled = facts.clocksOff;
  const counts = new Map<string, number>();
  const counted = (port: string) => {
    const count = (counts.get(port) ?? 0) + 1;
    counts.set(port, count);
    return count;
  };
  let healed = false;
  let ids = 0;
  return {
    plan,
    timeline,
    random: randomOf(plan.seed, "run"),
    history,
    facts,
    strikes(port) {
      const here = new Map([
        [port, counted(port)],
        ["*", counted("*")],
      ]);
      if (healed) return [];
      return plan.faults.filter(
        (fault): fault is HostFault => "at" in fault && here.get(fault.at.port) === fault.at.nth,
      );
    },
    serverFault: (kind, nth) =>
      healed ? undefined : plan.faults.find((one) => "nth" in one && one.kind === kind && one.nth === nth),
    heal: () => {
      healed = true;
    },
    newId: (kind) => `${kind}-${++ids}`,
    sleep: (ms) => new Promise((resolve) => timeline.after(ms, resolve)),
  };
}

/** A process that runs a host, as the world sees it. */
export interface Process {
  readonly name: string;
  readonly machine: string;
  readonly pid: number;
  readonly crashed: boolean;
  readonly paused: boolean;
  /** Resolves when it is gone; when it was stopped for a while. */
  readonly gone: Promise<void>;
  readonly stopped: () => Promise<void>;
  /** Epoch milliseconds of its own clock; milliseconds that nothing turns back. */
  readonly now: () => number;
  readonly steady: () => number;
  /** Lets something happen in the process, once it can run; never when it is gone. */
  readonly wake: (ms: number, happen: () => void) => Ticket;
  /** Makes one call of a port. `ms`: how long it takes at most. */
  readonly port: <T>(port: string, act: () => T | Promise<T>, ms?: number) => Promise<T>;
  readonly kill: () => void;
}

export function createProcess(world: World, { machine, offMs }: HostPlan, name: string, pid: number): Process {
  const { timeline, facts, history, random } = world;
  let crashed = false;
  let pausedUntil = 0;
  let off = offMs;
  let goneNow = () => {};
  const gone = new Promise<void>((resolve) => {
    goneNow = resolve;
  });
  const waiting: (() => void)[] = [];
  const kill = () => {
    if (crashed) return;
    crashed = true;
    facts.troubled = true;
    history.say(name, "is gone");
    goneNow();
  };
  const strikeWith = (fault: HostFault, port: string) => {
    if (crashed || (fault.kind === "store_fails" && !storing(port))) return;
    strike(facts, `${fault.kind} ${fault.when}`);
    facts.troubled = true;
    switch (fault.kind) {
      case "crash":
        history.say(name, `crashes ${fault.when} ${port}`);
        kill();
        return;
      case "pause":
        history.say(name, `stops ${fault.when} ${port} for ${fault.ms / 1_000} s`);
        pausedUntil = timeline.now + fault.ms;
        for (const tell of waiting.splice(0)) tell();
        return;
      case "clock":
        history.say(name, `has its clock set by ${fault.ms / 3_600_000} h ${fault.when} ${port}`);
        facts.clocksOff = true;
        off += fault.ms;
        return;
      case "store_fails":
        history.say(name, `meets a failing store ${fault.when} ${port}`);
        return;
    }
  };
  /** simulated-world-2 */
  const whenUp = (happen: () => void | Promise<void>): void | Promise<void> => {
    if (crashed) return; // simulated-world-1
    if (timeline.now < pausedUntil) {
      timeline.after(pausedUntil - timeline.now, () => whenUp(happen));
      return;
    }
    return happen();
  };
  return {
    name,
    machine,
    pid,
    get crashed() {
      return crashed;
    },
    get paused() {
      return timeline.now < pausedUntil;
    },
    gone,
    stopped: () => new Promise((resolve) => waiting.push(resolve)),
    now: () => START + off + Math.floor(timeline.now),
    steady: () => Math.floor(timeline.now),
    wake: (ms, happen) => {
      let cancelled = false; // also where it has come already and waits for the process to go on
      const ticket = timeline.after(ms, () => whenUp(() => (cancelled ? undefined : happen())));
      return {
        cancel: () => {
          cancelled = true;
          ticket.cancel();
        },
      };
    },
    kill,
    port: (port, act, ms = 2) =>
      new Promise((resolve, reject) => {
        const failed = () =>
          reject(new ToolgateError("store_failed", "the store failed", "try again", { cause: "simulated" }));
        const perform = async () => {
          const faults = world.strikes(port);
          for (const fault of faults) if (fault.when === "before") strikeWith(fault, port);
          await whenUp(async () => {
            if (faults.some((fault) => fault.kind === "store_fails" && fault.when === "before") && storing(port))
              return failed();
            const answer = await attempt(act);
            history.trace(name, port);
            for (const fault of faults) if (fault.when === "after") strikeWith(fault, port);
            const lost = faults.some((fault) => fault.kind === "store_fails" && fault.when === "after");
            return whenUp(() => {
              if (lost && storing(port)) failed();
              else if (answer.ok) resolve(answer.value);
              else reject(answer.error);
            });
          });
        };
        timeline.after(random.next() * ms, () => whenUp(perform));
      }),
  };
}

/** Ports of which a failure is the store's. */
function storing(port: string): boolean {
  return port.startsWith("ledger.") || port.startsWith("results.");
}

type Attempt<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: unknown };

async function attempt<T>(act: () => T | Promise<T>): Promise<Attempt<T>> {
  try {
    return { ok: true, value: await act() };
  } catch (error) {
    return { ok: false, error };
  }
}
