// What can be known of a configuration before a server is started is refused before a server is started.

import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { startEarly } from "../../src/create/early.js";
import { createToolgate, loadConfig, ToolgateError } from "../../src/index.js";
import { scriptedModel } from "../../src/testing.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "toolgate-refused-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A server that leaves a trace when it is started. */
const traced = () => ({
  command: process.execPath,
  args: ["-e", `require("node:fs").writeFileSync(${JSON.stringify(join(folder, "trace"))}, "started")`],
});

async function refused(config: Record<string, unknown>): Promise<{ code: string; message: string }> {
  const file = join(folder, "toolgate.json");
  const mcpServers = { traced: traced(), ...(config.mcpServers as object) };
  writeFileSync(file, JSON.stringify({ model: "openai:x", store: { kind: "memory" }, ...config, mcpServers }));
  const model = config.model === undefined ? { model: scriptedModel([]) } : {};
  const errors: ToolgateError[] = [];
  const loaded = await loadConfig(file);
  for (const start of [
    () => createToolgate({ config: file, ...model }),
    () => createToolgate({ config: loaded, ...model }),
    () => startEarly(loaded),
  ])
    await start().then(
      (opened) => opened.close(),
      (error) => errors.push(error),
    );
  expect(errors.every((error) => error instanceof ToolgateError)).toBe(true);
  expect(errors).toHaveLength(3);
  expect(existsSync(join(folder, "trace"))).toBe(false);
  const [{ code, message }] = errors as [ToolgateError, ...ToolgateError[]];
  expect(errors.map((error) => error.message)).toEqual([message, message, message]);
  return { code, message };
}

// `check` said that a server may write the store unasked, and `run` started it.
test("a server that may write the store unasked (check-3)", async () => {
  mkdirSync(join(folder, "data"));
  const mcpServers = { files: { command: process.execPath, args: ["data"] } };
  const store = { kind: "sqlite", path: "data/store" };
  expect(await refused({ mcpServers, store, permissions: { allow: ["mcp__files__*"] } })).toEqual({
    code: "config_invalid",
    message: expect.stringMatching(/^server `files` may write `.*data`, which holds the store/),
  });
});

test("a required server whose command is missing (check-3) (check-4)", async () => {
  const mcpServers = { must: { command: "no-such-program-anywhere", required: true } };
  expect(await refused({ mcpServers })).toMatchObject({
    code: "config_invalid",
    message: expect.stringContaining("command `no-such-program-anywhere` is not on PATH"),
  });
});

test("a script that is not there, and nobody brings a model (check-3)", async () => {
  expect(await refused({ model: "scripted:none.json" })).toMatchObject({
    code: "model_missing",
    message: expect.stringContaining("`model` names a script that is not there"),
  });
});

test("a read-back that is hidden, and a rule that can match nothing (check-3)", async () => {
  const tools = { mcp__traced__save: { reconcile: { tool: "mcp__traced__get", arguments: {} } } };
  expect((await refused({ tools, mcpServers: { traced: { ...traced(), hide: ["get"] } } })).message).toContain(
    "cannot be called",
  );
  expect((await refused({ permissions: { deny: ["mcp__nowhere__x"] } })).message).toContain(
    "can match no configured server",
  );
});

test("people who LangGraph's server would name, beside a `langgraph.json` without `auth` (check-3)", async () => {
  writeFileSync(join(folder, "langgraph.json"), JSON.stringify({ graphs: {} }));
  expect((await refused({ approvals: { identity: "langgraph-auth", secret: "s".repeat(32) } })).message).toContain(
    "sets up no `auth`",
  );
});

test("what is only a warning is told and goes on (check-4)", async () => {
  const mcpServers = { gone: { command: "no-such-program-anywhere" }, off: { command: "x", enabled: false } };
  const toolgate = await createToolgate({
    config: { mcpServers, store: { kind: "memory" }, permissions: { deny: ["mcp__off__x"] } },
    model: scriptedModel([]),
  });
  expect(toolgate.findings.map(({ level, code }) => `${level} ${code}`)).toEqual([
    "warning store_memory",
    "warning command_missing",
    "warning secret_missing",
  ]);
  expect(Object.keys(toolgate.config.mcpServers)).toEqual(["gone"]);
  await toolgate.close();
});
