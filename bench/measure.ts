// Measuring: many user turns of one call, or many calls within one user turn, and what they cost as they become many.
//
// Late calls are timed in turns with early ones, the early ones on a second, equal agent with a store and a server of its
// own, so that whatever else the machine does meanwhile weighs on both alike.

import type { ScriptStep } from "../src/testing.js";
import { type Case, callStep, type Measured, type ServerCommand, startAgent } from "./agent.js";

/** What one turn, or one response of the model with its calls, took. In milliseconds. */
export interface Sample {
  /** Without the scripted model's own time. */
  readonly ms: number;
  readonly wholeMs: number;
}

export interface Cost {
  /** Bytes on disk at the end, checkpoints and ledger together. */
  readonly bytes: number;
  /** Bytes on disk after the tenth turn or response: what the catalog costs is in it. */
  readonly bytesAtTen: number;
  readonly early: readonly Sample[];
  /** The last ones, as many as `early`. */
  readonly late: readonly Sample[];
}

export interface MeasureOptions {
  /** How many of the last are timed, each after an early one. 0: nothing is timed. */
  readonly pairs: number;
  readonly server?: ServerCommand;
}

/** Early turns begin after this many: the first starts the server and lists it. */
const TURNS_BEFORE = 5;

/** User turns of one call each, in one thread. A turn is one `invoke`. */
export function measureTurns(one: Case, turns: number, options: MeasureOptions): Promise<Cost> {
  return measure((count) => startTurns(one, count, options.server), turns, TURNS_BEFORE, options.pairs);
}

/** Calls within one user turn, `batch` in each of the model's responses. */
export function measureCalls(one: Case, calls: number, options: MeasureOptions & { batch?: number }): Promise<Cost> {
  const { batch = 1 } = options;
  const start = (rounds: number) => startCalls(one, Math.min(calls, rounds * batch), batch, options.server);
  return measure(start, Math.ceil(calls / batch), 0, options.pairs);
}

export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

/** A script of turns with one call each. */
export function turnSteps(turns: number): ScriptStep[] {
  return Array.from({ length: turns }, (_, n) => [callStep(n), { say: `That was number ${n}.` }]).flat();
}

export const question = (n: number) => ({
  messages: [{ role: "user", content: `Question ${n}: what does it say there?` }],
});

const THREAD = { configurable: { thread_id: "bench" }, durability: "sync" as const };

/** A run that goes on one step at a time. */
interface Steps {
  readonly agent: Measured;
  next(): Promise<Sample>;
  /** Lets the run end, after its last step. */
  end(): Promise<void>;
}

async function measure(
  start: (count: number) => Promise<Steps>,
  count: number,
  before: number,
  pairs: number,
): Promise<Cost> {
  const agents: Measured[] = [];
  const begin = async (steps: number) => {
    const run = await start(steps);
    agents.push(run.agent);
    return run;
  };
  try {
    const long = await begin(count);
    let bytesAtTen = 0;
    for (let n = 1; n <= count - pairs; n++) {
      await long.next();
      if (n === 10) bytesAtTen = long.agent.bytes();
    }
    const early: Sample[] = [];
    const late: Sample[] = [];
    if (pairs > 0) {
      const short = await begin(before + pairs);
      for (let n = 0; n < before; n++) await short.next();
      for (let n = 0; n < pairs; n++) {
        early.push(await short.next());
        late.push(await long.next());
      }
      await short.end();
    }
    await long.end();
    return { early, late, bytesAtTen, bytes: await long.agent.close() };
  } finally {
    for (const agent of agents) await agent.remove();
  }
}

async function startTurns(one: Case, turns: number, server: ServerCommand | undefined): Promise<Steps> {
  const agent = await startAgent(one, { calls: turns, steps: turnSteps(turns), ...(server ? { server } : {}) });
  let turn = 0;
  return {
    agent,
    next: () =>
      timed(agent, async () => {
        const { messages } = await agent.toolgate.graph.invoke(question(turn), THREAD);
        turn += 1;
        expectOk(messages, 4 * turn);
      }),
    end: async () => undefined,
  };
}

/** One turn, held before each of the model's answers. */
async function startCalls(one: Case, calls: number, batch: number, server: ServerCommand | undefined): Promise<Steps> {
  const rounds = Array.from({ length: Math.ceil(calls / batch) }, (_, n) => n);
  const numbers = (n: number) => Array.from({ length: Math.min(batch, calls - n * batch) }, (_, k) => n * batch + k);
  const steps = [...rounds.map((n) => callStep(...numbers(n))), { say: "Done." }];
  const agent = await startAgent(one, { calls, steps, ...(server ? { server } : {}) });
  let held = deferred<() => void>();
  agent.model.before = () => {
    const permit = deferred<void>();
    held.resolve(() => permit.resolve());
    return permit.promise;
  };
  const run = agent.toolgate.graph.invoke(question(0), THREAD);
  run.catch(() => undefined); // told by whoever waits next
  const untilHeld = () => Promise.race([held.promise, run.then(() => Promise.reject(new Error("the turn is over")))]);
  const goOn = async () => {
    const permit = await untilHeld();
    held = deferred();
    permit();
  };
  await untilHeld();
  return {
    agent,
    next: () =>
      timed(agent, async () => {
        await goOn();
        await untilHeld();
      }),
    async end() {
      await goOn();
      expectOk((await run).messages, 2 + rounds.length + calls);
    },
  };
}

async function timed(agent: Measured, step: () => Promise<void>): Promise<Sample> {
  const started = performance.now();
  const modelMs = agent.model.ms;
  await step();
  const wholeMs = performance.now() - started;
  return { wholeMs, ms: wholeMs - (agent.model.ms - modelMs) };
}

function deferred<T>(): { readonly promise: Promise<T>; readonly resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

/** A run that was cut short or refused fails: it must not pass for a cheap one. */
function expectOk(messages: readonly unknown[], expected: number): void {
  const { status } = (messages.at(-2) ?? {}) as { status?: unknown };
  if (messages.length === expected && status === "success") return;
  throw new Error(`the calls did not run: ${messages.length} of ${expected} messages, the last result ${status}`);
}
