// Loss of power under a SQLite store in WAL mode, simulated on the files that a killed host left.
//
// SIGKILL loses nothing that was written: the pages are in the system's cache. Loss of power does. What is on the disk for
// certain is what was synced, and SQLite's own rule says what that is:
//
//   FULL (2) and above   the WAL is synced at each commit: everything up to the last commit frame is there
//   NORMAL (1), OFF (0)  it is synced at a checkpoint only: of what was written since, nothing need be there
//
// So the WAL is cut there, and a torn frame is put behind the cut, as a disk may leave of a write that was under way. The
// index (`-shm`) is memory, and gone. The level is read from the host's own handle, when it is stopped.

import { appendFileSync, readFileSync, rmSync, truncateSync } from "node:fs";

const HEADER = 32;
const FRAME_HEADER = 24;
const FULL = 2;

/** Cuts the store's WAL to what was synced. Returns the number of bytes that were lost. */
export function losePower(path: string, synchronous: number): number {
  const wal = readFileSync(`${path}-wal`);
  const kept = synchronous >= FULL ? lastCommit(wal) : 0;
  truncateSync(`${path}-wal`, kept);
  if (kept > 0) appendFileSync(`${path}-wal`, Buffer.alloc(FRAME_HEADER + 1_000, 0xa5));
  rmSync(`${path}-shm`, { force: true });
  return wal.length - kept;
}

/** Where the last commit of a WAL ends (sqlite.org/fileformat2.html, "The WAL File Format"). */
function lastCommit(wal: Buffer): number {
  if (wal.length < HEADER) return 0;
  const pageSize = wal.readUInt32BE(8);
  const salts = wal.subarray(16, 24);
  let end = HEADER;
  for (let at = HEADER; at + FRAME_HEADER + pageSize <= wal.length; at += FRAME_HEADER + pageSize) {
    if (!wal.subarray(at + 8, at + 16).equals(salts)) break; // of an earlier generation
    if (wal.readUInt32BE(at + 4) > 0) end = at + FRAME_HEADER + pageSize;
  }
  return end;
}
