// Measuring: many user turns of one call, or many calls within one user turn, and what they cost as they become many.

import type { ScriptStep } from "../src/testing.js";
import { type Case, callStep, type Measured, type ServerCommand, startAgent } from "./agent.js";

/** What a run cost. Times are in milliseconds, without the scripted model's own. */
export interface Cost {
  /** Bytes on disk at the end, checkpoints and ledger together. */
  readonly bytes: number;
  /** Bytes on disk after the tenth turn or call: what the catalog costs is in it. */
  readonly bytesAtTen: number;
  /** The time of each turn or call, in order. */
  readonly times: readonly number[];
  /** Time this process was busy; says more than the clock where others share the machine. */
  readonly cpuTimes: readonly number[];
  /** The same with the scripted model's own time. */
  readonly wholeTimes: readonly number[];
}

/** User turns of one call each, in one thread. A turn is one `invoke`. */
export async function measureTurns(one: Case, turns: number, server?: ServerCommand): Promise<Cost> {
  const agent = await startAgent(one, { calls: turns, steps: turnSteps(turns), ...(server ? { server } : {}) });
  return costOf(agent, async (tick) => {
    for (let turn = 0; turn < turns; turn++) {
      const result = await agent.toolgate.graph.invoke(question(turn), { ...THREAD, durability: "sync" });
      tick();
      expectOk(result.messages.at(-2), result.messages.length, 4 * (turn + 1));
    }
  });
}

/** Calls within one user turn, `batch` in each of the model's responses. A time is that of one response with its calls. */
export async function measureCalls(one: Case, calls: number, server?: ServerCommand, batch = 1): Promise<Cost> {
  const rounds = Array.from({ length: Math.ceil(calls / batch) }, (_, n) => n);
  const numbers = (n: number) => Array.from({ length: Math.min(batch, calls - n * batch) }, (_, k) => n * batch + k);
  const steps = [...rounds.map((n) => callStep(...numbers(n))), { say: "Done." }];
  const agent = await startAgent(one, { calls, steps, ...(server ? { server } : {}) });
  return costOf(agent, async (tick) => {
    const stream = await agent.toolgate.graph.stream(question(0), {
      ...THREAD,
      durability: "sync",
      streamMode: "updates",
    });
    for await (const update of stream) if ("observe" in update) tick();
    const { values } = await agent.toolgate.graph.getState(THREAD);
    const messages = values.messages as { status?: unknown }[];
    expectOk(messages.at(-2), messages.length, 2 + rounds.length + calls);
  });
}

export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

/** A script of turns with one call each. */
export function turnSteps(turns: number): ScriptStep[] {
  return Array.from({ length: turns }, (_, n) => [callStep(n), { say: `That was number ${n}.` }]).flat();
}

const THREAD = { configurable: { thread_id: "bench" } };

export const question = (n: number) => ({
  messages: [{ role: "user", content: `Question ${n}: what does it say there?` }],
});

async function costOf(agent: Measured, run: (tick: () => void) => Promise<void>): Promise<Cost> {
  try {
    const times: number[] = [];
    const wholeTimes: number[] = [];
    let bytesAtTen = 0;
    const cpuTimes: number[] = [];
    let started = performance.now();
    let cpu = process.cpuUsage();
    let modelMs = 0;
    await run(() => {
      const whole = performance.now() - started;
      wholeTimes.push(whole);
      times.push(whole - (agent.model.ms - modelMs));
      const { user, system } = process.cpuUsage(cpu);
      cpuTimes.push((user + system) / 1_000 - (agent.model.ms - modelMs));
      if (times.length === 10) bytesAtTen = agent.bytes();
      modelMs = agent.model.ms;
      started = performance.now();
      cpu = process.cpuUsage();
    });
    return { times, cpuTimes, wholeTimes, bytesAtTen, bytes: await agent.close() };
  } finally {
    await agent.remove();
  }
}

/** A run that was cut short or refused costs nothing: it must not pass for a cheap one. */
function expectOk(last: unknown, messages: number, expected: number): void {
  const { status } = (last ?? {}) as { status?: unknown };
  if (messages === expected && status === "success") return;
  throw new Error(
    `the run did not do its calls: ${messages} messages of ${expected}, the last result ${String(status)}`,
  );
}
