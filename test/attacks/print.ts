// The table of attacks: a line for each kind, a column for each door; in each cell how many got through, of how many.

import { DOORS, type Door, KINDS, type Kind } from "./attack.js";

export interface Tally {
  readonly kind: Kind;
  readonly door: Door;
  readonly made: number;
  readonly through: number;
}

const WIDTH = 12;

export function printAttacks(tallies: readonly Tally[]): string {
  const row = (cells: readonly string[]) =>
    cells
      .map((cell) => cell.padEnd(WIDTH))
      .join("")
      .trimEnd();
  const cellOf = (kind: Kind, door: Door) => {
    const tally = tallies.find((one) => one.kind === kind && one.door === door);
    return tally === undefined ? "-" : `${tally.through} of ${tally.made}`;
  };
  const kinds = KINDS.filter((kind) => tallies.some((tally) => tally.kind === kind));
  return [row(["", ...DOORS]), ...kinds.map((kind) => row([kind, ...DOORS.map((door) => cellOf(kind, door))]))].join(
    "\n",
  );
}
