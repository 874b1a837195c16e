// Forgetting a thread, on a store in a folder. On Postgres: test/postgres/agent.test.ts.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync, inflateSync } from "node:zlib";
import Database from "better-sqlite3";
import { beforeEach, describe } from "vitest";
import { forgetting } from "../support/forgetting.js";
import { bench } from "../support/in-process.js";

const b = bench();
beforeEach(() => b.onDisk());

/** Every cell of every table, unpacked where it is packed, and every byte of the files. */
async function raw(): Promise<string> {
  const folder = join(b.folder(), "store");
  const db = new Database(join(folder, "toolgate.sqlite"));
  const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all() as string[];
  const cells = tables.flatMap((name) => db.prepare(`SELECT * FROM "${name}"`).raw().all() as unknown[][]).flat();
  db.close();
  const others = readdirSync(folder); // the bytes of the database, too: what is let go is not gone
  return [...cells.map(textOf), ...others.map((name) => readFileSync(join(folder, name), "latin1"))].join("\n");
}

function textOf(cell: unknown): string {
  if (!Buffer.isBuffer(cell)) return String(cell);
  for (const unpack of [gunzipSync, inflateSync]) {
    try {
      return unpack(cell).toString("utf8");
    } catch {}
  }
  return cell.toString("utf8");
}

describe("SQLite", () => {
  forgetting(b, () => ({ kind: "sqlite", path: join(b.folder(), "store") }), raw);
});
