// LangGraph Studio's server (`langgraphjs dev`) with the graph of graphs/agent.ts: no key, no network, the same gate.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readLog } from "../../servers/log.js";
import { stdio } from "../support/agent.js";
import { checkout, type DevServer, removeCheckout, startDevServer } from "./dev-server.js";

const trigger = (environment: string, id: string) => ({ name: "mcp__deploy__trigger", args: { environment }, id });
const status = (id: string) => ({ name: "mcp__deploy__status", args: {}, id });

let folder = "";
let server: DevServer | undefined;
let client: Client;
const log = () => readLog(join(folder, "server.jsonl"), "effect");

beforeAll(async () => {
  folder = checkout();
  const many = Array.from({ length: 25 }, (_, index) => ({ calls: [status(`s${index}`)] }));
  writeFileSync(
    join(folder, "script.json"),
    JSON.stringify([
      { calls: [trigger("staging", "c1")] },
      { say: "Deployed." },
      { calls: [trigger("staging", "c2")] },
      { say: "Again." },
    ]),
  );
  writeFileSync(join(folder, "many.json"), JSON.stringify([...many, { say: "Looked 25 times." }]));
  writeFileSync(
    join(folder, "toolgate.json"),
    JSON.stringify({
      model: "scripted:script.json",
      store: { kind: "sqlite", path: "store" },
      mcpServers: { deploy: stdio("deploy", { SERVER_LOG: join(folder, "server.jsonl") }) },
      permissions: { allow: ["mcp__deploy__status"] },
      tools: { mcp__deploy__status: { effect: "read" } },
    }),
  );
  await startServer("toolgate.json");
}, 120_000);

/** The other graph of langgraph.json is loaded too: it must not open the store of the checkout. */
function documents(): Record<string, string> {
  const path = join(folder, "documents.json");
  writeFileSync(path, JSON.stringify({ model: "scripted:script.json", store: { kind: "memory" } }));
  return { TOOLGATE_DOCUMENTS_CONFIG: path };
}

async function startServer(config: string): Promise<void> {
  server = await startDevServer(folder, { TOOLGATE_CONFIG: join(folder, config), ...documents() });
  client = server.client;
}

afterAll(async () => {
  await server?.stop();
  removeCheckout(folder);
});

const ask = (content: string) => ({ messages: [{ role: "user", content }] });
type State = {
  messages: { type: string; content: string }[];
  snapshot?: { id: string };
  operations: { status: string }[];
};

describe("langgraphjs dev", () => {
  test("serves the assistant, the drawing with the seven node ids and the state's schema without starting a server", async () => {
    const [assistant] = await client.assistants.search();
    const { nodes } = await client.assistants.getGraph(assistant?.assistant_id as string);
    expect(
      nodes
        .map((node) => node.id)
        .filter((id) => !String(id).startsWith("__"))
        .sort(),
    ).toEqual(["approval", "discover", "execute", "gate", "model", "observe", "result_unknown"]);
    const schemas = await client.assistants.getSchemas(assistant?.assistant_id as string);
    expect(Object.keys((schemas.state_schema as { properties: object }).properties)).toEqual(
      expect.arrayContaining(["messages", "snapshot", "operations", "halt", "ledgerSeq", "connected", "stateVersion"]),
    );
    expect(Object.keys((schemas.input_schema as { properties: object }).properties)).toEqual(["messages"]);
    expect(readLog(join(folder, "server.jsonl"))).toEqual([]);
  });

  test("a run stops at approval, is resumed, and its history carries the snapshot id; a fork asks again", async () => {
    const thread = await client.threads.create();
    const id = thread.thread_id;
    await client.runs.wait(id, "agent", { input: ask("deploy") });
    const paused = await client.threads.getState<State>(id);
    expect(paused.next).toEqual(["approval"]);
    const payload = paused.tasks[0]?.interrupts[0]?.value as {
      kind: string;
      actionRequests: { approvalId: string; args: object }[];
    };
    expect([payload.kind, payload.actionRequests[0]?.args]).toEqual(["approval", { environment: "staging" }]);
    expect(log()).toHaveLength(0);

    const answer = { decisions: { [payload.actionRequests[0]?.approvalId as string]: { type: "approve" } } };
    await client.runs.wait(id, "agent", { command: { resume: answer } });
    expect(log()).toHaveLength(1);
    const done = await client.threads.getState<State>(id);
    expect([done.next, done.values.messages.at(-1)?.content]).toEqual([[], "Deployed."]);

    const history = await client.threads.getHistory<State>(id, { limit: 50 });
    const withCalls = history.filter((state) => state.values.messages?.length > 1);
    expect(withCalls.length).toBeGreaterThan(4);
    expect(new Set(withCalls.map((state) => state.values.snapshot?.id))).toEqual(new Set([done.values.snapshot?.id]));

    const beforeExecute = history.find((state) => state.next[0] === "execute");
    await client.runs.wait(id, "agent", { input: null, checkpoint: beforeExecute?.checkpoint as never });
    expect(log()).toHaveLength(1); // answered from the ledger

    const beforeModel = history.find((state) => state.next[0] === "model" && state.values.messages.length === 1);
    const fork = await client.threads.updateState(id, {
      values: { messages: [{ role: "user", content: "once more" }] },
      checkpoint: beforeModel?.checkpoint as never,
    } as never);
    // The dev server remembers the checkpoint of the thread's last run: the fork is named.
    await client.runs.wait(id, "agent", {
      input: null,
      checkpoint: (fork as unknown as { checkpoint: never }).checkpoint,
    });
    expect((await client.threads.getState<State>(id)).next).toEqual(["approval"]);
    expect(log()).toHaveLength(1);
  });

  test("a jump past the gate and forged configuration send nothing (G9)", async () => {
    const before = log().length;
    const thread = await client.threads.create();
    const id = thread.thread_id;
    await client.runs.wait(id, "agent", { input: ask("deploy") });
    await client.runs.wait(id, "agent", { command: { goto: "execute" } as never }).catch(() => undefined);
    await client.runs
      .wait(id, "agent", { command: { goto: "execute", update: { operations: [] } } as never })
      .catch(() => undefined);
    await client.runs
      .wait(null, "agent", { input: ask("deploy"), command: { goto: "execute" } as never })
      .catch(() => undefined);
    expect(log()).toHaveLength(before);
    expect((await client.threads.getState<State>(id)).next).toEqual(["approval"]);
  });

  test("25 calls in one turn end without a recursion error", async () => {
    await server?.stop();
    writeFileSync(
      join(folder, "many-config.json"),
      JSON.stringify({
        model: "scripted:many.json",
        store: { kind: "sqlite", path: "store" },
        mcpServers: { deploy: stdio("deploy", { SERVER_LOG: join(folder, "server.jsonl") }) },
        permissions: { allow: ["mcp__deploy__status"] },
        tools: { mcp__deploy__status: { effect: "read" } },
      }),
    );
    await startServer("many-config.json");
    const thread = await client.threads.create();
    await client.runs.wait(thread.thread_id, "agent", { input: ask("look 25 times") });
    const done = await client.threads.getState<State>(thread.thread_id);
    expect(done.values.messages.at(-1)?.content).toBe("Looked 25 times.");
    expect(done.values.messages.filter((message) => message.type === "tool")).toHaveLength(25);
  }, 120_000);
});
