// What a run saves: the checkpointer of a store asks the ledger beside it whose the thread is, in the transaction that
// saves. Whoever was taken over saves nothing any more, however long its statement was on the way.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BaseCheckpointSaver, emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import Database from "better-sqlite3";
import pg from "pg";
import { afterEach, describe, expect, it } from "vitest";
import { openCheckpointer } from "../../src/adapters/sqlite/checkpointer.js";
import { createSqliteLedger, sqliteHolds } from "../../src/adapters/sqlite/ledger.js";
import { type Owner, RUN } from "../../src/contracts/index.js";
import type { Ledger } from "../../src/ledger/port.js";
import { hosts } from "../postgres/hosts.js";
import { LEASE, owner, START } from "./ledger-world.js";

interface Place {
  readonly clock: { now: number };
  readonly ledger: Ledger;
  readonly checkpointer: BaseCheckpointSaver;
  readonly url?: string;
}

const at = hosts();
const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

const places: Record<string, () => Promise<Place>> = {
  sqlite: async () => {
    const folder = mkdtempSync(join(tmpdir(), "toolgate-fence-"));
    const db = new Database(join(folder, "toolgate.sqlite"));
    ends.push(() => {
      db.close();
      rmSync(folder, { recursive: true });
    });
    const clock = { now: START };
    const ledger = createSqliteLedger(db, { now: () => clock.now, liveness: () => "unknown" });
    return { clock, ledger, checkpointer: openCheckpointer(db, sqliteHolds(db)) };
  },
  postgres: async () => {
    const url = await at.server().freshSchema();
    const host = at.open(url);
    for (const name of ["a", "b"]) host.life.set(name, "unknown");
    return { ...host, url };
  },
};

const [a, b] = [owner("a"), owner("b")];
const thread = { thread_id: "t1", checkpoint_ns: "" };
const of = (run: Owner | undefined, more: object = {}) => ({ configurable: { ...thread, ...more, [RUN]: run } });
const put = (saver: BaseCheckpointSaver, run: Owner | undefined) => {
  const checkpoint = { ...emptyCheckpoint(), id: uuid6(0) };
  return saver.put(of(run), checkpoint, { source: "loop", step: 0, parents: {} }, {});
};
const TAKEN = { code: "already_running", message: "thread `t1` was taken over by another run" };

describe.each(Object.keys(places))("L8 what a run saves, %s", (kind) => {
  it("is saved while the thread is its own, and refused once another took it over", async () => {
    const { clock, ledger, checkpointer } = await (places[kind] as () => Promise<Place>)();
    await ledger.enter("t1", a, LEASE);
    const { configurable } = await put(checkpointer, a);
    const saved = { checkpoint_id: configurable?.["checkpoint_id"] };
    await checkpointer.putWrites(of(a, saved), [["messages", "one"]], "task");
    clock.now += LEASE;
    await ledger.enter("t1", b, LEASE);
    await expect(put(checkpointer, a)).rejects.toMatchObject(TAKEN);
    await expect(checkpointer.putWrites(of(a, saved), [["messages", "two"]], "late")).rejects.toMatchObject(TAKEN);
    const head = await checkpointer.getTuple({ configurable: thread });
    expect([head?.checkpoint.id, head?.pendingWrites]).toEqual([saved.checkpoint_id, [["task", "messages", "one"]]]);
    await put(checkpointer, b);
    await ledger.leave("t1", b);
    await expect(put(checkpointer, b)).rejects.toMatchObject(TAKEN); // nor after it gave the thread back
  });

  it("is nobody's to refuse where no run is named, as by `updateState`", async () => {
    const { ledger, checkpointer } = await (places[kind] as () => Promise<Place>)();
    await ledger.enter("t1", a, LEASE);
    await put(checkpointer, undefined);
    expect(await checkpointer.getTuple({ configurable: thread })).toBeDefined();
  });
});

it("L8 Postgres: a save that waits for whoever is taking the thread over is refused with it", async () => {
  const { ledger, checkpointer, url } = await (places["postgres"] as () => Promise<Place>)();
  await ledger.enter("t1", a, LEASE);
  await put(checkpointer, a);
  const taking = new pg.Client({ connectionString: url as string });
  await taking.connect();
  ends.push(() => void taking.end());
  await taking.query("BEGIN");
  await taking.query("UPDATE toolgate_threads SET holder_key = 'another' WHERE thread = 't1'");
  const late = put(checkpointer, a).then(
    () => "saved",
    (error) => error.code,
  );
  const waiting = "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%FOR SHARE%'";
  await expect.poll(async () => (await taking.query(waiting)).rowCount).toBe(1);
  await taking.query("COMMIT");
  expect(await late).toBe("already_running");
});
