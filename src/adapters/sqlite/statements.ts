// Prepared statements, and the numbers under which threads, turns, owners and tool lists are kept once.

import type { Database } from "better-sqlite3";
import type { Owner } from "../../contracts/index.js";
import { type Cell, type Record_, toCell } from "./codec.js";

export interface Statement {
  /** Runs it and returns how many rows changed. */
  run(...cells: (Cell | Record<string, Cell>)[]): number;
  one(...cells: Cell[]): Record_ | undefined;
  all(...cells: Cell[]): Record_[];
}

export interface Sql {
  prepare(text: string): Statement;
  thread(threadId: string): number;
  turn(thread: number, turnId: string): number;
  owner(owner: Owner): number;
  toolList(digest: string, tools: readonly string[]): number;
}

export function statements(db: Database): Sql {
  const prepare = (text: string): Statement => {
    const statement = db.prepare<unknown[], Record_>(text);
    return {
      run: (...cells) => statement.run(...cells).changes,
      one: (...cells) => statement.get(...cells),
      all: (...cells) => statement.all(...cells),
    };
  };
  /** The number of what has this key; made, with the rest of its cells, if it is new. */
  const numbered = (table: string, key: readonly string[], rest: readonly string[] = []) => {
    const find = prepare(`SELECT n FROM ${table} WHERE ${key.map((name) => `${name} = ?`).join(" AND ")}`);
    const names = [...key, ...rest];
    const add = prepare(`INSERT INTO ${table} (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`);
    return (cells: Cell[], more: Cell[] = []): number => {
      const known = find.one(...cells);
      if (known) return Number(known.n);
      add.run(...cells, ...more);
      return Number(find.one(...cells)?.n);
    };
  };
  const threadOf = prepare("SELECT n FROM threads WHERE key = ?");
  // A number that a thread had before stays its own: what still names it must not become another thread's.
  const addThread = prepare(
    `INSERT INTO threads (n, key) VALUES
     (max((SELECT coalesce(max(n), 0) FROM threads), (SELECT coalesce(max(thread), 0) FROM turns)) + 1, ?)`,
  );
  const thread = ([key]: [Cell]): number => {
    const known = threadOf.one(key);
    if (known) return Number(known.n);
    addThread.run(key);
    return Number(threadOf.one(key)?.n);
  };
  const turn = numbered("turns", ["thread", "turn_id"]);
  const owner = numbered("owners", ["body"]);
  const toolList = numbered("tool_lists", ["digest"], ["body"]);
  return {
    prepare,
    thread: (threadId) => thread([toCell(threadId)]),
    turn: (number, turnId) => turn([number, toCell(turnId)]),
    owner: (of) => owner([ownerBody(of)]),
    toolList: (digest, tools) => toolList([toCell(digest)], [JSON.stringify(tools)]),
  };
}

function ownerBody({ machine, pid, started, instance }: Owner): string {
  return JSON.stringify({ machine, pid, started, instance });
}
