// Cast: the processes of a run. One that is gone is replaced by a new one on the same machine.

import type { BaseMessage } from "@langchain/core/messages";
import { type Config, ToolgateError } from "../../src/contracts/index.js";
import { violate } from "./facts.js";
import { configOf, type Running, type Shared, startHost } from "./host.js";
import type { HostPlan } from "./plan.js";
import { createProcess, type Process, type World } from "./world.js";

/** How a run ended, as far as its client can tell. */
export type End =
  | { readonly kind: "done"; readonly messages: readonly BaseMessage[] }
  | { readonly kind: "asked" | "unknown"; readonly payload: Record<string, unknown> }
  | { readonly kind: "refused"; readonly code: string }
  /** Its process is gone. */
  | { readonly kind: "gone" }
  /** Its process was stopped; it may go on some time. */
  | { readonly kind: "away" }
  | { readonly kind: "broken" };

export interface Cast {
  /** A host that is up, started if need be. `other`: not this one, where there is more than one. */
  host(other?: Running): Promise<Running>;
  /** Runs the graph. */
  invoke(host: Running, threadId: string, input: unknown, options?: object): Promise<End>;
  /** Waits for something a process does; undefined when it is gone or stopped before that. */
  within<T>(host: Running, work: Promise<T>): Promise<T | undefined>;
  /** Runs that nobody waits for any more. */
  readonly left: Set<Promise<unknown>>;
  /** Processes by number, dead ones too. */
  readonly processes: ReadonlyMap<number, Running>;
}

export function createCast(
  world: World,
  shared: Shared,
  checkDone: (threadId: string, messages: readonly BaseMessage[]) => Promise<void>,
): Cast {
  const config: Config = configOf(world.plan);
  const processes = new Map<number, Running>();
  const slots: (Running | undefined)[] = world.plan.hosts.map(() => undefined);
  const left = new Set<Promise<unknown>>();

  const start = (slot: number): Running => {
    const pid = processes.size + 1;
    const process = createProcess(world, world.plan.hosts[slot] as HostPlan, `host ${pid}`, pid);
    const running = startHost(world, process, shared, config);
    processes.set(pid, running);
    slots[slot] = running;
    world.history.say(process.name, `is started on ${process.machine}`);
    return running;
  };
  const leave = (work: Promise<unknown>, process: Process) => {
    const over = Promise.race([work.catch(() => undefined), process.gone]).finally(() => left.delete(over));
    left.add(over);
  };

  return {
    left,
    processes,
    async host(other) {
      for (;;) {
        const free = slots.map((_, slot) => slot).filter((slot) => !slots[slot]?.process.paused);
        const rest = free.filter((slot) => other === undefined || slots[slot] !== other);
        const from = rest.length > 0 ? rest : free;
        if (from.length > 0) {
          const slot = world.random.pick(from);
          const running = slots[slot];
          return running === undefined || running.process.crashed ? start(slot) : running;
        }
        await world.sleep(1_000);
      }
    },

    async invoke(host, threadId, input, options = {}) {
      const { process, graph } = host;
      const { configurable = {}, ...rest } = options as { configurable?: object };
      const run = graph
        .invoke(input as never, { configurable: { thread_id: threadId, ...configurable }, ...rest } as never)
        .then(
          (result) => endOf(result),
          (error: unknown) => refusalOf(world, error),
        )
        .then(async (end) => {
          world.history.say(process.name, `its run of ${threadId} ends: ${told(end)}`);
          if (end.kind === "done") await checkDone(threadId, end.messages);
          return end;
        });
      const away = process.stopped().then((): End => ({ kind: "away" }));
      const gone = process.gone.then((): End => ({ kind: "gone" }));
      const end = await Promise.race([run, gone, away]);
      if (end.kind === "away") leave(run, process);
      return end;
    },

    async within(host, work) {
      const { process } = host;
      const over = Promise.race([process.gone, process.stopped()]).then(() => undefined);
      const result = await Promise.race([work.catch(expected), over]);
      leave(work, process);
      return result;
    },
  };
}

function endOf(result: unknown): End {
  const { messages = [], __interrupt__: open } = (result ?? {}) as {
    messages?: BaseMessage[];
    __interrupt__?: { value: Record<string, unknown> }[];
  };
  const payload = open?.[0]?.value;
  if (payload === undefined) return { kind: "done", messages };
  return { kind: payload["kind"] === "approval" ? "asked" : "unknown", payload };
}

/** Typed refusals are answers; everything else that comes out of a run is a fault. */
function refusalOf(world: World, error: unknown): End {
  if (error instanceof ToolgateError) {
    // Nobody changes the store of this world by hand.
    if (error.code === "store_tampered" || error.code === "secret_missing")
      violate(world.facts, "called tampered", error.message);
    return { kind: "refused", code: error.code };
  }
  violate(world.facts, "untyped error", `${(error as Error)?.name}: ${(error as Error)?.message?.split("\n")[0]}`);
  return { kind: "broken" };
}

function expected(error: unknown): undefined {
  if (error instanceof ToolgateError) return undefined;
  throw error;
}

function told(end: End): string {
  return end.kind === "refused" ? `refused, ${end.code}` : end.kind;
}
