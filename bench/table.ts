// What the scripts print: one row a case, each bound with its verdict. A broken bound is exit code 1.

import { loadavg } from "node:os";
import { parseArgs } from "node:util";
import type { Case } from "./agent.js";
import { type Cost, median } from "./measure.js";

/** How much the growth of a store may differ between catalogs: rows and pages do not fill alike. */
const CATALOG_MARGIN = 0.02;

/** What a run may cost. */
export interface Bounds {
  readonly megabytes: number;
  /** Late time by early time. */
  readonly ratio: number;
}

/** Catalogs of 20 and 1,000 tools, whose tools are allowed by a rule: as writes, and declared as reads. */
export const CASES: readonly Case[] = [20, 1_000].flatMap((tools) =>
  (["write", "read"] as const).map((effect) => ({ tools, effect })),
);

/** `--turns N` and `--calls N`, for a quick run. */
export function counts(): { readonly turns: number; readonly calls: number } {
  const { values } = parseArgs({
    options: { turns: { type: "string", default: "400" }, calls: { type: "string", default: "400" } },
  });
  const [turns, calls] = [values.turns, values.calls].map(Number);
  if (!(Number(turns) >= 20) || !(Number(calls) >= 20)) throw new Error("give at least 20 turns and 20 calls");
  return { turns: turns as number, calls: calls as number };
}

/** Prints what each case cost against the bounds, and says by the exit code whether all were kept. */
export function report(
  title: string,
  costs: ReadonlyMap<Case, Cost>,
  windows: { readonly early: readonly [number, number]; readonly late: number },
  bounds: Bounds,
): void {
  const failures: string[] = [];
  const verdict = (holds: boolean, what: string) => {
    if (!holds) failures.push(what);
    return holds ? "PASS" : "FAIL";
  };
  const rows = [...costs].map(([{ tools, effect }, cost]) => {
    const name = `${tools} tools, ${effect}`;
    const early = (times: readonly number[]) => median(times.slice(...windows.early));
    const late = (times: readonly number[]) => median(times.slice(-windows.late));
    const ratio = (times: readonly number[]) => late(times) / early(times);
    const megabytes = cost.bytes / 1e6;
    const row = {
      MB: megabytes.toFixed(2),
      [`<= ${bounds.megabytes} MB`]: verdict(megabytes <= bounds.megabytes, `${name}: ${megabytes.toFixed(2)} MB`),
      "early ms": early(cost.times).toFixed(1),
      "late ms": late(cost.times).toFixed(1),
      "last ms": (cost.times.at(-1) ?? Number.NaN).toFixed(1),
      "late/early": ratio(cost.times).toFixed(2),
      [`<= ${bounds.ratio}`]: verdict(ratio(cost.times) <= bounds.ratio, `${name}: x${ratio(cost.times).toFixed(2)}`),
      "busy late/early": ratio(cost.cpuTimes).toFixed(2),
      "with the model": ratio(cost.wholeTimes).toFixed(2),
    };
    return [name, row] as const;
  });
  const load = loadavg().map((one) => one.toFixed(1));
  console.log(`\n${title} (load average ${load.join(" ")}; times say little above the number of cores)`);
  console.table(Object.fromEntries(rows));
  for (const effect of ["write", "read"] as const) {
    const growth = [...costs].filter(([one]) => one.effect === effect).map(([, cost]) => cost.bytes - cost.bytesAtTen);
    const spread = Math.max(...growth) / Math.min(...growth) - 1;
    const what = `${effect}: growth after the tenth differs by ${(100 * spread).toFixed(1)} % between catalogs`;
    console.log(`${what}: ${verdict(spread <= CATALOG_MARGIN, what)}`);
  }
  for (const failure of failures) console.log(`FAIL ${title}: ${failure}`);
  if (failures.length > 0) process.exitCode = 1;
}
