// Things that may stand under a name: links, pipes, folders, hard links, and what is no document.

import { execFileSync } from "node:child_process";
import { linkSync, mkdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CANARY, type Field } from "./field.js";

/** Puts something at a path of the field's root. */
export type Put = (path: string, field: Field) => void;

export const links: readonly [string, Put][] = [
  ["a link to outside", (path) => symlinkSync("../../outside/canary.md", path)],
  ["an absolute link to outside", (path, { outside }) => symlinkSync(join(outside, "canary.md"), path)],
  ["a link to the root's own file", (path) => symlinkSync("../canary.md", path)],
  ["a link to a document that may be read", (path) => symlinkSync("../sources/good.md", path)],
  ["a link that leads nowhere", (path) => symlinkSync("../../outside/new.md", path)],
  ["a link to a folder", (path) => symlinkSync("../../outside", path)],
  ["a link to itself", (path) => symlinkSync(path, path)],
  ["a link to the server's own input", (path) => symlinkSync("/proc/self/fd/0", path)],
  ["a link to a device without end", (path) => symlinkSync("/dev/zero", path)],
  [
    "a link to a pipe",
    (path, { outside }) => {
      pipeAt(join(outside, "pipe"));
      symlinkSync("../../outside/pipe", path);
    },
  ],
];

export const irregular: readonly [string, Put][] = [
  ["a pipe", pipeAt],
  [
    "a folder",
    (path) => {
      mkdirSync(path);
      writeFileSync(join(path, "canary.md"), CANARY);
    },
  ],
];

export const hardLinks: readonly [string, Put][] = [
  ["a hard link to outside", (path, { outside }) => linkSync(join(outside, "canary.md"), path)],
];

export const tooLarge: readonly [string, Put][] = [
  ["24,001 bytes", (path) => writeFileSync(path, `${CANARY}${"x".repeat(24_001 - CANARY.length)}`)],
  ["24,000 characters in 24,001 bytes", (path) => writeFileSync(path, `${"x".repeat(23_999)}\u00e9`)],
  [
    "ten million bytes, most of them nothing",
    (path) => {
      writeFileSync(path, CANARY);
      truncateSync(path, 10_000_000);
    },
  ],
];

export const notText: readonly [string, Put][] = [
  ["a byte that is never UTF-8", bytes([0xff])],
  ["half a character at the end", bytes([0xe2, 0x82])],
  ["a second byte without a first", bytes([0x80])],
  ["half a character in the middle", bytes([0xc3, 0x28])],
  ["an overlong slash", bytes([0xc0, 0xaf])],
  ["an overlong NUL", bytes([0xc0, 0x80])],
  ["an encoded surrogate", bytes([0xed, 0xa0, 0x80])],
  ["more than the last character", bytes([0xf4, 0x90, 0x80, 0x80])],
  ["UTF-16 with its mark", bytes([0xff, 0xfe, 0x61, 0x00])],
];

function pipeAt(path: string): void {
  execFileSync("mkfifo", [path]);
}

/** A canary with these bytes behind it. */
function bytes(more: readonly number[]): Put {
  return (path) => writeFileSync(path, Buffer.concat([Buffer.from(CANARY), Buffer.from(more)]));
}
