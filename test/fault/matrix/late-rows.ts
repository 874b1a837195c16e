// Rows in which the host is killed while it settles an outcome that was unknown.

import { DIES, type Expected, kept, type Row } from "./row.js";
import { ASKED, goOn, killedAt } from "./steps.js";

/** The call's deadline in milliseconds, which a server that holds it lets pass. */
const DEADLINE_MS = 300;

const NO_READ_BACK = "n/a: it has no read-back";
const NO_LATE = "n/a: nobody listens for a read's late answer";

const readBackOnly = (says: string): Expected => ({
  E0: NO_READ_BACK,
  E1: NO_READ_BACK,
  E2: NO_READ_BACK,
  E2r: says,
  E3: NO_READ_BACK,
});

/** The host is killed after the effect; the next one in its read-back; a third goes on. */
function inReadBack(point: string): Row["run"] {
  return async (world) => {
    await killedAt(world, ["send.after"], { fault: { at: "effect", do: "hold" } });
    await killedAt(world, [point], { actions: [{ do: "on" }] });
    return goOn(world);
  };
}

/** The server answers after the deadline, and the host is killed with that answer. */
function withLateAnswer(point: string): Row["run"] {
  return async (world) => {
    const host = await world.host(ASKED, {
      fault: { at: "effect", do: "hold" },
      timeoutMs: DEADLINE_MS,
      config: { lateAnswerMs: 60_000 },
      halts: [
        { point: "ledger.settle.after", do: "tell" },
        { point, do: "stand" },
      ],
    });
    await host.halted("ledger.settle.after");
    world.releaseServer();
    await world.kill(host, await host.halted(point));
    return goOn(world);
  };
}

export const LATE_ROWS: readonly Row[] = [
  {
    id: "F16",
    says: "killed in a read-back, before the ledger has it",
    cells: kept(readBackOnly("1 ok")),
    run: inReadBack("ledger.readBack.before"),
  },
  {
    id: "F16",
    says: "killed in a read-back, after the ledger has it",
    cells: kept(readBackOnly("1 ok")),
    run: inReadBack("ledger.readBack.after"),
  },
  {
    id: "F16",
    says: "killed with a late answer, before the ledger has it",
    cells: kept({ E0: NO_LATE, E1: "1 result_unknown", E2: "1 result_unknown", E2r: "1 ok", E3: "1 result_unknown" }),
    run: withLateAnswer("ledger.settleLate.before"),
  },
  {
    id: "F16",
    says: "killed with a late answer, after the ledger has it",
    cells: kept({ E0: NO_LATE, E1: "1 ok", E2: "1 ok", E2r: "1 ok", E3: "1 ok" }),
    run: withLateAnswer("ledger.settleLate.after"),
  },
  {
    id: "F28",
    says: "memory: killed at the question",
    cells: {
      memory: "empty_question, 0 proposed",
      sqlite: "n/a: kept on disk, see the other rows",
      postgres: "n/a: kept on disk, see the other rows",
    },
    run: forgotten("ledger.ask.after"),
  },
  {
    id: "F28",
    says: "memory: killed after the effect",
    cells: {
      memory: "empty_question, 1 dispatching",
      sqlite: "n/a: kept on disk, see the other rows",
      postgres: "n/a: kept on disk, see the other rows",
    },
    run: forgotten("ledger.settle.before"),
  },
];

/** What the memory of a killed host held, and what the next one is told that is to go on. */
function forgotten(point: string): Row["run"] {
  return async (world) => {
    const { words } = await killedAt(world, [point], { witness: true });
    const next = await goOn(world);
    if (words === undefined || next.words.rows.length > 0) throw new Error(`it is known after ${DIES}`);
    return { words: { ...words, messages: [] }, first: next.words.errors.join() };
  };
}
