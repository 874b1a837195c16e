// Mark: a file outside the store's folder that says how many writes the store has sent, so that a store which was set back
// as a whole is noticed.
//
//   mark-1. It is on disk before the first byte of a write leaves, and after the store's own record of that write is.
//   mark-2. It never says more than the store did: two processes that write it at once may leave the smaller number.

import { closeSync, fdatasyncSync, openSync, readFileSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { ToolgateError } from "../../contracts/index.js";
import type { Mark, Marked } from "../../ledger/port.js";
import { makeFolder } from "../sqlite/folder.js";

/** Bytes of the file: one sector, written in one go. */
const BYTES = 128;

/** The mark at a path. Its folder is made at the first write. Both methods may throw `store_failed`. */
export function fileMark(path: string): Mark {
  let descriptor: number | undefined;
  const inWords = <T>(use: () => T): T => {
    try {
      return use();
    } catch (cause) {
      if (cause instanceof ToolgateError) throw cause;
      const message = `the store's mark \`${path}\` cannot be used: ${(cause as Error).message}`;
      throw new ToolgateError("store_failed", message, "make `store.mark` a file that you may write", { cause });
    }
  };
  return {
    path,
    read: () => inWords(() => parsed(path, textOf(path))),
    write: ({ store, sends }) =>
      inWords(() => {
        if (descriptor === undefined) {
          makeFolder(dirname(path));
          closeSync(openSync(path, "a", 0o600));
          descriptor = openSync(path, "r+");
        }
        writeSync(descriptor, `${JSON.stringify({ store, sends })}\n`.padEnd(BYTES), 0);
        fdatasyncSync(descriptor); // mark-1
      }),
    close: () => {
      if (descriptor !== undefined) closeSync(descriptor);
      descriptor = undefined;
    },
  };
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8").trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw error;
  }
}

function parsed(path: string, text: string): Marked | undefined {
  if (text === "") return undefined;
  const { store, sends } = JSON.parse(text) as Marked;
  if (typeof store === "string" && Number.isSafeInteger(sends)) return { store, sends };
  throw new TypeError(`it is no mark of toolgate: \`${path}\``);
}
