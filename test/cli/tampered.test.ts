// The command on a store that another hand changed, and `forget`. Real servers, a scripted model.

import { cpSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, expect, test } from "vitest";
import { inProcess, inProcessJson } from "./in-process.js";
import { Workspace } from "./support.js";

const trigger = (environment: string) => ({ calls: [{ name: "mcp__deploy__trigger", args: { environment } }] });
const STEPS = [trigger("staging"), { say: "Deployed." }, trigger("prod"), { say: "Deployed again." }];
let place: Workspace;
const config = (): string[] => ["--config", join(place.folder, "toolgate.json")];
const json = (...args: string[]) => inProcessJson([...args, ...config()], { cwd: place.folder });
const effects = () => place.log("effect").length;

beforeEach(() => {
  place = new Workspace();
});
afterEach(() => place.end());

function configure(more: object = {}): void {
  place.configure(STEPS, {
    mcpServers: { deploy: place.server("deploy") },
    permissions: { allow: ["mcp__deploy__trigger"] },
    ...more,
  });
}

function byHand(statement: string): void {
  const db = new Database(join(place.folder, ".toolgate", "toolgate.sqlite"));
  db.exec(statement);
  db.close();
}

test("a changed thread is refused with what to do, accepted, settled, and goes on", async () => {
  configure();
  await json("run", "deploy", "--thread", "t1");
  byHand("DELETE FROM operations");
  const refused = await json("run", "again", "--thread", "t1");
  expect([refused.code, refused.value]).toMatchObject([
    1,
    { status: "error", error: { code: "store_tampered", hint: expect.stringContaining("toolgate accept t1 --note") } },
  ]);
  expect(effects()).toBe(1);
  const note = ["--note", "the log says that it was sent"];
  expect(await json("accept", "t2", ...note)).toMatchObject({ code: 1, value: { error: { code: "not_found" } } });
  const accepted = await json("accept", "t1", ...note);
  expect([accepted.code, accepted.value]).toMatchObject([
    4,
    { threadId: "t1", unknowns: [{ alias: "mcp__deploy__trigger", callId: "call_1_1" }] },
  ]);
  expect(await json("unknowns")).toMatchObject({ value: { unknowns: [{ threadId: "t1" }] } });
  const id = (accepted.value as unknown as { unknowns: { operationId: string }[] }).unknowns[0]?.operationId as string;
  expect((await json("resolve", id, "--happened")).code).toBe(0);
  expect((await json("threads")).value).toEqual({ threads: [{ threadId: "t1", status: "done" }] });
  expect((await json("run", "deploy", "--thread", "t2")).code).toBe(0);
  expect(effects()).toBe(2);
});

test("a store that was set back is refused, and accepted with --restored", async () => {
  configure({ store: { kind: "sqlite", path: ".toolgate", mark: "marks/mark" } });
  mkdirSync(join(place.folder, ".toolgate"));
  await json("run", "hello", "--thread", "other");
  const [store, backup] = [join(place.folder, ".toolgate"), join(place.folder, "backup")];
  cpSync(store, backup, { recursive: true });
  await json("run", "deploy", "--thread", "t1");
  rmSync(store, { recursive: true });
  cpSync(backup, store, { recursive: true });
  const sent = effects();
  expect(await json("run", "deploy", "--thread", "t1")).toMatchObject({
    code: 1,
    value: { error: { code: "store_tampered", hint: expect.stringContaining("accept --restored --note") } },
  });
  expect((await json("accept", "--restored", "--note", "restored from the backup")).value).toEqual({ unknowns: [] });
  expect((await json("run", "deploy", "--thread", "t1")).code).toBe(0);
  expect(effects()).toBe(sent + 1);
});

test.each([
  [["accept"], "say what is accepted: one thread, or --restored"],
  [["accept", "t1", "--restored", "--note", "n"], "say what is accepted: one thread, or --restored"],
  [["accept", "t1"], "--note is missing"],
  [["accept", "t1", "--note", " "], "--note is missing"],
  [["accept", "t1", "--note", "n".repeat(2_001)], "--note has 2001 characters, and 2000 are the most"],
])("a command line that says too little or too much: %j", async (args, message) => {
  configure();
  const { code, stderr } = await inProcess([...args, ...config()], { cwd: place.folder });
  expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
});

test("forget takes a thread out of the list, and says so", async () => {
  configure();
  await json("run", "deploy", "--thread", "t1");
  expect((await json("threads")).value).toEqual({ threads: [{ threadId: "t1", status: "done" }] });
  expect(await json("forget", "t1")).toMatchObject({ code: 0, value: { threadId: "t1", forgotten: true } });
  expect((await json("threads")).value).toEqual({ threads: [] });
  expect(await json("forget", "nobody")).toMatchObject({ code: 1, value: { error: { code: "not_found" } } });
});
