// Owner: who runs an operation, and whether the owner of a row may still act.
//
//   owner-1. "gone" is said only of an owner that certainly cannot act any more. Where that cannot be told the answer is
//            "here" or "unknown", and the lease decides. This also holds for a process that runs: it may have been stopped, cut
//            off from the store, or have let go of the operation without the store hearing of it.
//   owner-2. A process is told apart from a later one with the same number by its start time.
//   owner-3. Another boot or PID namespace counts as another machine, because its process numbers mean nothing here. The boot
//            counts because machines made from one image may share everything else.
//   owner-4. An owner of this process is alive while it holds the operation. An operation is held before it is claimed.
//   owner-5. Of an owner of this process that another copy of this module made (a worker thread, a second bundle) nothing more
//            is known than that its process runs, so its lease decides.
//   owner-6. "here" is said only of a process that runs on this machine since the same boot, because only such processes read
//            the same clock (clock.ts). Where the system does not name its boot the answer is "unknown".

import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import type { Owner } from "../../contracts/index.js";
import type { OwnerLiveness } from "../../ledger/port.js";

/** An owner of this process, and what it has in flight. */
export interface OwnerHandle {
  readonly owner: Owner;
  /** Whether any owner, of this process or not, may still act on an operation. */
  readonly liveness: OwnerLiveness;
  /** Marks an operation as in flight under this owner. (owner-4) */
  hold(operationId: string): void;
  release(operationId: string): void;
  /** Nothing is in flight under this owner any more, whatever was held. */
  end(): void;
}

/** This copy of this module: a worker thread, or a bundle beside a bundle, is another one in the same process. */
const REALM = randomUUID();

/** What the owners of this process have in flight, by instance. An owner that ended is not in it. */
const inFlight = new Map<string, Set<string>>();

/** A new owner; two are never equal, nor are those of two processes. `machine` stands for the operating system's id. */
export function createOwner(named?: string): OwnerHandle {
  const machine = machineId(named);
  const owner: Owner = { ...thisProcess(machine), instance: `${REALM}/${randomUUID()}` };
  const held = new Set<string>();
  inFlight.set(owner.instance, held);
  return {
    owner,
    liveness: watchOwners(named),
    hold: (operationId) => {
      held.add(operationId);
    },
    release: (operationId) => {
      held.delete(operationId);
    },
    end: () => {
      inFlight.delete(owner.instance);
    },
  };
}

/** A process as it is told apart from every other one, of this machine or another. */
export type RunningProcess = Omit<Owner, "instance">;

/** A process of this machine that runs. Its start time is empty where the system does not tell it. */
export function runningProcess(pid: number): RunningProcess {
  return { machine: machineId(), pid, started: startTime(pid) ?? "" };
}

function thisProcess(machine: string): Omit<Owner, "instance"> {
  return { machine, pid: process.pid, started: startTime(process.pid) ?? "" };
}

/** Tells whether any owner, of this process or not, may still act on an operation. */
export function watchOwners(named?: string): OwnerLiveness {
  const here = thisProcess(machineId(named));
  const running = bootId() === "" ? "unknown" : "here"; // owner-6
  return (owner, operationId) => {
    if (owner.machine !== here.machine) return "unknown"; // owner-1, owner-3
    if (owner.pid !== here.pid) return isRunning(owner) ? running : "gone";
    if (owner.started !== here.started) return "gone"; // owner-2: it had our number before us
    if (!owner.instance.startsWith(`${REALM}/`)) return running; // owner-5
    return inFlight.get(owner.instance)?.has(operationId) ? "alive" : "gone"; // owner-4
  };
}

/** Whether the very process still runs, where it is one of this machine. */
export function isRunning({ pid, started }: Pick<Owner, "pid" | "started">): boolean {
  if (!exists(pid)) return false;
  const now = startTime(pid) ?? (exists(pid) ? started : undefined); // owner-2, where it can be told
  return now === started;
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

/** The start time of a living process; undefined when it cannot be told. A zombie has none that matters. (owner-2) */
function startTime(pid: number): string | undefined {
  if (process.platform === "linux") {
    const stat = readText(`/proc/${pid}/stat`);
    if (stat === undefined) return undefined;
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" "); // the name before it may hold anything
    const [state, ticks] = [fields[0], fields[19]];
    if (state === "Z" || state === "X") return "ended";
    return ticks;
  }
  if (process.platform === "win32") return undefined;
  try {
    const lines = execFileSync("ps", ["-o", "lstart=", "-p", String(pid)], { encoding: "utf8", env: { LC_ALL: "C" } });
    return lines.trim() || undefined;
  } catch {
    return undefined;
  }
}

/** `named` stands for the system's id of the machine and of the PID namespace. The boot is part of it all the same. (owner-6) */
function machineId(named?: string): string {
  if (named !== undefined) return `${named}/${bootId()}`;
  const id = readText("/etc/machine-id")?.trim() || readText("/var/lib/dbus/machine-id")?.trim() || hostname();
  return `${id}/${bootId()}/${pidNamespace()}`;
}

function pidNamespace(): string {
  try {
    return readlinkSync("/proc/self/ns/pid");
  } catch {
    return "";
  }
}

function bootId(): string {
  return readText("/proc/sys/kernel/random/boot_id")?.trim() ?? "";
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
