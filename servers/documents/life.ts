// Life: which process this is, and whether another one still runs. Processes that share a root must share a machine, its
// process ids and a user (one container), because nothing certain can be said of a process elsewhere.
//
//   documents-life-1. A process is known by its id, its start and the machine's boot, so that a later process with the
//                     same id is not taken for it.
//   documents-life-2. A process that has ended and waits for its parent is gone.
//
// A process that cannot be looked at counts as running.

import { readFileSync } from "node:fs";
import { codeOf } from "./io.js";

export interface Life {
  readonly pid: number;
  /** The machine's boot and the process's start within it. (documents-life-1) */
  readonly started: string;
}

export function ownLife(): Life {
  const started = startOf(process.pid);
  if (started === undefined) throw new Error("cannot read this process's own start from /proc");
  return { pid: process.pid, started };
}

export function lives({ pid, started }: Life): boolean {
  try {
    return startOf(pid) === started;
  } catch {
    return true;
  }
}

/** Undefined for a process that is gone. */
function startOf(pid: number): string | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch (error) {
    if (["ENOENT", "ESRCH"].includes(codeOf(error))) return undefined;
    throw error;
  }
  // The command's name stands in parentheses and may hold anything; fields are counted from behind its end.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  if (fields[0] === "Z" || fields[0] === "X") return undefined; // documents-life-2
  return `${readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()}:${fields[19]}`;
}
