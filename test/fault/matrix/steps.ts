// Steps that the scripts of rows share.

import type { Action } from "./plan.js";
import type { Halt } from "./points.js";
import type { Halted } from "./process.js";
import type { Left } from "./row.js";
import type { Fault, HostOptions, World } from "./world.js";

const QUESTION = "go";

/** A question, and a yes to what is asked. */
export const ASKED: readonly Action[] = [{ do: "ask", question: QUESTION }, { do: "yes" }];

export interface KillOptions extends Omit<HostOptions, "halts"> {
  readonly fault?: Fault;
  /** @default a question, and a yes to what is asked */
  readonly actions?: readonly Action[];
}

/**
 * Starts a host, has it stand at the last of some points (those before it are passed on the way), kills it there and waits
 * until its server has ended.
 */
export async function killedAt(world: World, points: readonly string[], options: KillOptions = {}): Promise<Halted> {
  const { actions = ASKED, ...more } = options;
  const last = points.length - 1;
  const halts = points.map((point, at): Halt => ({ point, do: at === last ? "stand" : "tell" }));
  const host = await world.host(actions, { ...more, halts });
  const halted = await host.halted(points[last] as string);
  if (more.fault !== undefined) await world.logged(more.fault.at === "accepted" ? "accepted" : "effect");
  await world.kill(host, halted);
  return halted;
}

/** A new host goes on with the thread. Where the power went, a question that the thread lost is asked again. */
export async function goOn(world: World, options: HostOptions = {}): Promise<Left> {
  const host = await world.host([{ do: "on", ...(world.losesPower ? { question: QUESTION } : {}) }], options);
  const words = await host.done();
  await host.ended();
  return { words };
}
