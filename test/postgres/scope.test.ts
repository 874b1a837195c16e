// Scopes on Postgres: the wall between two hosts over one database, and the move of the threads of an older one.

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import type { BaseMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openPostgres } from "../../src/adapters/postgres/open.js";
import { steadyMs } from "../../src/adapters/process/clock.js";
import { createOwner } from "../../src/adapters/process/owner.js";
import { createToolgate, type Toolgate, type ToolgateOptions } from "../../src/index.js";
import { connected, type Dump, load } from "../golden/postgres/dump.js";
import { goldenConfig, goldenModel, OPENED_AT, say, thread } from "../golden/world.js";
import { bench } from "../support/agent.js";
import { onePostgres } from "../support/one-postgres.js";
import { serverCommand } from "../support/rpc.js";
import { type Side, scopeWall } from "../support/scope-wall.js";

const b = bench();
const server = onePostgres();
let url = "";
beforeEach(async () => {
  url = await server().freshSchema();
});

describe("two hosts over one database (G14)", () =>
  scopeWall(b, async (config, steps) => {
    const host = async (scope: string): Promise<Side> => {
      const whole = { ...config, scope, store: { kind: "postgres", url } };
      const { toolgate } = await b.start({ config: whole, steps: steps as never });
      return {
        toolgate,
        at: (threadId, more = {}) => ({ configurable: { thread_id: threadId, ...more } }),
        options: {},
      };
    };
    return { mary: await host("mary"), john: await host("john") };
  }));

describe("threads of an older store move to the scope of their rows (postgres-scopes-1) (postgres-scopes-2)", () => {
  const golden = fileURLToPath(new URL("../golden/postgres/p1/store.json.gz", import.meta.url));
  let closing: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0)) await close();
    closing = [];
  });

  /** The old store, with everything in it of one scope. */
  async function written(scope: string): Promise<void> {
    const dump = JSON.parse(gunzipSync(readFileSync(golden)).toString("utf8")) as Dump;
    const of = (name: string) => `\\"scope\\":\\"${name}\\"`;
    const rows = Object.entries(dump.rows).map(([name, text]) => [name, text.replaceAll(of("local"), of(scope))]);
    expect(JSON.stringify(rows)).toContain(scope);
    await load(url, { ...dump, rows: Object.fromEntries(rows) });
  }

  async function opened(scope: string | undefined, options: Partial<ToolgateOptions> = {}): Promise<Toolgate> {
    let clock = OPENED_AT;
    const now = () => ++clock;
    const stores = openPostgres(url, { now, steady: steadyMs, liveness: createOwner().liveness }, { clock: "host" });
    const { ledger, checkpointer } = stores;
    const config = {
      ...goldenConfig("", serverCommand("hostile"), b.logPath()),
      store: { kind: "postgres", url },
      ...(scope ? { scope } : {}),
    };
    const toolgate = await createToolgate({ config, model: goldenModel(), now, ledger, checkpointer, ...options });
    closing.push(toolgate.close, stores.close);
    return toolgate;
  }

  const messagesOf = async ({ graph }: Toolgate, threadId: string) =>
    ((await graph.getState(thread(threadId))).values as { messages?: BaseMessage[] }).messages ?? [];
  const effects = () => b.log("effect").map(({ arguments: given }) => (given as { text: string }).text);
  const all = (text: string) => connected(url, async (db) => (await db.query({ text, rowMode: "array" })).rows.flat());

  test("their own host finds all of them, goes on and asks what was asked; another finds none", async () => {
    await written("bob");
    const bob = await opened("bob");
    expect((await bob.ledger.threads()).map((one) => `${one.threadId} ${one.status}`).sort()).toEqual([
      "claimed done",
      "dispatching result_unknown",
      "finished done",
      "unknown result_unknown",
      "waiting awaiting_approval",
    ]);
    const messages = await messagesOf(bob, "finished");
    expect([messages.length, messages[3]?.text]).toEqual([9, expect.stringContaining("what was looked at")]);
    let checkpoints = 0;
    for await (const _ of bob.graph.getStateHistory(thread("finished"))) checkpoints += 1;
    expect(checkpoints).toBe(17);
    for (const [table, column] of [
      ["toolgate_threads", "thread"],
      ["toolgate_turns", "thread"],
      ["toolgate_requests", "thread"],
      ["toolgate_operations", "thread"],
      ["toolgate_results", "thread"],
      ["checkpoints", "thread_id"],
      ["checkpoint_blobs", "thread_id"],
      ["checkpoint_writes", "thread_id"],
    ]) {
      const names = (await all(`SELECT DISTINCT ${column} FROM ${table}`)) as string[];
      expect([table, names.length > 0, names.filter((name) => !name.startsWith("bob\u001f"))]).toEqual([
        table,
        true,
        [],
      ]);
    }
    const bodies = (await all(
      `SELECT body FROM toolgate_operations UNION ALL SELECT body FROM toolgate_questions UNION ALL SELECT key FROM toolgate_threads
       UNION ALL SELECT body FROM toolgate_requests UNION ALL SELECT proposal_body FROM toolgate_requests WHERE proposal_body IS NOT NULL`,
    )) as string[];
    expect(bodies.filter((body) => !body.includes("bob\\u001f"))).toEqual([]);
    expect(await all("SELECT DISTINCT scope FROM toolgate_threads")).toEqual(['"bob"']);

    for (const scope of [undefined, "eve"]) {
      const other = await opened(scope);
      expect([await other.ledger.threads(), await other.ledger.requests(), await other.ledger.unknowns()]).toEqual([
        [],
        [],
        [],
      ]);
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
    await written("local");
    const local = await opened(undefined);
    expect(await local.ledger.threads()).toHaveLength(5);
    expect(await messagesOf(local, "finished")).toHaveLength(9);
    expect(await all("SELECT thread || ' ' || scope FROM toolgate_threads ORDER BY 1")).toEqual(
      ["claimed", "dispatching", "finished", "unknown", "waiting"].map((id) => `${id} "local"`),
    );
  });

  test("a thread whose checkpoints are elsewhere, or another graph's, keeps its bare id, its unknown writes and its halt", async () => {
    await written("bob");
    await connected(url, async (db) => {
      for (const table of ["checkpoints", "checkpoint_blobs", "checkpoint_writes"])
        await db.query(`DELETE FROM ${table} WHERE thread_id = 'unknown'`);
      await db.query(`INSERT INTO checkpoints (thread_id, checkpoint_ns, checkpoint_id, checkpoint)
        SELECT thread_id, 'agent:x', checkpoint_id, checkpoint FROM checkpoints WHERE thread_id = 'dispatching'`);
    });
    const bob = await opened("bob", { checkpointer: new MemorySaver() });
    await say(bob, "unknown", "do act");
    expect((await bob.ledger.operations("unknown")).at(-1)).toMatchObject({ status: "rejected", reason: "halted" });
    expect((await bob.ledger.unknowns()).map(({ threadId }) => threadId).sort()).toEqual(["dispatching", "unknown"]);
    expect(await bob.host.ledger.scopeOf("dispatching")).toBe("bob");
    expect(effects()).toEqual([]);
    const eve = await opened("eve", { checkpointer: new MemorySaver() });
    await expect(say(eve, "unknown", "do act")).rejects.toMatchObject({ code: "not_found" });
  });

  test("a thread without operations goes by its proposals, and one without either to the only scope there is", async () => {
    await written("bob");
    await connected(url, async (db) => {
      await db.query("DELETE FROM toolgate_operations WHERE thread IN ('claimed', 'dispatching')");
      await db.query("UPDATE toolgate_requests SET proposal_body = NULL WHERE thread = 'dispatching'");
      await db.query(`INSERT INTO checkpoints (thread_id, checkpoint_ns, checkpoint_id, checkpoint)
        SELECT 'chat', checkpoint_ns, checkpoint_id, checkpoint FROM checkpoints WHERE thread_id = 'finished'`);
    });
    const bob = await opened("bob");
    await bob.ledger.threads();
    expect(await all("SELECT DISTINCT thread_id FROM checkpoints ORDER BY 1")).toEqual(
      ["chat", "claimed", "dispatching", "finished", "unknown", "waiting"].map((id) => `bob\u001f${id}`),
    );
  });
});
