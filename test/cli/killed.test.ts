// A host is killed while a call is pending. The next process finds out what can be known, and nothing is sent twice.
// (G6, G7; F10)

import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { inProcessJson } from "./in-process.js";
import { type Report, type Step, Workspace } from "./support.js";

const TIME = 120_000;
const trigger = (environment: string) => ({ name: "mcp__deploy__trigger", args: { environment } });
const status = { name: "mcp__deploy__status", args: {} };

let place: Workspace;
beforeEach(() => {
  place = new Workspace();
});
afterEach(() => place.end());

function configure(script: readonly Step[], env: Readonly<Record<string, string>>): void {
  place.configure(script, {
    mcpServers: {
      deploy: place.server("deploy", env),
      docs: { ...place.server("odd-docs", env), connect: "on-demand" },
    },
    permissions: { allow: ["mcp__deploy__*", "mcp__docs__*"] },
    tools: { mcp__deploy__status: { effect: "read" }, "mcp__docs__*": { effect: "read" } },
  });
}

/** Starts a run and kills it, by its own id, when its server has logged this. */
async function killedAt(event: "effect" | "accepted"): Promise<void> {
  const host = place.start(["run", "deploy it", "--thread", "t", "--json"]);
  await place.logged(event);
  expect(await place.killHost(host)).toMatchObject({ signal: "SIGKILL", stdout: "" });
}

const json = (...args: string[]) => inProcessJson([...args, "--config", join(place.folder, "toolgate.json")]);

const endings = (value: Report) =>
  value.operations.map((item: Report) => [item.alias, item.status, item.reason, item.sent]);

describe("a write in flight", () => {
  const slow = { DEPLOY_DELAY_MS: "60000" };

  test("at once: 4, one effect; --leave: writes are halted, reads go on, still 4", { timeout: TIME }, async () => {
    configure(
      [{ calls: [trigger("staging")] }, { calls: [trigger("production"), status] }, { say: "I cannot tell." }],
      slow,
    );
    await killedAt("effect");

    const next = await place.json("run", "--thread", "t");
    expect(next.code).toBe(4);
    expect(next.value).toMatchObject({
      status: "result_unknown",
      answer: "",
      modelRequests: 1,
      unknowns: [{ alias: "mcp__deploy__trigger", tool: "trigger", arguments: { environment: "staging" } }],
    });
    expect(endings(next.value)).toEqual([["mcp__deploy__trigger", "result_unknown", "host_gone", true]]);
    expect(place.log("effect")).toHaveLength(1);

    const [unknown] = next.value.unknowns;
    const listed = await json("unknowns");
    expect(listed).toMatchObject({ code: 0, value: { unknowns: [{ ...unknown, threadId: "t" }] } });

    const left = await json("resolve", unknown.operationId, "--leave", "--note", "nobody knows");
    expect(left.code).toBe(4);
    expect(left.value).toMatchObject({ status: "result_unknown", answer: "I cannot tell." });
    expect(endings(left.value).sort()).toEqual([
      ["mcp__deploy__status", "ok", "success", true],
      ["mcp__deploy__trigger", "rejected", "halted", false],
      ["mcp__deploy__trigger", "result_unknown", "host_gone", true],
    ]);
    expect(place.log("effect")).toHaveLength(1);
  });

  test("--happened: the run finishes, 0, and a second word is already_settled", { timeout: TIME }, async () => {
    configure([{ calls: [trigger("staging")] }, { say: "It is deployed." }], slow);
    await killedAt("effect");
    const { value } = await json("unknowns"); // no process has run the thread since, so only the ledger knows
    const [{ operationId }] = value.unknowns;

    const settled = await json("resolve", operationId, "--happened");
    expect(settled.code).toBe(0);
    expect(settled.value).toMatchObject({ status: "done", answer: "It is deployed.", unknowns: [] });
    expect(endings(settled.value)).toEqual([["mcp__deploy__trigger", "ok", "resolved", true]]);

    const again = await json("resolve", operationId, "--did-not-happen");
    expect(again).toMatchObject({ code: 1, value: { status: "error", error: { code: "already_settled" } } });
    expect(place.log("effect")).toHaveLength(1);
  });
});

test("a read in flight: it runs again and the run finishes, 0", { timeout: TIME }, async () => {
  const script = [
    { calls: [{ name: "connect_server", args: { name: "docs" } }] },
    { calls: [{ name: "mcp__docs__search_docs", args: { query: "main.py" } }] },
    { say: "A permission for that run." },
  ];
  configure(script, { DOCS_MODE: "slow", DOCS_DELAY_MS: "60000" });
  await killedAt("accepted");
  configure(script, {});
  const { code, value } = await place.json("run", "--thread", "t");
  expect(code).toBe(0);
  expect(value).toMatchObject({ status: "done", answer: "A permission for that run." });
  expect(endings(value)).toEqual([
    ["connect_server", "ok", "success", true],
    ["mcp__docs__search_docs", "ok", "success", true],
  ]);
  expect(place.log("accepted")).toHaveLength(2);
});

test("two hosts on one thread: the second is told already_running, 1, and nothing is sent twice", {
  timeout: TIME,
}, async () => {
  configure([{ calls: [trigger("staging")] }, { say: "It is deployed." }], {
    DEPLOY_DELAY_MS: "60000",
  });
  const first = place.start(["run", "deploy it", "--thread", "t", "--json"]);
  await place.logged("effect");
  const second = await json("run", "--thread", "t");
  expect(second).toMatchObject({ code: 1, value: { status: "error", error: { code: "already_running" } } });
  expect(place.log("effect")).toHaveLength(1);
  await place.killHost(first);
  expect(await json("run", "--thread", "t")).toMatchObject({ code: 4, value: { status: "result_unknown" } });
});
