// Keys that restrict: those of other hosts are heard, and one that nobody knows is refused.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { resolveConfig } from "../../src/adapters/config/load.js";
import type { Config } from "../../src/contracts/index.js";
import { createToolgate, loadConfig } from "../../src/index.js";
import { load, ref, refusalOf } from "./support.js";

const server = (entry: object) => JSON.stringify({ mcpServers: { s: { command: "x", ...entry } } });
const read = (entry: object) => load(server(entry)).config.mcpServers["s"];

// A server that a person had turned off in another host's file was started and offered.
describe("a server that is turned off", () => {
  it.each([
    ["Codex and others", { enabled: false }],
    ["Claude Desktop and others", { disabled: true }],
    ["Cherry Studio", { isActive: false }],
    ["one key says on, and another off", { enabled: true, disabled: true }],
    ["the same the other way", { enabled: false, disabled: false }],
    [
      "what else it says is wrong and unset",
      { enabled: false, command: ref("UNSET"), url: 1, hide: "x", permission: 1 },
    ],
  ])("as in %s, is left out, and rules may still name it (offer-keys-1)", (_, entry) => {
    const { config } = load(server(entry));
    expect(config.mcpServers).toEqual({});
    expect(config.disabledServers).toEqual(["s"]);
  });

  it("by one key and on by another, is told of (offer-keys-1)", () => {
    expect(load(server({ enabled: true, disabled: true })).findings).toEqual([
      {
        level: "warning",
        code: "server_disabled",
        message: "`mcpServers.s` is turned on by one key and off by another: it is left out",
      },
    ]);
  });

  it("under `servers`, too, and not when every key says on", () => {
    const servers = { a: { command: "x", enabled: false }, b: { command: "y", enabled: true, disabled: false } };
    const { config, findings } = load(JSON.stringify({ servers }));
    expect(Object.keys(config.mcpServers)).toEqual(["b"]);
    expect(findings).toEqual([]);
  });
});

describe("lists of tools", () => {
  it.each(["show", "tools", "includeTools", "enabled_tools", "enabledTools", "allowed_tools", "allowedTools"])(
    "`%s` names the only tools that are offered",
    (key) => {
      expect(read({ [key]: ["get_*", "list"] })).toMatchObject({ show: ["get_*", "list"] });
      expect(read({ [key]: [] })).toMatchObject({ show: [] });
    },
  );

  it.each(["hide", "excludeTools", "disabled_tools", "disabledTools", "disallowed_tools", "disallowedTools"])(
    "`%s` names tools that are not offered",
    (key) => expect(read({ [key]: ["drop_*"] })).toMatchObject({ hide: ["drop_*"] }),
  );

  it("every list of hidden tools counts (offer-keys-2)", () => {
    expect(read({ hide: ["a"], disabledTools: ["b", "a"], excludeTools: ["c"] })).toMatchObject({
      hide: ["a", "c", "b"],
    });
  });

  it("of lists of offered tools the one that narrows counts; two different ones are refused (offer-keys-2)", async () => {
    expect(read({ tools: ["*"], includeTools: ["a", "b"] })).toMatchObject({ show: ["a", "b"] });
    expect(read({ enabled_tools: ["b", "a"], show: ["a", "b"] })).toMatchObject({ show: ["a", "b"] });
    expect(await refusalOf(() => read({ enabled_tools: ["b"], show: ["a"] }))).toMatchObject({
      code: "config_invalid",
      message:
        "toolgate.json:1:35: `mcpServers.s.enabled_tools` names other tools than `show` does, and each of them names the only tools to offer",
    });
  });

  it("an argument test in a list is refused: it would match no tool (offer-keys-3)", async () => {
    for (const entry of [{ hide: ["a", "shell(rm *)"] }, { excludeTools: ["shell(rm)"] }, { show: ["get(path:x)"] }])
      expect((await refusalOf(() => read(entry))).message).toContain("holds a parenthesis");
  });

  it("without any of them nothing is said", () => {
    expect(read({})).not.toHaveProperty("show");
    expect(read({})).not.toHaveProperty("hide");
  });
});

// A value of another type was skipped, and the restriction with it.
describe("a value of another type", () => {
  it.each<[object, string]>([
    [{ enabled: "false" }, "`mcpServers.s.enabled` must be `true` or `false`, not a string"],
    [{ enabled: 0 }, "`mcpServers.s.enabled` must be `true` or `false`, not a number"],
    [{ enabled: null }, "`mcpServers.s.enabled` must be `true` or `false`, not null"],
    [{ isActive: "no" }, "`mcpServers.s.isActive` must be `true` or `false`, not a string"],
    [{ disabled: ref("ON") }, "`mcpServers.s.disabled` must be `true` or `false`, not a string"],
    [{ enabled: ref("OFF") }, "`mcpServers.s.enabled` must be `true` or `false`, not a string"],
    [{ disabledTools: "x" }, "`mcpServers.s.disabledTools` must be a list, not a string"],
    [{ hide: { x: true } }, "`mcpServers.s.hide` must be a list, not an object"],
    [{ tools: { x: { enabled: false } } }, "`mcpServers.s.tools` must be a list, not an object"],
    [{ enabled_tools: [1] }, "`mcpServers.s.enabled_tools[0]` must be a string, not a number"],
    [{ hide: [""] }, "`mcpServers.s.hide[0]` must not be empty"],
    [{ show: null }, "`mcpServers.s.show` must be a list, not null"],
  ])("%j is refused", async (entry, message) => {
    const env = { ON: "true", OFF: "false" };
    const refused = await refusalOf(() => load(server(entry), env));
    expect(refused.code).toBe("config_invalid");
    expect(refused.message).toContain(message);
  });
});

// `permisions` was a warning on a terminal that nobody read, and everything it denied could be asked for.
describe("a key that nobody knows and that may restrict (config-7)", () => {
  const whole = (value: object) => JSON.stringify(value);
  it.each<[string, string]>([
    [whole({ permisions: { deny: ["mcp__*"] } }), "permisions"],
    [whole({ permission: {} }), "permission"],
    [whole({ Permissions: {} }), "Permissions"],
    [whole({ premissions: {} }), "premissions"],
    [whole({ deny: ["mcp__*"] }), "deny"],
    [whole({ excludeTools: ["x"] }), "excludeTools"],
    [whole({ disabledMcpjsonServers: ["x"] }), "disabledMcpjsonServers"],
    [whole({ mcp: { excluded: ["x"] } }), "mcp"],
    [whole({ limit: { calls: 0 } }), "limit"],
    [whole({ scop: "acme" }), "scop"],
    [whole({ permissions: { denied: [] } }), "permissions.denied"],
    [whole({ permissions: { zzz: 1 } }), "permissions.zzz"],
    [whole({ permissions: { additionalDirectories: [] } }), "permissions.additionalDirectories"],
    [whole({ limits: { wirtes: 0 } }), "limits.wirtes"],
    [whole({ approvals: { requireIdentiy: true } }), "approvals.requireIdentiy"],
    [whole({ tools: { mcp__s: { efect: "write" } } }), "tools.mcp__s.efect"],
    [server({ disable: true }), "mcpServers.s.disable"],
    [server({ Disabled: true }), "mcpServers.s.Disabled"],
    [server({ enable: false }), "mcpServers.s.enable"],
    [server({ "is-enabled": false }), "mcpServers.s.is-enabled"],
    [server({ active: false }), "mcpServers.s.active"],
    [server({ hide_tools: ["x"] }), "mcpServers.s.hide_tools"],
    [server({ hied: ["x"] }), "mcpServers.s.hied"],
    [server({ showOnly: ["x"] }), "mcpServers.s.showOnly"],
    [server({ toolFilter: { mode: "block", list: ["x"] } }), "mcpServers.s.toolFilter"],
    [server({ available_tools: ["x"] }), "mcpServers.s.available_tools"],
    [server({ tool_configuration: { enabled: false } }), "mcpServers.s.tool_configuration"],
    [server({ options: [{ more: { blockedToolNames: ["x"] } }] }), "mcpServers.s.options"],
    [server({ require_approval: "always" }), "mcpServers.s.require_approval"],
    [server({ readOnly: true }), "mcpServers.s.readOnly"],
    [server({ sandboxEnabled: true }), "mcpServers.s.sandboxEnabled"],
  ])("%s is refused", async (text, key) => {
    const refused = await refusalOf(() => load(text));
    expect(refused.code).toBe("config_invalid");
    expect(refused.message).toContain(
      `\`${key}\` is no key of toolgate's, and what it restricts would not be restricted`,
    );
  });

  it("says what was probably meant, where it stands, and how many more there are (restricting-1)", async () => {
    expect(await refusalOf(() => load('{\n  "permisions": {},\n  "limits": { "wirtes": 1 } }'))).toEqual({
      code: "config_invalid",
      message:
        "toolgate.json:2:3: `permisions` is no key of toolgate's, and what it restricts would not be restricted, and so would 1 more",
      hint: "did you mean `permissions`? toolgate.schema.json lists every key; take out what is not needed",
    });
  });

  it.each([
    ["what starts a server", server({ startup_timeout_sec: 5, tool_timeout_sec: 60, env_vars: ["X"] })],
    ["what lets more through", server({ auto_approve: ["x"], always_allow: ["x"], autoApproveAll: true, trust: true })],
    ["what describes one", server({ description: "x", icon: "x", source: "custom", url_: "x" })],
    ["names of variables and headers", server({ env: { DENY_ALL: "1", HIDE: "1" } })],
    [
      "arguments of a read-back",
      whole({ tools: { mcp__s: { reconcile: { tool: "t", arguments: { enabled: false } } } } }),
    ],
  ])("%s is none", (_, text) => {
    expect(load(text).findings.every(({ level }) => level === "warning")).toBe(true);
  });

  it("any key with such a word, however it is written (restricting-2)", async () => {
    const words = fc.constantFrom(
      "deny",
      "denied",
      "hide",
      "hidden",
      "exclude",
      "disable",
      "disabled",
      "permission",
      "allowed",
      "block",
    );
    const affix = fc.constantFrom("my", "Mcp", "server", "list", "x1");
    const join = fc.constantFrom("_", "-", ".", " ");
    const keys = fc
      .tuple(fc.array(affix, { maxLength: 2 }), words, fc.array(affix, { maxLength: 2 }), join, fc.boolean())
      .map(([before, word, after, by, upper]) => {
        const key = [...before, word, ...after].join(by);
        return upper ? key.toUpperCase() : key;
      })
      .filter((key) => key !== "hide" && key !== "disabled");
    await fc.assert(
      fc.asyncProperty(keys, async (key) => {
        expect((await refusalOf(() => load(server({ [key]: ["x"] })))).message).toContain("is no key of toolgate's");
      }),
    );
  });
});

// A host changed a loaded configuration by hand, and what it added was never read.
describe("a loaded configuration that was changed (config-6)", () => {
  const loaded = () => load(server({})).config;
  const changes: [string, (config: Config) => unknown, string][] = [
    [
      "a server that is turned off",
      (c) => ({ ...c, mcpServers: { s: { ...c.mcpServers["s"], enabled: false } } }),
      "mcpServers.s.enabled",
    ],
    ["a key that restricts", (c) => ({ ...c, permisions: {} }), "permisions"],
    [
      "a list that is none",
      (c) => ({ ...c, mcpServers: { s: { ...c.mcpServers["s"], hide: "x" } } }),
      "mcpServers.s.hide",
    ],
    ["a rule that is none", (c) => ({ ...c, permissions: { ...c.permissions, deny: "mcp__s" } }), "permissions.deny"],
  ];
  it.each(changes)("so that it has %s is refused", async (_, change, key) => {
    const config = change(loaded());
    const refused = await refusalOf(() => resolveConfig(config, { folder: "/srv/app", env: {} }));
    expect(refused.message).toContain(`\`${key}\` of a loaded configuration`);
    const agent = await refusalOf(() => createToolgate({ config: config as Config }));
    expect(agent.message).toContain(`\`${key}\` of a loaded configuration`);
  });

  it("within its type is taken", async () => {
    const config = { ...loaded(), store: { kind: "memory" }, mcpServers: {} } as const;
    const toolgate = await createToolgate({ config });
    expect(toolgate.config).toMatchObject({ store: { kind: "memory" }, folder: "/srv/app" });
    await toolgate.close();
  });

  it("is what `loadConfig` returns for the file of this folder", async () => {
    expect((await loadConfig("toolgate.json")).permissions.default).toBe("ask");
  });
});
