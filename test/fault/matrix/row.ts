// A row of the matrix: one fault at one place, what is done, and what each cell must come to.

import type { Effect } from "./effects.js";
import type { Words } from "./plan.js";
import type { Store } from "./stores.js";
import type { World } from "./world.js";

/** What a script leaves beside the logs: the last words of the last host, and what came before the end worth a word. */
export interface Left {
  readonly words: Words;
  /** Said before the outcome, such as the code of an error that a host was told. */
  readonly first?: string;
  /** Milliseconds by which the ledger's clock was set forward between a claim and its send: no time passed there. */
  readonly setMs?: number;
  /** For a row that runs many threads: what is counted is said here, and each thread is checked by itself. */
  readonly threads?: readonly { readonly threadId: string; readonly words: Words }[];
}

export interface Row {
  /** F01… */
  readonly id: string;
  /** The fault and its place, in a few words. */
  readonly says: string;
  /**
   * What a cell must say: `EFFECTS OUTCOME`, with `n/a: WHY` where it cannot exist. A text stands for every effect.
   */
  readonly cells: Readonly<Record<Store, Expected>>;
  /** Nothing was on the wire unanswered: this never ends in `result_unknown`. */
  readonly known?: boolean;
  /** How long a yes lives here, in milliseconds. @default 60000 */
  readonly ttlMs?: number;
  /** A host is killed in it, and another goes on. */
  readonly kills?: boolean;
  readonly run: (world: World) => Promise<Left>;
}

export type Expected = string | Readonly<Record<Effect, string>>;

/** The literal of a cell. */
export function expected(row: Row, store: Store, effect: Effect): string {
  const cells = row.cells[store];
  return typeof cells === "string" ? cells : cells[effect];
}

export const DIES = "n/a: memory dies with its host (F28)";

/** Cells of a row in which a host is killed. */
export function kept(cells: Expected): Row["cells"] {
  return { memory: DIES, sqlite: cells, postgres: cells };
}

/** The same in every store. */
export function everywhere(cells: Expected): Row["cells"] {
  return { memory: cells, sqlite: cells, postgres: cells };
}

/** A write whose answer is lost after its effect: unknown, unless it can be read back. A read is made again. */
export function lostAfter(effects: 0 | 1, read: string): Readonly<Record<Effect, string>> {
  const unknown = `${effects} result_unknown`;
  return { E0: read, E1: unknown, E2: unknown, E2r: effects === 1 ? "1 ok" : "0 failed", E3: unknown };
}
