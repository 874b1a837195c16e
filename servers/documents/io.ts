// The few calls that change files. A parameter of the workspace, so that a test can make one of them fail or end the
// process there (test/servers/programs/documents/faults.ts); everything that is only read goes to node:fs directly.

import { closeSync, fsyncSync, openSync, writeSync } from "node:fs";

export interface Io {
  readonly open: (path: string, flags: number, mode: number) => number;
  /** Writes from `offset` on and returns how many bytes were written. */
  readonly write: (fd: number, bytes: Uint8Array, offset: number) => number;
  readonly fsync: (fd: number) => void;
  readonly close: (fd: number) => void;
}

export const nodeIo: Io = {
  open: openSync,
  write: (fd, bytes, offset) => writeSync(fd, bytes, offset),
  fsync: fsyncSync,
  close: closeSync,
};

/** Writes all bytes; throws when one call writes none. */
export function writeAll(io: Io, fd: number, bytes: Uint8Array): void {
  for (let offset = 0; offset < bytes.length; ) {
    const written = io.write(fd, bytes, offset);
    if (written < 1) throw Object.assign(new Error("nothing was written"), { code: "EIO" });
    offset += written;
  }
}

/** The system's code for an error, such as ENOSPC: what an answer may say of it, as its text holds paths. */
export function codeOf(error: unknown): string {
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  return typeof code === "string" && /^[A-Z0-9_]{1,40}$/.test(code) ? code : "unexpected error";
}
