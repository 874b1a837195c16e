// Rows in which the server is killed and the host lives.

import type { SettledRow } from "../../../src/contracts/index.js";
import { type Expected, everywhere, type Left, lostAfter, type Row } from "./row.js";
import { ASKED } from "./steps.js";
import type { Fault, World } from "./world.js";

/** Milliseconds within which a lost server shows in the ledger. */
const SOON_MS = 1_000;

/** The server kills itself at a place. */
function dies(at: Fault["at"]): Row["run"] {
  return async (world) => {
    const host = await world.host(ASKED, { fault: { at, do: "die" } });
    return soon(world, { words: await host.done() });
  };
}

/** The server is killed while the host stands at a point. */
function killedWhile(point: string): Row["run"] {
  return async (world) => {
    const host = await world.host(ASKED, { halts: [{ point, do: "stand" }] });
    await host.halted(point);
    await world.killServer();
    host.go();
    return { words: await host.done() };
  };
}

/** The server is killed, and the host hears of it before it sends. */
async function noticed(world: World): Promise<Left> {
  const point = "ledger.begin.after";
  const host = await world.host(ASKED, { halts: [{ point, do: "wait" }] });
  await host.halted(point);
  await world.killServer();
  await host.said((said) => "at" in said && said.at === "lost");
  host.go();
  return { words: await host.done() };
}

/** Says so when it took long until the ledger knew. A read-back takes its own time. */
function soon(world: World, left: Left): Left {
  const row = left.words.rows.at(-1);
  const ms = ((row as SettledRow | undefined)?.settledAt ?? 0) - ((row as SettledRow | undefined)?.sentAt ?? 0);
  return ms < SOON_MS || world.effect === "E2r" ? left : { ...left, first: `after ${ms} ms` };
}

const lost = (effects: 0 | 1): Expected => lostAfter(effects, `${effects} unavailable`);

export const SERVER_ROWS: readonly Row[] = [
  {
    id: "F18",
    says: "server killed before the send, and the host has heard of it",
    cells: everywhere("0 unavailable"),
    known: true,
    run: noticed,
  },
  {
    id: "F18",
    says: "server killed before the send, and the host has not heard of it",
    cells: everywhere(lost(0)),
    run: killedWhile("ledger.begin.after"),
  },
  {
    id: "F18",
    says: "server killed with half of the line written",
    cells: everywhere(lost(0)),
    run: killedWhile("send.half"),
  },
  {
    id: "F18",
    says: "server killed before the effect",
    cells: everywhere(lost(0)),
    run: dies("accepted"),
  },
  {
    id: "F18",
    says: "server killed after the effect, before the answer",
    cells: everywhere(lost(1)),
    run: dies("effect"),
  },
  {
    id: "F18",
    says: "server killed with half of the answer written",
    cells: everywhere(lost(1)),
    run: dies("half"),
  },
  {
    id: "F18",
    says: "server killed with the answer in the pipe",
    cells: everywhere("1 ok"),
    known: true,
    run: dies("answered"),
  },
];
