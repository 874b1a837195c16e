// Stores written by released versions: each opens in this version and goes on where it was left, and nothing of it is
// sent twice. What this version cannot read is refused before anything is started.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { deflateSync, gunzipSync, inflateSync } from "node:zlib";
import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { Command } from "@langchain/langgraph";
import Database from "better-sqlite3";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readLog } from "../../servers/log.js";
import { SCHEMA_VERSION } from "../../src/adapters/sqlite/schema.js";
import { STATE_VERSION } from "../../src/graph/state.js";
import { createToolgate, type Toolgate } from "../../src/index.js";
import { formatProblems } from "../support/provider-format.js";
import { serverCommand } from "../support/rpc.js";
import { goldenConfig, goldenModel, OPENED_AT, say, thread } from "./world.js";

const here = fileURLToPath(new URL(".", import.meta.url));
const versions = readdirSync(here)
  .filter((name) => /^v\d+$/.test(name))
  .sort();
const about = (version: string) => JSON.parse(readFileSync(join(here, version, "about.json"), "utf8"));
const bytesOf = (version: string) => gunzipSync(readFileSync(join(here, version, "toolgate.sqlite.gz")));

let folder = "";
let open: Toolgate[] = [];
const store = () => join(folder, "store", "toolgate.sqlite");
const log = (...names: Parameters<typeof readLog>[1][]) => readLog(join(folder, "server.jsonl"), ...names);
const sent = () => log("accepted").map((event) => [event.tool, (event.arguments as { text: string }).text]);

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "toolgate-golden-"));
  mkdirSync(join(folder, "store"));
});
afterEach(async () => {
  for (const toolgate of open) await toolgate.close();
  open = [];
  rmSync(folder, { recursive: true, force: true });
});

/** Puts a golden store in its place, changed or not, and opens it. */
async function opened(version: string, change: (db: Database.Database) => void = () => {}): Promise<Toolgate> {
  writeFileSync(store(), bytesOf(version));
  const db = new Database(store());
  change(db);
  db.close();
  return openIt();
}

async function openIt(): Promise<Toolgate> {
  let clock = OPENED_AT;
  const config = goldenConfig(join(folder, "store"), serverCommand("hostile"), join(folder, "server.jsonl"));
  const toolgate = await createToolgate({ config, model: goldenModel(), now: () => ++clock });
  open.push(toolgate);
  return toolgate;
}

async function stateOf(toolgate: Toolgate, threadId: string) {
  const state = await toolgate.graph.getState(thread(threadId));
  return {
    messages: (state.values as { messages: BaseMessage[] }).messages,
    next: state.next,
    asks: state.tasks.flatMap((task) => (task.interrupts ?? []).map((one) => (one.value as { kind: string }).kind)),
  };
}
const goOn = (toolgate: Toolgate, threadId: string, input: unknown = null) =>
  toolgate.graph.invoke(input as never, thread(threadId));
const rows = async (toolgate: Toolgate, threadId: string) =>
  (await toolgate.ledger.operations(threadId)).map(({ callId, status, reason }) => `${callId} ${status} ${reason}`);

test("there is a golden store of this version", () => {
  expect(
    existsSync(join(here, `v${SCHEMA_VERSION}`)),
    `the schema has version ${SCHEMA_VERSION} and test/golden has ${versions}: once the schema is final, run \`npx tsx test/golden/write.ts\` and commit the folder it makes; never change an older one`,
  ).toBe(true);
  expect(
    about(`v${SCHEMA_VERSION}`).stateVersion,
    "the state has another version than the newest golden store: a change of its shape needs a golden store, too",
  ).toBe(STATE_VERSION);
});

test.each(versions)("%s is as it was written, and small", (version) => {
  expect(createHash("sha256").update(bytesOf(version)).digest("hex")).toBe(about(version).sha256);
  expect(readFileSync(join(here, version, "toolgate.sqlite.gz")).length).toBeLessThan(100_000);
  expect(about(version)).toMatchObject({ schemaVersion: Number(version.slice(1)) });
});

// State saved by an earlier version could not prove whose it was and still ran tools.
describe.each(versions)("a store of %s", (version) => {
  test("is read without anything being started: history, outcomes, results, questions, unknown outcomes", async () => {
    const toolgate = await opened(version);
    const { messages, next } = await stateOf(toolgate, "finished");
    expect(next).toEqual([]);
    expect(messages.map((one) => one.getType())).toEqual([
      "human",
      "ai",
      "tool",
      "tool",
      "ai",
      "human",
      "ai",
      "tool",
      "ai",
    ]);
    expect(formatProblems(messages)).toEqual([]);
    expect(messages[3]?.text).toContain("what was looked at");
    expect(await rows(toolgate, "finished")).toEqual(["c0.0 ok success", "c0.1 ok success", "c2.0 ok success"]);
    let checkpoints = 0;
    for await (const _ of toolgate.graph.getStateHistory(thread("finished"))) checkpoints += 1;
    expect(checkpoints).toBe(17);
    expect((await toolgate.ledger.requests()).map((one) => [one.threadId, one.callId])).toEqual([["waiting", "c0.0"]]);
    expect((await toolgate.ledger.unknowns()).map((one) => one.threadId).sort()).toEqual(["dispatching", "unknown"]);
    const threads = (await toolgate.ledger.threads()).map((one) => `${one.threadId} ${one.status}`);
    expect(threads.sort()).toEqual([
      "claimed done",
      "dispatching result_unknown",
      "finished done",
      "unknown result_unknown",
      "waiting awaiting_approval",
    ]);
    expect(log()).toEqual([]);
  });

  test("a finished thread goes on, and each of its checkpoints is answered from the ledger", async () => {
    const toolgate = await opened(version);
    const states = [];
    for await (const state of toolgate.graph.getStateHistory(thread("finished"))) states.push(state);
    for (const state of states)
      await toolgate.graph.invoke(null as never, { ...state.config, durability: "sync" } as never);
    await say(toolgate, "finished", "hello");
    expect(sent()).toEqual([]);
    await say(toolgate, "finished", "do act");
    expect((await stateOf(toolgate, "finished")).asks).toEqual(["approval"]); // the identical one is in the store
    expect(sent()).toEqual([]);
  });

  // The servers of the tests stand in another folder than those that the store was written with, and stores before v4 do
  // not say where a call goes.
  test("a waiting thread asks the same question; its call goes elsewhere now, so it is asked anew; a yes runs it once", async () => {
    const toolgate = await opened(version);
    expect((await stateOf(toolgate, "waiting")).asks).toEqual(["approval"]);
    const approve = async () => {
      const [asked] = await toolgate.ledger.requests("waiting");
      const resume = { decisions: { [asked?.approvalId as string]: { type: "approve" } } };
      await goOn(toolgate, "waiting", new Command({ resume }));
      return (await toolgate.ledger.requests("waiting")).map((one) => one.why);
    };
    expect(await approve()).toEqual([expect.stringMatching(/where th(e|is) call goes/)]);
    expect(await rows(toolgate, "waiting")).toEqual(["c0.0 proposed null"]);
    expect(sent()).toEqual([]);
    expect(await approve()).toEqual([]);
    expect(await rows(toolgate, "waiting")).toEqual(["c0.0 ok success"]);
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

  test("a call cut off before it was sent is sent once", async () => {
    const toolgate = await opened(version);
    expect(await rows(toolgate, "claimed")).toEqual(["c0.0 claimed null"]);
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

// State saved by another version could not prove whose it was, and tools still ran.
describe("what this version cannot read is refused before anything is started", () => {
  const newest = `v${SCHEMA_VERSION}`;
  const made = existsSync(join(here, newest));

  test.runIf(made)("a later schema: nothing of the file is changed (sqlite-schema-1)", async () => {
    const later = opened(newest, (db) => db.pragma(`user_version = ${SCHEMA_VERSION + 1}`));
    await expect(later).rejects.toMatchObject({ code: "store_version", data: { version: SCHEMA_VERSION + 1 } });
    const before = readFileSync(store());
    await expect(openIt()).rejects.toMatchObject({ code: "store_version" });
    expect(readFileSync(store()).equals(before)).toBe(true);
    expect(log()).toEqual([]);
  });

  /** Writes another state version into every checkpoint of a thread. */
  const stateVersion = (threadId: string, to: unknown) => (db: Database.Database) => {
    const put = db.prepare("UPDATE checkpoints SET checkpoint = ? WHERE checkpoint_id = ?");
    const all = db.prepare("SELECT checkpoint_id AS id, checkpoint FROM checkpoints WHERE thread_id = ?").all(threadId);
    for (const { id, checkpoint } of all as { id: string; checkpoint: Buffer }[]) {
      const body = JSON.parse(inflateSync(checkpoint).toString("utf8"));
      if (body.channel_values.stateVersion !== undefined) body.channel_values.stateVersion = to;
      put.run(deflateSync(JSON.stringify(body)), id);
    }
  };

  test.runIf(made).each([
    ["finished", "a new message", { messages: [new HumanMessage("do pay")] }],
    ["waiting", "its answer", "yes"],
    ["waiting", "a new message", { messages: [new HumanMessage("hello")] }],
    ["waiting", "a run without an answer, from its newest checkpoint", null],
    ["unknown", "what became of it", "happened"],
    ["claimed", "a run", null],
    ["dispatching", "a run", null],
  ] as const)("a state of a later version: thread `%s`, %s", async (threadId, _, input) => {
    const toolgate = await opened(newest, stateVersion(threadId, STATE_VERSION + 1));
    const [asked] = await toolgate.ledger.requests(threadId);
    const [unknown] = await toolgate.ledger.unknowns(threadId); // which settles what a dead host left
    const before = await rows(toolgate, threadId);
    const given =
      input === "yes"
        ? new Command({ resume: { decisions: { [asked?.approvalId ?? ""]: { type: "approve" } } } })
        : input === "happened"
          ? new Command({ resume: { resolutions: { [unknown?.operationId ?? ""]: { type: "happened" } } } })
          : input;
    await expect(goOn(toolgate, threadId, given)).rejects.toMatchObject({ code: "store_version" });
    expect(await rows(toolgate, threadId)).toEqual(before);
    expect(log()).toEqual([]);
  });

  const damages: readonly [string, (bytes: Buffer) => Buffer][] = [
    ["its first page is not SQLite's", (bytes) => Buffer.concat([Buffer.alloc(100, 0x20), bytes.subarray(100)])],
    ["cut in half", (bytes) => bytes.subarray(0, Math.floor(bytes.length / 2))],
    [
      "a text file",
      () => Buffer.from("this is no database, but it is long enough to be looked at as one\n".repeat(20)),
    ],
    [
      "its schema overwritten",
      (bytes) => Buffer.concat([bytes.subarray(0, 100), Buffer.alloc(3_900, 0xff), bytes.subarray(4_000)]),
    ],
  ];
  test.runIf(made).each(damages)("a damaged file: %s (sqlite-failure-1)", async (_, damage) => {
    writeFileSync(store(), damage(bytesOf(newest)));
    const broken = (async () => {
      const toolgate = await openIt();
      await say(toolgate, "finished", "do act");
    })();
    await expect(broken).rejects.toMatchObject({ code: "store_failed" });
    expect(log()).toEqual([]);
  });

  test.runIf(made).each(["finished", "waiting", "claimed"])(
    "a checkpoint that is no longer whole: thread `%s`",
    async (threadId) => {
      const toolgate = await opened(newest, (db) => {
        db.prepare("UPDATE checkpoints SET checkpoint = ? WHERE thread_id = ?").run(Buffer.from("x\u009cno"), threadId);
      });
      await expect(goOn(toolgate, threadId)).rejects.toThrow();
      await expect(say(toolgate, threadId, "do act")).rejects.toThrow();
      expect(log()).toEqual([]);
    },
  );
});
