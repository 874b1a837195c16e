// Left behind: the process groups of servers that this host started, noted in files beside the store. A host that is killed
// (SIGKILL) ends nothing, and a server that does not end by itself lives on. The next start names it; nobody is signalled.
//
//   left-behind-1. A group is named only while the very process that leads it runs, told by its start time, and the host that
//                  started it does not. A process that was given its number since is never named, nor one of another machine.
//   left-behind-2. A note that cannot be written or read keeps nothing from being started.

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { type Finding, oneLine } from "../../contracts/index.js";
import { makeFolder } from "../sqlite/folder.js";
import { isRunning, type RunningProcess, runningProcess } from "./owner.js";

/** Notes that a server's group was started. Call what it returns when the group is gone. */
export type NoteGroup = (server: string, leader: number) => () => void;

const FOLDER = "servers";
const One = z.strictObject({ machine: z.string(), pid: z.number().int().positive(), started: z.string().min(1) });
const Note = z.strictObject({ server: z.string(), leader: One, host: One });
type Note = z.infer<typeof Note>;

/** Notes groups in the folder of a store. */
export function noteGroups(folder: string): NoteGroup {
  let tidied = false;
  return (server, leader) => {
    try {
      const at = join(folder, FOLDER);
      makeFolder(folder);
      mkdirSync(at, { recursive: true, mode: 0o700 });
      if (!tidied) removeWhatIsOver(at);
      tidied = true;
      const [led, host] = [runningProcess(leader), runningProcess(process.pid)];
      const path = join(at, `${led.pid}-${led.started}.json`);
      writeFileSync(path, JSON.stringify({ server, leader: led, host } satisfies Note), { mode: 0o600 });
      return () => removeQuietly(path);
    } catch {
      return () => undefined; // left-behind-2
    }
  };
}

/** Servers that a host which was killed left running. (left-behind-1) */
export function leftBehind(folder: string): Finding[] {
  return notesIn(join(folder, FOLDER)).flatMap(({ note }): Finding[] => {
    if (note === undefined || !runs(note.leader) || runs(note.host)) return [];
    const { pid } = note.leader;
    const group = process.platform === "win32" ? String(pid) : `-- -${pid}`;
    const message = `server \`${oneLine(note.server, 100)}\` (process ${pid}) was left running by a host that was killed: \`kill ${group}\` ends it and what it started`;
    return [{ level: "warning", code: "server_left_behind", message }];
  });
}

/** Whether the very process runs on this machine. */
function runs(one: RunningProcess): boolean {
  return one.machine === runningProcess(process.pid).machine && isRunning(one);
}

function removeWhatIsOver(at: string): void {
  const { machine } = runningProcess(process.pid);
  for (const { path, note } of notesIn(at))
    if (note !== undefined && note.leader.machine === machine && !runs(note.leader)) removeQuietly(path);
}

function notesIn(at: string): { path: string; note: Note | undefined }[] {
  let names: string[];
  try {
    names = readdirSync(at);
  } catch {
    return []; // left-behind-2
  }
  return names.map((name) => ({ path: join(at, name), note: noteAt(join(at, name)) }));
}

function noteAt(path: string): Note | undefined {
  try {
    return Note.safeParse(JSON.parse(readFileSync(path, "utf8"))).data;
  } catch {
    return undefined;
  }
}

function removeQuietly(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // The next start looks at it again.
  }
}
