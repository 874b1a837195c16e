// One run with real processes: the two servers of `toolgate.json`, started as the README starts them. Everything else that
// needs a process is in `npm run test:all`.

import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { bench } from "./support/agent.js";

const b = bench();
const cwd = fileURLToPath(new URL("..", import.meta.url));

/** A server of `servers/` as a user starts it. */
const started = (name: string) => ({
  command: process.execPath,
  args: ["--import", "tsx", `servers/${name}.ts`],
  cwd,
  env: { SERVER_LOG: b.logPath() },
});

test("over real stdio a read runs by rule, a write waits for its yes and is sent once (G4) (G6)", async () => {
  const agent = await b.start({
    config: {
      mcpServers: { docs: started("docs"), deploy: started("deploy") },
      permissions: { allow: ["mcp__docs__*"], ask: ["mcp__deploy__trigger"] },
      tools: { "mcp__docs__*": { effect: "read" } },
    },
    steps: [
      {
        calls: [
          { name: "mcp__docs__search_docs", args: { query: "main.py" }, id: "c1" },
          { name: "mcp__deploy__trigger", args: { environment: "staging" }, id: "c2" },
        ],
      },
      { say: "Done." },
    ],
  });
  const question = await agent.ask("deploy it");
  expect(question.report).toMatchObject({
    status: "awaiting_approval",
    approvals: [{ callId: "c2", arguments: { environment: "staging" } }],
  });
  expect(b.log("accepted")).toEqual([]);
  const turn = await agent.resume({
    decisions: { [question.report.approvals[0]?.approvalId as string]: { type: "approve" } },
  });
  expect(turn.report).toMatchObject({ status: "done", answer: "Done." });
  expect(b.log("accepted").map(({ tool }) => tool)).toEqual(["search.docs", "trigger"]);
  expect(b.log("effect").map((event) => event.arguments)).toEqual([{ environment: "staging" }]);
  const processes = new Set(b.log("started").map(({ pid }) => pid));
  expect([processes.size, processes.has(process.pid)]).toEqual([2, false]);
});
