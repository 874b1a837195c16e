// Ask a docs service, then read a local policy file. The rows of its table and the cases under it.

import { writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { tool } from "@langchain/core/tools";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { bench, type Steps, stdio } from "../support/agent.js";
import { formatProblems } from "../support/provider-format.js";

const b = bench();

const QUESTION =
  "Look up the docs service's rule on what is needed to run `main.py`, read `policy.txt`, and say whether the two agree.";
const FRAGE = "请查阅文档服务中关于运行 `main.py` 的规则，阅读 `policy.txt`，并说明两者是否一致。";

const limits = {
  pages: 4,
  tools: 8,
  servers: 2,
  pageBytes: 24_000,
  cursorChars: 120,
  descriptionChars: 400,
  toolName: "[A-Za-z0-9_.-]{1,32}",
  serverName: "[a-z][a-z0-9-]{0,15}",
  schema: "strings-only",
};

const load = { calls: [{ name: "connect_server", args: { name: "docs" }, id: "load-1" }] };
const query = { calls: [{ name: "mcp__docs__search_docs", args: { query: "main.py" }, id: "query-1" }] };
const read = { calls: [{ name: "read_file", args: { path: "policy.txt" }, id: "read-1" }] };

function start(
  env: Record<string, string>,
  steps: Steps,
  more: { config?: Record<string, unknown>; permissions?: object } = {},
) {
  writeFileSync(join(b.folder(), "policy.txt"), "Running main.py needs a permission for that run.");
  const readPolicy = tool(async ({ path }: { path: string }) => readFile(join(b.folder(), path), "utf8"), {
    name: "read_file",
    description: "Reads a file of the policy folder.",
    schema: z.object({ path: z.string() }),
  });
  return b.start({
    config: {
      mcpServers: {
        docs: stdio(
          "DOCS_MODE" in env ? "odd-docs" : "docs",
          { SERVER_LOG: b.logPath(), ...env },
          { connect: "on-demand" },
        ),
      },
      permissions: { allow: ["mcp__docs__*", "read_file"], ...more.permissions },
      tools: { mcp__docs__search_docs: { effect: "read" }, read_file: { effect: "read" } },
      catalog: { onInvalid: "refuse", limits },
      limits: { argumentChars: 120, resultBlocks: 4, resultChars: 2_000, resultKinds: "text" },
      ...more.config,
    },
    steps,
    tools: [readPolicy],
  });
}

const accepted = () => b.log("accepted").map((event) => event.tool);

describe("a docs service that is loaded on demand, and a local policy file", () => {
  for (const [language, question] of [
    ["English", QUESTION],
    ["Chinese", FRAGE],
  ]) {
    test(`the host allows: four model requests, one call, in ${language}`, async () => {
      const agent = await start({}, [load, query, read, { say: "They agree." }]);
      const { report, messages } = await agent.ask(question);
      expect(agent.model.requests).toHaveLength(4);
      expect(agent.model.requests.map((request) => request.tools.map((one) => one.name))).toEqual([
        ["connect_server", "read_file"],
        ["connect_server", "read_file", "mcp__docs__search_docs"],
        ["connect_server", "read_file", "mcp__docs__search_docs"],
        ["connect_server", "read_file", "mcp__docs__search_docs"],
      ]);
      expect(accepted()).toEqual(["search.docs"]);
      expect(report).toMatchObject({
        status: "done",
        answer: "They agree.",
        modelRequests: 4,
        approvals: [],
        unknowns: [],
      });
      expect(
        report.operations.map(({ alias, server, tool, status, decision, sent }) => [
          alias,
          server,
          tool,
          status,
          decision,
          sent,
        ]),
      ).toEqual([
        ["connect_server", "local", "connect_server", "ok", "allow", true],
        ["mcp__docs__search_docs", "docs", "search.docs", "ok", "allow", true],
        ["read_file", "local", "read_file", "ok", "allow", true],
      ]);
      expect(formatProblems([...messages])).toEqual([]);
    });
  }

  test("the host denies although the server claims to be read-only: three requests, no call, the model's own call id", async () => {
    const agent = await start({}, [load, query, { say: "The evidence is missing." }], {
      permissions: { deny: ["mcp__docs__search_docs"] },
    });
    const { report, messages } = await agent.ask(QUESTION);
    expect(agent.model.requests).toHaveLength(3);
    expect(accepted()).toEqual([]);
    const refusals = messages.filter((message) => (message as { status?: string }).status === "error");
    expect(refusals).toHaveLength(1);
    expect(refusals[0]).toMatchObject({ tool_call_id: "query-1", name: "mcp__docs__search_docs" });
    expect(report.answer).toBe("The evidence is missing.");
    expect(report.operations.at(-1)).toMatchObject({ status: "rejected", reason: "denied", by: "policy", sent: false });
  });

  test("the tool reports a business error: three requests, one call, an error message", async () => {
    const agent = await start({ DOCS_MODE: "business-error" }, [load, query, { say: "The service is down." }]);
    const { report, messages } = await agent.ask(QUESTION);
    expect(agent.model.requests).toHaveLength(3);
    expect(accepted()).toEqual(["search.docs"]);
    expect(messages.find((message) => (message as { tool_call_id?: string }).tool_call_id === "query-1")).toMatchObject(
      { status: "error" },
    );
    expect(report.operations.at(-1)).toMatchObject({ status: "failed", reason: "tool_error", by: "server" });
  });

  test("a schema the host refuses: two requests, no call, the old snapshot stays", async () => {
    const agent = await start({ DOCS_MODE: "bad-schema" }, [load, { say: "It could not be loaded." }]);
    const { messages, report } = await agent.ask(QUESTION);
    expect(agent.model.requests).toHaveLength(2);
    expect(accepted()).toEqual([]);
    expect(agent.model.requests.map((request) => request.tools.map((one) => one.name))).toEqual([
      ["connect_server", "read_file"],
      ["connect_server", "read_file"],
    ]);
    expect(messages.find((message) => (message as { tool_call_id?: string }).tool_call_id === "load-1")).toMatchObject({
      status: "error",
    });
    expect(report.operations).toMatchObject([{ alias: "connect_server", status: "failed" }]);
  });

  test("the client waits 100 ms, the server answers after a second: accepted, later finished, no second request", async () => {
    const agent = await start({ DOCS_MODE: "slow", DOCS_DELAY_MS: "1000" }, [load, query, { say: "No answer." }], {
      config: { tools: { mcp__docs__search_docs: { effect: "read", timeoutMs: 100 } } },
    });
    const { report } = await agent.ask(QUESTION);
    expect(report.operations.at(-1)).toMatchObject({ status: "unavailable", reason: "deadline", sent: true });
    await agent.toolgate.close();
    expect(b.log("accepted", "finished").map((event) => event.event)).toEqual(["accepted", "finished"]);
  });

  test("the same with a write: the outcome is unknown, and the late answer settles it", async () => {
    const agent = await start({ DOCS_MODE: "slow", DOCS_DELAY_MS: "2000" }, [load, query, { say: "Unknown." }], {
      config: { tools: { mcp__docs__search_docs: { effect: "write", timeoutMs: 100 } } },
    });
    const first = await agent.ask(QUESTION);
    expect(first.report).toMatchObject({ status: "result_unknown", unknowns: [{ alias: "mcp__docs__search_docs" }] });
    expect(first.interrupt).toMatchObject({ kind: "result_unknown" });
    await agent.toolgate.close(); // waits for the late answer
    expect(b.log("accepted")).toHaveLength(1);
    expect(b.log("cancelled")).toEqual([]);
    const again = await start({ DOCS_MODE: "ok" }, [load, query, { say: "It was found after all." }], {
      config: { tools: { mcp__docs__search_docs: { effect: "write", timeoutMs: 100 } } },
    });
    const second = await again.ask(undefined);
    expect(second.report).toMatchObject({ status: "done", answer: "It was found after all.", unknowns: [] });
    expect(second.report.operations.at(-1)).toMatchObject({ status: "ok", reason: "success" });
    expect(formatProblems([...second.messages])).toEqual([]);
    expect(b.log("accepted")).toHaveLength(1);
  });

  // A model called a tool that it had not been offered yet, because the list changed while it was thinking.
  test("load and first use in one message: the use is refused, and works from the next request on (G1)", async () => {
    const both = { calls: [load.calls[0], query.calls[0]] } as Steps[number];
    const agent = await start({}, [
      both,
      { calls: [{ name: "mcp__docs__search_docs", args: { query: "main.py" }, id: "query-2" }] },
      { say: "Found." },
    ]);
    const { report } = await agent.ask(QUESTION);
    expect(report.operations.map(({ callId, status, reason }) => [callId, status, reason])).toEqual([
      ["load-1", "ok", "success"],
      ["query-1", "rejected", "unknown_tool"],
      ["query-2", "ok", "success"],
    ]);
    expect(accepted()).toEqual(["search.docs"]);
  });

  for (const [mode, problem] of [
    ["bad-second-page", "refused"],
    ["repeated-cursor", "cursor"],
    ["many-pages", "pages"],
    ["duplicate", "more than once"],
    ["nine-tools", "8 tools"],
    ["colliding", "alias"],
  ] as const) {
    test(`a catalog that is ${mode}: nothing of it is published`, async () => {
      const agent = await start({ DOCS_MODE: mode }, [load, { say: "No." }]);
      const { messages } = await agent.ask(QUESTION);
      expect(agent.model.requests.at(-1)?.tools.map((one) => one.name)).toEqual(["connect_server", "read_file"]);
      expect(messages.find((message) => message.getType() === "tool")?.text).toContain(problem);
    });
  }

  test("an empty catalog connects and offers nothing; two pages are one list", async () => {
    const empty = await start({ DOCS_MODE: "empty" }, [load, { say: "Nothing." }]);
    expect((await empty.ask(QUESTION)).report.operations).toMatchObject([{ status: "ok" }]);
    expect(empty.model.requests.at(-1)?.tools).toHaveLength(2);
    const two = await start({ DOCS_MODE: "two-pages" }, [load, { say: "Two." }]);
    await two.ask(QUESTION, "t2");
    expect(two.model.requests.at(-1)?.tools.map((one) => one.name)).toEqual([
      "connect_server",
      "read_file",
      "mcp__docs__list_topics",
      "mcp__docs__search_docs",
    ]);
  });

  for (const [what, name, args, reason] of [
    ["a wrong field", "mcp__docs__search_docs", { query: "a", other: "b" }, "invalid_arguments"],
    ["a missing field", "mcp__docs__search_docs", {}, "invalid_arguments"],
    ["a value over 120 characters", "mcp__docs__search_docs", { query: "x".repeat(121) }, "invalid_arguments"],
    ["an unknown alias", "mcp__docs__find_docs", { query: "a" }, "unknown_tool"],
  ] as const) {
    test(`${what}: no call`, async () => {
      const agent = await start({}, [load, { calls: [{ name, args, id: "odd" }] }, { say: "Refused." }]);
      const { report } = await agent.ask(QUESTION);
      expect(report.operations.at(-1)).toMatchObject({ callId: "odd", status: "rejected", reason, sent: false });
      expect(accepted()).toEqual([]);
    });
  }

  for (const mode of ["image", "structured", "empty-result", "blank", "long"]) {
    test(`a result that is ${mode}: one call, an error message`, async () => {
      const agent = await start({ DOCS_MODE: mode }, [load, query, { say: "Not usable." }]);
      const { report, messages } = await agent.ask(QUESTION);
      expect(report.operations.at(-1)).toMatchObject({ status: "unavailable", sent: true });
      expect(
        messages.find((message) => (message as { tool_call_id?: string }).tool_call_id === "query-1"),
      ).toMatchObject({ status: "error" });
      expect(accepted()).toEqual(["search.docs"]);
    });
  }

  test("capability text is reused while the catalog is unchanged, and the stream says so (model-node-1)", async () => {
    const agent = await start({}, [load, query, { say: "Done." }]);
    const events: unknown[] = [];
    const stream = await agent.toolgate.graph.stream({ messages: [{ role: "user", content: QUESTION }] } as never, {
      configurable: { thread_id: "t1" },
      streamMode: "custom",
    });
    for await (const event of stream) events.push(event);
    const capabilities = events.filter((event) => (event as { type: string }).type === "toolgate.capabilities");
    expect(capabilities.map((event) => (event as { reused: boolean }).reused)).toEqual([false, false, true]);
  });
});
