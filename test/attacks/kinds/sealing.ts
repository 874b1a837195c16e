// Sealing (G15): rows of the store are changed, taken out, put back or added while nobody looks, and nothing is sent that nobody
// said yes to, or twice. Without the wall, the tool may be repeated unasked, so that the second effect is seen.

import Database from "better-sqlite3";
import type { Random } from "../../simulate/random.js";
import type { Attack } from "../attack.js";
import { ask, go, type World } from "../world.js";

const TABLES = ["operations", "questions", "model_requests", "turns", "threads"] as const;
type Row = Record<string, unknown>;

/** Every row of the ledger, to be put back later. */
const rowsOf = (db: Database.Database) =>
  Object.fromEntries(TABLES.map((table) => [table, db.prepare(`SELECT * FROM ${table}`).all() as Row[]]));

/** One change by a hand that knows the tables and has no secret. */
function change(random: Random, db: Database.Database, older: Readonly<Record<string, readonly Row[]>>): void {
  const table = random.pick(TABLES);
  const rows = db.prepare(`SELECT rowid AS at, * FROM ${table}`).all() as Row[];
  if (rows.length === 0) return;
  const row = random.pick(rows);
  const column = random.pick(Object.keys(row).filter((name) => name !== "at" && name !== "n"));
  const put = (name: string, value: unknown) =>
    db.prepare(`UPDATE ${table} SET "${name}" = ? WHERE rowid = ?`).run(value as never, row.at as never);
  random.pick<() => unknown>([
    () => db.prepare(`DELETE FROM ${table} WHERE rowid = ?`).run(row.at as never),
    () => put(column, null),
    () => put(column, (random.pick(rows) as Row)[column] ?? null),
    () => put(column, typeof row[column] === "number" ? Number(row[column]) + 1 : `${String(row[column])}x`),
    () => put("seal", null),
    () =>
      db
        .prepare(`UPDATE operations SET state = ?, status = ?`)
        .run(random.pick(["proposed", "claimed", "settled"]), random.pick([null, "unavailable", "rejected", "ok"])),
    () => db.prepare(`UPDATE operations SET decision = 'allow', reason = NULL`).run(),
    () =>
      db
        .prepare(`UPDATE questions SET verdict = ?, verdict_at = created_at`)
        .run(JSON.stringify({ type: "approve", approver: "boss" })),
    () => {
      const before = random.pick([...(older[table] ?? []), row]);
      const names = Object.keys(before).filter((name) => name !== "at");
      db.prepare(`DELETE FROM ${table} WHERE rowid = ?`).run(row.at as never);
      db.prepare(`INSERT OR REPLACE INTO ${table} (${names.join()}) VALUES (${names.map(() => "?").join()})`).run(
        ...names.map((name) => before[name] as never),
      );
    },
  ])();
}

function configOf(world: World, wall: boolean) {
  return {
    mcpServers: {
      till: world.stdio({ tools: ["pay", "ask"].map((name) => ({ name, inputSchema: { type: "object" } })) }),
    },
    permissions: { allow: ["mcp__till__pay"], ask: ["mcp__till__ask"] },
    ...(wall ? {} : { tools: { mcp__till__pay: { repeat: "allow" } } }),
    store: { kind: "sqlite", path: world.store },
    approvals: { secret: "a-secret-for-attacks-that-is-long-enough" },
  };
}

const PAY = { calls: [{ name: "mcp__till__pay", args: { n: 1 } }] };
const ASK = { calls: [{ name: "mcp__till__ask", args: { n: 2 } }] };

async function strike(random: Random, world: World, wall: boolean): Promise<readonly string[]> {
  const first = await world.host(configOf(world, wall), [PAY, ASK, { say: "Done." }]);
  const db = new Database(`${world.store}/toolgate.sqlite`);
  const older = rowsOf(db);
  await ask(first, "Pay and ask.");
  await first.close();
  const changes = 1 + random.int(3);
  db.pragma("foreign_keys = OFF");
  for (let count = wall ? changes : 0; count > 0; count -= 1) {
    try {
      change(random, db, older);
    } catch {
      // The table's own constraints refused it.
    }
  }
  db.close();
  const second = await world.host(configOf(world, wall), [PAY, { say: "x" }, PAY, { say: "y" }, PAY, { say: "z" }]);
  await go(second, null).catch(() => undefined);
  await ask(second, "Pay again.").catch(() => undefined);
  await ask(second, "Once more.").catch(() => undefined);
  const [paid, asked] = [world.effects("pay").length, world.effects("ask").length];
  return [...(paid > 1 ? [`${paid} effects of one payment`] : []), ...(asked > 0 ? ["a write ran without a yes"] : [])];
}

export const SEALING: readonly Attack[] = [{ kind: "sealing", door: "store", strike }];
