// The published schema, the reader and the examples agree.

import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Ajv } from "ajv";
import { describe, expect, it } from "vitest";
import { configJsonSchema } from "../../src/adapters/config/file.js";
import { examine } from "../../src/adapters/config/findings.js";
import { readConfig } from "../../src/adapters/config/load.js";
import { parseStrictJson } from "../../src/adapters/config/strict-json.js";
import { BUILT_INS } from "../../src/contracts/index.js";
import { load, ref } from "./support.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const committed = JSON.parse(readFileSync(`${root}/toolgate.schema.json`, "utf8")) as Record<string, unknown>;
const validate = new Ajv().compile(committed);

/** The example of the documentation: comments, aliases, variables, every part. */
const EXAMPLE = `{
  "model": "openai:gpt-5.1",                  // initChatModel name, or "scripted:path.json"
  "mcpServers": {                              // the shape Claude, VS Code and Cursor users know
    "docs":   { "command": "node", "args": ["servers/docs.js"], "env": { "T": "${ref("T")}" }, "cwd": "." },
    "remote": { "type": "http", "url": "https://example.org/mcp", "headers": { "Authorization": "Bearer ${ref("TOKEN")}" } },
    "deploy": { "command": "node", "args": ["servers/deploy.js"], "connect": "on-demand" }
  },
  "permissions": { "allow": [], "ask": [], "deny": [], "default": "ask" },
  "tools": {
    "mcp__documents__save_report": {
      "effect": "write", "contract": "status", "timeoutMs": 5000,
      "inject": { "approval_token": "grant", "operation_id": "operationId" },
      "reconcile": { "tool": "mcp__documents__get_operation", "arguments": { "operation_id": "$operationId" } }
    },
    "mcp__docs__*": { "effect": "read" }
  },
  "store": { "kind": "sqlite", "path": ".toolgate" },   // or { "kind": "postgres", "url": "${ref("DATABASE_URL")}" }, { "kind": "memory" }
  "approvals": { "secret": "${ref("TOOLGATE_SECRET")}" }
}`;

describe("toolgate.schema.json", () => {
  it("is what the reader's own schema says: `npm run schema` brings it up to date", () => {
    expect(committed).toEqual(JSON.parse(JSON.stringify(configJsonSchema())));
  });

  it("has a title and no id, and describes every key", () => {
    expect(committed).toMatchObject({ title: "toolgate configuration", type: "object" });
    expect(committed).not.toHaveProperty("$id");
    expect(committed).not.toHaveProperty("required");
    expect(undescribed(committed, "")).toEqual([]);
  });

  it("takes the documented example, and so does the reader", () => {
    const parsed = parseStrictJson(EXAMPLE, { comments: true });
    expect(parsed.ok && validate(parsed.value)).toBe(true);
    const env = { T: "t-value", TOKEN: "token-value", TOOLGATE_SECRET: "0123456789abcdef0123456789abcdef" };
    const { config, findings } = load(EXAMPLE, env);
    expect(findings).toEqual([]);
    expect(config.mcpServers["remote"]).toMatchObject({ headers: { Authorization: "Bearer token-value" } });
    expect(config.tools["mcp__documents__save_report"]).toEqual({
      effect: "write",
      contract: "status",
      timeoutMs: 5_000,
      inject: { approval_token: "grant", operation_id: "operationId" },
      reconcile: { tool: "mcp__documents__get_operation", arguments: { operation_id: "$operationId" } },
    });
    expect(config.secrets).toEqual(["0123456789abcdef0123456789abcdef", "token-value", "t-value"]);
  });

  it.each([
    '{ "limits": { "calls": "12" } }',
    '{ "store": { "kind": "mysql" } }',
    '{ "permissions": { "default": "allow" } }',
    '{ "mcpServers": { "a": {} } }',
    '{ "mcpServers": { "a": { "command": "x", "url": "https://example.org" } } }',
    '{ "leaseMs": 3000000000 }',
  ])("refuses what the reader refuses: %s", (text) => {
    expect(validate(JSON.parse(text))).toBe(false);
    expect(() => load(text)).toThrow();
  });
});

describe("the configurations that come with toolgate", () => {
  const configs = ["toolgate.json", "examples/s1.json", "examples/s3.json"];

  it.each(configs)("%s reads without a finding and passes its own check", async (name) => {
    const file = `${root}/${name}`;
    expect(validate(JSON.parse(readFileSync(file, "utf8")))).toBe(true);
    const loaded = await readConfig(file, {});
    expect(loaded.findings).toEqual([]);
    const { findings } = examine(loaded, {
      env: { PATH: process.env["PATH"] },
      localTools: [...BUILT_INS, "read_file"],
    });
    const errors = findings.filter(({ level }) => level === "error");
    expect(errors).toEqual([]);
  });

  it("every script is a list of steps, each with words or calls", () => {
    const scripts = readdirSync(`${root}/examples`).filter((name) => name.endsWith("-script.json"));
    expect(scripts.length).toBeGreaterThan(0);
    for (const name of scripts) {
      const steps = JSON.parse(readFileSync(`${root}/examples/${name}`, "utf8")) as {
        say?: string;
        calls?: object[];
      }[];
      for (const step of steps) {
        expect(step.say ?? step.calls, name).toBeDefined();
        for (const call of step.calls ?? []) expect(call, name).toMatchObject({ name: expect.any(String), args: {} });
      }
    }
  });
});

/** Keys that have no description in the schema. */
function undescribed(schema: unknown, path: string): string[] {
  if (typeof schema !== "object" || schema === null) return [];
  const node = schema as { properties?: Record<string, Record<string, unknown>> };
  const own = Object.entries(node.properties ?? {}).flatMap(([key, value]) =>
    "description" in value || path.endsWith("reconcile") ? [] : [`${path}.${key}`],
  );
  return [...own, ...Object.entries(schema).flatMap(([key, value]) => undescribed(value, `${path}.${key}`))];
}
