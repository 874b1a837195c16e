// One cell: a row for one effect in one store, run and checked.

import type { Bundle } from "./bundle.js";
import { check, type Findings } from "./check.js";
import type { Effect } from "./effects.js";
import { expected, type Row } from "./row.js";
import type { Databases, Store } from "./stores.js";
import { type Power, World } from "./world.js";

/** How a cell begins that could not be run to its end. */
export const BROKE = "broke: ";

export const TTL_MS = 60_000;

export interface Cell {
  readonly row: Row;
  readonly store: Store;
  readonly effect: Effect;
}

export interface Result {
  /** What the cell came to; what it must be is `expected`. */
  readonly says: string;
  readonly expected: string;
  /** Threads that were run: none where the cell cannot exist. */
  readonly runs: number;
  readonly double: readonly string[];
  readonly unapproved: readonly string[];
  readonly false: readonly string[];
  readonly unknown: readonly string[];
  readonly format: readonly string[];
  /** What a loss of power broke that was promised. */
  readonly broken: readonly string[];
  /** Transactions that a loss of power may take. */
  readonly losable: number;
}

export interface Tools {
  readonly bundle: Bundle;
  readonly databases: () => Promise<Databases>;
  /** Rounds of a race. @default as the row has it */
  readonly rounds?: number;
  /** The power goes whenever a host is killed. */
  readonly power?: Power;
}

const NOTHING = { double: [], unapproved: [], false: [], unknown: [], format: [], broken: [], losable: 0 } as const;

/** Whether a cell is what it must be, and nothing else is wrong with it. */
export function sound(result: Result): boolean {
  return result.says === result.expected && problems(result).length === 0;
}

export function problems({ double, unapproved, false: lies, unknown, format, broken }: Result): string[] {
  return [...double, ...unapproved, ...lies, ...unknown.map((id) => `${id} is unknown`), ...format, ...broken];
}

/** Runs a cell. What goes wrong in its running is what it says. */
export async function runCell(cell: Cell, tools: Tools): Promise<Result> {
  const { row, store, effect } = cell;
  const literal = expected(row, store, effect);
  if (literal.startsWith("n/a")) return { ...NOTHING, says: literal, expected: literal, runs: 0 };
  const world = new World({ store, effect, ...tools });
  try {
    const { words, first, threads, setMs = 0 } = await row.run(world);
    await world.quiet();
    const common = {
      write: effect !== "E0",
      known: row.known === true,
      ttlMs: row.ttlMs ?? TTL_MS,
      setMs,
    };
    if (threads === undefined) {
      const found = check({ ...common, log: world.log(), wire: world.wire(), words });
      const says = `${first === undefined ? "" : `${first}, `}${found.effects} ${found.outcome}`;
      return { ...found, ...world.powerLost, says, expected: literal, runs: 1 };
    }
    const found = threads.map((thread) => {
      const ids = new Set(thread.words.rows.map(({ operation }) => operation.id));
      const own = (one: { readonly operationId?: string }) => ids.has(one.operationId ?? "");
      return check({ ...common, log: world.log().filter(own), wire: world.wire().filter(own), words: thread.words });
    });
    return { ...together(found), ...world.powerLost, says: first ?? "", expected: literal, runs: threads.length };
  } catch (error) {
    return { ...NOTHING, says: `${BROKE}${error}`, expected: literal, runs: 1 };
  } finally {
    await world.end();
  }
}

function together(found: readonly Findings[]): Pick<Result, "double" | "unapproved" | "false" | "unknown" | "format"> {
  return {
    double: found.flatMap((one) => one.double),
    unapproved: found.flatMap((one) => one.unapproved),
    false: found.flatMap((one) => one.false),
    unknown: found.flatMap((one) => one.unknown),
    format: found.flatMap((one) => one.format),
  };
}
