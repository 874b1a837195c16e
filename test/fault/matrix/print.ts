// The matrix as it is printed: a line for each row and effect, a cell for each store, and the totals.

import { type Cell, problems, type Result, sound } from "./cell.js";
import { EFFECTS, SAYS } from "./effects.js";
import type { Row } from "./row.js";
import { STORES } from "./stores.js";

export type Results = ReadonlyMap<Cell, Result>;

export interface Totals {
  readonly runs: number;
  readonly double: number;
  readonly unapproved: number;
  readonly false: number;
  readonly unknown: number;
  readonly format: number;
  /** Cells that did not come to what they must. */
  readonly other: number;
}

const WIDTHS = [5, 66, 26, 34] as const;

export function printMatrix(results: Results): string {
  const rows = [...new Set([...results.keys()].map(({ row }) => row))];
  const stores = STORES.filter((store) => [...results.keys()].some((cell) => cell.store === store));
  const lines = [line(["row", "fault", "effect", ...stores])];
  for (const row of rows) {
    for (const effect of EFFECTS) {
      const cells = stores.map((store) => cellOf(results, row, store, effect));
      if (cells.every((cell) => cell === undefined)) continue;
      const says = cells.map((result) => (result === undefined ? "" : wordOf(result)));
      lines.push(line([row.id, row.says, `${effect} ${SAYS[effect]}`, ...says]));
    }
  }
  return lines.join("\n");
}

export function printTotals(totals: Totals): string {
  return [
    `runs                      ${totals.runs}`,
    `double effects            ${totals.double}`,
    `effects without approval  ${totals.unapproved}`,
    `false ok or failed        ${totals.false}`,
    `wrongly unknown           ${totals.unknown}`,
    `calls not answered once   ${totals.format}`,
    `cells not as they must be ${totals.other}`,
  ].join("\n");
}

export function totalsOf(results: Iterable<Result>): Totals {
  const all = [...results];
  const sum = (of: (result: Result) => number) => all.reduce((total, result) => total + of(result), 0);
  return {
    runs: sum((result) => result.runs),
    double: sum((result) => result.double.length),
    unapproved: sum((result) => result.unapproved.length),
    false: sum((result) => result.false.length),
    unknown: sum((result) => result.unknown.length),
    format: sum((result) => result.format.length),
    other: sum((result) => (result.says === result.expected ? 0 : 1)),
  };
}

/** What is wrong, a line for each cell. */
export function printWrong(results: Results): string {
  return [...results]
    .filter(([, result]) => !sound(result))
    .map(([{ row, store, effect }, result]) => `${row.id} ${row.says}, ${effect}, ${store}: ${whatIsWrong(result)}`)
    .join("\n");
}

export function whatIsWrong(result: Result): string {
  const found = result.says === result.expected ? [] : [`expected \`${result.expected}\`, got \`${result.says}\``];
  return [...found, ...problems(result)].join("; ");
}

function cellOf(results: Results, row: Row, store: string, effect: string): Result | undefined {
  return [...results].find(([cell]) => cell.row === row && cell.store === store && cell.effect === effect)?.[1];
}

function wordOf(result: Result): string {
  return sound(result) ? result.says : `WRONG: ${result.says}`;
}

function line(cells: readonly string[]): string {
  return cells
    .map((cell, at) => cell.padEnd(WIDTHS[Math.min(at, WIDTHS.length - 1)] as number))
    .join(" ")
    .trimEnd();
}
