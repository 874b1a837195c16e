// Stores that released versions wrote in Postgres: each opens in this version and goes on where it was left, and
// nothing of it is sent twice. What this version cannot read is refused before anything is started.

import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import type { BaseMessage } from "@langchain/core/messages";
import { Command } from "@langchain/langgraph";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readLog } from "../../../servers/log.js";
import { openPostgres } from "../../../src/adapters/postgres/open.js";
import { SCHEMA_VERSION } from "../../../src/adapters/postgres/schema.js";
import { steadyMs } from "../../../src/adapters/process/clock.js";
import { createOwner } from "../../../src/adapters/process/owner.js";
import { STATE_VERSION } from "../../../src/graph/state.js";
import { createToolgate, type Toolgate } from "../../../src/index.js";
import { onePostgres } from "../../support/one-postgres.js";
import { formatProblems } from "../../support/provider-format.js";
import { serverCommand } from "../../support/rpc.js";
import { goldenConfig, goldenModel, OPENED_AT, say, thread, WRITTEN_AT } from "../world.js";
import { connected, type Dump, dumped, load } from "./dump.js";

const here = fileURLToPath(new URL(".", import.meta.url));
const versions = readdirSync(here)
  .filter((name) => /^p\d+$/.test(name))
  .sort();
const newest = `p${SCHEMA_VERSION}`;
const about = (version: string) => JSON.parse(readFileSync(join(here, version, "about.json"), "utf8"));
const bytesOf = (version: string) => gunzipSync(readFileSync(join(here, version, "store.json.gz")));
const dumpOf = (version: string): Dump => JSON.parse(bytesOf(version).toString("utf8"));

const server = onePostgres();
let folder = "";
let url = "";
let closing: (() => Promise<void>)[] = [];
const log = (...names: Parameters<typeof readLog>[1][]) => readLog(join(folder, "server.jsonl"), ...names);
const sent = () => log("accepted").map((event) => [event.tool, (event.arguments as { text: string }).text]);

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "toolgate-golden-"));
  url = await server().freshSchema();
});
afterEach(async () => {
  for (const close of closing) await close();
  closing = [];
  rmSync(folder, { recursive: true, force: true });
});

/** Opens what is in the schema, at a time of ours: by the database's own, its questions would expire one day. */
async function openIt(at = OPENED_AT): Promise<Toolgate> {
  let clock = at;
  const now = () => ++clock;
  const stores = openPostgres(url, { now, steady: steadyMs, liveness: createOwner().liveness }, { clock: "host" });
  const { ledger, checkpointer } = stores;
  const toolgate = await createToolgate({ config: config(), model: goldenModel(), now, ledger, checkpointer });
  closing.push(toolgate.close, stores.close);
  return toolgate;
}

const config = () => ({
  ...goldenConfig("", serverCommand("hostile"), join(folder, "server.jsonl")),
  store: { kind: "postgres", url },
});
const loaded = (version: string) => load(url, dumpOf(version));
async function opened(version: string): Promise<Toolgate> {
  await loaded(version);
  return openIt();
}

async function stateOf(toolgate: Toolgate, threadId: string) {
  const state = await toolgate.graph.getState(thread(threadId));
  return {
    messages: (state.values as { messages: BaseMessage[] }).messages,
    next: state.next,
    asks: state.tasks.flatMap((task) => (task.interrupts ?? []).map((one) => (one.value as { kind: string }).kind)),
  };
}
async function historyOf(toolgate: Toolgate, threadId: string) {
  const states = [];
  for await (const state of toolgate.graph.getStateHistory(thread(threadId))) states.push(state);
  return states;
}
const goOn = (toolgate: Toolgate, threadId: string, input: unknown = null) =>
  toolgate.graph.invoke(input as never, thread(threadId));
const rows = async (toolgate: Toolgate, threadId: string) =>
  (await toolgate.ledger.operations(threadId)).map(({ callId, status, reason }) => `${callId} ${status} ${reason}`);
/** Says yes to what a thread asks. */
async function approve(toolgate: Toolgate, threadId: string) {
  const [asked] = await toolgate.ledger.requests(threadId);
  return new Command({ resume: { decisions: { [asked?.approvalId as string]: { type: "approve" } } } });
}

test("there is a golden store of this version, each is as it was written, and small", () => {
  expect(
    existsSync(join(here, newest)),
    `the schema of Postgres has version ${SCHEMA_VERSION} and test/golden/postgres has ${versions}: once the schema is final, run \`npx tsx test/golden/postgres/write.ts\` and commit the folder it makes; never change an older one`,
  ).toBe(true);
  expect(
    about(newest).stateVersion,
    "the state has another version than the newest golden store: a change of its shape needs a golden store, too",
  ).toBe(STATE_VERSION);
  for (const version of versions) {
    expect(createHash("sha256").update(bytesOf(version)).digest("hex")).toBe(about(version).sha256);
    expect(readFileSync(join(here, version, "store.json.gz")).length).toBeLessThan(100_000);
    expect(about(version)).toMatchObject({ schemaVersion: Number(version.slice(1)) });
  }
});

// State saved by an earlier version could not prove whose it was and still ran tools.
describe.each(versions)("a Postgres store of %s", (version) => {
  test("is brought back as it was dumped", async () => {
    await loaded(version);
    expect(await dumped(url)).toEqual(dumpOf(version));
  });

  test("is read without anything being started", async () => {
    const toolgate = await opened(version);
    const { messages, next } = await stateOf(toolgate, "finished");
    expect(next).toEqual([]);
    expect(messages.map((one) => one.getType()).join(" ")).toBe("human ai tool tool ai human ai tool ai");
    expect(formatProblems(messages)).toEqual([]);
    expect(messages[3]?.text).toContain("what was looked at");
    expect(await rows(toolgate, "finished")).toEqual(["c0.0 ok success", "c0.1 ok success", "c2.0 ok success"]);
    expect(await historyOf(toolgate, "finished")).toHaveLength(17);
    expect((await toolgate.ledger.requests()).map((one) => [one.threadId, one.callId])).toEqual([["waiting", "c0.0"]]);
    expect((await toolgate.ledger.unknowns()).map((one) => one.threadId).sort()).toEqual(["dispatching", "unknown"]);
    expect((await toolgate.ledger.threads()).map((one) => `${one.threadId} ${one.status}`).sort()).toEqual([
      "claimed done",
      "dispatching result_unknown",
      "finished done",
      "unknown result_unknown",
      "waiting awaiting_approval",
    ]);
    expect(log()).toEqual([]);
  });

  test("a branch from long ago is answered from the ledger, and asks where it is behind", async () => {
    const toolgate = await opened(version);
    const states = await historyOf(toolgate, "finished");
    const calling = states.filter((state) => state.next[0] === "execute").at(-1);
    await toolgate.graph.invoke(null as never, { ...calling?.config, durability: "sync" } as never);
    expect((await stateOf(toolgate, "finished")).messages.at(-1)?.text).toBe("Done.");
    await say(toolgate, "finished", "do act");
    expect((await stateOf(toolgate, "finished")).asks).toEqual(["approval"]); // this branch has not seen what was paid
    expect(sent()).toEqual([]);
  });

  // As in the golden stores of SQLite.
  test("a waiting thread asks the same question; its call goes elsewhere now, so it is asked anew; a yes runs it once", async () => {
    const toolgate = await opened(version);
    expect((await stateOf(toolgate, "waiting")).asks).toEqual(["approval"]);
    await goOn(toolgate, "waiting", await approve(toolgate, "waiting"));
    const [again] = await toolgate.ledger.requests("waiting");
    expect(again?.why).toMatch(/where th(e|is) call goes/);
    expect([await rows(toolgate, "waiting"), sent()]).toEqual([["c0.0 proposed null"], []]);
    const yes = await approve(toolgate, "waiting");
    await goOn(toolgate, "waiting", yes);
    expect(await rows(toolgate, "waiting")).toEqual(["c0.0 ok success"]);
    await expect(goOn(toolgate, "waiting", yes)).rejects.toMatchObject({ code: "already_decided" });
    expect(sent()).toEqual([["pay", "do pay"]]);
  });

  test("a thread with an unknown outcome asks what became of it, is halted, and is free once it is settled", async () => {
    const toolgate = await opened(version);
    expect((await stateOf(toolgate, "unknown")).asks).toEqual(["result_unknown"]);
    await say(toolgate, "unknown", "do act");
    expect(await rows(toolgate, "unknown")).toEqual(["c0.0 result_unknown server_error", "c1.0 rejected halted"]);
    expect(sent()).toEqual([]);
    const [unknown] = await toolgate.ledger.unknowns("unknown");
    await toolgate.ledger.resolve(unknown?.operationId as string, "did_not_happen");
    await say(toolgate, "unknown", "do act look");
    expect(sent()).toEqual([
      ["act", "do act look"],
      ["look", "do act look"],
    ]);
  });

  test("a call cut off before it was sent is its host's while the lease lasts; then it is sent once", async () => {
    await loaded(version);
    await expect(goOn(await openIt(WRITTEN_AT + 5_000), "claimed")).rejects.toMatchObject({ code: "already_running" });
    expect(log()).toEqual([]);
    const toolgate = await openIt();
    expect(await rows(toolgate, "claimed")).toEqual(["c0.0 claimed null"]);
    await goOn(toolgate, "claimed");
    await goOn(toolgate, "claimed");
    expect(await rows(toolgate, "claimed")).toEqual(["c0.0 ok success"]);
    expect(sent()).toEqual([["act", "do act"]]);
  });

  test("a call cut off after it was sent is unknown, and is not sent again", async () => {
    const toolgate = await opened(version);
    await goOn(toolgate, "dispatching");
    expect(await rows(toolgate, "dispatching")).toEqual(["c0.0 result_unknown host_gone"]);
    expect((await stateOf(toolgate, "dispatching")).asks).toEqual(["result_unknown"]);
    await say(toolgate, "dispatching", "do pay");
    expect((await rows(toolgate, "dispatching")).at(-1)).toBe("c1.0 rejected halted");
    expect(sent()).toEqual([]);
  });
});

describe.runIf(existsSync(join(here, newest)))("what this version cannot read in Postgres is refused", () => {
  test("a later schema: before anything is started, and with nothing changed", async () => {
    await loaded(newest);
    const version = SCHEMA_VERSION + 1;
    await connected(url, (db) => db.query("INSERT INTO toolgate_migrations (version) VALUES ($1)", [version]));
    const before = await dumped(url);
    const toolgate = await createToolgate({ config: config(), model: goldenModel() }); // as it is wired
    closing.push(toolgate.close);
    const refused = { code: "store_version", data: { version, supported: SCHEMA_VERSION } };
    await expect(say(toolgate, "finished", "do look")).rejects.toMatchObject(refused);
    await expect(goOn(toolgate, "claimed")).rejects.toMatchObject(refused);
    await expect(toolgate.graph.getState(thread("waiting"))).rejects.toMatchObject(refused);
    await expect(toolgate.ledger.requests()).rejects.toMatchObject(refused);
    await expect(toolgate.host.results.put("finished", "a body")).rejects.toMatchObject(refused);
    expect(await dumped(url)).toEqual(before);
    expect(log()).toEqual([]);
  });

  test("a state of a later version: an answer and a run that goes on", async () => {
    await loaded(newest);
    await connected(url, async (db) => {
      const version = Buffer.from(JSON.stringify(STATE_VERSION + 1));
      const kept = `SELECT DISTINCT thread_id, '', 'stateVersion', '1', 'json', $1::bytea FROM checkpoints`;
      const cells = "(thread_id, checkpoint_ns, channel, version, type, blob)";
      await db.query(`INSERT INTO checkpoint_blobs ${cells} ${kept}`, [version]);
      await db.query(
        `UPDATE checkpoints SET checkpoint = jsonb_set(checkpoint, '{channel_versions,stateVersion}', '1')`,
      );
    });
    const toolgate = await openIt();
    const yes = await approve(toolgate, "waiting");
    await expect(goOn(toolgate, "waiting", yes)).rejects.toMatchObject({ code: "store_version" });
    await expect(goOn(toolgate, "claimed")).rejects.toMatchObject({ code: "store_version" });
    expect(await rows(toolgate, "claimed")).toEqual(["c0.0 claimed null"]);
    expect(log()).toEqual([]);
  });
});
