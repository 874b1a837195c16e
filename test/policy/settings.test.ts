import { describe, expect, test } from "vitest";
import { aliasOf, Config, type ToolConfig } from "../../src/contracts/index.js";
import {
  compileSettings,
  type Target,
  type ToolSettings,
  toolSettings,
  unfitReadBacks,
  unmatchedReadBacks,
} from "../../src/policy/index.js";

const context = { servers: ["docs", "honest", "x.y"], localTools: ["connect_server", "read_result", "read_file"] };
const { mcpServers } = Config.parse({
  mcpServers: {
    docs: { type: "stdio", command: "node", cwd: "/srv" },
    honest: { type: "http", url: "https://example.org", errors: "honest", verify: "on-change" },
    "x.y": { type: "stdio", command: "node", cwd: "/srv" },
  },
  store: { kind: "memory" },
  folder: "/srv",
});

const PLAIN_WRITE = {
  effect: "write",
  timeoutMs: 60_000,
  repeat: "ask",
  errors: "conservative",
  outputMismatch: "unknown",
  verify: "each-call",
  inject: {},
};

function on(server: string, tool: string): Target {
  return { alias: server === "local" ? tool : aliasOf(server, tool), server, tool };
}

function settingsOf(tools: Record<string, ToolConfig>, target: Target): ToolSettings {
  const { settings, findings } = compileSettings(tools, mcpServers, context);
  expect(findings).toEqual([]);
  return toolSettings(settings, target);
}

function codes(tools: Record<string, ToolConfig>): string[] {
  return compileSettings(tools, mcpServers, context).findings.map(({ code }) => code);
}

describe("defaults", () => {
  test("a tool nobody names is a plain write (settings-1)", () => {
    expect(settingsOf({}, on("docs", "search"))).toEqual(PLAIN_WRITE);
    expect(settingsOf({}, on("unheard", "of"))).toEqual(PLAIN_WRITE);
    expect(settingsOf({}, on("constructor", "x"))).toEqual(PLAIN_WRITE);
  });

  test("a declared read waits 30 s and is verified on change", () => {
    expect(settingsOf({ mcp__docs__search: { effect: "read" } }, on("docs", "search"))).toEqual({
      ...PLAIN_WRITE,
      effect: "read",
      timeoutMs: 30_000,
      verify: "on-change",
    });
  });

  test("a server sets errors and verify for its tools, a tool's own settings go before", () => {
    const own = { mcp__honest__b: { errors: "conservative", verify: "each-call" } } as const;
    expect(settingsOf(own, on("honest", "a"))).toEqual({ ...PLAIN_WRITE, errors: "honest", verify: "on-change" });
    expect(settingsOf(own, on("honest", "b"))).toEqual(PLAIN_WRITE);
  });

  test("built-ins are reads, and only a key with their name sets anything (settings-5)", () => {
    const keys = { "*": { timeoutMs: 5 }, read_result: { timeoutMs: 7, effect: "write" } } as const;
    expect(settingsOf(keys, on("local", "read_result"))).toMatchObject({ effect: "read", timeoutMs: 7 });
    expect(settingsOf(keys, on("local", "connect_server"))).toMatchObject({ effect: "read", timeoutMs: 30_000 });
    expect(settingsOf(keys, on("local", "read_file"))).toMatchObject({ effect: "write", timeoutMs: 5 });
  });

  test("everything a key sets arrives", () => {
    const reconcile = { tool: "mcp__docs__get_operation", arguments: { operation_id: "$operationId" } };
    const inject = { approval_token: "grant", operation_id: "operationId" } as const;
    const config = {
      effect: "write",
      contract: "status",
      timeoutMs: 5_000,
      repeat: "deny",
      errors: "honest",
      outputMismatch: "flag",
      verify: "on-change",
      inject,
      reconcile,
    } as const;
    expect(settingsOf({ mcp__docs__save: config }, on("docs", "save"))).toEqual({ ...config });
  });
});

describe("which keys count", () => {
  const read = { effect: "read" } as const;
  const write = { effect: "write" } as const;

  test.each<[string, Record<string, ToolConfig>, string, string]>([
    ["a whole server", { mcp__docs: read }, "search", "read"],
    ["a glob", { "mcp__docs__*": read }, "search", "read"],
    ["a read glob must cover own and mapped name (settings-2)", { "mcp__docs__get.*": read }, "get.all", "write"],
    ["a write glob needs one of them", { mcp__docs: read, "mcp__docs__get.*": write }, "get.all", "write"],
    ["of globs write beats read", { "mcp__docs__*": read, "mcp__*": write }, "search", "write"],
    ["of globs write beats read, the other way round", { "mcp__*": write, "mcp__docs__*": read }, "search", "write"],
    ["a name beats a glob (settings-3)", { mcp__docs__search: read, "mcp__docs__*": write }, "search", "read"],
    ["a name that says write beats a read glob", { mcp__docs__search: write, "mcp__docs__*": read }, "search", "write"],
    [
      "a name that says nothing of effect leaves it",
      { mcp__docs__search: { timeoutMs: 1 }, mcp__docs: read },
      "search",
      "read",
    ],
    ["two spellings of one tool: write wins", { mcp__docs__a_b: read, "mcp__docs__a.b": write }, "a.b", "write"],
  ])("%s", (_name, tools, tool, effect) => {
    expect(settingsOf(tools, on("docs", tool)).effect).toBe(effect);
  });

  test("of values of one rank the more careful wins, in whatever order", () => {
    const one = {
      timeoutMs: 9,
      repeat: "allow",
      errors: "honest",
      outputMismatch: "flag",
      verify: "on-change",
    } as const;
    const two = {
      timeoutMs: 8,
      repeat: "deny",
      errors: "conservative",
      outputMismatch: "unknown",
      verify: "each-call",
    } as const;
    const careful = { ...PLAIN_WRITE, ...two };
    expect(settingsOf({ "mcp__docs__*": one, "mcp__*": two }, on("docs", "x"))).toEqual(careful);
    expect(settingsOf({ "mcp__*": two, "mcp__docs__*": one }, on("docs", "x"))).toEqual(careful);
    expect(settingsOf({ "mcp__docs__*": two, "mcp__*": one }, on("docs", "x"))).toEqual(careful);
  });

  test("injected parameters add up; where two keys differ the longer pattern has the last word", () => {
    const tools = {
      "mcp__docs__*": { inject: { id: "operationId" } },
      mcp__docs: { inject: { id: "grant", token: "grant" } },
    } as const;
    expect(settingsOf(tools, on("docs", "x")).inject).toEqual({ id: "operationId", token: "grant" });
  });
});

test("a read-back that names no tool of a connected server is a finding", () => {
  const reconcile = { tool: "mcp__docs__get_operation", arguments: {} };
  const { settings } = compileSettings({ mcp__honest__save: { reconcile } }, mcpServers, context);
  expect(unmatchedReadBacks(settings, [on("docs", "search")], ["docs"])).toEqual([
    {
      level: "warning",
      code: "rule_unmatched",
      message: "tools.mcp__honest__save.reconcile: `mcp__docs__get_operation` is no tool that its server lists",
    },
  ]);
  expect(unmatchedReadBacks(settings, [on("docs", "get_operation")], ["docs"])).toEqual([]);
  expect(unmatchedReadBacks(settings, [], ["honest"])).toEqual([]);
});

test("a read-back whose tool does not take its arguments is a finding", () => {
  const messages = (args: Record<string, string>, inputSchema: Record<string, unknown>) => {
    const reconcile = { tool: "mcp__docs__get", arguments: args };
    const { settings } = compileSettings({ mcp__honest__save: { reconcile } }, mcpServers, context);
    const entry = { ...on("docs", "get"), description: "", inputSchema, digest: "0".repeat(64) };
    return unfitReadBacks(settings, [entry]).map(({ message }) => message);
  };
  const where = "tools.mcp__honest__save.reconcile: `mcp__docs__get`";
  const closed = { type: "object", properties: { id: {} }, required: ["id"], additionalProperties: false };
  expect(messages({ id: "$operationId" }, closed)).toEqual([]);
  expect(messages({}, closed)).toEqual([`${where} needs the argument \`id\``]);
  expect(messages({ id: "", more: "" }, closed)).toEqual([`${where} takes no argument \`more\``]);
  expect(messages({ more: "" }, { type: "object" })).toEqual([]);
});

describe("keys that are load errors", () => {
  test.each<[string, ToolConfig, string]>([
    ["mcp__*", { effect: "read" }, "rule_server_glob"],
    ["*", { effect: "read" }, "rule_server_glob"],
    ["mcp__nowhere__x", {}, "rule_no_server"],
    ["search", {}, "rule_no_tool"],
    ["mcp__docs__x(path:a)", {}, "rule_malformed"],
    ["mcp__docs__x", { reconcile: { tool: "mcp__docs__*", arguments: {} } }, "rule_malformed"],
    ["mcp__docs__x", { reconcile: { tool: "mcp__docs", arguments: {} } }, "rule_malformed"],
    ["mcp__docs__x", { reconcile: { tool: "mcp__nowhere__y", arguments: {} } }, "rule_no_server"],
    ["mcp__docs__x", { reconcile: { tool: "mcp__docs__x", arguments: {} } }, "read_back_writes"],
    ["mcp__docs__*", { reconcile: { tool: "mcp__docs__get", arguments: {} } }, "read_back_writes"],
    ["read_file", { inject: { token: "grant" } }, "inject_local"],
  ])("`%s` %o: %s", (key, config, code) => {
    expect(codes({ [key]: config })).toEqual([code]);
  });

  test("a read-back whose tool another key calls a write; one that nothing is said of is taken at the host's word", () => {
    const save = { reconcile: { tool: "mcp__docs__get", arguments: {} } };
    expect(codes({ mcp__docs__save: save, "mcp__docs__g*": { effect: "write" } })).toEqual(["read_back_writes"]);
    expect(codes({ mcp__docs__save: save, "mcp__docs__g*": { effect: "read" } })).toEqual([]);
    expect(codes({ mcp__docs__save: save, mcp__docs__other: { effect: "write" } })).toEqual([]);
  });

  test("a read that can mean two servers", () => {
    const where = { servers: ["a", "a__b"], localTools: [] };
    const { findings } = compileSettings({ mcp__a__b: { effect: "read" } }, {}, where);
    expect(findings.map(({ code }) => code)).toEqual(["rule_ambiguous"]);
  });

  test("settings with an error declare nothing (settings-4)", () => {
    const tools = { "mcp__docs__*": { effect: "read" }, mcp__nowhere: { effect: "write" } } as const;
    expect(toolSettings(compileSettings(tools, mcpServers, context).settings, on("docs", "x"))).toEqual(PLAIN_WRITE);
  });
});
