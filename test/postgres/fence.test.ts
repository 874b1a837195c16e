import pg from "pg";
import { afterEach, expect, it } from "vitest";
import { a, fenceSuite, put } from "../conformance/fence.js";
import { LEASE } from "../conformance/ledger-world.js";
import { hosts } from "./hosts.js";

const at = hosts();
const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

async function place() {
  const url = await at.server().freshSchema();
  const host = at.open(url);
  for (const name of ["a", "b"]) host.life.set(name, "unknown");
  return { ...host, url };
}

fenceSuite("Postgres", place);

it("a save that waits for whoever is taking the thread over is refused with it (ledger-8) (postgres-saver-1)", async () => {
  const { ledger, checkpointer, url } = await place();
  await ledger.enter("t1", a, LEASE);
  await put(checkpointer, a);
  const taking = new pg.Client({ connectionString: url });
  await taking.connect();
  ends.push(() => void taking.end());
  await taking.query("BEGIN");
  await taking.query("UPDATE toolgate_threads SET holder_key = 'another' WHERE thread = 't1'");
  const late = put(checkpointer, a).then(
    () => "saved",
    (error) => error.code,
  );
  const waiting = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()
    AND query LIKE '%FOR SHARE%'`;
  await expect.poll(async () => (await taking.query(waiting)).rowCount).toBe(1);
  await taking.query("COMMIT");
  expect(await late).toBe("already_running");
});
