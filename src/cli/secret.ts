// The secret of the seals, kept in a file in the store's folder, or beside the configuration where the store is a server. With
// it, answers given in one process are valid in the next.
//
//   kept-secret-1. Only its owner may read the file (mode 0600). The file is complete from the moment it has its name, and it
//                  is never replaced.
//   kept-secret-2. Processes that start at the same time end up with the same secret.
//   kept-secret-3. A file that others may read, or that holds no secret, is refused with what to do. It is never used and never
//                  overwritten.

import { randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  rmSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { folderOf, makeFolder } from "../adapters/sqlite/folder.js";
import { type Config, ToolgateError } from "../contracts/index.js";

const NAME = "secret";
const CHARS = 32;
const MAX_BYTES = 4_096;

/** The configuration with a kept secret, unless it has a secret of its own or its store ends with the process. */
export function withKeptSecret(config: Config): Config {
  const folder = folderOf(config);
  if (folder === undefined || config.approvals.secret !== undefined) return config;
  const secret = config.store.kind === "postgres" ? keptWherePossible(folder) : keptSecret(folder);
  if (secret === undefined) return config;
  return { ...config, approvals: { ...config.approvals, secret }, secrets: [secret, ...config.secrets] };
}

/** Undefined where the folder is read-only, as in a container: the process then makes a secret for itself. */
function keptWherePossible(folder: string): string | undefined {
  try {
    return keptSecret(folder);
  } catch (error) {
    const { code = "" } = ((error as Error).cause ?? {}) as NodeJS.ErrnoException;
    if (["EROFS", "EACCES", "EPERM"].includes(code)) return undefined;
    throw error;
  }
}

/** The secret of the store in `folder`, created on first use. Throws `store_failed`. */
export function keptSecret(folder: string): string {
  const file = join(folder, NAME);
  try {
    makeFolder(folder);
    return readSecret(file) ?? createSecret(file);
  } catch (cause) {
    if (cause instanceof ToolgateError) throw cause;
    throw new ToolgateError(
      "store_failed",
      `the store's secret \`${file}\` cannot be read or made: ${(cause as Error).message}`,
      "make its folder one that you may write to, or set `approvals.secret`",
      { cause },
    );
  }
}

function createSecret(file: string): string {
  const draft = `${file}.${process.pid}.${randomBytes(6).toString("hex")}`;
  const descriptor = openSync(draft, "wx", 0o600); // kept-secret-1: O_CREAT | O_EXCL
  try {
    writeSync(descriptor, `${randomBytes(CHARS).toString("base64url")}\n`);
    fsyncSync(descriptor);
    linkSync(draft, file); // kept-secret-1, kept-secret-2: fails when another process was first
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "EEXIST") throw cause;
  } finally {
    closeSync(descriptor);
    rmSync(draft, { force: true });
  }
  const secret = readSecret(file);
  if (secret === undefined)
    throw new ToolgateError(
      "store_failed",
      `the store's secret \`${file}\` is a link to nothing`,
      "remove the link: a secret is made, and open answers are given again",
    ); // kept-secret-3
  return secret;
}

function readSecret(file: string): string | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)); // opening a pipe must not block
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw cause;
  }
  try {
    const found = fstatSync(descriptor);
    if (!found.isFile() || found.size > MAX_BYTES)
      throw new ToolgateError(
        "store_failed",
        `the store's secret \`${file}\` is ${found.isFile() ? "too large to be one" : "not a regular file"}`,
        "move it away: a new one is made, and open answers are given again",
      ); // kept-secret-3
    if (process.platform !== "win32" && (found.mode & 0o077) !== 0)
      throw new ToolgateError(
        "store_failed",
        `the store's secret \`${file}\` may be read by others`,
        `run \`chmod 600 ${file}\`; delete it when somebody may have seen it: open answers are then given again`,
      ); // kept-secret-3
    const secret = readFileSync(descriptor, "utf8").trim();
    if (secret.length < CHARS)
      throw new ToolgateError(
        "store_failed",
        `the store's secret \`${file}\` has ${secret.length} characters and needs at least ${CHARS}`,
        "delete the file: a new one is made, and open answers are given again",
      ); // kept-secret-3
    return secret;
  } finally {
    closeSync(descriptor);
  }
}
