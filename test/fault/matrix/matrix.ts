// Running cells, some side by side.

import { type Cell, type Result, runCell, type Tools } from "./cell.js";
import { EFFECTS } from "./effects.js";
import { ROWS } from "./rows.js";
import { STORES } from "./stores.js";

export interface Chosen {
  readonly rows: readonly string[];
  readonly effects: readonly string[];
  readonly stores: readonly string[];
}

/** The cells that are meant; nothing named means all. */
export function cellsOf({ rows, effects, stores }: Chosen): Cell[] {
  const chosen = <T extends string>(all: readonly T[], given: readonly string[]) =>
    all.filter((one) => given.length === 0 || given.includes(one));
  return ROWS.filter((row) => chosen([row.id], rows).length > 0).flatMap((row) =>
    chosen(EFFECTS, effects).flatMap((effect) => chosen(STORES, stores).map((store): Cell => ({ row, effect, store }))),
  );
}

/** Does work for each item, `jobs` at a time. */
export async function sideBySide<T>(
  items: readonly T[],
  jobs: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const queue = [...items];
  const worker = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: jobs }, worker));
}

/** Runs cells, `jobs` at a time. `progress` is told each as it ends. */
export async function runCells(
  cells: readonly Cell[],
  tools: Tools,
  jobs: number,
  progress: (cell: Cell, result: Result, left: number) => void,
): Promise<Map<Cell, Result>> {
  const results = new Map<Cell, Result>();
  await sideBySide(cells, jobs, async (cell) => {
    const result = await runCell(cell, tools);
    results.set(cell, result);
    progress(cell, result, cells.length - results.size);
  });
  return new Map(cells.map((cell) => [cell, results.get(cell) as Result])); // in the order of the rows
}
