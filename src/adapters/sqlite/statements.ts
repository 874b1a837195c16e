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
  const thread = numbered("threads", ["key"]);
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
