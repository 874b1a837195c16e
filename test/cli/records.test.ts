// `threads`, `approvals` and `unknowns` read the ledger without the agent. Here both read the same store, whatever was done to
// it, and must say the same.

import { join } from "node:path";
import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { steadyMs } from "../../src/adapters/process/clock.js";
import { threadKey } from "../../src/contracts/index.js";
import { openRecords, shownIn } from "../../src/create/ledger-only.js";
import { openLedger } from "../../src/create/stores.js";
import { shownBy } from "../../src/create/toolgate.js";
import { type Config, createToolgate, loadConfig, type Toolgate, withKeptSecret } from "../../src/index.js";
import type { Records } from "../../src/report/records.js";
import { asked, checkpoints, start, stateBefore, thread, yes } from "../graph/branches.js";
import { type Agent, bench } from "../support/agent.js";
import { Workspace } from "./support.js";

const b = bench();
const permissions = { allow: ["mcp__hostile__act", "mcp__hostile__look", "mcp__hostile__lost"] };
const agent = (rest: object = {}) => start(b, { permissions, ...rest });

/** Everything that records say, in an order that does not depend on who says it. */
async function all(records: Records) {
  const threads = await records.threads();
  return {
    threads,
    requests: await records.requests(),
    unknowns: await records.unknowns(),
    operations: await Promise.all(threads.map(({ threadId }) => records.operations(threadId))),
  };
}

/** Compares both ways over one store (records-1), and the heads of its threads (records-2). Returns each thread's status. */
async function same({ config, ledger, graph }: Pick<Toolgate, "config" | "ledger" | "graph">) {
  const expected = await all(ledger);
  const { records, close } = await openRecords(config);
  expect(await all(records)).toEqual(expected);
  await close();

  const store = await openLedger(config, { now: Date.now, steady: steadyMs, liveness: () => "unknown" });
  const [light, whole] = [shownIn(config, store), shownBy(graph)];
  const { scope } = config;
  for (const threadId of [...expected.threads.map((one) => one.threadId), "no such thread"]) {
    const key = threadKey(scope, threadId);
    expect([threadId, await light(key, scope)]).toEqual([threadId, await whole(key, scope)]);
  }
  await store.close();
  return Object.fromEntries(expected.threads.map(({ threadId, status }) => [threadId, status]));
}

const saverOf = ({ toolgate }: Agent) => toolgate.graph.checkpointer as BaseCheckpointSaver;

/** Lets so many saves of the agent through and refuses the rest, as if the process had been killed there. */
function cutAfter(saver: BaseCheckpointSaver, saves: number): void {
  let left = saves;
  const cut =
    <A extends unknown[], T>(save: (...args: A) => Promise<T>) =>
    async (...args: A): Promise<T> => {
      if (left-- <= 0) throw new Error("cut");
      return save(...args);
    };
  const prototype = Object.getPrototypeOf(saver) as BaseCheckpointSaver;
  saver.put = cut(prototype.put.bind(saver));
  saver.putWrites = cut(prototype.putWrites.bind(saver));
}

describe("records without the agent say what the agent's say (records-1) (records-2)", () => {
  test("of a new store, of questions, of answers, of a thread that went on half-way, and of unknown writes", async () => {
    const one = await agent();
    expect(await same(one.toolgate)).toEqual({});
    const turn = await one.ask("do pay:a pay:b act:c", "two");
    await one.ask("do act:a", "done");
    await one.ask("do lost:a", "lost");
    const both = { two: "awaiting_approval", done: "done", lost: "result_unknown" };
    expect(await same(one.toolgate)).toEqual(both);

    const [first, second] = asked(turn).map((each) => each.approvalId) as [string, string];
    await one.toolgate.ledger.answer(first, { type: "approve" });
    expect(await same(one.toolgate)).toEqual(both);
    await one.ask(undefined, "two"); // one answer is in, and the other question is asked again
    expect(await same(one.toolgate)).toEqual(both);
    await one.toolgate.ledger.answer(second, { type: "edit", arguments: { text: "z" } });
    expect(await same(one.toolgate)).toEqual({ ...both, two: "done" });
    await one.ask(undefined, "two");
    expect(await same(one.toolgate)).toEqual({ ...both, two: "done" });
  });

  test("of a scope, and nothing of another one (records-scope-1)", async () => {
    const [north, south] = [await agent({ scope: "north" }), await agent({ scope: "south" })];
    await north.ask("do pay:a", "waits");
    await north.ask("do lost:a", "lost");
    await south.ask("do act:a", "waits");
    expect(await same(north.toolgate)).toEqual({ waits: "awaiting_approval", lost: "result_unknown" });
    expect(await same(south.toolgate)).toEqual({ waits: "done" });
    const head = shownBy(south.toolgate.graph);
    expect(await head(threadKey("north", "waits"), "south")).toEqual(await head(threadKey("south", "waits"), "south"));
  });

  test("of a branch that the thread has left, and of a forged state", async () => {
    const one = await agent();
    await one.ask("do pay:a");
    const { config } = await stateBefore(one, "approval");
    const { graph } = one.toolgate;
    await graph.updateState((await stateBefore(one, "model")).config as never, {} as never);
    expect(await same(one.toolgate)).toEqual({ t1: "done" }); // nothing waits for the question of the old branch
    await graph.updateState(config as never, {} as never);
    expect(await same(one.toolgate)).toEqual({ t1: "awaiting_approval" });
    const [view] = (await graph.getState(thread())).values.operations;
    await graph.updateState(thread(), { operations: [{ ...view, status: "ready" }] } as never, "gate");
    expect(await same(one.toolgate)).toEqual({ t1: "done" });
    await graph.updateState(thread(), { operations: [] } as never, "observe");
    expect(await same(one.toolgate)).toEqual({ t1: "done" });
  });

  test("of a thread that lost its process after any of its saves", { timeout: 120_000 }, async () => {
    const one = await agent();
    const saver = saverOf(one);
    const seen = { statuses: new Set<string>(), partSteps: 0 };
    for (let saves = 0; ; saves++) {
      const threadId = `after ${saves}`;
      cutAfter(saver, saves);
      const ran = await one
        .ask("do pay:a act:b", threadId)
        .then((turn) => one.resume(yes(turn), threadId))
        .catch(() => undefined);
      cutAfter(saver, Number.POSITIVE_INFINITY);
      const { [threadId]: status = "unknown to the ledger" } = (await same(one.toolgate)) as Record<string, string>;
      seen.statuses.add(status);
      const head = await saver.getTuple(thread(threadId));
      if (head?.pendingWrites?.some(([, channel]) => channel === "operations")) seen.partSteps++;
      if (ran !== undefined) break;
    }
    expect([...seen.statuses].sort()).toEqual(["awaiting_approval", "done"]);
    expect(seen.partSteps).toBeGreaterThan(2); // the graph was asked, too
    expect((await checkpoints(one, "after 0")).length).toBe(0);
  });
});

describe("after a real kill", () => {
  let place: Workspace;
  beforeEach(() => {
    place = new Workspace();
  });
  afterEach(() => place.end());

  test("in the middle of a call, they say the same too (records-1)", { timeout: 120_000 }, async () => {
    const trigger = (environment: string) => ({ name: "mcp__deploy__trigger", args: { environment } });
    place.configure([{ calls: [trigger("staging"), trigger("production")] }], {
      mcpServers: { deploy: place.server("deploy", { DEPLOY_MODE: "slow", DEPLOY_DELAY_MS: "60000" }) },
      permissions: { allow: ["mcp__deploy__*"] },
    });
    const run = place.start(["run", "deploy it", "--thread", "t"]);
    await place.logged("effect");
    await place.killHost(run);
    const config: Config = withKeptSecret(await loadConfig(join(place.folder, "toolgate.json"), {}));
    const toolgate = await createToolgate({ config });
    expect(await same(toolgate)).toEqual({ t: "result_unknown" });
    await toolgate.close();
  });
});
