// The write-ahead log of a SQLite file, as its format says (sqlite.org, "Database File Format", "The WAL File Format" and
// "WAL-mode File Format"). A log is reused: each time SQLite begins at its start again, it gives the log new salts, and
// frames that carry other salts are left over from before.

import { closeSync, openSync, readFileSync, readSync } from "node:fs";

export const WAL_HEADER = 32;
export const FRAME_HEADER = 24;

/** A place in a log: how many frames of the generation with these salts end there. */
export interface WalPlace {
  readonly salts: string;
  readonly frames: number;
}

/** A log as its bytes say. */
export interface Wal {
  readonly salts: string;
  /** Bytes of a frame, its header included. */
  readonly frameBytes: number;
  /** Whole frames of this generation. */
  readonly frames: number;
  /** The numbers of the frames that end a transaction, in order: the first frame is 1. */
  readonly commits: readonly number[];
}

/** Reads the log of a database. Undefined where there is none, or none with a header. */
export function readWal(path: string): Wal | undefined {
  const wal = bytesOf(`${path}-wal`);
  if (wal.length < WAL_HEADER) return undefined;
  const salts = wal.toString("hex", 16, 24);
  const frameBytes = FRAME_HEADER + wal.readUInt32BE(8);
  const commits: number[] = [];
  let frames = 0;
  for (let at = WAL_HEADER; at + frameBytes <= wal.length; at += frameBytes) {
    if (wal.toString("hex", at + 8, at + 16) !== salts) break;
    frames += 1;
    if (wal.readUInt32BE(at + 4) > 0) commits.push(frames);
  }
  return { salts, frameBytes, frames, commits };
}

const INDEX_BYTES = 136;
const LITTLE = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1;

/** What the log's index (`-shm`), which all connections share, says. Undefined where there is none. */
export function readWalIndex(path: string): (WalPlace & { readonly copied: number }) | undefined {
  let file: number;
  try {
    file = openSync(`${path}-shm`, "r");
  } catch {
    return undefined;
  }
  try {
    const index = Buffer.alloc(INDEX_BYTES);
    if (readSync(file, index, 0, INDEX_BYTES, 0) < INDEX_BYTES) return undefined;
    const at = (offset: number) => (LITTLE ? index.readUInt32LE(offset) : index.readUInt32BE(offset));
    // `mxFrame` is where the commits end; `nBackfillAttempted` is how far frames may have been copied into the database.
    return { salts: index.toString("hex", 32, 40), frames: at(16), copied: at(128) };
  } finally {
    closeSync(file);
  }
}

function bytesOf(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch {
    return Buffer.alloc(0);
  }
}
