// What another hand changes in the store of an agent: nothing is sent for that thread until a person has accepted it, and
// a write that may have been sent is never sent again by itself.

import { cpSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { AIMessage } from "@langchain/core/messages";
import { MemorySaver, MessagesValue, START, StateGraph, StateSchema } from "@langchain/langgraph";
import Database from "better-sqlite3";
import { describe, expect, test } from "vitest";
import { digest } from "../../src/contracts/index.js";
import type { Agent, Steps } from "../support/agent.js";
import { bench } from "../support/in-process.js";

const b = bench();
const deploy = (text: string, id: string) => ({ name: "mcp__hostile__act", args: { text }, id });
const DONE = { say: "Done." };
const effects = () => b.log("effect").length;
const said = { by: "ann", note: "asked the operators" };

/** An agent whose write is allowed; the server of `lost` does the write and dies before it answers. */
function start(
  steps: Steps,
  { lost = false, ...config }: { lost?: boolean } & Record<string, unknown> = {},
): Promise<Agent> {
  const calls = { act: lost ? { do: "dieAfter", by: "exit" } : { do: "answer" } };
  return b.start({
    config: {
      mcpServers: { hostile: b.server("hostile", { HOSTILE: JSON.stringify({ calls }) }) },
      permissions: { allow: ["mcp__hostile__act"] },
      ...config,
    },
    steps,
  });
}

/** Another hand: a program with the file and without the secret. */
function byHand(...statements: string[]): void {
  const db = new Database(join(b.folder(), "store", "toolgate.sqlite"));
  for (const statement of statements) db.exec(statement);
  db.close();
}

describe("a store that another hand changes", () => {
  test.each([
    ["takes the row of an unknown write out", "DELETE FROM operations WHERE status = 'result_unknown'"],
    ["takes the row out with the thread's seal", "DELETE FROM operations; UPDATE threads SET head = NULL"],
    ["takes the model's responses out", "DELETE FROM model_requests"],
    ["says that an unknown write failed", "UPDATE operations SET status = 'failed', reason = 'resolved'"],
    [
      "says that it was never begun",
      "UPDATE operations SET state = 'proposed', status = NULL, reason = NULL, outcome = NULL, settled_at = NULL, sent = 0, owner = NULL, lease_until = NULL",
    ],
    ["says that it was a read", "UPDATE operations SET effect = 'read'"],
    [
      "gives it to another thread",
      "INSERT INTO threads (key) VALUES ('other'); UPDATE operations SET thread = (SELECT n FROM threads WHERE key = 'other')",
    ],
    [
      "gives it to another turn",
      "INSERT INTO threads (key) VALUES ('x'); INSERT INTO turns (thread, turn_id) VALUES ((SELECT n FROM threads WHERE key = 'x'), 'x'); UPDATE operations SET turn = (SELECT max(n) FROM turns)",
    ],
    ["changes whose arguments it has", "UPDATE operations SET arguments_digest = zeroblob(32)"],
    ["changes its scope", "UPDATE operations SET scope = 'other'"],
  ])("%s: nothing is sent (G15)", async (_, statement) => {
    b.onDisk();
    const first = await start([{ calls: [deploy("a", "c1")] }, DONE], { lost: true });
    const turn = await first.ask("deploy");
    expect(turn.report.status).toBe("result_unknown");
    const sent = effects();
    await first.toolgate.close();
    byHand(statement);
    const second = await start([{ calls: [deploy("a", "c1")] }, DONE]);
    for (const input of [undefined, "again"]) {
      await expect(second.ask(input)).rejects.toMatchObject({ code: "store_tampered", data: { threadId: "t1" } });
    }
    expect((await second.ask("deploy", "t2")).report.status).toBe("done"); // another thread goes on
    expect(effects()).toBe(sent + 1);
  });

  // The arguments that a person saw were not those of the call that their yes let run.
  test.each([
    ["other arguments are shown", `UPDATE operations SET arguments = '{"text":"mother"}'`],
    [
      "two questions have changed their ids",
      "CREATE TABLE ids AS SELECT n, approval_id FROM questions; UPDATE questions SET approval_id = 'x' || n; UPDATE questions SET approval_id = (SELECT approval_id FROM ids WHERE ids.n <> questions.n)",
    ],
    ["earlier writes count as shown", `UPDATE questions SET seen = '["${"0".repeat(64)}"]'`],
  ])("%s: the question is not shown, and its answer is not taken (G4)", async (_, statement) => {
    b.onDisk();
    const steps = [{ calls: [deploy("evil", "c1"), deploy("small", "c2")] }, DONE];
    const first = await start(steps, { permissions: {} });
    const question = await first.ask("deploy");
    await first.toolgate.close();
    byHand(...statement.split("; "));
    const second = await start(steps, { permissions: {} });
    const { ledger } = second.toolgate;
    expect(await ledger.requests()).toEqual([]);
    await expect(ledger.requests("t1")).rejects.toMatchObject({ code: "store_tampered" });
    const answers = question.report.approvals.map(({ approvalId }) => ledger.answer(approvalId, { type: "approve" }));
    for (const answer of await Promise.allSettled(answers)) expect(answer.status).toBe("rejected");
    const decisions = question.report.approvals.map(({ approvalId }) => [approvalId, { type: "approve" }]);
    await expect(second.resume({ decisions: Object.fromEntries(decisions) })).rejects.toThrow();
    expect(effects()).toBe(0);
  });

  test("a response of the model that was changed lets nothing run that the model did not call", async () => {
    b.onDisk();
    const first = await start([{ calls: [deploy("a", "c1")] }, DONE]);
    const at = { configurable: { thread_id: "t1" } };
    const input = { messages: [{ role: "user", content: "go" }] };
    await first.toolgate.graph.invoke(
      input as never,
      { ...at, durability: "sync", interruptBefore: ["gate"] } as never,
    );
    const { messages } = (await first.toolgate.graph.getState(at)).values as { messages: AIMessage[] };
    await first.toolgate.close();
    const [was, is] = [digest({ text: "a" }), digest({ text: "evil" })];
    byHand(`UPDATE model_requests SET proposal = replace(proposal, '${was}', '${is}')`);
    const second = await start([{ calls: [deploy("a", "c1")] }, DONE]);
    const said = messages.at(-1) as AIMessage;
    const [call] = said.tool_calls ?? [];
    const forged = new AIMessage({ ...said, tool_calls: [{ ...call, args: { text: "evil" } }] } as never);
    await second.toolgate.graph.updateState(at, { messages: [forged] } as never, "model");
    const running = second.toolgate.graph.invoke(null as never, { ...at, durability: "sync" } as never);
    await expect(running).rejects.toMatchObject({ code: "store_tampered" });
    expect(effects()).toBe(0);
  });

  test("a person accepts it: what may have been sent is unknown, and halts", async () => {
    b.onDisk();
    const first = await start([{ calls: [deploy("a", "c1")] }, DONE], { lost: true });
    await first.ask("deploy");
    await first.toolgate.close();
    byHand("DELETE FROM operations");
    const second = await start([{ calls: [deploy("a", "c1")] }, { calls: [deploy("a", "c2")] }, DONE]);
    await expect(second.toolgate.ledger.accept("nothing", said)).rejects.toMatchObject({ code: "not_found" });
    const { unknowns } = await second.toolgate.ledger.accept("t1", said);
    expect(unknowns).toMatchObject([{ callId: "c1", alias: "mcp__hostile__act" }]);
    const before = effects();
    const turn = await second.ask("again");
    expect(turn.report.operations).toMatchObject([{ callId: "c2", status: "rejected", reason: "halted" }]);
    expect(effects()).toBe(before);
    await second.toolgate.ledger.resolve(unknowns[0]?.operationId as string, "happened", { by: "ann" });
    expect((await second.ask("go on")).report.status).toBe("done");
  });

  test("nobody accepts anything where identity is required", async () => {
    b.onDisk();
    const approvals = { secret: "a-secret-for-tests-that-is-long-enough", requireIdentity: true };
    const agent = await start([{ calls: [deploy("a", "c1")] }, DONE], { approvals });
    await agent.ask("deploy");
    const { ledger } = agent.toolgate;
    await expect(ledger.accept("t1", { note: "it is fine" })).rejects.toMatchObject({ code: "invalid_answer" });
    await expect(ledger.acceptRestored({ note: "it is fine" })).rejects.toMatchObject({ code: "invalid_answer" });
  });

  // A part of another graph takes no thread, so nothing had looked at the seals before its writes were sent.
  test("as a part of another graph nothing is sent either", async () => {
    b.onDisk();
    const first = await start([{ calls: [deploy("a", "c1")] }, DONE], { lost: true });
    await first.ask("deploy");
    await first.toolgate.close();
    byHand("DELETE FROM operations");
    const agent = await start([{ calls: [deploy("a", "c1")] }, DONE]);
    const { graph } = agent.toolgate;
    const parent = new StateGraph(new StateSchema({ messages: MessagesValue }))
      .addNode("agent", graph as never)
      .addEdge(START, "agent")
      .compile({ checkpointer: new MemorySaver() });
    const before = effects();
    const input = { messages: [{ role: "user", content: "go" }] };
    const running = parent.invoke(input as never, { configurable: { thread_id: "t1" }, durability: "sync" });
    await expect(running).rejects.toMatchObject({ code: "store_tampered" });
    expect(effects()).toBe(before);
  });

  test("a host without a secret of its own keeps one in the store's folder, and its rows are sealed (mark-1)", async () => {
    b.onDisk();
    const first = await start([{ calls: [deploy("a", "c1")] }, DONE], { approvals: {} });
    await first.ask("deploy");
    await first.toolgate.close();
    expect(readFileSync(join(b.folder(), "store", "secret"), "utf8").trim().length).toBeGreaterThanOrEqual(32);
    byHand("UPDATE operations SET attempt = 7");
    const second = await start([DONE], { approvals: {} });
    await expect(second.ask("again")).rejects.toMatchObject({ code: "store_tampered" });
  });
});

describe("a store that is set back as a whole", () => {
  const store = () => ({ kind: "sqlite", path: join(b.folder(), "store"), mark: join(b.folder(), "marks", "mark") });
  const copy = () => join(b.folder(), "backup");

  test("nothing is sent until it is accepted, and then what may have been sent is unknown (G15) (mark-1, mark-2)", async () => {
    b.onDisk();
    const first = await start([{ calls: [deploy("a", "c1")] }, DONE], {
      store: store(),
      permissions: { ask: ["mcp__hostile__act"] },
    });
    const question = await first.ask("deploy");
    await first.toolgate.close();
    cpSync(store().path, copy(), { recursive: true });

    const second = await start([{ calls: [deploy("a", "c1")] }, DONE], {
      store: store(),
      permissions: { ask: ["mcp__hostile__act"] },
    });
    const id = question.report.approvals[0]?.approvalId as string;
    await second.resume({ decisions: { [id]: { type: "approve" } } });
    await second.toolgate.close();
    expect(effects()).toBe(1);
    expect(readFileSync(store().mark, "utf8").trim().split("\n")).toHaveLength(1); // a line for each write

    rmSync(store().path, { recursive: true });
    cpSync(copy(), store().path, { recursive: true });
    const third = await start([{ calls: [deploy("a", "c1")] }, DONE], {
      store: store(),
      permissions: { ask: ["mcp__hostile__act"] },
    });
    const again = third.resume({ decisions: { [id]: { type: "approve" } } });
    await expect(again).rejects.toMatchObject({ code: "store_tampered", data: { restored: true } });
    await expect(third.ask("new", "t2")).rejects.toMatchObject({ code: "store_tampered" }); // the whole store is in doubt
    const { unknowns } = await third.toolgate.ledger.acceptRestored(said);
    expect(unknowns).toMatchObject([{ threadId: "t1", callId: "c1" }]);
    const turn = await third.resume({ decisions: { [id]: { type: "approve" } } });
    expect(turn.report.status).toBe("result_unknown");
    expect(effects()).toBe(1);
  });

  // The rows of one thread were put back together with its seal, so that everything in the store fitted.
  test("a thread that is set back by itself is noticed, and no other thread is stopped", async () => {
    b.onDisk();
    const first = await start([{ calls: [deploy("a", "c1")] }, DONE], { store: store(), permissions: {} });
    const question = await first.ask("deploy");
    const [id] = question.report.approvals.map((one) => one.approvalId);
    const tables = ["threads", "turns", "model_requests", "operations", "questions", "checkpoints", "writes"];
    byHand(...tables.map((name) => `CREATE TABLE old_${name} AS SELECT * FROM ${name}`));
    await first.resume({ decisions: { [id as string]: { type: "approve" } } });
    await first.ask("hello", "t2");
    expect(effects()).toBe(1);
    await first.toolgate.close();
    byHand(
      ...tables.map(
        (name) =>
          `DELETE FROM ${name} WHERE EXISTS (SELECT 1 FROM old_${name}) AND rowid IN (SELECT rowid FROM ${name} LIMIT 100)`,
      ),
      ...tables.map((name) => `INSERT OR REPLACE INTO ${name} SELECT * FROM old_${name}`),
    );
    const second = await start([{ calls: [deploy("a", "c1")] }, DONE], { store: store(), permissions: {} });
    const again = second.resume({ decisions: { [id as string]: { type: "approve" } } });
    await expect(again).rejects.toThrow("it was set back");
    expect((await second.ask("hello", "t3")).report.approvals).toHaveLength(1); // another thread goes on
    expect(effects()).toBe(1);
    const { unknowns } = await second.toolgate.ledger.accept("t1", said);
    expect(unknowns).toMatchObject([{ callId: "c1" }]);
    const turn = await second.resume({ decisions: { [id as string]: { type: "approve" } } });
    expect([turn.report.status, effects()]).toEqual(["result_unknown", 1]);
  });

  // A person's answers to a thread that was set back counted as changes, until the thread seemed to have come far enough.
  test("nobody answers or settles anything in a thread that was set back; another secret is said to be another one", async () => {
    b.onDisk();
    const steps = [{ calls: ["a", "b", "c"].map((text) => deploy(text, text)) }, DONE];
    const first = await start(steps, { store: store(), permissions: {} });
    const question = await first.ask("deploy");
    const ids = question.report.approvals.map((one) => one.approvalId);
    const tables = ["threads", "operations", "questions", "checkpoints", "writes"];
    byHand(...tables.map((name) => `CREATE TABLE old_${name} AS SELECT * FROM ${name}`));
    await first.resume({ decisions: Object.fromEntries(ids.map((id) => [id, { type: "approve" }])) });
    await first.toolgate.close();
    expect(effects()).toBe(3);
    byHand(...tables.flatMap((name) => [`DELETE FROM ${name}`, `INSERT INTO ${name} SELECT * FROM old_${name}`]));
    const second = await start(steps, { store: store(), permissions: {} });
    for (const [n, id] of ids.entries()) {
      const edit = { type: "edit", arguments: { text: `other ${n}` } } as const;
      await expect(second.toolgate.ledger.answer(id, edit)).rejects.toThrow("it was set back");
    }
    const other = await start(steps, {
      store: store(),
      permissions: {},
      approvals: { secret: "another-secret-that-is-long-enough-too" },
    });
    await expect(other.ask("deploy")).rejects.toMatchObject({ code: "secret_missing" });
    await expect(other.toolgate.ledger.requests("t1")).rejects.toMatchObject({ code: "secret_missing" });
    expect(effects()).toBe(3);
  });

  test("a store whose seals were all taken away is not taken for one of an earlier version", async () => {
    b.onDisk();
    const first = await start([{ calls: [deploy("a", "c1")] }, DONE], { store: store(), lost: true });
    await first.ask("deploy");
    await first.toolgate.close();
    byHand(
      "UPDATE operations SET status = 'failed', reason = 'resolved', seal = NULL",
      "UPDATE threads SET head = NULL",
      "UPDATE card SET seal = NULL",
    );
    const second = await start([{ calls: [deploy("a", "c1")] }, { calls: [deploy("a", "c2")] }, DONE], {
      store: store(),
    });
    await expect(second.ask("deploy")).rejects.toThrow("bears no seals any more");
    await second.toolgate.ledger.acceptRestored(said);
    const turn = await second.ask("deploy");
    expect(turn.report.operations).toMatchObject([{ status: "rejected", reason: "halted" }]);
    expect(effects()).toBe(1);
  });

  test("a store that was deleted is not taken for a new one", async () => {
    b.onDisk();
    const first = await start([{ calls: [deploy("a", "c1")] }, DONE], { store: store() });
    await first.ask("deploy");
    await first.toolgate.close();
    rmSync(store().path, { recursive: true });
    const second = await start([{ calls: [deploy("a", "c1")] }, DONE], { store: store() });
    await expect(second.ask("deploy")).rejects.toThrow("is not the one that its mark");
    expect(await second.toolgate.ledger.acceptRestored(said)).toEqual({ unknowns: [] });
    expect((await second.ask("deploy")).report.status).toBe("done");
  });
});
