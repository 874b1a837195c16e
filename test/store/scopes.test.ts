// Threads of a store that was written before threads belonged to a scope. A golden store of that version is given the
// scope that its rows would have had, and opened.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import type { BaseMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import Database from "better-sqlite3";
import { describe, expect, test } from "vitest";
import { toCell } from "../../src/adapters/sqlite/codec.js";
import { migrate } from "../../src/adapters/sqlite/schema.js";
import { threadKey } from "../../src/contracts/index.js";
import type { Toolgate, ToolgateOptions } from "../../src/index.js";
import { goldenConfig, goldenModel, OPENED_AT, say, thread } from "../golden/world.js";
import { bench } from "../support/in-process.js";

const b = bench();
const golden = fileURLToPath(new URL("../golden/v3/toolgate.sqlite.gz", import.meta.url));
const effects = () => b.log("effect").map(({ arguments: given }) => (given as { text: string }).text);

/** Everything of the store is one scope's. */
function ofScope(db: Database.Database, scope: string, threadId = "%"): void {
  const threads = "(SELECT n FROM threads WHERE thread_id LIKE ?)";
  db.prepare(`UPDATE operations SET scope = ? WHERE thread IN ${threads}`).run(scope, threadId);
  db.prepare(
    `UPDATE model_requests SET proposal = json_set(proposal, '$.scope', ?)
     WHERE turn IN (SELECT n FROM turns WHERE thread IN ${threads}) AND proposal IS NOT NULL`,
  ).run(scope, threadId);
}

/** The old store, changed, as it stood before it is opened. */
function written(change: (db: Database.Database) => void): Database.Database {
  const folder = join(b.folder(), "store");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "toolgate.sqlite"), gunzipSync(readFileSync(golden)));
  const db = new Database(join(folder, "toolgate.sqlite"));
  change(db);
  return db;
}

async function opened(scope: string | undefined, options: Partial<ToolgateOptions> = {}): Promise<Toolgate> {
  b.onDisk();
  const { store: _, mcpServers, ...rest } = goldenConfig("", {}, "");
  const { HOSTILE } = (mcpServers as { golden: { env: { HOSTILE: string } } }).golden.env;
  const config = { ...rest, mcpServers: { golden: b.server("hostile", { HOSTILE }) }, ...(scope ? { scope } : {}) };
  let clock = OPENED_AT;
  const { toolgate } = await b.start({ config, options: { model: goldenModel(), now: () => ++clock, ...options } });
  return toolgate;
}

const LISTED = [
  "claimed done",
  "dispatching result_unknown",
  "finished done",
  "unknown result_unknown",
  "waiting awaiting_approval",
];
const listed = async ({ ledger }: Toolgate) =>
  (await ledger.threads()).map(({ threadId, status }) => `${threadId} ${status}`).sort();
const messagesOf = async ({ graph }: Toolgate, threadId: string) =>
  ((await graph.getState(thread(threadId))).values as { messages?: BaseMessage[] }).messages ?? [];
const keys = (db: Database.Database) =>
  db.prepare("SELECT CAST(key AS TEXT) || ' ' || scope FROM threads ORDER BY key").pluck().all();

describe("threads move to the scope of their rows (sqlite-scopes-1) (sqlite-scopes-2)", () => {
  test("their own host finds all of them, goes on and asks what was asked; another finds none", async () => {
    written((db) => ofScope(db, "bob")).close();
    const bob = await opened("bob");
    expect(await listed(bob)).toEqual(LISTED);
    const messages = await messagesOf(bob, "finished");
    expect([messages.length, messages[3]?.text]).toEqual([9, expect.stringContaining("what was looked at")]);
    let checkpoints = 0;
    for await (const _ of bob.graph.getStateHistory(thread("finished"))) checkpoints += 1;
    expect(checkpoints).toBe(17);
    const [kept] = (await bob.host.ledger.operations("bob\u001ffinished")).flatMap((row) =>
      "result" in row && row.result ? [row.result.ref] : [],
    );
    expect(await bob.host.results.read("bob\u001ffinished", kept as string)).toContain("content");
    expect(await bob.host.results.read("finished", kept as string)).toBeUndefined();

    for (const scope of [undefined, "eve"]) {
      const other = await opened(scope);
      expect([await listed(other), await other.ledger.requests(), await other.ledger.unknowns()]).toEqual([[], [], []]);
      expect(await messagesOf(other, "finished")).toEqual([]);
      expect(await other.ledger.operations("finished")).toEqual([]);
    }

    for (const answer of ["to the old question", "to the one that says where the call goes"]) {
      const [question] = await bob.ledger.requests("waiting");
      expect([answer, question]).toMatchObject([answer, { threadId: "waiting" }]);
      await bob.ledger.answer(question?.approvalId as string, { type: "approve" });
      await bob.graph.invoke(null as never, thread("waiting"));
    }
    await bob.graph.invoke(null as never, thread("claimed"));
    expect(effects().sort()).toEqual(["do act", "do pay"]);
    await say(bob, "unknown", "do act");
    expect((await bob.ledger.operations("unknown")).at(-1)).toMatchObject({ status: "rejected", reason: "halted" });
  });

  test("threads of the default scope stay as they are", async () => {
    const db = written(() => {});
    migrate(db);
    expect(keys(db)).toEqual(["claimed", "dispatching", "finished", "unknown", "waiting"].map((id) => `${id} local`));
    db.close();
    const local = await opened(undefined);
    expect(await listed(local)).toEqual(LISTED);
  });

  test("a thread whose checkpoints are elsewhere, or another graph's, keeps its bare id, its unknown writes and its halt", async () => {
    written((db) => {
      ofScope(db, "bob");
      db.exec("DELETE FROM checkpoints WHERE thread_id = 'unknown'; DELETE FROM writes WHERE thread_id = 'unknown'");
      db.exec(`INSERT INTO checkpoints (thread_id, checkpoint_ns, checkpoint_id, type, checkpoint, metadata)
        SELECT thread_id, 'agent:x', checkpoint_id, type, checkpoint, metadata FROM checkpoints WHERE thread_id = 'dispatching'`);
    }).close();
    const bob = await opened("bob", { checkpointer: new MemorySaver() });
    await say(bob, "unknown", "do act");
    expect((await bob.ledger.operations("unknown")).at(-1)).toMatchObject({ status: "rejected", reason: "halted" });
    expect((await bob.ledger.unknowns()).map(({ threadId }) => threadId).sort()).toEqual(["dispatching", "unknown"]);
    expect(await bob.host.ledger.scopeOf("dispatching")).toBe("bob");
    expect(effects()).toEqual([]);
    const eve = await opened("eve", { checkpointer: new MemorySaver() });
    await expect(say(eve, "unknown", "do act")).rejects.toMatchObject({ code: "not_found" });
    await expect(eve.graph.getState(thread("dispatching"))).rejects.toMatchObject({ code: "not_found" });
  });

  test("a thread without operations goes by its proposals, and one without either to the only scope there is", () => {
    const chat = (db: Database.Database) =>
      db.exec(`INSERT INTO checkpoints (thread_id, checkpoint_ns, checkpoint_id, type, checkpoint, metadata)
        SELECT 'chat', checkpoint_ns, checkpoint_id, type, checkpoint, metadata FROM checkpoints WHERE thread_id = 'finished'`);
    const saved = (db: Database.Database) =>
      db.prepare("SELECT DISTINCT thread_id FROM checkpoints ORDER BY 1").pluck().all();

    const sole = written((db) => {
      ofScope(db, "bob");
      chat(db);
      db.exec(`DELETE FROM operations WHERE thread = (SELECT n FROM threads WHERE thread_id = 'claimed');
        UPDATE model_requests SET proposal = NULL WHERE turn IN (SELECT turns.n FROM turns JOIN threads ON threads.n = thread WHERE thread_id = 'claimed')`);
    });
    migrate(sole);
    expect(keys(sole)).toContain("bob\u001fclaimed bob");
    expect(saved(sole)).toEqual(
      ["chat", "claimed", "dispatching", "finished", "unknown", "waiting"].map((id) => `bob\u001f${id}`),
    );
    sole.close();

    const two = written((db) => {
      ofScope(db, "bob");
      ofScope(db, "eve", "claimed");
      chat(db);
      db.exec(`DELETE FROM operations WHERE thread IN (SELECT n FROM threads WHERE thread_id IN ('claimed', 'waiting'));
        UPDATE model_requests SET proposal = NULL WHERE turn IN (SELECT turns.n FROM turns JOIN threads ON threads.n = thread WHERE thread_id = 'waiting')`);
    });
    migrate(two);
    expect(keys(two)).toEqual([
      "bob\u001fdispatching bob",
      "bob\u001ffinished bob",
      "bob\u001funknown bob",
      "eve\u001fclaimed eve",
      "waiting local",
    ]);
    expect(saved(two)).toContain("chat");
    two.close();
  });

  test("a thread with operations of two scopes is its first one's; the other's are nobody's there", async () => {
    written((db) => {
      ofScope(db, "bob");
      db.exec(
        "UPDATE operations SET scope = 'eve' WHERE n = (SELECT max(n) FROM operations WHERE thread = (SELECT n FROM threads WHERE thread_id = 'finished'))",
      );
    }).close();
    expect((await (await opened("bob")).ledger.operations("finished")).map(({ callId }) => callId)).toEqual([
      "c0.0",
      "c0.1",
    ]);
    const eve = await opened("eve");
    expect([await eve.ledger.operations("finished"), await eve.ledger.threads()]).toEqual([[], []]);
  });

  test.each(["ab".repeat(32), "thread ✓", "a".repeat(255)])("whatever the thread is called: %s", async (name) => {
    written((db) => {
      ofScope(db, "bob");
      db.prepare("UPDATE threads SET thread_id = ? WHERE thread_id = 'finished'").run(toCell(name));
      for (const table of ["results", "checkpoints", "writes"])
        db.prepare(`UPDATE ${table} SET thread_id = ? WHERE thread_id = 'finished'`).run(name);
    }).close();
    const bob = await opened("bob");
    expect((await bob.ledger.operations(name)).map(({ status }) => status)).toEqual(["ok", "ok", "ok"]);
    expect(await bob.host.ledger.operations(threadKey("bob", name))).toHaveLength(3);
    expect(await messagesOf(bob, name)).toHaveLength(9);
    expect((await bob.ledger.threads()).map(({ threadId }) => threadId)).toContain(name);
  });
});
