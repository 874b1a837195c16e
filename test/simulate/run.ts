// Run: a plan -> its history and what was wrong with it.

import { createMemoryResults } from "../../src/adapters/memory/results.js";
import type { Servers } from "../../src/contracts/mcp-port.js";
import { createCast } from "./cast.js";
import { checkMessages, checkRows, checkSend } from "./check.js";
import { drive } from "./drive.js";
import { type Facts, type Violation, violate } from "./facts.js";
import type { Shared } from "./host.js";
import { type Breaks, createSharedLedger, type Liveness } from "./ledger.js";
import type { Plan } from "./plan.js";
import { createSaver } from "./saver.js";
import { createServer } from "./server.js";
import { Hang } from "./timeline.js";
import { createWorld } from "./world.js";

/** Broken parts, to see that the simulator finds them out. */
export interface Broken {
  /** What a host believes of the owner of a row. */
  readonly life?: (right: ReturnType<Liveness>) => ReturnType<Liveness>;
  readonly ledger?: Breaks;
  readonly servers?: (servers: Servers) => Servers;
}

export interface Ran {
  readonly violations: readonly Violation[];
  /** For a reader; and the whole trace. */
  readonly lines: readonly string[];
  readonly full: readonly string[];
  readonly facts: Facts;
}

export async function runPlan(plan: Plan, broken: Broken = {}): Promise<Ran> {
  const world = createWorld(plan);
  const { facts, history } = world;
  const threads = ["t1"];
  const ledger = createSharedLedger(
    world,
    (eyes, owner, key) => life(eyes, owner, key),
    () => threads,
    broken.ledger,
  );
  const right: Liveness = (eyes, owner, key) => {
    if (owner.machine !== eyes.machine) return "unknown";
    const other = cast.processes.get(owner.pid);
    if (other === undefined || other.process.crashed) return "gone";
    if (other.process !== eyes) return "here";
    return other.holds(owner.instance, key) ? "alive" : "gone";
  };
  const life: Liveness = (...of) => broken.life?.(right(...of)) ?? right(...of);
  const shared: Shared = {
    ledger,
    saver: createSaver(),
    results: createMemoryResults(),
    server: createServer(world),
    atSend: (send) => checkSend(world, ledger, send),
    breaksServers: broken.servers,
  };
  const cast = createCast(world, shared, (threadId, messages) => checkMessages(world, ledger, threadId, messages));
  try {
    await world.timeline.run(drive(world, cast, shared, threads));
    await checkRows(world, ledger, threads);
  } catch (error) {
    if (error instanceof Hang) violate(facts, "hang", error.message);
    else violate(facts, "untyped error", `${(error as Error).name}: ${(error as Error).message}`);
  }
  return { violations: facts.violations, lines: history.lines, full: history.full, facts };
}
