// LangGraph Studio's server with the graph of graphs/documents.ts beside the first one, and nothing set: no key, no secret.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readLog } from "../../servers/log.js";
import { SAVE, shippedConfig } from "../documents/desk.js";
import { serverFile } from "../support/compile.js";
import { freePort } from "../support/ports.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const REPORT = "# Report\n";

let folder = "";
let server: ChildProcess;
let client: Client;
const inFolder = (...names: string[]) => join(folder, ...names);

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "toolgate-studio-documents-"));
  for (const name of ["graphs", "src", "node_modules", "package.json", "tsconfig.json"])
    symlinkSync(join(root, name), inFolder(name));
  copyFileSync(join(root, "langgraph.json"), inFolder("langgraph.json"));
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
  await startServer();
}, 120_000);

async function startServer(): Promise<void> {
  const port = await freePort();
  const cli = join(root, "node_modules/@langchain/langgraph-cli/dist/cli/cli.mjs");
  const options = ["--no-browser", "--no-reload", "--host", "127.0.0.1", "--port", String(port)];
  server = spawn(process.execPath, [cli, "dev", ...options], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      HOME: folder,
      TOOLGATE_CONFIG: inFolder("toolgate.json"),
      TOOLGATE_DOCUMENTS_CONFIG: inFolder("documents.json"),
    },
    detached: true, // a group of its own: the cli starts a server process that would outlive it
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  await new Promise<void>((resolve, reject) => {
    const look = (chunk: Buffer) => {
      said += chunk.toString();
      if (said.includes("Server running at")) resolve();
    };
    server.stdout?.on("data", look);
    server.stderr?.on("data", look);
    server.once("exit", (code) => reject(new Error(`langgraphjs dev ended with ${code}: ${said.slice(-2_000)}`)));
  });
  client = new Client({ apiUrl: `http://127.0.0.1:${port}`, apiKey: null });
}

afterAll(async () => {
  if (server.exitCode === null && server.signalCode === null) {
    const ended = once(server, "exit");
    process.kill(-(server.pid as number), "SIGTERM");
    await ended;
  }
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
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
