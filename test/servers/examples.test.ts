// The servers docs, library and deploy over real stdio.

import { expect, test } from "vitest";
import { libraryServer } from "./programs/library-server.js";
import { oddDeployServer } from "./programs/odd-deploy-server.js";
import { oddDocsServer } from "./programs/odd-docs-server.js";
import { servers } from "./started.js";

const { start, log } = servers();
const _meta = { "toolgate/operationId": "op-1" };

test("docs answers one tool, one sentence, and logs the call before and after", async () => {
  const docs = start("docs");
  expect((await docs.initialize()).serverInfo.name).toBe("docs");
  expect((await docs.request("tools/list")).result).toEqual({
    tools: [
      {
        name: "search.docs",
        description: "Searches the documentation and answers with the rule that fits.",
        inputSchema: {
          type: "object",
          properties: { query: { type: "string" } },
          required: ["query"],
          additionalProperties: false,
        },
        annotations: { readOnlyHint: true },
      },
    ],
  });
  const answer = await docs.request("tools/call", { name: "search.docs", arguments: { query: "main.py" }, _meta });
  expect(answer.result).toEqual({
    content: [{ type: "text", text: "Running main.py needs a permission that is granted for that one run." }],
  });
  expect(await docs.end()).toEqual({ code: 0, signal: null });
  expect(log()).toEqual([
    { event: "started", pid: docs.pid },
    { event: "listed", cursor: null },
    { event: "accepted", n: 1, tool: "search.docs", arguments: { query: "main.py" }, operationId: "op-1" },
    { event: "finished", n: 1, tool: "search.docs" },
  ]);
});

test("a call that a server refuses is in the log all the same (sample-1) (sample-2)", async () => {
  const docs = start("docs");
  await docs.initialize();
  const invalid = await docs.request("tools/call", { name: "search.docs", arguments: { quest: "x" } });
  const unknown = await docs.request("tools/call", { name: "search_docs", arguments: { query: "x" } });
  expect(invalid.result.isError).toBe(true);
  expect(invalid.result.content[0].text).toContain("must have required property 'query'");
  expect(unknown.error.code).toBe(-32602);
  expect(log("accepted", "refused", "effect", "finished").map(({ event, n }) => [event, n])).toEqual([
    ["accepted", 1],
    ["refused", 1],
    ["accepted", 2],
    ["refused", 2],
  ]);
});

test("a slow search finishes after the end of stdin; a cancel is logged and changes nothing (sample-3)", async () => {
  const docs = start("odd-docs", { DOCS_MODE: "slow", DOCS_DELAY_MS: "300" });
  await docs.initialize();
  docs.send({ id: 77, method: "tools/call", params: { name: "search.docs", arguments: { query: "x" } } });
  docs.send({ method: "notifications/cancelled", params: { requestId: 77, reason: "tired" } });
  expect(await docs.end()).toEqual({ code: 0, signal: null });
  expect(log("accepted", "cancelled", "finished")).toEqual([
    { event: "accepted", n: 1, tool: "search.docs", arguments: { query: "x" } },
    { event: "cancelled", n: 1, tool: "search.docs", reason: "tired" },
    { event: "finished", n: 1, tool: "search.docs" },
  ]);
});

test.each([
  [
    "business-error",
    { content: [{ type: "text", text: "The documentation is closed for maintenance." }], isError: true },
  ],
  ["empty-result", { content: [] }],
  ["blank", { content: [{ type: "text", text: "" }] }],
  ["long", { content: [{ type: "text", text: "x".repeat(2_001) }] }],
  ["image", { content: [{ type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" }] }],
])("docs in mode %s answers as it says", async (mode, result) => {
  const [search] = oddDocsServer({ DOCS_MODE: mode }).tools;
  expect(await search?.run({ arguments: { query: "x" }, effect: () => {} })).toEqual(result);
});

test.each([
  ["empty", [[]]],
  ["two-pages", [["search.docs"], ["list.topics"]]],
  ["bad-second-page", [["search.docs"], [""]]],
  ["duplicate", [["search.docs"], ["search.docs"]]],
  ["many-pages", [["search.docs"], ["topic.1"], ["topic.2"], ["topic.3"], ["topic.4"]]],
  ["colliding", [["search.docs", "search_docs"]]],
])("docs in mode %s lists page by page", (mode, pages) => {
  const { page } = oddDocsServer({ DOCS_MODE: mode });
  const seen: string[][] = [];
  for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
    const listed = page?.(cursor);
    seen.push(listed?.tools.map(({ name }) => name) ?? []);
    cursor = listed?.nextCursor;
  }
  expect(seen).toEqual(pages);
});

test("docs in mode nine-tools has nine, in mode bad-schema a number, in mode repeated-cursor one cursor for ever", () => {
  expect(oddDocsServer({ DOCS_MODE: "nine-tools" }).page?.(undefined).tools).toHaveLength(9);
  expect(oddDocsServer({ DOCS_MODE: "bad-schema" }).page?.(undefined).tools[0]?.inputSchema).toEqual({
    type: "object",
    properties: { limit: { type: "number" } },
  });
  const { page } = oddDocsServer({ DOCS_MODE: "repeated-cursor" });
  expect([page?.(undefined).nextCursor, page?.("again").nextCursor]).toEqual(["again", "again"]);
});

test("a mode or an extra that does not exist is said, not served", () => {
  expect(() => oddDocsServer({ DOCS_MODE: "kaputt" })).toThrow(
    "DOCS_MODE is `kaputt`, expected one of ok, business-error",
  );
  expect(() => oddDeployServer({ DEPLOY_MODE: "" })).toThrow(
    "DEPLOY_MODE is ``, expected one of ok, refuses, slow, dies",
  );
  expect(() => libraryServer({ LIBRARY_EXTRA: "toString" })).toThrow("LIBRARY_EXTRA names `toString`");
});

test("library has search and get_version, and by LIBRARY_EXTRA an eraser and names that collide", async () => {
  const library = start("library", { LIBRARY_EXTRA: "erase,collide" });
  await library.initialize();
  const { result } = await library.request("tools/list");
  expect(result.tools.map(({ name, annotations }: never) => [name, annotations])).toEqual([
    ["search", { readOnlyHint: true }],
    ["get_version", { readOnlyHint: true }],
    ["erase", undefined],
    ["docs.one", { readOnlyHint: true }],
    ["docs_one", { readOnlyHint: true }],
    ["get.version", { readOnlyHint: true }],
  ]);
  await library.request("tools/call", { name: "get_version", arguments: {} });
  expect(log("effect")).toEqual([]);
  await library.request("tools/call", { name: "erase", arguments: {} });
  expect(log("effect")).toEqual([{ event: "effect", n: 2, tool: "erase", arguments: {} }]);
});

test("a trigger of deploy is one effect, and status tells of it in another process too", async () => {
  const first = start("deploy");
  await first.initialize();
  const { result } = await first.request("tools/list");
  expect(result.tools.map(({ name, annotations }: never) => [name, annotations])).toEqual([
    ["trigger", { readOnlyHint: false, destructiveHint: true }],
    ["status", { readOnlyHint: true }],
  ]);
  await first.request("tools/call", { name: "trigger", arguments: {} });
  await first.request("tools/call", { name: "trigger", arguments: { environment: "staging" }, _meta });
  await first.end();
  expect(log("effect")).toEqual([
    { event: "effect", n: 2, tool: "trigger", arguments: { environment: "staging" }, operationId: "op-1" },
  ]);
  const second = start("deploy");
  await second.initialize();
  const status = await second.request("tools/call", { name: "status", arguments: {} });
  expect(status.result.content[0].text).toBe("Deployments: 1, the last to staging.");
});

test("deploy in mode dies deploys and is gone", async () => {
  const deploy = start("odd-deploy", { DEPLOY_MODE: "dies" });
  await deploy.initialize();
  deploy.send({ id: 9, method: "tools/call", params: { name: "trigger", arguments: { environment: "live" } } });
  expect(await deploy.ended).toEqual({ code: null, signal: "SIGKILL" });
  expect(log("accepted", "effect", "finished").map(({ event }) => event)).toEqual(["accepted", "effect"]);
});

test("deploy in mode refuses has no effect; without a log the process remembers its deployments", async () => {
  let effects = 0;
  const call = { arguments: { environment: "live" }, effect: () => effects++ };
  const [refuses] = oddDeployServer({ DEPLOY_MODE: "refuses" }).tools;
  expect(await refuses?.run(call)).toEqual({
    content: [{ type: "text", text: "Deployments to live are closed." }],
    isError: true,
  });
  expect(effects).toBe(0);
  const [trigger, status] = oddDeployServer({ SERVER_LOG: "" }).tools;
  expect(await status?.run(call)).toEqual({ content: [{ type: "text", text: "No deployments yet." }] });
  await trigger?.run(call);
  expect(effects).toBe(1);
  expect(await status?.run(call)).toEqual({
    content: [{ type: "text", text: "Deployments: 1, the last to live." }],
  });
});
