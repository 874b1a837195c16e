// `npm run faults -- --power`: every point at which the matrix kills a host, with a loss of power there instead. Each cell is
// run once for each way in which the disk can have been left:
//
//   certain   with nothing but what SQLite had synced
//   next      with one transaction more
//   all       with everything that was written
//   copied    as `certain`, while SQLite copies its log into the database after every few pages
//
// A way that leaves the same as one before it is not run. In each the log ends in half of a frame, and the first way also
// looks at the store as it would be after a cut at every later frame.

import { type Cell, type Result, runCell, sound, type Tools } from "./cell.js";
import { EFFECTS, SAYS } from "./effects.js";
import { type Chosen, sideBySide } from "./matrix.js";
import { POWER_ROWS } from "./power-rows.js";
import { printTotals, totalsOf, whatIsWrong } from "./print.js";
import { expected } from "./row.js";
import type { Power } from "./world.js";

export const WAYS = ["certain", "next", "all", "copied"] as const;
export type Way = (typeof WAYS)[number];

const POWER: Readonly<Record<Way, Power>> = {
  certain: { keeps: 0 },
  next: { keeps: 1 },
  all: { keeps: Number.POSITIVE_INFINITY },
  copied: { keeps: 0, copyPages: 8 },
};

export type Ways = Partial<Record<Way, Result>>;

/** The cells that are meant; nothing named means all. */
export function powerCellsOf({ rows, effects }: Pick<Chosen, "rows" | "effects">): Cell[] {
  const meant = <T extends string>(one: T, given: readonly string[]) => given.length === 0 || given.includes(one);
  return POWER_ROWS.filter(({ id }) => meant(id, rows)).flatMap((row) =>
    EFFECTS.filter((effect) => meant(effect, effects))
      .map((effect): Cell => ({ row, effect, store: "sqlite" }))
      .filter((cell) => !expected(row, "sqlite", cell.effect).startsWith("n/a")),
  );
}

/** Runs a cell, once for each way. */
export async function runPowerCell(cell: Cell, tools: Tools, ways: readonly Way[] = WAYS): Promise<Ways> {
  const results: Ways = {};
  const left = (losable: number, way: Way) => way === "copied" || losable >= { certain: 0, next: 1, all: 2 }[way];
  let losable = Number.POSITIVE_INFINITY;
  for (const way of ways) {
    if (!left(losable, way)) continue;
    const result = await runCell(cell, { ...tools, power: POWER[way] });
    results[way] = result;
    if (way === "certain") losable = result.losable;
  }
  return results;
}

export type PowerResults = ReadonlyMap<Cell, Ways>;

export async function runPowerCells(
  cells: readonly Cell[],
  tools: Tools,
  jobs: number,
  progress: (line: string) => void,
): Promise<PowerResults> {
  const results = new Map<Cell, Ways>();
  await sideBySide(cells, jobs, async (cell) => {
    const ways = await runPowerCell(cell, tools);
    results.set(cell, ways);
    progress(
      `${cells.length - results.size} left: ${nameOf(cell)}: ${WAYS.map((way) => wordOf(ways[way])).join(" | ")}`,
    );
  });
  return new Map(cells.map((cell) => [cell, results.get(cell) as Ways])); // in the order of the rows
}

export function printPower(results: PowerResults): string {
  const widths = [5, 66, 26, 22, 22, 22, 22];
  const line = (words: readonly string[]) =>
    words
      .map((word, at) => word.padEnd(widths[at] ?? 0))
      .join(" ")
      .trimEnd();
  return [
    line(["row", "fault", "effect", ...WAYS, "may be lost"]),
    ...[...results].map(([{ row, effect }, ways]) => {
      const losable = `${ways.certain?.losable ?? 0} transactions`;
      return line([row.id, row.says, `${effect} ${SAYS[effect]}`, ...WAYS.map((way) => wordOf(ways[way])), losable]);
    }),
  ].join("\n");
}

export function printPowerTotals(results: PowerResults): string {
  const all = [...results.values()].flatMap((ways) => Object.values(ways));
  const broken = all.reduce((total, result) => total + result.broken.length, 0);
  return `${printTotals(totalsOf(all))}\npromises lost with power   ${broken}`;
}

/** What is wrong, a line for each cell and way. */
export function printPowerWrong(results: PowerResults): string {
  return [...results]
    .flatMap(([cell, ways]) =>
      Object.entries(ways)
        .filter(([, result]) => !sound(result))
        .map(([way, result]) => `${nameOf(cell)}, ${way}: ${whatIsWrong(result)}`),
    )
    .join("\n");
}

const nameOf = ({ row, effect }: Cell) => `${row.id} ${row.says}, ${effect}`;

function wordOf(result: Result | undefined): string {
  if (result === undefined) return "-";
  return sound(result) ? result.says : `WRONG: ${result.says}`;
}
