// Shrink: a plan that fails -> the shortest one found that fails in the same way. Greedy: part after part is left out for
// as long as the failure stays.

import type { ViolationKind } from "./facts.js";
import type { Plan, ToolPlan } from "./plan.js";
import { type Broken, type Ran, runPlan } from "./run.js";

export interface Shrunk {
  readonly plan: Plan;
  readonly ran: Ran;
  readonly tried: number;
}

/** `limit`: runs that may be tried. */
export async function shrink(plan: Plan, kind: ViolationKind, broken: Broken = {}, limit = 400): Promise<Shrunk> {
  let best = plan;
  let ran = await runPlan(plan, broken);
  let tried = 1;
  for (let again = true; again && tried < limit; ) {
    again = false;
    for (const shorter of shorterThan(best)) {
      if (tried >= limit) break;
      tried += 1;
      const result = await runPlan(shorter, broken);
      if (!result.violations.some((one) => one.kind === kind)) continue;
      best = shorter;
      ran = result;
      again = true;
      break;
    }
  }
  return { plan: best, ran, tried };
}

const PLAIN = {
  errors: "conservative",
  contract: false,
  keyed: false,
  readBack: false,
  repeat: "ask",
  outputSchema: false,
} as const;

/** Plans with one part less, the largest parts first. */
function* shorterThan(plan: Plan): Generator<Plan> {
  const { turns, faults, moves, hosts, people, words, tools } = plan;
  if (turns.length > 1) for (const at of turns.keys()) yield { ...plan, turns: without(turns, at) };
  for (const at of faults.keys()) yield { ...plan, faults: without(faults, at) };
  for (const at of moves.keys()) yield { ...plan, moves: without(moves, at) };
  if (hosts.length > 1) for (const at of hosts.keys()) yield { ...plan, hosts: without(hosts, at) };
  for (const [at, turn] of turns.entries()) {
    const { steps } = turn;
    const put = (step: typeof steps) => ({ ...plan, turns: turns.with(at, { ...turn, steps: step }) });
    if (steps.length > 1) for (const step of steps.keys()) yield put(without(steps, step));
    for (const [step, calls] of steps.entries())
      if (calls.length > 1) for (const call of calls.keys()) yield put(steps.with(step, without(calls, call)));
    if (turn.durability === "async") yield { ...plan, turns: turns.with(at, { ...turn, durability: "sync" }) };
  }
  for (const [at, how] of people.entries())
    if (how !== "approve") yield { ...plan, people: people.with(at, "approve") };
  for (const [at, how] of words.entries()) if (how !== "truth") yield { ...plan, words: words.with(at, "truth") };
  for (const [at, host] of hosts.entries()) {
    if (host.offMs !== 0) yield { ...plan, hosts: hosts.with(at, { ...host, offMs: 0 }) };
    if (host.machine !== "here") yield { ...plan, hosts: hosts.with(at, { ...host, machine: "here" }) };
  }
  if (plan.saverMs > 2) yield { ...plan, saverMs: 2 };
  if (plan.haltScope === "server") yield { ...plan, haltScope: "thread" };
  for (const at of tools.keys()) if (tools.length > 1) yield { ...plan, tools: without(tools, at) };
  for (const [at, tool] of tools.entries())
    for (const [key, value] of Object.entries(PLAIN))
      if (tool[key as keyof ToolPlan] !== value) yield { ...plan, tools: tools.with(at, { ...tool, [key]: value }) };
}

function without<T>(list: readonly T[], at: number): T[] {
  return list.filter((_, index) => index !== at);
}
