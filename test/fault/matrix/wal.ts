// The write-ahead log of a SQLite file, as its format says (sqlite.org, "Database File Format", "The WAL File Format" and
// "WAL-mode File Format"). A log is reused: each time SQLite begins at its start again, it gives the log new salts, and
// frames that carry other salts are left over from before.

import { closeSync, openSync, readFileSync, readSync, statSync } from "node:fs";

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

/** Where the commits end, and how far frames may have been copied into the database. */
export interface WalIndex extends WalPlace {
  readonly copied: number;
}

/**
 * What the log's index (`-shm`), which all connections share, says. Undefined where there is none. Not for a process that
 * has the database open beside other processes: to close a file gives up every lock that the process has on it.
 */
export function readWalIndex(path: string): WalIndex | undefined {
  const file = opened(`${path}-shm`);
  if (file === undefined) return undefined;
  try {
    return indexIn(file);
  } finally {
    closeSync(file);
  }
}

/** Reads the index of any database again and again, and closes none. */
export function walIndexReader(): (path: string) => WalIndex | undefined {
  const files = new Map<string, { readonly file: number; readonly inode: number }>();
  return (path) => {
    const inode = statSync(`${path}-shm`, { throwIfNoEntry: false })?.ino;
    if (inode === undefined) return undefined;
    if (files.get(path)?.inode !== inode) {
      const file = opened(`${path}-shm`);
      if (file === undefined) return undefined;
      files.set(path, { file, inode }); // the one before was deleted by the connection that closed last
    }
    return indexIn((files.get(path) as { file: number }).file);
  };
}

function opened(path: string): number | undefined {
  try {
    return openSync(path, "r");
  } catch {
    return undefined;
  }
}

function indexIn(file: number): WalIndex | undefined {
  const index = Buffer.alloc(INDEX_BYTES);
  if (readSync(file, index, 0, INDEX_BYTES, 0) < INDEX_BYTES) return undefined;
  const at = (offset: number) => (LITTLE ? index.readUInt32LE(offset) : index.readUInt32BE(offset));
  return { salts: index.toString("hex", 32, 40), frames: at(16), copied: at(128) }; // `mxFrame`, `nBackfillAttempted`
}

function bytesOf(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch {
    return Buffer.alloc(0);
  }
}
