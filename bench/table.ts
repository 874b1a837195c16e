// What the scripts print: one row a case, each bound with its verdict. A broken bound is exit code 1.

import { availableParallelism, loadavg } from "node:os";
import { parseArgs } from "node:util";
import type { Case } from "./agent.js";
import { type Cost, measureTurns, median } from "./measure.js";

/** How much the growth of a store may differ between catalogs: rows and pages do not fill alike. */
const CATALOG_MARGIN = 0.02;

/** What a run may cost. */
export interface Bounds {
  readonly megabytes: number;
  /** Late time by early time. */
  readonly ratio: number;
}

/** Catalogs of 20 and 1,000 tools, whose tools are allowed by a rule: as writes, and declared as reads. */
const CASES: readonly Case[] = [20, 1_000].flatMap((tools) =>
  (["write", "read"] as const).map((effect) => ({ tools, effect })),
);

/** `--turns N` and `--calls N`, for a quick run. */
export function counts(): { readonly turns: number; readonly calls: number } {
  const { values } = parseArgs({
    options: { turns: { type: "string", default: "400" }, calls: { type: "string", default: "400" } },
  });
  const [turns, calls] = [values.turns, values.calls].map(Number);
  if (!(Number(turns) >= 40) || !(Number(calls) >= 40)) throw new Error("give at least 40 turns and 40 calls");
  return { turns: turns as number, calls: calls as number };
}

/** Measures each case, prints what it cost against the bounds, and says by the exit code whether all were kept. */
export async function run(title: string, measure: (one: Case) => Promise<Cost>, bounds: Bounds): Promise<void> {
  await measureTurns({ tools: 20, effect: "read" }, 20, { pairs: 0 }); // what is slow only the first time counts nowhere
  const costs = new Map<Case, Cost>();
  for (const one of CASES) {
    process.stderr.write(`${title}: ${one.tools} tools, ${one.effect}\n`);
    costs.set(one, await measure(one));
  }
  report(title, costs, bounds);
}

function report(title: string, costs: ReadonlyMap<Case, Cost>, bounds: Bounds): void {
  const failures: string[] = [];
  const verdict = (holds: boolean, what: string) => {
    if (!holds) failures.push(what);
    return holds ? "PASS" : "FAIL";
  };
  const rows = [...costs].map(([{ tools, effect }, cost]) => {
    const name = `${tools} tools, ${effect}`;
    const early = median(cost.early.map(({ ms }) => ms));
    const late = median(cost.late.map(({ ms }) => ms));
    const whole = median(cost.late.map((one) => one.wholeMs)) / median(cost.early.map((one) => one.wholeMs));
    const ratio = late / early;
    const megabytes = cost.bytes / 1e6;
    const row = {
      MB: megabytes.toFixed(2),
      [`<= ${bounds.megabytes} MB`]: verdict(megabytes <= bounds.megabytes, `${name}: ${megabytes.toFixed(2)} MB`),
      "early ms": early.toFixed(1),
      "late ms": late.toFixed(1),
      "late/early": ratio.toFixed(2),
      [`<= ${bounds.ratio}`]: verdict(ratio <= bounds.ratio, `${name}: late/early ${ratio.toFixed(2)}`),
      "with the model": whole.toFixed(2),
    };
    return [name, row] as const;
  });
  const load = loadavg().map((one) => one.toFixed(1));
  console.log(`\n${title} (medians; load average ${load.join(" ")} on ${availableParallelism()} cores)`);
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
