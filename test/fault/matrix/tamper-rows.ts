// Rows in which another hand changes the store after an effect whose answer is lost: a program with the store and without
// the host's secret. What the next host is told is said first; then a person accepts what stands, and it goes on.

import { cpSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import Database from "better-sqlite3";
import type { Action } from "./plan.js";
import { ask } from "./postgres-trouble.js";
import { DIES, type Expected, type Left, lostAfter, type Row } from "./row.js";
import { ASKED, goOn, killedAt } from "./steps.js";
import { SECRET, type World } from "./world.js";

/** What another hand does, in the words of each store. */
interface Hand {
  readonly sqlite: string;
  readonly postgres: string;
}

const ROW_OUT: Hand = { sqlite: "DELETE FROM operations", postgres: "DELETE FROM toolgate_operations" };
const ROW_CHANGED: Hand = {
  sqlite: "UPDATE operations SET attempt = attempt + 1",
  postgres: `UPDATE toolgate_operations SET body = replace(body, '"attempt":1', '"attempt":2')`,
};

async function byHand(world: World, hand: Hand): Promise<void> {
  if (world.store === "postgres") return ask((await world.opened())["url"] as string, hand.postgres);
  const db = new Database(world.storePath);
  db.exec(hand.sqlite);
  db.close();
}

/** A host meets the changed store, is told, and goes on once a person has accepted it. What it was told is said first. */
async function told(world: World, accept: Action, config: Readonly<Record<string, unknown>> = {}): Promise<Left> {
  const host = await world.host([{ do: "on" }, accept, { do: "on" }], { config });
  const words = await host.done();
  await host.ended();
  return { words, first: words.errors[0] as string };
}

function changed(hand: Hand): Row["run"] {
  return async (world) => {
    await killedAt(world, ["send.after"], { fault: { at: "effect", do: "hold" } });
    await byHand(world, hand);
    return told(world, { do: "accept" });
  };
}

/** The store of the moment before the answer is put back when the call has been made. */
async function setBack(world: World): Promise<Left> {
  const store = { ...(await world.opened()), mark: join(world.folder, "marks", "mark") };
  const [folder, backup] = [dirname(world.storePath), join(world.folder, "backup")];
  const asks = await world.host(ASKED.slice(0, 1), { config: { store } });
  await asks.done();
  await asks.ended();
  cpSync(folder, backup, { recursive: true });
  const answers = await world.host([{ do: "yes" }], { config: { store } });
  const { asked } = await answers.done(); // the yes is in no store any more
  await answers.ended();
  rmSync(folder, { recursive: true });
  cpSync(backup, folder, { recursive: true });
  const left = await told(world, { do: "accept restored" }, { store });
  return { ...left, words: { ...left.words, asked } };
}

const OTHER_SECRET = "another-secret-for-tests-that-is-long-enough";

function rotated(previousSecrets: readonly string[]): Row["run"] {
  return async (world) => {
    await killedAt(world, ["send.after"], { fault: { at: "effect", do: "hold" } });
    const config = { approvals: { secret: OTHER_SECRET, previousSecrets } };
    return previousSecrets.length > 0 ? goOn(world, { config }) : refused(world, config);
  };
}

/** A host that cannot tell what was sealed is told so, and nothing is sent. */
async function refused(world: World, config: Readonly<Record<string, unknown>>): Promise<Left> {
  const host = await world.host([{ do: "on" }], { config });
  const words = await host.done();
  await host.ended();
  return { words, first: words.errors[0] as string };
}

async function withoutSecret(world: World): Promise<Left> {
  const config = { approvals: {} };
  await killedAt(world, ["send.after"], { config, fault: { at: "effect", do: "hold" } });
  await byHand(world, ROW_CHANGED);
  return goOn(world, { config });
}

/** In stores that outlive their host. */
const where = (sqlite: Expected, postgres: Expected = sqlite): Row["cells"] => ({ memory: DIES, sqlite, postgres });

/** A read whose row says nothing certain is made again, and a read-back still settles a write whose row is there. */
const ACCEPTED: Expected = {
  E0: "store_tampered, 2 ok",
  E1: "store_tampered, 1 result_unknown",
  E2: "store_tampered, 1 result_unknown",
  E2r: "store_tampered, 1 ok",
  E3: "store_tampered, 1 result_unknown",
};

export const TAMPER_ROWS: readonly Row[] = [
  {
    id: "F31",
    says: "the row of a call is taken out after the effect",
    cells: where("store_tampered, 1 result_unknown"),
    kills: true,
    run: changed(ROW_OUT),
  },
  {
    id: "F32",
    says: "the row of a call is changed after the effect",
    cells: where(ACCEPTED),
    kills: true,
    run: changed(ROW_CHANGED),
  },
  {
    id: "F33",
    says: "the store is set back to before the answer",
    cells: where({ ...ACCEPTED, E0: ", 2 ok" }, "n/a: no mark is kept of a store that is a server"),
    run: setBack,
  },
  {
    id: "F34",
    says: "the secret is another one that names the old one, after the effect",
    cells: where(lostAfter(1, "2 ok")),
    kills: true,
    run: rotated([SECRET]),
  },
  {
    id: "F34",
    says: "the secret is another one that does not name the old one, after the effect",
    cells: where("secret_missing, 1 dispatching"),
    kills: true,
    run: rotated([]),
  },
  {
    id: "F35",
    says: "the host has no secret and a row is changed after the effect",
    cells: where("n/a: a secret is kept in the store's folder", lostAfter(1, "2 ok")),
    kills: true,
    run: withoutSecret,
  },
];
