// Mark: a file outside of a store that says how far the store has come, so that a store, or one thread of it, that was set
// back is noticed.
//
//   mark-1. It is on disk before the first byte of a write leaves, and after the store's own record of that write is.
//   mark-2. It never says more than the store did. Several processes add to it at once, a line each.
//
// Each line is JSON: the store's id, a digest of the thread's key, how many changes of rows the thread had seen, and how
// many writes the store had sent where it counts them.

import { closeSync, fdatasyncSync, fstatSync, openSync, readSync, renameSync, statSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { sha256, ToolgateError } from "../../contracts/index.js";
import type { Mark } from "../../ledger/port.js";
import { makeFolder } from "../sqlite/folder.js";

/** Lines from which on a file that is opened is written anew, with one line for each thread. */
const LINES = 10_000;

type Line = readonly [store: string, thread: string, changes: number, sends: number];

/** The mark at a path. Its folder is made at the first write. Every method may throw `store_failed`. */
export function fileMark(path: string): Mark {
  let open: OpenFile | undefined;
  const inWords = <T>(use: () => T): T => {
    try {
      return use();
    } catch (cause) {
      if (cause instanceof ToolgateError) throw cause;
      const message = `the store's mark \`${path}\` cannot be used: ${(cause as Error).message}`;
      throw new ToolgateError("store_failed", message, "make `store.mark` a file that you may write", { cause });
    }
  };
  /** The file as it stands, opened again where another process wrote it anew. */
  const current = (make: boolean): OpenFile | undefined => {
    if (open && !open.isAt(path)) {
      open.close();
      open = undefined;
    }
    open ??= openFile(path, make);
    open?.readOn();
    return open;
  };
  return {
    path,
    read: (threadKey) =>
      inWords(() => {
        const file = current(false);
        if (file?.store === undefined) return undefined;
        return { store: file.store, sends: file.sends, changes: file.changes.get(nameOf(threadKey)) ?? 0 };
      }),
    add: (threadKey, { store, changes, sends }) =>
      inWords(() => (current(true) as OpenFile).add([store, nameOf(threadKey), changes, sends])),
    renew: (lines) =>
      inWords(() => {
        makeFolder(dirname(path));
        rewrite(
          path,
          lines.map(([threadKey, { store, changes, sends }]) => [store, nameOf(threadKey), changes, sends]),
        );
      }),
    close: () => {
      open?.close();
      open = undefined;
    },
  };
}

const nameOf = (threadKey: string): string => sha256(JSON.stringify(threadKey)).slice(0, 32);

interface OpenFile {
  /** The store that the last line names. */
  readonly store: string | undefined;
  readonly sends: number;
  /** By the name of the thread. */
  readonly changes: ReadonlyMap<string, number>;
  isAt(path: string): boolean;
  /** Reads what was added since. */
  readOn(): void;
  add(line: Line): void;
  close(): void;
}

function openFile(path: string, make: boolean): OpenFile | undefined {
  if (make) makeFolder(dirname(path));
  const descriptor = descriptorOf(path, make);
  if (descriptor === undefined) return undefined;
  const { ino } = fstatSync(descriptor);
  const changes = new Map<string, number>();
  let [store, sends, offset, lines]: [string | undefined, number, number, number] = [undefined, 0, 0, 0];
  const take = (text: string): void => {
    const line = lineIn(text);
    if (line === undefined) return; // a loss of power may leave a line half written
    const [of, thread, count, sent] = line;
    if (of !== store) {
      changes.clear();
      sends = 0;
    }
    store = of;
    sends = Math.max(sends, sent);
    changes.set(thread, Math.max(count, changes.get(thread) ?? 0));
    lines += 1;
  };
  const file: OpenFile = {
    get store() {
      return store;
    },
    get sends() {
      return sends;
    },
    changes,
    isAt: (at) => statSync(at, { throwIfNoEntry: false })?.ino === ino,
    readOn: () => {
      const added = Buffer.alloc(fstatSync(descriptor).size - offset);
      readSync(descriptor, added, 0, added.length, offset);
      const end = added.lastIndexOf("\n") + 1; // another process may be in the middle of a line
      for (const text of added.toString("utf8", 0, end).split("\n")) if (text !== "") take(text);
      offset += end;
      if (offset > 0 && lines === 0) throw new TypeError("it holds no line of a mark");
    },
    add: (line) => {
      const whole = fstatSync(descriptor).size === offset;
      writeSync(descriptor, `${whole ? "" : "\n"}${JSON.stringify(line)}\n`);
      fdatasyncSync(descriptor); // mark-1
    },
    close: () => closeSync(descriptor),
  };
  file.readOn();
  if (lines > LINES && lines > 2 * changes.size && store !== undefined) {
    const [of, sent] = [store, sends];
    rewrite(
      path,
      [...changes].map(([thread, count]): Line => [of, thread, count, sent]),
    );
    file.close();
    return openFile(path, make);
  }
  return file;
}

function descriptorOf(path: string, make: boolean): number | undefined {
  try {
    return openSync(path, make ? "a+" : "r+", 0o600);
  } catch (error) {
    if (!make && (error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** Puts a file in its place that holds these lines alone. */
function rewrite(path: string, lines: readonly Line[]): void {
  const draft = `${path}.${process.pid}`;
  const descriptor = openSync(draft, "w", 0o600);
  try {
    writeSync(descriptor, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    fdatasyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  renameSync(draft, path);
}

function lineIn(text: string): Line | undefined {
  try {
    const line = JSON.parse(text) as Line;
    const [store, thread, changes, sends] = line;
    const sound = typeof store === "string" && typeof thread === "string";
    return sound && Number.isSafeInteger(changes) && Number.isSafeInteger(sends) ? line : undefined;
  } catch {
    return undefined;
  }
}
