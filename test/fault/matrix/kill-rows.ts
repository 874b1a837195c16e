// Rows in which the host is killed, and another process goes on with the thread.

import { kept, lostAfter, type Row } from "./row.js";
import { goOn, killedAt } from "./steps.js";
import type { Fault } from "./world.js";

/** A host killed at a place, then another one. */
function killed(points: readonly string[], fault?: Fault): Row["run"] {
  return async (world) => {
    await killedAt(world, points, fault ? { fault } : {});
    return goOn(world);
  };
}

export const KILL_ROWS: readonly Row[] = [
  {
    id: "F01",
    says: "killed before the proposal is durable",
    cells: kept("1 ok"),
    known: true,
    run: killed(["ledger.propose.before"]),
  },
  {
    id: "F03",
    says: "killed after the question is durable, before it is shown",
    cells: kept("1 ok"),
    known: true,
    run: killed(["ledger.ask.after"]),
  },
  {
    id: "F05",
    says: "killed after the answer is durable, before the claim",
    cells: kept("1 ok"),
    known: true,
    run: killed(["ledger.answer.after"]),
  },
  {
    id: "F05",
    says: "killed at the door of the claim",
    cells: kept("1 ok"),
    known: true,
    run: killed(["ledger.claim.before"]),
  },
  {
    id: "F06",
    says: "killed after the claim",
    cells: kept("1 ok"),
    known: true,
    run: killed(["ledger.claim.after"]),
  },
  {
    id: "F06",
    says: "killed before `dispatching` is durable",
    cells: kept("1 ok"),
    known: true,
    run: killed(["ledger.begin.before"]),
  },
  {
    id: "F08",
    says: "killed with half of the line written",
    cells: kept(lostAfter(0, "1 ok")),
    run: killed(["send.half"]),
  },
  {
    id: "F10",
    says: "killed after the effect, before the answer",
    cells: kept(lostAfter(1, "2 ok")),
    run: killed(["send.after"], { at: "effect", do: "hold" }),
  },
  {
    id: "F11",
    says: "killed with the answer in the pipe",
    cells: kept(lostAfter(1, "2 ok")),
    run: killed(["receive.before"]),
  },
  {
    id: "F11",
    says: "killed with the answer in hand, before the ledger has it",
    cells: kept(lostAfter(1, "2 ok")),
    run: killed(["receive.after", "ledger.settle.before"]),
  },
  {
    id: "F13",
    says: "killed after the ledger has the result",
    cells: kept("1 ok"),
    known: true,
    run: killed(["ledger.settle.after"]),
  },
  {
    id: "F13",
    says: "killed before what the task wrote is stored",
    cells: kept("1 ok"),
    known: true,
    run: killed(["ledger.settle.after", "checkpoint.writes.before"]),
  },
  {
    id: "F13",
    says: "killed before the checkpoint with it is stored",
    cells: kept("1 ok"),
    known: true,
    run: killed(["ledger.settle.after", "checkpoint.put.before"]),
  },
  {
    id: "F15",
    says: "killed after the checkpoint, before the next model request",
    cells: kept("1 ok"),
    known: true,
    run: killed(["ledger.settle.after", "model.2"]),
  },
];
