// Rows for a loss of power: each point at which the matrix kills a host, and the two moments at which a person has been told
// something and the host is idle. A cell is one of them for one effect, on SQLite.

import { CLOCK_ROWS } from "./clock-rows.js";
import { KILL_ROWS } from "./kill-rows.js";
import { LATE_ROWS } from "./late-rows.js";
import { DIES, type Row } from "./row.js";
import { goOn, killedAt } from "./steps.js";

const NO_PROCESS = "n/a: its disk is the server's";

/** The host stands after one of its runs has returned. */
function idleAfter(point: string): Row["run"] {
  return async (world) => {
    await killedAt(world, [point]);
    return goOn(world);
  };
}

const IDLE_ROWS: readonly Row[] = [
  {
    id: "F04",
    says: "killed after the question is shown",
    cells: { memory: DIES, sqlite: "1 ok", postgres: NO_PROCESS },
    known: true,
    run: idleAfter("run.1.after"),
  },
  {
    id: "F17",
    says: "killed after the run has returned its last message",
    cells: { memory: DIES, sqlite: "1 ok", postgres: NO_PROCESS },
    known: true,
    run: idleAfter("run.2.after"),
  },
];

export const POWER_ROWS: readonly Row[] = [
  ...KILL_ROWS,
  ...LATE_ROWS,
  ...CLOCK_ROWS.filter(({ kills }) => kills),
  ...IDLE_ROWS,
].sort((a, b) => a.id.localeCompare(b.id));
