// Rows in which the host's clock is set, by an hour back or by thirty days ahead. In stores that outlive it, the host is
// killed at the place and the next one has the other clock; in memory, the clock of the same host changes there.

import { type Expected, type Left, lostAfter, type Row } from "./row.js";
import { ASKED, goOn, killedAt } from "./steps.js";
import { SECRET, type World } from "./world.js";

const BACK_MS = -3_600_000;
const AHEAD_MS = 30 * 24 * 3_600_000;

function setAt(point: string, offsetMs: number): Row["run"] {
  return async (world) => {
    if (world.store !== "memory") {
      await killedAt(world, [point]);
      return goOn(world, { offsetMs });
    }
    const host = await world.host(ASKED, { halts: [{ point, do: "stand" }] });
    await host.halted(point);
    host.go({ offsetMs });
    const betweenClaimAndSend = point === "ledger.claim.after" && offsetMs > 0;
    return { words: await host.done(), ...(betweenClaimAndSend ? { setMs: offsetMs } : {}) };
  };
}

/** The question was shown, and its host ended. */
function setWhileAsked(offsetMs: number): Row["run"] {
  return async (world) => {
    const host = await world.host(ASKED.slice(0, 1));
    await host.done();
    await host.ended();
    return goOn(world, { offsetMs });
  };
}

/** A host thirty days ahead looks at the ledger and sends nothing; the next one's clock is right. */
async function aheadAndBack(world: World): Promise<Left> {
  await killedAt(world, ["ledger.answer.after"]);
  const looks = await world.host([{ do: "look" }], { offsetMs: AHEAD_MS });
  await looks.done();
  await looks.ended();
  return goOn(world);
}

interface Place {
  readonly id: string;
  readonly says: string;
  readonly run: (offsetMs: number) => Row["run"];
  readonly back: Row["cells"];
  readonly ahead: Row["cells"];
  readonly known: boolean;
  /** @default true */
  readonly kills?: boolean;
}

/** Postgres has a clock of its own: what a host's says decides nothing there. */
const same = (cells: Expected, memory: Expected = cells, postgres: Expected = cells) => ({
  memory,
  sqlite: cells,
  postgres,
});
const DIES = "n/a: memory has one host";
/** Milliseconds that a yes lives where the next host comes too late for it. */
const SHORT_MS = 50;

/** No clock is set: a process takes longer to start than the yes lives. */
async function tooLate(world: World): Promise<Left> {
  const config = { approvals: { secret: SECRET, ttlMs: SHORT_MS } };
  await killedAt(world, ["ledger.answer.after"], { config });
  return goOn(world, { config });
}

const PLACES: readonly Place[] = [
  {
    id: "F03",
    says: "after the question is durable",
    run: (offsetMs) => setAt("ledger.ask.after", offsetMs),
    back: same("1 ok"),
    ahead: same("0 rejected", "0 rejected", "1 ok"),
    known: true,
  },
  {
    id: "F04",
    says: "after the question is shown",
    run: setWhileAsked,
    back: same("1 ok", DIES),
    ahead: same("0 rejected", DIES, "1 ok"),
    known: true,
    kills: false,
  },
  {
    id: "F05",
    says: "after the answer is durable",
    run: (offsetMs) => setAt("ledger.answer.after", offsetMs),
    back: same("1 ok"),
    ahead: same("0 rejected", "0 rejected", "1 ok"),
    known: true,
  },
  {
    id: "F06",
    says: "after the claim",
    run: (offsetMs) => setAt("ledger.claim.after", offsetMs),
    back: same("1 ok"),
    ahead: same("0 rejected", "1 ok", "1 ok"), // in memory its run goes on: the yes was used in its time
    known: true,
  },
  {
    id: "F07",
    says: "after `dispatching` is durable",
    run: (offsetMs) => setAt("ledger.begin.after", offsetMs),
    back: same(lostAfter(0, "1 ok"), "1 ok"),
    ahead: same(lostAfter(0, "0 rejected"), "1 ok", lostAfter(0, "1 ok")),
    known: false,
  },
];

export const CLOCK_ROWS: readonly Row[] = [
  ...PLACES.flatMap(({ says, run, back, ahead, known, kills = true }): Row[] => [
    { id: "F26", says: `the clock goes back an hour ${says}`, cells: back, known, kills, run: run(BACK_MS) },
    { id: "F26", says: `the clock goes ahead 30 days ${says}`, cells: ahead, known, kills, run: run(AHEAD_MS) },
  ]),
  {
    id: "F26",
    says: "the clock goes ahead 30 days and back after the answer is durable",
    cells: { memory: DIES, sqlite: "0 rejected", postgres: "1 ok" },
    known: true,
    kills: true,
    run: aheadAndBack,
  },
  {
    id: "F26",
    says: "the yes has expired when the next host comes",
    cells: { memory: DIES, sqlite: "0 rejected", postgres: "0 rejected" },
    known: true,
    ttlMs: SHORT_MS,
    kills: true,
    run: tooLate,
  },
];
