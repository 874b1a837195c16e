// A loss of power: a sample of `npm run faults -- --power`, what it believes of a log, and what must be synced at once.
//
// Promises: G4, G5, G6, G7 under a loss of power.

import { copyFileSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Bundle, bundle } from "./matrix/bundle.js";
import { problems } from "./matrix/cell.js";
import { type Commit, tapCommits } from "./matrix/commits.js";
import type { Effect } from "./matrix/effects.js";
import { type Kept, keptBy, losePower, tornStores } from "./matrix/power.js";
import { powerCellsOf, runPowerCell, type Way } from "./matrix/power-matrix.js";
import { broken, type Found, type Promised } from "./matrix/promises.js";
import { readWal } from "./matrix/wal.js";

const TIME = 120_000;

describe("power goes where a host stands, a sample", () => {
  let built: Bundle;
  beforeAll(async () => {
    built = await bundle();
  });
  afterAll(() => built.remove());
  const databases = () => Promise.reject(new Error("these cells are on SQLite"));

  /** Points of one effect, the way in which the disk is left, and what the next host comes to. */
  const SAMPLE: readonly (readonly [row: string, effect: Effect, way: Way, says: string])[] = [
    ["F04", "E2", "certain", "1 ok"],
    ["F06", "E2", "certain", "1 ok"],
    ["F10", "E2", "copied", "1 result_unknown"],
    ["F15", "E2", "certain", "1 ok"],
  ];

  test.concurrent.each(SAMPLE)("%s, %s, %s: %s (G5, G6 and G7)", { timeout: TIME }, async (row, effect, way, says) => {
    const [cell] = powerCellsOf({ rows: [row], effects: [effect] });
    if (cell === undefined) throw new Error("there is no such cell");
    const result = (await runPowerCell(cell, { bundle: built, databases }, [way]))[way];
    expect([result?.says, result && problems(result)]).toEqual([says, []]);
  });
});

describe("what is left of a log", () => {
  let folder: string;
  let db: Database.Database;
  let commits: Commit[];
  let untap: () => void;
  const path = () => join(folder, "a.sqlite");
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "toolgate-power-"));
    db = new Database(path());
    db.pragma("journal_mode = WAL");
    db.pragma("synchronous = FULL");
    commits = [];
    untap = tapCommits((commit) => commits.push(commit));
    db.exec("CREATE TABLE t (n INTEGER, body TEXT)");
  });
  afterEach(() => {
    untap();
    db.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** One transaction of several frames. */
  const put = (n: number) =>
    db.transaction(() => {
      for (let row = 0; row < 3; row += 1) db.prepare("INSERT INTO t VALUES (?, ?)").run(n, "x".repeat(3_000));
    })();
  const level = (name: "FULL" | "NORMAL") => db.exec(`PRAGMA synchronous = ${name}`);
  const kept = (): Kept => keptBy(path(), commits.findLast(({ full }) => full)?.end);
  /** What a copy holds after the power has gone. */
  const leftOf = (frames: number): number[] => {
    const copy = join(folder, "copy.sqlite");
    copyFileSync(path(), copy);
    copyFileSync(`${path()}-wal`, `${copy}-wal`);
    losePower(copy, frames);
    const opened = new Database(copy);
    const rows = opened.prepare("SELECT DISTINCT n FROM t ORDER BY n").pluck().all() as number[];
    opened.close();
    return rows;
  };

  test("everything up to the last commit at FULL is there, and each later transaction may be (power-1, power-3)", () => {
    put(1);
    level("NORMAL");
    put(2);
    level("FULL");
    put(3);
    level("NORMAL");
    put(4);
    put(5);
    const { certain, commits: later, frames } = kept();
    expect(later).toHaveLength(2);
    expect([certain, ...later].map(leftOf)).toEqual([
      [1, 2, 3],
      [1, 2, 3, 4],
      [1, 2, 3, 4, 5],
    ]);
    expect(leftOf(frames - 1)).toEqual([1, 2, 3, 4]);
    expect(tornStores(path(), kept())).toEqual([]);
  });

  test("what was copied into the database is there, whatever was committed since (power-2, power-3)", () => {
    put(1);
    level("NORMAL");
    put(2);
    db.pragma("wal_checkpoint(PASSIVE)");
    expect(kept()).toMatchObject({ certain: kept().frames, commits: [] });
    put(3); // the log begins again at its start
    expect(kept()).toMatchObject({ certain: 0 });
    expect(kept().commits.map(leftOf)).toEqual([[1, 2, 3]]);
    expect(leftOf(0)).toEqual([1, 2]);
    expect(tornStores(path(), kept())).toEqual([]);
  });

  test("a commit is told with its level and its tables, and one that changed nothing is not told (power-1)", () => {
    commits.length = 0;
    put(1);
    level("NORMAL");
    db.prepare("UPDATE t SET n = 2").run();
    db.transaction(() => db.prepare("SELECT * FROM t").all())();
    expect(() =>
      db.transaction(() => {
        db.prepare("DELETE FROM t").run();
        throw new Error("no");
      })(),
    ).toThrow("no");
    db.exec("DELETE FROM t");
    expect(commits.map(({ full, tables }) => ({ full, tables }))).toEqual([
      { full: true, tables: ["t"] },
      { full: false, tables: ["t"] },
      { full: false, tables: ["t"] },
    ]);
    expect(commits.at(-1)?.end).toEqual({ salts: readWal(path())?.salts, frames: readWal(path())?.commits.at(-1) });
  });

  test("the cut leaves half of a frame behind it", () => {
    put(1);
    const { frameBytes } = readWal(path()) as { frameBytes: number };
    const whole = readFileSync(`${path()}-wal`);
    const copy = join(folder, "half.sqlite");
    copyFileSync(path(), copy);
    copyFileSync(`${path()}-wal`, `${copy}-wal`);
    losePower(copy, 1);
    const end = 32 + frameBytes + Math.floor(frameBytes / 2);
    expect(statSync(`${copy}-wal`).size).toBe(end);
    expect(readFileSync(`${copy}-wal`).equals(whole.subarray(0, end))).toBe(true);
  });
});

describe("promises that the next host must keep", () => {
  const asked = { request: { approvalId: "a1" }, consumed: false };
  const yes = { ...asked, verdict: { type: "approve" } };
  const row = { operation: { id: "o1" }, state: "settled", outcome: { status: "ok" } };
  const messages = [
    { type: "human", text: "go" },
    { type: "ai", text: "Done." },
  ];
  const found = (words: object, asks: readonly string[] = []) =>
    ({ words: { rows: [], asked: [], messages: [], errors: [], ...words }, asks }) as unknown as Found;
  const shown: Promised = { what: "returned", asks: ["a1"], messages: [] };
  const answered: Promised = { what: "answered", approvalId: "a1", type: "approve" };

  test("a question that was shown is open in the ledger and in the thread, until it is answered (promise-1)", () => {
    expect(broken([shown], found({ asked: [asked] }, ["a1"]))).toEqual([]);
    expect(broken([shown], found({ asked: [asked] }))).toHaveLength(1);
    expect(broken([shown], found({}, ["a1"]))).toHaveLength(1);
    expect(broken([shown], found({ asked: [yes] }, ["a1"]))).toHaveLength(1);
    expect(broken([shown, answered], found({ asked: [yes] }))).toEqual([]);
  });

  test("an answer that was taken is there, as it was given (promise-2)", () => {
    expect(broken([answered], found({ asked: [asked] }))).toHaveLength(1);
    expect(broken([answered], found({ asked: [{ ...asked, verdict: { type: "reject" } }] }))).toHaveLength(1);
    expect(broken([answered], found({}))).toHaveLength(1);
  });

  test("each message that a run returned is in its place (promise-3)", () => {
    const returned: Promised = { what: "returned", asks: [], messages };
    expect(broken([returned], found({ messages: [...messages, { type: "human", text: "more" }] }))).toEqual([]);
    expect(broken([returned], found({ messages: messages.slice(0, 1) }))).toHaveLength(1);
    expect(broken([returned], found({ messages: [messages[1], messages[0]] }))).toHaveLength(2);
  });

  test("a call that was settled is settled as it was (promise-4)", () => {
    const settled: Promised = { what: "settled", operationId: "o1", status: "ok" };
    expect(broken([settled], found({ rows: [row] }))).toEqual([]);
    expect(broken([settled], found({ rows: [{ ...row, outcome: { status: "result_unknown" } }] }))).toHaveLength(1);
    expect(broken([settled], found({ rows: [{ ...row, state: "dispatching" }] }))).toHaveLength(1);
    const unknown: Promised = { ...settled, status: "result_unknown" };
    expect(broken([unknown], found({ rows: [row] }))).toEqual([]);
    expect(broken([unknown], found({ rows: [{ ...row, state: "dispatching" }] }))).toHaveLength(1);
  });
});
