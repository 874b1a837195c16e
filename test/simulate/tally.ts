// Tally: what many runs came to, and what that number of runs can say.

import { VIOLATIONS, type ViolationKind } from "./facts.js";
import type { Ran } from "./run.js";

export interface Tally {
  runs: number;
  /** Sends and effects of writes. */
  writes: number;
  effects: number;
  questions: number;
  /** Faults and moves that struck, by kind. */
  struck: Record<string, number>;
  violations: Partial<Record<ViolationKind, number>>;
  /** Seeds that failed, with how they failed first. */
  failed: { seed: number; kind: ViolationKind }[];
}

export function emptyTally(): Tally {
  return { runs: 0, writes: 0, effects: 0, questions: 0, struck: {}, violations: {}, failed: [] };
}

export function count(tally: Tally, seed: number, { facts, violations }: Ran): void {
  tally.runs += 1;
  tally.writes += facts.sends.filter(({ tool }) => tool.effect === "write").length;
  tally.effects += facts.effects.filter(({ tool }) => tool.effect === "write").length;
  tally.questions += facts.approvals.length;
  for (const [kind, times] of facts.struck) tally.struck[kind] = (tally.struck[kind] ?? 0) + times;
  for (const { kind } of violations) tally.violations[kind] = (tally.violations[kind] ?? 0) + 1;
  const first = violations[0];
  if (first) tally.failed.push({ seed, kind: first.kind });
}

export function add(to: Tally, more: Tally): void {
  to.runs += more.runs;
  to.writes += more.writes;
  to.effects += more.effects;
  to.questions += more.questions;
  for (const [kind, times] of Object.entries(more.struck)) to.struck[kind] = (to.struck[kind] ?? 0) + times;
  for (const [kind, times] of Object.entries(more.violations) as [ViolationKind, number][])
    to.violations[kind] = (to.violations[kind] ?? 0) + times;
  to.failed.push(...more.failed);
  to.failed.sort((a, b) => a.seed - b.seed);
}

/** The totals, as they are printed. */
export function report({ runs, writes, effects, questions, struck, violations, failed }: Tally): string[] {
  const strikes = Object.entries(struck).sort(([a], [b]) => (a < b ? -1 : 1));
  const total = strikes.reduce((sum, [, times]) => sum + times, 0);
  return [
    `runs                              ${runs}`,
    `writes sent                       ${writes}`,
    `write effects                     ${effects}`,
    `approvals given                   ${questions}`,
    `faults and odd moves              ${total}`,
    ...strikes.map(([kind, times]) => `  ${kind.padEnd(32)}${times}`),
    ...VIOLATIONS.map((kind) => `${kind.padEnd(34)}${violations[kind] ?? 0}`),
    "",
    failed.length === 0
      ? `0 of ${runs} runs failed: below ${bound(runs)} of such runs fail, at 95 % (rule of three)`
      : `${failed.length} of ${runs} runs failed: seeds ${failed.map(({ seed }) => seed).join(", ")}`,
  ];
}

/** Rule of three: none in n independent runs means, at 95 %, fewer than 3 in n. */
export function bound(runs: number): string {
  return runs === 0 ? "1 in 1" : `1 in ${Math.floor(runs / 3)}`;
}
