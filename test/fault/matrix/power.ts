// Loss of power under a SQLite store in WAL mode, simulated on the files that a killed host left.
//
// SIGKILL loses nothing that was written: the pages are in the system's cache. Loss of power does. SQLite's own rules say
// what is on the disk for certain:
//
//   power-1. A commit at FULL syncs the log before it returns: everything up to that frame is there. (commits.ts)
//   power-2. At NORMAL the log is synced before any of its frames is copied into the database, and the database afterwards.
//            What was copied is there, and so is every frame before it.
//   power-3. Of what was written later the disk keeps any number of frames, the last of them perhaps in part. A log of a
//            later generation than the last commit at FULL need not have a single frame.
//
// So the log is cut, with half of a frame behind the cut, as a disk may leave of a write that was under way. The index
// (`-shm`) is memory, and gone. The database stays as it is, because SQLite writes to it only while it copies.

import { appendFileSync, copyFileSync, mkdtempSync, readFileSync, rmSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { sha256 } from "../../../src/contracts/index.js";
import { readWal, readWalIndex, WAL_HEADER, type WalPlace } from "./wal.js";

/** What a loss of power can leave of a log, in frames. */
export interface Kept {
  /** What is there for certain. */
  readonly certain: number;
  /** The last frames of the later transactions, in order. */
  readonly commits: readonly number[];
  readonly frames: number;
}

/** `synced`: where the log ended with the last commit at FULL, as far as the host saw one. */
export function keptBy(path: string, synced: WalPlace | undefined): Kept {
  const wal = readWal(path);
  if (wal === undefined) return { certain: 0, commits: [], frames: 0 };
  const full = synced?.salts === wal.salts ? synced.frames : 0; // power-1, power-3
  const index = readWalIndex(path);
  const copied = index?.salts === wal.salts ? index.copied : 0; // power-2
  const certain = Math.max(full, copied);
  return { certain, commits: wal.commits.filter((end) => end > certain), frames: wal.frames };
}

/** Cuts the log of a store so that so many frames are left. */
export function losePower(path: string, frames: number): void {
  const wal = readWal(path);
  if (wal !== undefined) {
    const end = WAL_HEADER + frames * wal.frameBytes;
    const bytes = readFileSync(`${path}-wal`);
    const half = end + Math.floor(wal.frameBytes / 2);
    truncateSync(`${path}-wal`, end);
    appendFileSync(`${path}-wal`, bytes.length >= half ? bytes.subarray(end, half) : Buffer.alloc(half - end, 0xa5));
  }
  rmSync(`${path}-shm`, { force: true });
}

/**
 * Cuts copies of a store at every frame that is not there for certain. Each must open, be whole, and hold exactly what the
 * last transaction before the cut left. Returns what is wrong.
 */
export function tornStores(path: string, { certain, commits, frames }: Kept): string[] {
  const wrong: string[] = [];
  if (frames === 0) return wrong;
  let before = "";
  for (let frame = certain; frame <= frames; frame += 1) {
    const { whole, content } = cutCopy(path, frame);
    if (!whole) wrong.push(`cut at frame ${frame} the store is broken`);
    const ends = frame === certain || commits.includes(frame);
    if (!ends && content !== before) wrong.push(`cut at frame ${frame} the store holds half of a transaction`);
    before = content;
  }
  return wrong;
}

function cutCopy(path: string, frames: number): { whole: boolean; content: string } {
  const folder = mkdtempSync(join(tmpdir(), "toolgate-cut-"));
  try {
    const copy = join(folder, "store.sqlite");
    copyFileSync(path, copy);
    copyFileSync(`${path}-wal`, `${copy}-wal`);
    losePower(copy, frames);
    const db = new Database(copy);
    const whole = db.pragma("integrity_check", { simple: true }) === "ok";
    const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").pluck().all();
    const rows = tables.map((table) => [table, db.prepare(`SELECT * FROM "${table}"`).raw().all()]);
    db.close();
    return { whole, content: sha256(JSON.stringify(rows)) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
