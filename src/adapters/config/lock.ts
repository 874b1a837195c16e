// Lock file: what the host accepted of each server that it pinned, beside the configuration, to be kept with it under version
// control.
//
//   lock-1. The same pins are always the same text. It holds no secret: definitions are kept as the catalog reads them.
//   lock-2. A file that was edited by hand, merged badly or damaged is refused with what to do; it is never read in part.
//   lock-3. The file is replaced whole. Of two processes that pin at once neither loses what the other pinned.

import { randomBytes } from "node:crypto";
import { open, readFile, rename, rm, stat } from "node:fs/promises";
import { setTimeout as wait } from "node:timers/promises";
import {
  type Config,
  type Digest,
  digest,
  type KnownTool,
  Lock,
  oneLine,
  ToolgateError,
} from "../../contracts/index.js";
import { parseStrictJson } from "./strict-json.js";

/** Its name, where the configuration names no other. */
export const LOCK_FILE = "toolgate.lock.json";

type Place = NonNullable<Config["lock"]>;
type Pins = Readonly<Record<string, { readonly tools: readonly KnownTool[] }>>;

/** What is pinned; undefined where there is no lock file. Throws `config_invalid` and `config_unreadable`. (lock-2) */
export async function readLock(place: Place | undefined): Promise<Lock | undefined> {
  if (place === undefined) return undefined;
  const text = await textOf(place);
  if (text === undefined) return undefined;
  const refuse = (problem: string) =>
    new ToolgateError(
      "config_invalid",
      `the lock file \`${oneLine(place.path)}\` ${problem}`,
      "take it back from version control; or remove it, run `toolgate pin` and look through what that pins",
      { data: { path: place.path } },
    );
  const parsed = parseStrictJson(text);
  if (!parsed.ok) throw refuse(`is no JSON in line ${parsed.line}, column ${parsed.column}: ${parsed.problem}`);
  const { version } = (parsed.value ?? {}) as { version?: unknown };
  if (typeof version === "number" && version > 1) throw refuse(`has version ${version}; this toolgate reads version 1`);
  const lock = Lock.safeParse(parsed.value);
  if (!lock.success) throw refuse("does not say what a lock file says");
  if (lock.data.digest !== digestOf(lock.data.servers))
    throw refuse("was changed by hand, or merged: its digest is not that of its servers");
  return lock.data;
}

async function textOf({ path, required }: Place): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    const { code = "unknown error" } = cause as NodeJS.ErrnoException;
    if (code === "ENOENT" && !required) return undefined;
    const [problem, hint] =
      code === "ENOENT"
        ? ["there is no such file", "write it with `toolgate pin`, or take `lock` out of the configuration"]
        : [`the system says ${code}`, "make it a file that you may read"];
    throw new ToolgateError("config_unreadable", `cannot read the lock file \`${oneLine(path)}\`: ${problem}`, hint, {
      data: { path },
      cause,
    });
  }
}

/** Pins servers, beside what is pinned of others. Returns what was pinned before. Throws as `readLock`, and `store_failed`. */
export async function writePins(path: string, pins: Pins): Promise<Lock | undefined> {
  try {
    return await alone(`${path}.writing`, async (isMine) => {
      const before = await readLock({ path, required: false });
      const servers = { ...before?.servers, ...pins };
      await replace(path, textFor(servers), isMine);
      return before;
    });
  } catch (cause) {
    if (cause instanceof ToolgateError) throw cause;
    const message = `the lock file \`${oneLine(path)}\` cannot be written: ${(cause as Error).message}`;
    throw new ToolgateError("store_failed", message, "make its folder one that you may write to", { cause });
  }
}

/** The text of a lock file. (lock-1) */
export function textFor(servers: Pins): string {
  return `${JSON.stringify(inOrder({ version: 1, servers, digest: digestOf(servers) }), undefined, 2)}\n`;
}

/** Tools by their digests, each computed alone: nested in one value they would reach the depth bound sooner. */
function digestOf(servers: Pins): Digest {
  const sums = (tools: readonly KnownTool[]) => tools.map((tool) => digest(tool));
  return digest(
    Object.entries(servers)
      .map(([name, { tools }]) => [name, sums(tools)])
      .sort(byName),
  );
}

function byName([a]: readonly unknown[], [b]: readonly unknown[]): number {
  return String(a) < String(b) ? -1 : 1;
}

/** The value with the keys of its objects in order. */
function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(byName)
      .map(([key, item]) => [key, inOrder(item)]),
  );
}

async function replace(path: string, text: string, isMine: () => Promise<boolean>): Promise<void> {
  const draft = `${path}.${process.pid}.${randomBytes(6).toString("hex")}`;
  try {
    const file = await open(draft, "wx");
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    if (!(await isMine())) throw new Error("another process took over in the middle of it; run it again");
    await rename(draft, path); // lock-3
  } finally {
    await rm(draft, { force: true });
  }
}

/** Milliseconds after which whoever holds the turn is taken for dead: it takes a few milliseconds. */
const STALE_MS = 10_000;
const POLL_MS = 20;

/** Does something while no other process does, as far as all of them ask by this file. */
async function alone<T>(turn: string, work: (isMine: () => Promise<boolean>) => Promise<T>): Promise<T> {
  const mine = randomBytes(16).toString("hex");
  while (!(await taken(turn, mine))) await wait(POLL_MS);
  const isMine = async () => (await readFile(turn, "utf8").catch(() => "")) === mine;
  try {
    return await work(isMine);
  } finally {
    if (await isMine()) await rm(turn, { force: true });
  }
}

async function taken(turn: string, mine: string): Promise<boolean> {
  try {
    const file = await open(turn, "wx");
    try {
      await file.writeFile(mine);
    } finally {
      await file.close();
    }
    return true;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "EEXIST") throw cause;
  }
  const found = await stat(turn).catch(() => undefined);
  if (found !== undefined && Date.now() - found.mtimeMs > STALE_MS) {
    const dead = `${turn}.${mine}`; // a rename is done by one process alone
    await rename(turn, dead).catch(() => undefined);
    await rm(dead, { force: true });
  }
  return false;
}
