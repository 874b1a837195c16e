// Commits: tells of each transaction that this process commits to a SQLite file in WAL mode, and how durable it was. It
// wraps two prototypes of better-sqlite3, so nothing in the sources knows of it. Where another process writes to the same
// file at that very moment, its commit may be told as one of this process.

import Database from "better-sqlite3";
import { type WalPlace, walIndexReader } from "./wal.js";

export interface Commit {
  /** The database file. */
  readonly path: string;
  /** Whether `PRAGMA synchronous` was FULL or above: SQLite then synced the log before the commit returned. */
  readonly full: boolean;
  /** The tables that the transaction wrote to. */
  readonly tables: readonly string[];
  /** Where the log ends with it. */
  readonly end: WalPlace;
}

interface Statement {
  readonly source: string;
  readonly database: Database.Database;
}

type Method = (this: unknown, ...args: unknown[]) => unknown;

const FULL = 2;
const ENDS = /^\s*(?:COMMIT|END)\b/i;
const WRITES = /\b(?:INTO|UPDATE|DELETE\s+FROM)\s+(\w+)/gi;

/** Calls `told` after each commit, before its statement returns. The returned function puts the prototypes back. */
export function tapCommits(told: (commit: Commit) => void): () => void {
  const undo: (() => void)[] = [];
  const written = new WeakMap<Database.Database, Set<string>>();
  const readIndex = walIndexReader();
  let asking = false; // the question for the level is a statement, too

  const around = ({ source, database: db }: Statement, run: () => unknown): unknown => {
    if (asking || db.memory || /^\s*PRAGMA/i.test(source)) return run();
    const tables = written.get(db) ?? new Set();
    written.set(db, tables);
    for (const [, table] of source.matchAll(WRITES)) tables.add(table as string);
    if (db.inTransaction && !ENDS.test(source)) return run();
    const before = readIndex(db.name);
    const result = run();
    if (db.inTransaction) return result;
    const end = readIndex(db.name);
    const moved = end !== undefined && (end.frames !== before?.frames || end.salts !== before.salts);
    if (moved)
      told({
        path: db.name,
        full: levelOf(db) >= FULL,
        tables: [...tables],
        end: { salts: end.salts, frames: end.frames },
      });
    tables.clear();
    return result;
  };

  const levelOf = (db: Database.Database): number => {
    asking = true;
    try {
      return Number(db.pragma("synchronous", { simple: true }));
    } finally {
      asking = false;
    }
  };

  const wrap = (prototype: object, name: string, statementOf: (self: unknown, args: unknown[]) => Statement) => {
    const descriptor = Object.getOwnPropertyDescriptor(prototype, name) as PropertyDescriptor;
    const real = descriptor.value as Method;
    const value: Method = function (...args) {
      return around(statementOf(this, args), () => real.apply(this, args));
    };
    Object.defineProperty(prototype, name, { ...descriptor, value });
    undo.push(() => Object.defineProperty(prototype, name, descriptor));
  };

  const probe = new Database(":memory:");
  const statements = Object.getPrototypeOf(probe.prepare("SELECT 1")) as object;
  probe.close();
  for (const name of ["run", "get", "all"]) wrap(statements, name, (self) => self as Statement);
  wrap(Database.prototype as object, "exec", (self, [source]) => ({
    source: String(source),
    database: self as Database.Database,
  }));
  return () => {
    for (const back of undo.splice(0)) back();
  };
}
