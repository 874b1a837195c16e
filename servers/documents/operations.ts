// The journals of a root, and the two ways an operation id is taken: by the save that begins with it, or by a fence.
//
//   documents-operations-1. An id is taken once, in all processes of the root: a journal is made where none is (O_EXCL),
//                           before anything else is. This is the single use of a grant.
//   documents-operations-2. A fence is kept for longer than a grant can live. The number of fences is bounded: when there
//                           are too many, no more are made and the question stays open. A journal of a save is never
//                           removed.

import { lstatSync, unlinkSync } from "node:fs";
import { BOUNDS, OPERATION_ID } from "./contracts.js";
import type { Folder } from "./folder.js";
import { codeOf, type Io, writeAll } from "./io.js";
import { type Begun, type Journal, type JournalRecord, lineOf, parseJournal } from "./journal.js";

/** Most bytes of a journal that are read; a real one has under 1,000. */
const JOURNAL_BYTES = 65_536;
/** A journal of at most this size may be a fence and nothing else. */
const FENCE_BYTES = 64;

export interface FenceBounds {
  /** So many names in the folder are left alone; with more, old fences are removed. */
  readonly many: number;
  /** No more fences than this. */
  readonly most: number;
  /** How old a fence is removed, in milliseconds. */
  readonly keptMs: number;
}
export const FENCES: FenceBounds = { many: 256, most: 1_024, keptMs: 10 * BOUNDS.grantSeconds * 1_000 };

/** The save's hold on its own journal. */
export interface Begin {
  /** Adds a record and has it on disk; throws. */
  note(record: JournalRecord): void;
  close(): void;
}

export interface Operations {
  /** Takes the id for a save; says so when it is taken. Throws, and may have taken it, when the disk fails. (documents-operations-1) */
  begin(id: string, begun: Begun): Begin | "used" | "fenced";
  /** The journal, undefined where there is none; throws. */
  look(id: string): Journal | undefined;
  /** Adds a record to an existing journal and has it on disk; throws. */
  note(id: string, record: JournalRecord): void;
  /** Takes the id so that no save can; false where there are too many fences. Look again: a save may have come first. */
  fence(id: string): boolean;
}

export function operationsIn(folder: Folder, io: Io, now: () => number, bounds: FenceBounds = FENCES): Operations {
  function put(fd: number, record: JournalRecord): void {
    writeAll(io, fd, lineOf(record));
    io.fsync(fd);
  }

  /** Makes a journal with its first record; undefined where there is one. */
  function make(id: string, record: JournalRecord): number | undefined {
    let fd: number;
    try {
      fd = folder.create(id); // documents-operations-1
    } catch (error) {
      if (codeOf(error) === "EEXIST") return undefined;
      throw error;
    }
    try {
      put(fd, record);
      folder.sync();
      return fd;
    } catch (error) {
      giveUp(fd);
      throw error;
    }
  }

  /** Says, where that works, that nothing was done. Without a first record this one counts for nothing. */
  function giveUp(fd: number): void {
    try {
      put(fd, { ended: { status: "failed" } });
    } catch {}
    io.close(fd);
  }

  function look(id: string): Journal | undefined {
    const found = folder.read(id, JOURNAL_BYTES);
    if (found.kind === "absent") return undefined;
    if (found.kind !== "file") throw new Error(`the journal cannot be read: ${found.kind}`);
    return parseJournal(found.bytes.toString("utf8"));
  }

  /** For the words of a refusal: what cannot be read is taken all the same. */
  function isFenced(id: string): boolean {
    try {
      return look(id)?.kind === "fenced";
    } catch {
      return false;
    }
  }

  function note(id: string, record: JournalRecord): void {
    const fd = folder.append(id);
    try {
      put(fd, record);
    } finally {
      io.close(fd);
    }
  }

  return {
    look,
    note,
    begin(id, begun) {
      const fd = make(id, { begun });
      if (fd === undefined) return isFenced(id) ? "fenced" : "used";
      try {
        if (look(id)?.kind === "fenced") {
          io.close(fd);
          return "fenced"; // documents-journal-1: it stands before our own line
        }
      } catch (error) {
        giveUp(fd);
        throw error;
      }
      return { note: (record) => put(fd, record), close: () => io.close(fd) };
    },
    fence(id) {
      if (!hasRoom(folder, now(), bounds)) return false;
      const record = { fenced: { at: now() } };
      const fd = make(id, record);
      if (fd !== undefined) io.close(fd);
      else if (look(id)?.kind === "blank") note(id, record); // its writer came no further
      return true;
    },
  };
}

/** Whether one more fence may be made, after old ones are gone. (documents-operations-2) */
function hasRoom(folder: Folder, now: number, { many, most, keptMs }: FenceBounds): boolean {
  const names = folder.names().filter((name) => OPERATION_ID.test(name));
  if (names.length < many) return true;
  let kept = 0;
  for (const name of names) {
    try {
      const at = fencedAt(folder, name);
      if (at === undefined) continue;
      if (at + keptMs < now) unlinkSync(folder.path(name));
      else kept += 1;
    } catch (error) {
      if (codeOf(error) !== "ENOENT") throw error; // another process removed it
    }
  }
  return kept < most;
}

/** When the name was fenced; undefined for what is not a fence and nothing else. */
function fencedAt(folder: Folder, name: string): number | undefined {
  if (lstatSync(folder.path(name)).size > FENCE_BYTES) return undefined;
  const found = folder.read(name, FENCE_BYTES);
  const journal = found.kind === "file" ? parseJournal(found.bytes.toString("utf8")) : undefined;
  return journal?.kind === "fenced" ? journal.at : undefined;
}
