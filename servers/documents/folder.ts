// Folder: a directory that is held open by its descriptor, and the files directly in it.
//
//   documents-folder-1. Whatever happens to the directory's path later (renamed, replaced, swapped for a link), the
//                       descriptor stays with the directory that was opened: files are reached through /proc/self/fd.
//   documents-folder-2. A name is a single component of a path. What has more than one is refused.
//   documents-folder-3. No link is followed, neither a directory's own name nor a file's; what is opened for reading
//                       must be a regular file with one name, so that a hard link from outside is refused too. Opening
//                       a FIFO or a device does not block.
//   documents-folder-4. A file is made only where no name stands, with mode 0600, and is never removed or written over.
//
// This works on Linux only: on other systems /proc/self/fd does not exist or does not lead to files.

import { closeSync, constants, fstatSync, mkdirSync, openSync, readdirSync, readSync } from "node:fs";
import { codeOf, type Io } from "./io.js";

const { O_APPEND, O_CREAT, O_DIRECTORY, O_EXCL, O_NOCTTY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;

/** What stands under a name. */
export type Found =
  | { readonly kind: "file"; readonly bytes: Buffer }
  | { readonly kind: "too_large"; readonly size: number }
  | { readonly kind: "absent" | "link" | "not_regular" | "several_names" }
  | { readonly kind: "unreadable"; readonly code: string };

export interface Folder {
  /** The names in it, sorted by code unit. */
  names(): string[];
  /** Reads a file of at most `mostBytes`. (documents-folder-3) */
  read(name: string, mostBytes: number): Found;
  /** Makes a file and returns its descriptor; throws, with EEXIST where the name is taken. (documents-folder-4) */
  create(name: string): number;
  /** Opens an existing file for appending; throws. (documents-folder-3) */
  append(name: string): number;
  /** The path of a name through the held descriptor. (documents-folder-1, documents-folder-2) */
  path(name: string): string;
  /** Makes sure that the names are on disk; throws. */
  sync(): void;
  close(): void;
}

/** Opens a directory by its path; throws, with ENOTDIR or ELOOP where its last component is a link. */
export function openFolder(path: string, io: Io): Folder {
  return held(openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW), io);
}

/** Opens a directory inside a held one. */
export function openWithin(parent: Folder, name: string, io: Io): Folder {
  return openFolder(parent.path(name), io);
}

/** Makes a directory inside a held one unless something of that name is there. */
export function ensureWithin(parent: Folder, name: string): void {
  try {
    mkdirSync(parent.path(name), 0o700);
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
    return;
  }
  parent.sync();
}

function held(fd: number, io: Io): Folder {
  const path = (name: string): string => {
    if (name === "" || name === "." || name === ".." || /[/\0]/.test(name)) throw new TypeError("not a name"); // documents-folder-2
    return `/proc/self/fd/${fd}/${name}`;
  };
  return {
    path,
    names: () => readdirSync(`/proc/self/fd/${fd}`).sort(),
    read: (name, mostBytes) => read(path(name), mostBytes),
    create: (name) => io.open(path(name), O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_APPEND, 0o600),
    append: (name) => io.open(path(name), O_NOFOLLOW | O_NONBLOCK | O_WRONLY | O_APPEND, 0),
    sync: () => io.fsync(fd),
    close: () => closeSync(fd),
  };
}

function read(path: string, mostBytes: number): Found {
  let fd: number;
  try {
    fd = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  } catch (error) {
    return notOpened(codeOf(error));
  }
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile()) return { kind: "not_regular" };
    if (stat.nlink !== 1) return { kind: "several_names" };
    if (stat.size > mostBytes) return { kind: "too_large", size: stat.size };
    const bytes = firstBytes(fd, mostBytes + 1); // it may have grown since
    return bytes.length > mostBytes ? { kind: "too_large", size: bytes.length } : { kind: "file", bytes };
  } catch (error) {
    return { kind: "unreadable", code: codeOf(error) };
  } finally {
    closeSync(fd);
  }
}

function notOpened(code: string): Found {
  switch (code) {
    case "ENOENT":
      return { kind: "absent" };
    case "ELOOP":
      return { kind: "link" };
    case "ENXIO": // a socket, or a device without hardware
      return { kind: "not_regular" };
  }
  return { kind: "unreadable", code };
}

function firstBytes(fd: number, most: number): Buffer {
  const buffer = Buffer.allocUnsafe(most);
  let filled = 0;
  while (filled < most) {
    const count = readSync(fd, buffer, filled, most - filled, null);
    if (count === 0) break;
    filled += count;
  }
  return buffer.subarray(0, filled);
}
