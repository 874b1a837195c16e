// toolgate.documents.json: the document workspace's bounds to the number, clean under `toolgate check`, and held
// against catalogs that break them.

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { definitions } from "../../servers/documents/contracts.js";
import { readConfig } from "../../src/adapters/config/load.js";
import { inProcessJson } from "../cli/in-process.js";
import { bench } from "../support/agent.js";
import { call, DONE, desk, KEY, outcomes, PROTOCOLS, READ, SAVE } from "./desk.js";

const b = bench();
const root = fileURLToPath(new URL("../..", import.meta.url));
const file = join(root, "toolgate.documents.json");

describe("the configuration as it is shipped", () => {
  test("the bounds, rules and settings of the document workspace", async () => {
    const { config, findings } = await readConfig(file, { DOCUMENTS_SECRET: KEY });
    expect(findings).toEqual([]);
    expect(config.catalog.limits).toMatchObject({
      tools: 16,
      pages: 4,
      toolBytes: 12_000,
      schemaDepth: 8,
      schemaNodes: 128,
      refs: "refuse",
    });
    expect(config.limits).toMatchObject({ calls: 12, argumentBytes: 32_000, hardResultBytes: 32_000 });
    expect(config.approvals).toMatchObject({ ttlMs: 60_000 });
    expect(config.permissions).toEqual({
      allow: ["mcp__documents__search_documents", "mcp__documents__read_document", "mcp__documents__get_operation"],
      ask: ["mcp__documents__save_report"],
      deny: [],
      default: "deny",
    });
    expect(Object.values(config.tools).map(({ timeoutMs, contract }) => [timeoutMs, contract])).toEqual(
      Array.from({ length: 4 }, () => [5_000, "status"]),
    );
    expect(config.tools[SAVE]).toMatchObject({
      effect: "write",
      inject: { approval_token: "grant", operation_id: "operationId" },
      reconcile: { tool: "mcp__documents__get_operation", arguments: { operation_id: "$operationId" } },
    });
    expect(config.mcpServers["documents"]).toMatchObject({ grantSecret: KEY, cwd: root.replace(/\/$/, "") });
    expect(config.store).toEqual({ kind: "sqlite", path: join(root, ".toolgate/documents") });
  });

  test("`toolgate check` has nothing to say of it", async () => {
    const checked = await inProcessJson(["check", "--config", file], { env: { DOCUMENTS_SECRET: KEY } });
    expect([checked.code, checked.value["problems"], checked.stderr]).toEqual([0, [], ""]);
  });

  test("without the grants' key it says which variable to set; one that is too short is refused unseen", async () => {
    const unset = await inProcessJson(["check", "--config", file], {});
    expect(unset.code).toBe(1);
    expect(JSON.stringify(unset.value)).toContain("DOCUMENTS_SECRET");
    const short = await inProcessJson(["check", "--config", file], { env: { DOCUMENTS_SECRET: "too-short-canary" } });
    expect(short.code).toBe(1);
    expect(JSON.stringify(short.value)).toContain("needs at least 32");
    expect(JSON.stringify(short)).not.toContain("too-short-canary");
  });
});

describe.each(PROTOCOLS)("its bounds on a catalog, over MCP %s", (protocol) => {
  const w = desk(b, protocol);
  const ours = Object.values(definitions);
  const extra = (name: string, more: object = {}) => ({ name, inputSchema: { type: "object", ...more } });
  /** A schema that is `depth` deep. */
  const nested = (depth: number): object =>
    depth === 1 ? { type: "string" } : { type: "object", properties: { a: nested(depth - 1) } };

  async function snapshotOf(hostile: object) {
    const agent = await w.start(w.hostile(hostile), [DONE]);
    await agent.ask("go");
    return agent.toolgate.snapshot();
  }

  test("definitions that are too large, too deep or refer: each withheld by its name, the others stay", async () => {
    const many = Object.fromEntries(Array.from({ length: 128 }, (_, at) => [`p${at}`, { type: "string" }]));
    const snapshot = await snapshotOf({
      tools: [
        ...ours,
        extra("large", { description: "x".repeat(12_000) }),
        extra("deep", { properties: { a: nested(12) } }),
        extra("wide", { properties: many }),
        extra("refers", { properties: { a: { $ref: "#/$defs/a" } }, $defs: { a: { type: "string" } } }),
        extra("fits", { properties: { a: { type: "string" } } }),
      ],
    });
    expect(snapshot?.withheld.map(({ tool }) => tool).sort()).toEqual(["deep", "large", "refers", "wide"]);
    expect(snapshot?.tools.map(({ tool }) => tool).sort()).toEqual([
      "fits",
      "get_operation",
      "read_document",
      "save_report",
      "search_documents",
    ]);
  });

  test.each([
    ["17 tools", { tools: Array.from({ length: 17 }, (_, at) => extra(`t${at}`)) }, "16 tools"],
    [
      "a fifth page",
      {
        pages: Array.from({ length: 5 }, (_, at) => ({
          tools: [extra(`t${at}`)],
          ...(at < 4 ? { nextCursor: `${at + 1}` } : {}),
        })),
      },
      "4 pages",
    ],
  ])("%s: nothing of the server is offered", async (_, hostile, problem) => {
    const snapshot = await snapshotOf(hostile);
    expect(snapshot?.tools.filter(({ server }) => server === "documents")).toEqual([]);
    expect(snapshot?.servers).toMatchObject([{ status: "failed" }]);
    expect(snapshot?.servers[0]?.problem).toContain(problem);
  });

  test("16 tools on four pages are taken, and arguments above 32,000 bytes are not sent", async () => {
    const tools = [...ours, ...Array.from({ length: 12 }, (_, at) => extra(`t${at}`))];
    const loose = tools.map((one) => (one.name === "read_document" ? extra("read_document") : one));
    const pages = [0, 4, 8, 12].map((at) => ({
      tools: loose.slice(at, at + 4),
      ...(at < 12 ? { nextCursor: `${at}` } : {}),
    }));
    const read = (length: number, id: string) =>
      call(READ, { filename: "x".repeat(length - '{"filename":""}'.length) }, id);
    const agent = await w.start(w.hostile({ pages, calls: { "*": { do: "answer", effect: false } } }), [
      read(32_001, "above"),
      read(32_000, "at"),
      DONE,
    ]);
    const turn = await agent.ask("go");
    expect((await agent.toolgate.snapshot())?.tools).toHaveLength(16);
    expect(outcomes(turn)).toEqual(["above rejected invalid_arguments", "at unavailable contract"]);
    expect(b.log("accepted")).toHaveLength(1);
  });
});
