// Faults for tests: an Io that fails, stops or ends its process at a named step of a save. No root, no loop mount.
//
// A fault is one of these; several stand side by side with commas:
//   kill-before-STEP  kill-after-STEP        SIGKILL to this process itself
//   hold-before-STEP  hold-after-STEP        waits until the pipe that DOCUMENTS_HOLD names was opened for writing by
//                                            somebody and closed again
//   CODE-before-STEP  CODE-after-STEP        an error with that code, the step not done or done (eio, enospc, eacces)
//   fsync                                    the same as eio-before-fsync
//   enospc-after-N-bytes                     the report's disk is full after N bytes
//   short-writes                             seven bytes a write
//
// Steps, in the order of a save:
//   take       the journal's file is made                  write      the report's bytes are written
//   begin      its first record is written                 fsync      the report is on disk
//   begun      that record is on disk                      directory  its name is on disk
//   journal    the journal's name is on disk               end        the record `ended` is written
//   create     the report's file is made                   ended      that record is on disk
//   created    the record `created` is on disk
// A fence takes the steps take to journal too. What a read-back does to a file that is there is the step `append`: its
// opening; nothing that follows is a step.

import { constants, openSync, readlinkSync, readSync } from "node:fs";
import { basename } from "node:path";
import { type Io, nodeIo } from "../../../../servers/documents/io.js";

const steps = [
  "take",
  "begin",
  "begun",
  "journal",
  "create",
  "created",
  "write",
  "fsync",
  "directory",
  "end",
  "ended",
  "append",
] as const;
type Step = (typeof steps)[number];
type Moment = "before" | "after";

/** Throws one sentence for a fault that is none. */
export function faultyIo(env: Readonly<Record<string, string | undefined>>): Io {
  const faults = (env.DOCUMENTS_FAULT ?? "").split(",").filter((fault) => fault !== "");
  const rules = faults.map((fault) => ruleOf(fault, env.DOCUMENTS_HOLD));
  const room = Math.min(...faults.map((fault) => Number(/^enospc-after-(\d+)-bytes$/.exec(fault)?.[1] ?? Infinity)));
  const short = faults.includes("short-writes");
  return watched(room, short ? 7 : Infinity, (step, moment) => {
    for (const rule of rules) rule(step, moment);
  });
}

type Watch = (step: Step, moment: Moment) => void;

function ruleOf(fault: string, pipe: string | undefined): Watch {
  if (fault === "fsync") return ruleOf("eio-before-fsync", pipe);
  if (fault === "short-writes" || /^enospc-after-\d+-bytes$/.test(fault)) return () => {};
  const [, what, moment, named] = /^(kill|hold|eio|enospc|eacces)-(before|after)-([a-z]+)$/.exec(fault) ?? [];
  const step = steps.find((known) => known === named);
  if (what === undefined || step === undefined) throw new Error(`DOCUMENTS_FAULT names \`${fault}\``);
  return (atStep, atMoment) => {
    if (atStep === step && atMoment === moment) act(what, pipe);
  };
}

function act(what: string, pipe: string | undefined): void {
  switch (what) {
    case "kill":
      process.kill(process.pid, "SIGKILL");
      return;
    case "hold":
      readSync(openSync(pipe ?? "", constants.O_RDONLY), Buffer.alloc(1)); // both block; a second hold ends with us
      return;
  }
  throw Object.assign(new Error(what), { code: what.toUpperCase() });
}

/** Tells of each step before and after it; a step that is no one's is done silently. */
function watched(room: number, mostBytes: number, watch: Watch): Io {
  const reports = new Set<number>(); // those that were made, not those that a read-back opens
  const journals = new Map<number, number>(); // how often each was synced
  let left = room;

  function during<T>(step: Step | undefined, run: () => T): T {
    if (step === undefined) return run();
    watch(step, "before");
    const value = run();
    watch(step, "after");
    return value;
  }

  return {
    open(path, flags, mode) {
      if ((flags & constants.O_CREAT) === 0) return during("append", () => nodeIo.open(path, flags, mode));
      const isReport = path.endsWith(".md");
      return during(isReport ? "create" : "take", () => {
        const fd = nodeIo.open(path, flags, mode);
        if (isReport) reports.add(fd);
        else journals.set(fd, 0);
        return fd;
      });
    },
    write(fd, bytes, offset) {
      const isReport = reports.has(fd);
      if (isReport && left <= 0) throw Object.assign(new Error("full"), { code: "ENOSPC" });
      const most = Math.min(mostBytes, isReport ? left : Infinity, bytes.length - offset);
      const step = isReport ? "write" : recordStep(bytes);
      const written = during(step, () => nodeIo.write(fd, bytes.subarray(0, offset + most), offset));
      if (isReport) left -= written;
      return written;
    },
    fsync(fd) {
      during(syncStep(fd, reports, journals), () => nodeIo.fsync(fd));
    },
    close(fd) {
      reports.delete(fd);
      journals.delete(fd);
      nodeIo.close(fd);
    },
  };
}

function recordStep(line: Uint8Array): Step | undefined {
  const record = Buffer.from(line).toString();
  return /^\s*\{"(?:begun|fenced)"/.test(record) ? "begin" : /^\s*\{"ended"/.test(record) ? "end" : undefined;
}

function syncStep(fd: number, reports: ReadonlySet<number>, journals: Map<number, number>): Step | undefined {
  if (reports.has(fd)) return "fsync";
  const before = journals.get(fd);
  if (before !== undefined) {
    journals.set(fd, before + 1);
    return (["begun", "created", "ended"] as const)[before];
  }
  switch (basename(readlinkSync(`/proc/self/fd/${fd}`))) {
    case "reports":
      return reports.size > 0 ? "directory" : undefined;
    case ".operations":
      return "journal";
  }
  return undefined;
}
