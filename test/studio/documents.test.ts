// LangGraph Studio's server with the graph of graphs/documents.ts beside the first one, and nothing set: no key, no secret.

import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readLog } from "../../servers/log.js";
import { SAVE, shippedConfig } from "../documents/desk.js";
import { serverFile } from "../support/compile.js";
import { checkout, type DevServer, removeCheckout, startDevServer } from "./dev-server.js";

const REPORT = "# Report\n";

let folder = "";
let server: DevServer | undefined;
let client: Client;
const inFolder = (...names: string[]) => join(folder, ...names);

beforeAll(async () => {
  folder = checkout();
  mkdirSync(inFolder("workspace", "sources"), { recursive: true });
  const calls = [{ name: SAVE, args: { filename: "r.md", content: REPORT }, id: "save" }];
  writeFileSync(inFolder("script.json"), JSON.stringify([{ calls }, { say: "Saved." }]));
  writeFileSync(
    inFolder("toolgate.json"),
    JSON.stringify({ model: "scripted:script.json", store: { kind: "memory" } }),
  );
  const config = shippedConfig();
  const { documents } = config.mcpServers;
  const env = { ...documents.env, DOCUMENTS_ROOT: inFolder("workspace"), SERVER_LOG: inFolder("server.jsonl") };
  const compiled = { command: process.execPath, args: [serverFile("documents/server")], env };
  writeFileSync(
    inFolder("documents.json"),
    JSON.stringify({
      ...config,
      model: "scripted:script.json",
      mcpServers: { documents: { ...documents, ...compiled } },
      store: { kind: "sqlite", path: "store" },
    }),
  );
  server = await startDevServer(folder, {
    TOOLGATE_CONFIG: inFolder("toolgate.json"),
    TOOLGATE_DOCUMENTS_CONFIG: inFolder("documents.json"),
  });
  client = server.client;
}, 120_000);

afterAll(async () => {
  await server?.stop();
  removeCheckout(folder);
});

describe("langgraphjs dev with the documents graph", () => {
  test("serves both assistants; the drawing has the seven node ids, and no server was started for it", async () => {
    const assistants = await client.assistants.search();
    expect(assistants.map((one) => one.graph_id).sort()).toEqual(["agent", "documents"]);
    const documents = assistants.find((one) => one.graph_id === "documents");
    const { nodes } = await client.assistants.getGraph(documents?.assistant_id as string);
    expect(
      nodes
        .map((node) => String(node.id))
        .filter((id) => !id.startsWith("__"))
        .sort(),
    ).toEqual(["approval", "discover", "execute", "gate", "model", "observe", "result_unknown"]);
    expect(readLog(inFolder("server.jsonl"))).toEqual([]);
  });

  test("with nothing set the grants have a key of their own, which the server knows and the seals' key is not", async () => {
    const { thread_id: id } = await client.threads.create();
    await client.runs.wait(id, "documents", { input: { messages: [{ role: "user", content: "Save a report." }] } });
    const paused = await client.threads.getState(id);
    expect(paused.next).toEqual(["approval"]);
    const question = paused.tasks[0]?.interrupts[0]?.value as { actionRequests: { approvalId: string }[] } | undefined;
    const actionRequests = question?.actionRequests ?? [];
    expect(actionRequests).toMatchObject([{ args: { filename: "r.md", content: REPORT } }]);
    const decisions = { [actionRequests[0]?.approvalId as string]: { type: "approve" } };
    await client.runs.wait(id, "documents", { command: { resume: { decisions } } });
    expect(readFileSync(inFolder("workspace", "reports", "r.md"), "utf8")).toBe(REPORT);

    const keys = [inFolder("store", "grants", "secret"), inFolder("store", "secret")];
    expect(keys.map((path) => (statSync(path).mode & 0o777).toString(8))).toEqual(["600", "600"]);
    const [grants, seals] = keys.map((path) => readFileSync(path, "utf8"));
    expect(grants).not.toBe(seals);
  });
});
