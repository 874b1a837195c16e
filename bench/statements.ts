// What a ledger on Postgres asks of its database: each statement is put down to the call of the ledger that sent it.
//
// A call's first statement that writes is its own; one after that was sent because the one before was not stored: another
// writer of the thread was first, or the answer was lost. What was stored is asked of the database: each stored statement
// makes one new version of its thread, and so does each heartbeat that found a thread to hold.

import { AsyncLocalStorage } from "node:async_hooks";
import type { Ledger, ModelRequestRecord } from "../src/ledger/port.js";

/** The methods that a call's life consists of. */
export const OF_A_CALL = ["propose", "claim", "begin", "settle"];
/** The record of an answer without calls, which belongs to the turn and to none of its calls. */
export const LAST_ANSWER = "propose, the last answer";

export interface Count {
  /** Calls of the method. */
  times: number;
  /** Statements that write, without those tried again. */
  writes: number;
  again: number;
  reads: number;
}

export interface Counter {
  readonly counts: Map<string, Count>;
  /** Milliseconds from each claim to its settlement, as whoever called saw them. */
  readonly callMs: number[];
  /** Heartbeats that found a thread to hold. */
  readonly renewed: () => number;
  /** Told each statement. */
  readonly heard: (text: string) => void;
  readonly counted: (ledger: Ledger) => Ledger;
  /** Waits for the calls that nobody waits for: heartbeats. */
  readonly quiet: () => Promise<void>;
  readonly clear: () => void;
}

export function counter(): Counter {
  const counts = new Map<string, Count>();
  const claimed = new Map<string, number>();
  const callMs: number[] = [];
  const open = new Set<Promise<unknown>>();
  const sender = new AsyncLocalStorage<{ readonly label: string; tried: boolean }>();
  let renewed = 0;

  const countOf = (label: string): Count => {
    const count = counts.get(label) ?? { times: 0, writes: 0, again: 0, reads: 0 };
    counts.set(label, count);
    return count;
  };
  const heard = (text: string) => {
    const from = sender.getStore() ?? { label: "nobody", tried: false };
    const kind = !/INSERT|UPDATE/.test(text) ? "reads" : from.tried ? "again" : "writes";
    if (kind === "writes") from.tried = true;
    countOf(from.label)[kind] += 1;
  };
  const before = (name: string, given: unknown) => {
    if (name !== "claim") return;
    for (const { operation } of (given as Parameters<Ledger["claim"]>[0]).operations)
      claimed.set(operation.id, performance.now());
  };
  const after = (name: string, given: unknown, result: unknown) => {
    if (name === "renew" && result === true) renewed += 1;
    if (name !== "settle") return;
    const since = claimed.get((given as Parameters<Ledger["settle"]>[0]).operationId);
    callMs.push(performance.now() - (since ?? Number.NaN));
  };
  const counted = (ledger: Ledger) => {
    const methods = Object.entries(ledger).map(([name, call]: [string, (...args: unknown[]) => Promise<unknown>]) => {
      const run = (...args: unknown[]) => {
        const last = name === "propose" && (args[0] as ModelRequestRecord).proposal === undefined;
        const label = last ? LAST_ANSWER : name;
        countOf(label).times += 1;
        before(name, args[0]);
        const running = sender.run({ label, tried: false }, async () => {
          const result = await call(...args);
          after(name, args[0], result);
          return result;
        });
        const over = running.then(
          () => undefined,
          () => undefined,
        );
        open.add(over);
        void over.then(() => open.delete(over));
        return running;
      };
      return [name, run];
    });
    return Object.fromEntries(methods) as unknown as Ledger;
  };
  return {
    counts,
    callMs,
    renewed: () => renewed,
    heard,
    counted,
    quiet: async () => {
      await Promise.all(open);
    },
    clear: () => {
      counts.clear();
      callMs.length = 0;
      renewed = 0;
    },
  };
}
