// Rows in which two hosts have one thread.

import type { Halt } from "./points.js";
import type { HostProcess } from "./process.js";
import { type Expected, type Left, lostAfter, type Row } from "./row.js";
import { ASKED } from "./steps.js";
import type { Fault, World } from "./world.js";

/** Milliseconds that a claim of the host that is stopped holds without a heartbeat. */
const LEASE_MS = 2_000;

/**
 * A host is stopped at the last of some points for longer than its lease; another, on another machine where the store allows
 * it, takes the thread over and goes on; then the first one wakes. What that one was told is said first, and the ledger and
 * the messages are read by a third.
 */
function stopped(points: readonly string[], fault?: Fault): Row["run"] {
  const last = points.length - 1;
  const halts = points.map((point, at): Halt => ({ point, do: at === last ? "stand" : "tell" }));
  return async (world) => {
    const on = (machine: string) => (world.store === "postgres" ? { machine } : {});
    const config = { leaseMs: LEASE_MS };
    const first = await world.host(ASKED, { config, ...on("a"), halts, ...(fault ? { fault } : {}) });
    await first.halted(points[last] as string);
    if (fault) await world.logged("effect");
    first.signal("SIGSTOP");
    const second = await world.host([{ do: "on when free" }], on("b"));
    const taken = await second.done();
    await second.ended();
    first.go();
    first.signal("SIGCONT");
    if (fault) world.releaseServer(0);
    const { errors } = await first.done();
    await first.ended();
    const third = await world.host([], on("b"));
    const words = await third.done();
    await third.ended();
    const standing = ({ rows, messages }: Left["words"]) => JSON.stringify([rows, messages]);
    const moved = standing(words) !== standing(taken);
    return { words, first: moved ? "it wrote after it was fenced" : `${errors.at(-1)}` };
  };
}

const HOUR_MS = 3_600_000;

/**
 * A host is stopped at a point for less than its lease. Another one of the same machine, whose wall clock is an hour ahead, goes
 * on with the thread and says that nothing happened; then the first one wakes. What the other one was told is said first.
 */
function besideAnHourAhead(point: string, fault?: Fault): Row["run"] {
  return async (world) => {
    const config = { leaseMs: 60_000 }; // longer than a process takes to start, however busy the machine is
    const halts: Halt[] = [{ point, do: "stand" }];
    const first = await world.host(ASKED, { config, halts, ...(fault ? { fault } : {}) });
    await first.halted(point);
    if (fault) await world.logged("effect");
    first.signal("SIGSTOP");
    const second = await world.host([{ do: "on" }, { do: "deny" }], { config, offsetMs: HOUR_MS });
    const told = await second.done();
    await second.ended();
    first.go();
    first.signal("SIGCONT");
    if (fault) world.releaseServer(0);
    const words = await first.done();
    await first.ended();
    return { words, first: told.errors.join(" and ") };
  };
}

const ROUNDS = 200;
/** Rounds for effects other than the append. */
const FEWER = 40;
const TOLD = ["already_running", "already_decided"];

/** Two hosts answer the same question of one thread at once, round after round; in memory, two runs of one host. */
async function race(world: World): Promise<Left> {
  const rounds = world.rounds ?? (world.effect === "E2" ? ROUNDS : FEWER);
  const alone = world.store === "memory";
  const racers = await Promise.all(
    Array.from({ length: alone ? 1 : 2 }, () => world.host(ASKED.slice(0, 1), { races: true })),
  );
  const [asking] = racers as [HostProcess];
  const all = async (go: (racer: HostProcess) => void, at: "ready" | "raced") => {
    for (const racer of racers) go(racer);
    return Promise.all(racers.map((racer) => racer.said((said) => "at" in said && said.at === at)));
  };
  await all(() => {}, "ready");
  const threads: { threadId: string; words: Left["words"] }[] = [];
  const odd: string[] = [];
  for (let round = 1; round <= rounds; round++) {
    const threadId = `t${round}`;
    asking.go({ threadId, prepare: true, runners: alone ? 2 : 1 });
    await asking.said((said) => "at" in said && said.at === "ready");
    for (const racer of racers.slice(1)) {
      racer.go({ threadId });
      await racer.said((said) => "at" in said && said.at === "ready");
    }
    const raced = await all((racer) => racer.go(), "raced");
    const errors = raced.flatMap((said) => ("errors" in said ? said.errors : []));
    for (const racer of racers) racer.go();
    const [words] = await Promise.all(racers.map((racer) => racer.done()));
    threads.push({ threadId, words: words as Left["words"] });
    const losers = errors.filter((code) => TOLD.includes(code)).length;
    const winners = errors.filter((code) => code === "").length;
    if (winners !== 1 || losers !== 1) odd.push(`round ${round}: ${errors.map((code) => code || "ran").join(" and ")}`);
  }
  for (const racer of racers) {
    racer.go();
    await racer.ended();
  }
  const last = threads.at(-1)?.words as Left["words"];
  const first = odd.length === 0 ? "1 ok, the other told" : `${odd.length} odd rounds, such as ${odd[0]}`;
  return { words: last, threads, first };
}

const after = (said: string, cells: Readonly<Record<string, string>>): Expected =>
  Object.fromEntries(Object.entries(cells).map(([effect, says]) => [effect, `${said}, ${says}`])) as never;

/** The thread is another run's, and nobody can say yet that a write did not happen; a read is nobody's to settle. */
const REFUSED: Expected = {
  E0: "already_running and not_found, 1 ok",
  ...Object.fromEntries(["E1", "E2", "E2r", "E3"].map((write) => [write, "already_running and owner_alive, 1 ok"])),
} as never;

const ALONE = "n/a: no second host can have its memory";
const shared = (cells: Expected) => ({ memory: ALONE, sqlite: cells, postgres: cells });

export const HOST_ROWS: readonly Row[] = [
  {
    id: "F20",
    says: "stopped after the claim, taken over, woken",
    cells: shared("already_running, 1 ok"),
    known: true,
    run: stopped(["ledger.claim.after"]),
  },
  {
    id: "F20",
    says: "stopped after `dispatching`, before the send, taken over, woken",
    cells: {
      ...shared(after("already_running", lostAfter(0, "1 ok"))),
      // On its own machine the stopped host still runs, so that a read-back's "no" may only be early.
      sqlite: after("already_running", { ...lostAfter(0, "1 ok"), E2r: "0 result_unknown" }),
    },
    run: stopped(["ledger.begin.after"]),
  },
  {
    id: "F20",
    says: "stopped with the call in flight, taken over, woken with its answer",
    cells: shared(after("already_running", lostAfter(1, "2 ok"))),
    run: stopped(["send.after"], { at: "effect", do: "hold" }),
  },
  {
    id: "F20",
    says: "stopped before it saves what the call came to, taken over, woken",
    cells: shared("already_running, 1 ok"),
    run: stopped(["ledger.settle.after", "checkpoint.writes.before"]),
  },
  {
    id: "F20",
    says: "stopped before it saves the checkpoint after the call, taken over, woken",
    cells: shared("already_running, 1 ok"),
    run: stopped(["ledger.settle.after", "checkpoint.put.before"]),
  },
  {
    id: "F20",
    says: "stopped after the claim beside a host an hour ahead, woken",
    cells: shared("already_running and not_found, 1 ok"),
    known: true,
    run: besideAnHourAhead("ledger.claim.after"),
  },
  {
    id: "F20",
    says: "stopped after `dispatching`, before the send, beside a host an hour ahead, woken",
    cells: shared(REFUSED),
    known: true,
    run: besideAnHourAhead("ledger.begin.after"),
  },
  {
    id: "F20",
    says: "stopped with the call in flight beside a host an hour ahead, woken with its answer",
    cells: shared(REFUSED),
    known: true,
    run: besideAnHourAhead("send.after", { at: "effect", do: "hold" }),
  },
  {
    id: "F30",
    says: "two hosts resume a thread at once",
    cells: {
      memory: "1 ok, the other told",
      sqlite: "1 ok, the other told",
      postgres: "1 ok, the other told",
    },
    known: true,
    run: race,
  },
];
