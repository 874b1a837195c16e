// Rows in which the store cannot take the claim, loses its answer, or loses what it took.

import Database from "better-sqlite3";
import type { Go } from "./plan.js";
import { full, locked, readOnly, type Trouble } from "./postgres-trouble.js";
import { keptBy, losePower } from "./power.js";
import { startProxy } from "./proxy.js";
import { type Left, lostAfter, type Row } from "./row.js";
import { ASKED, goOn, killedAt } from "./steps.js";
import type { World } from "./world.js";

const AT_THE_CLAIM = "ledger.claim.before";
/** Long enough for SQLite to look twice. */
const PATIENCE_MS = 50;

/**
 * The store is in trouble while the host claims; then it is well, and another host goes on. What the first was told is
 * said first; that it sent nothing is seen while the trouble lasts.
 */
async function atTheClaim(world: World, go: Go, trouble: () => Promise<() => Promise<void>>): Promise<Left> {
  const host = await world.host(ASKED, { halts: [{ point: AT_THE_CLAIM, do: "stand" }] });
  await host.halted(AT_THE_CLAIM);
  const end = await trouble();
  host.go(go);
  const told = await host.acted("yes");
  const sent = world.log("accepted").length;
  await end();
  await host.done();
  await host.ended();
  const left = await goOn(world);
  return { ...left, first: sent > 0 ? "it was sent" : told };
}

/** Another process, this one, holds the file. */
async function held(path: string): Promise<() => Promise<void>> {
  const db = new Database(path);
  db.exec("BEGIN EXCLUSIVE");
  return async () => {
    db.exec("ROLLBACK");
    db.close();
  };
}

function troubled(sqlite: (world: World) => Promise<Left>, postgres: Trouble): Row["run"] {
  return async (world) => {
    if (world.store === "sqlite") return sqlite(world);
    const { url } = await world.opened();
    return atTheClaim(world, {}, () => postgres(url as string));
  };
}

const nothing = async () => async () => {};
const whole = (disk: "readonly" | "full") => (world: World) => atTheClaim(world, { disk }, nothing);

const NO_DISK = "n/a: memory has no disk";
const REFUSED = { memory: NO_DISK, sqlite: "store_failed, 1 ok", postgres: "store_failed, 1 ok" };

/** What stores a claim. */
const CLAIMING = "rows_changed AS (UPDATE toolgate_operations";

/** The connection is cut at the claim. The host goes on by itself: it looks whether its claim is there. */
function cut(when: "unsent" | "committed"): Row["run"] {
  return async (world) => {
    const { url } = await world.opened();
    const proxy = await startProxy(url as string);
    try {
      const config = { store: { kind: "postgres", url: proxy.url } };
      const host = await world.host(ASKED, { config, halts: [{ point: AT_THE_CLAIM, do: "stand" }] });
      await host.halted(AT_THE_CLAIM);
      proxy.cutAt(CLAIMING, when);
      host.go();
      const words = await host.done();
      await host.ended();
      if (proxy.cuts !== 1) throw new Error(`${proxy.cuts} connections were cut`);
      return { words };
    } finally {
      await proxy.close();
    }
  };
}

const NO_CONNECTION = "n/a: no connection to lose";
const CUT = { memory: NO_CONNECTION, sqlite: NO_CONNECTION, postgres: "1 ok" };

export const DISK_ROWS: readonly Row[] = [
  {
    id: "F21",
    says: "the store is locked at the claim",
    cells: REFUSED,
    known: true,
    run: troubled((world) => atTheClaim(world, { patienceMs: PATIENCE_MS }, () => held(world.storePath)), locked),
  },
  {
    id: "F21",
    says: "the store is read-only at the claim",
    cells: REFUSED,
    known: true,
    run: troubled(whole("readonly"), readOnly),
  },
  {
    id: "F21",
    says: "the disk is full at the claim",
    cells: REFUSED,
    known: true,
    run: troubled(whole("full"), full),
  },
  {
    id: "F23",
    says: "connection lost with the claim under way to the database",
    cells: CUT,
    known: true,
    run: cut("unsent"),
  },
  {
    id: "F23",
    says: "connection lost with the claim committed, its answer under way",
    cells: CUT,
    known: true,
    run: cut("committed"),
  },
  {
    id: "F25",
    says: "power is lost after the effect",
    cells: { memory: NO_DISK, sqlite: lostAfter(1, "2 ok"), postgres: "n/a: its disk is the server's" },
    run: async (world) => {
      const { synced } = await killedAt(world, ["send.after"], { fault: { at: "effect", do: "hold" } });
      losePower(world.storePath, keptBy(world.storePath, synced).certain);
      return goOn(world);
    },
  },
];
