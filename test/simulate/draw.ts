// Draw: a seed -> a plan. Few tools and few arguments, so that what happens meets what happened.

import {
  ANSWERS,
  type CallPlan,
  type FaultPlan,
  HOST_FAULTS,
  type HostPlan,
  MOVES,
  type MovePlan,
  PERSON,
  type Plan,
  SERVER_FAULTS,
  type ToolPlan,
  WORDS,
} from "./plan.js";
import { type Random, randomOf } from "./random.js";

/** Ports where a fault is worth more than elsewhere. */
const PLACES = [
  "ledger.propose",
  "ledger.ask",
  "ledger.answer",
  "ledger.claim",
  "ledger.claim",
  "ledger.begin",
  "ledger.begin",
  "ledger.settle",
  "ledger.settle",
  "ledger.settleLate",
  "ledger.readBack",
  "ledger.refuse",
  "ledger.resolve",
  "ledger.enter",
  "ledger.leave",
  "server.call",
  "server.call",
  "server.answer",
  "results.put",
  "saver.put",
  "saver.putWrites",
  "model",
] as const;

/** Between the claim and the send: where a host that was stopped does the most harm. */
const BETWEEN = ["ledger.claim", "ledger.begin", "server.call"] as const;

const HOUR = 3_600_000;

export function draw(seed: number): Plan {
  const random = randomOf(seed, "plan");
  const tools = toolsOf(random);
  const count = 1 + random.int(3);
  const plan: Plan = {
    seed,
    hosts: hostsOf(random),
    haltScope: random.chance(0.15) ? "server" : "thread",
    saverMs: random.chance(0.3) ? random.pick([200, 2_000, 4_000]) : 2,
    tools,
    turns: list(count, () => ({
      steps: list(1 + random.int(2), () => list(1 + random.int(3), () => callOf(random, tools))),
      durability: random.chance(0.25) ? ("async" as const) : ("sync" as const),
    })),
    people: list(6, () => (random.chance(0.5) ? "approve" : random.pick(PERSON))),
    words: list(4, () => random.pick(WORDS)),
    moves: list(random.chance(0.4) ? 0 : 1 + random.int(2), () => moveOf(random)),
    faults: list(random.int(5), () => faultOf(random)),
  };
  return random.chance(0.08) ? stoppedBesideAnotherClock(plan, random) : plan;
}

/** Hosts of one machine, one with another time than the others, and one of them is stopped just before a send. */
function stoppedBesideAnotherClock(plan: Plan, random: Random): Plan {
  const off = random.pick([HOUR, HOUR, -HOUR]);
  const ms = random.pick([3_000, 14_000, 14_000, 40_000]);
  const at = { port: "ledger.begin", nth: 1 + random.int(2) };
  return {
    ...plan,
    hosts: list(2 + random.int(2), (index) => ({ machine: "here", offMs: index === 0 ? 0 : off })),
    words: plan.words.map(() => random.pick(["truth", "outside"])),
    faults: [{ kind: "pause", at, when: "after", ms }],
  };
}

function toolsOf(random: Random): ToolPlan[] {
  const writes = list(1 + random.int(3), (index): ToolPlan => {
    const contract = random.chance(0.25);
    return {
      name: `write_${index}`,
      effect: "write",
      decision: random.pick(["allow", "allow", "ask", "ask", "ask", "deny"]),
      errors: random.chance(0.3) ? "honest" : "conservative",
      contract,
      keyed: random.chance(0.4),
      readBack: random.chance(0.35),
      repeat: random.pick(["ask", "ask", "ask", "allow", "deny"]),
      outputSchema: !contract && random.chance(0.2),
    };
  });
  const common = { errors: "conservative", contract: false, keyed: false, readBack: false, repeat: "ask" } as const;
  const look: ToolPlan = { name: "look", effect: "read", decision: "allow", outputSchema: false, ...common };
  return [look, ...writes];
}

function hostsOf(random: Random): HostPlan[] {
  const skewed = random.chance(0.15);
  return list(1 + random.int(3), (index) => ({
    machine: random.chance(0.4) ? "here" : `machine ${index + 1}`,
    offMs: skewed ? random.pick([0, 5_000, -5_000, HOUR, -HOUR]) : 0,
  }));
}

function callOf(random: Random, tools: readonly ToolPlan[]): CallPlan {
  const tool = random.chance(0.25) ? "look" : random.pick(tools).name;
  if (random.chance(0.03)) return { tool: "no_such_tool", n: 1 };
  return { tool, n: random.chance(0.04) ? "bad" : random.chance(0.3) ? "fresh" : random.int(2) };
}

function moveOf(random: Random): MovePlan {
  return {
    kind: random.pick([...MOVES, "replay", "replay", "fork"] as const),
    after: random.int(5),
    pick: random.int(1_000),
  };
}

function faultOf(random: Random): FaultPlan {
  if (random.chance(0.4)) return { kind: "answer", how: random.pick(ANSWERS), nth: 1 + random.int(4) };
  if (random.chance(0.12)) return { kind: random.pick(SERVER_FAULTS), nth: 1 + random.int(5) };
  const kind = random.pick([...HOST_FAULTS, "crash", "crash", "pause"] as const);
  const anywhere = random.chance(0.4);
  const port = random.pick(kind === "pause" && random.chance(0.5) ? BETWEEN : PLACES);
  return {
    kind,
    at: anywhere ? { port: "*", nth: 1 + random.int(160) } : { port, nth: 1 + random.int(4) },
    when: random.chance(0.5) ? "before" : "after",
    ms: kind === "pause" ? random.pick([3_000, 14_000, 16_000, 40_000, 90_000]) : random.pick([-HOUR, 720 * HOUR]),
  };
}

function list<T>(length: number, make: (index: number) => T): T[] {
  return Array.from({ length }, (_, index) => make(index));
}
