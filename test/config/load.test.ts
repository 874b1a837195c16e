// What a configuration is read as: defaults, spellings of other hosts, variables, and one sentence for each mistake.

import { describe, expect, it } from "vitest";
import { resolveConfig } from "../../src/adapters/config/load.js";
import { load, ref, refusalOf } from "./support.js";

const SECRET = "0123456789abcdef0123456789abcdef";

describe("defaults", () => {
  it("an empty configuration has every default of the table (config-4)", () => {
    expect(load("{}")).toEqual({
      findings: [],
      config: {
        mcpServers: {},
        permissions: { allow: [], ask: [], deny: [], default: "ask" },
        tools: {},
        catalog: {
          onInvalid: "withhold",
          limits: {
            pages: 64,
            tools: 512,
            servers: 64,
            pageBytes: 4_194_304,
            toolBytes: 131_072,
            cursorChars: 4_096,
            descriptionChars: 16_384,
            schemaDepth: 32,
            schemaNodes: 4_096,
            schema: "full",
            refs: "local",
          },
        },
        limits: {
          calls: 25,
          writes: 10,
          modelRequests: 50,
          wallMs: 600_000,
          argumentBytes: 32_000,
          resultBytes: 32_000,
          hardResultBytes: 8_388_608,
          resultKinds: "any",
          parallelReads: 4,
        },
        lateAnswerMs: 5_000,
        leaseMs: 15_000,
        haltScope: "thread",
        approvals: {
          previousSecrets: [],
          ttlMs: 60_000,
          requestTtlMs: 604_800_000,
          positional: "accept",
          requireIdentity: false,
        },
        scope: "local",
        store: { kind: "sqlite", path: "/srv/app/.toolgate" },
        lock: { path: "/srv/app/toolgate.lock.json", required: false },
        secrets: [],
        literalSecrets: [],
        folder: "/srv/app",
      },
    });
  });

  it("one key of an object leaves the defaults of the others", () => {
    const { config } = load('{ "catalog": { "limits": { "pages": 4 } }, "limits": { "calls": 12 } }');
    expect(config.catalog).toMatchObject({ onInvalid: "withhold", limits: { pages: 4, tools: 512 } });
    expect(config.limits).toMatchObject({ calls: 12, writes: 10 });
  });

  it("a stdio server and an http server", () => {
    const text = '{ "mcpServers": { "a": { "command": "node" }, "b": { "url": "https://example.org/mcp" } } }';
    const common = { connect: "start", required: false, protocol: "auto", errors: "conservative" };
    expect(load(text).config.mcpServers).toEqual({
      a: { type: "stdio", command: "node", args: [], env: {}, cwd: "/srv/app", ...common },
      b: { type: "http", url: "https://example.org/mcp", headers: {}, ...common },
    });
  });

  it("a configuration given in code may leave keys undefined", () => {
    const { config } = resolveConfig({ model: undefined, mcpServers: undefined }, { folder: "/srv/app", env: {} });
    expect(config.model).toBeUndefined();
    expect(config.mcpServers).toEqual({});
  });
});

it("a configuration that was read is taken as it is (config-6)", () => {
  const text = `{ "mcpServers": { "a": { "command": "x", "timeout": 5000 }, "b": { "disabled": true } }, "model": "${ref("M")}" }`;
  const { config } = load(text, { M: ref("NOT_EXPANDED") });
  expect(resolveConfig(config, { folder: "/elsewhere", env: {} })).toEqual({ config, findings: [] });
  expect(config).toMatchObject({ folder: "/srv/app", secrets: [ref("NOT_EXPANDED")], disabledServers: ["b"] });
});

describe("spellings", () => {
  const typeOf = (server: object) => load(JSON.stringify({ mcpServers: { s: server } })).config.mcpServers["s"]?.type;

  it.each(["http", "streamable-http", "streamableHttp", "streamable_http"])("%s is http (config-server-1)", (type) => {
    expect(typeOf({ type, url: "https://example.org" })).toBe("http");
    expect(typeOf({ transport: type, url: "https://example.org" })).toBe("http");
  });

  it("sse and stdio are themselves, and without a type the command or the url decides (config-server-1)", () => {
    expect(typeOf({ type: "sse", url: "https://example.org" })).toBe("sse");
    expect(typeOf({ type: "stdio", command: "node" })).toBe("stdio");
    expect(typeOf({ command: "node" })).toBe("stdio");
    expect(typeOf({ url: "https://example.org" })).toBe("http");
    expect(typeOf({ type: "http", transport: "streamableHttp", url: "https://example.org" })).toBe("http");
  });

  it("http is taken on this machine (config-server-4)", () => {
    for (const url of [
      "http://localhost:1",
      "http://127.0.0.1/mcp",
      "http://127.9.9.9",
      "http://[::1]:80",
      "http://a.localhost",
    ])
      expect(typeOf({ url })).toBe("http");
  });

  it("reads the servers of a VS Code file beside its own", () => {
    const text =
      '{ "servers": { "a": { "type": "stdio", "command": "x" } }, "mcpServers": { "b": { "command": "y" } } }';
    expect(Object.keys(load(text).config.mcpServers)).toEqual(["b", "a"]);
  });

  it("a disabled server is left out, with its unset variables and its mistakes (config-3)", () => {
    const servers = {
      off: { disabled: true, command: ref("UNSET"), url: "x", wrong: 1 },
      on: { disabled: false, command: "y" },
    };
    const { config, findings } = load(JSON.stringify({ mcpServers: servers }));
    expect(Object.keys(config.mcpServers)).toEqual(["on"]);
    expect(config.disabledServers).toEqual(["off"]);
    expect(findings).toEqual([]);
  });

  it("`timeout` is the server's time limit in milliseconds; a short one was probably meant in seconds", () => {
    const read = load(
      '{ "mcpServers": { "a": { "command": "x", "timeout": 90000 }, "b": { "command": "y", "timeout": 60 } } }',
    );
    expect(read.config.mcpServers).toMatchObject({ a: { timeoutMs: 90_000 }, b: { timeoutMs: 60 } });
    expect(read.findings).toEqual([
      {
        level: "warning",
        code: "short_timeout",
        message: "`mcpServers.b.timeout` is read as 60 milliseconds; for 60 seconds write 60000",
      },
    ]);
  });

  it("`autoApprove` and `alwaysAllow` allow nothing and become a suggestion (config-5)", () => {
    const servers = {
      docs: { command: "x", autoApprove: ["search.docs", "get"] },
      all: { command: "x", alwaysAllow: ["*"] },
      odd: { command: "x", autoApprove: "yes" },
    };
    const { config, findings } = load(JSON.stringify({ mcpServers: servers }));
    expect(config.permissions.allow).toEqual([]);
    expect(findings).toEqual([
      {
        level: "warning",
        code: "auto_approve",
        message:
          '`mcpServers.docs.autoApprove` allows nothing here; to allow them, put "mcp__docs__search_docs", "mcp__docs__get" into `permissions.allow`',
      },
      {
        level: "warning",
        code: "auto_approve",
        message:
          '`mcpServers.all.alwaysAllow` allows nothing here; to allow them, put "mcp__all__*" into `permissions.allow`',
      },
      { level: "warning", code: "auto_approve", message: "`mcpServers.odd.autoApprove` allows nothing here" },
    ]);
  });

  it("unknown keys are warned about, with the nearest known one (file-1)", () => {
    const text = `{ "mcp_servers": {}, "inputs": [],
      "mcpServers": { "my docs": { "comand": "x", "command": "x" } },
      "store": { "kind": "sqlite", "pth": "x" }, "tools": { "mcp__a": { "timeoutMS": 1 } },
      "limits": { "zzzzzzzz": 1 } }`;
    expect(load(text).findings).toEqual(
      [
        "unknown key `mcp_servers` is ignored; did you mean `mcpServers`?",
        "unknown key `inputs` is ignored",
        'unknown key `mcpServers["my docs"].comand` is ignored; did you mean `command`?',
        "unknown key `store.pth` is ignored; did you mean `path`?",
        "unknown key `tools.mcp__a.timeoutMS` is ignored; did you mean `timeoutMs`?",
        "unknown key `limits.zzzzzzzz` is ignored",
      ].map((message) => ({ level: "warning", code: "unknown_key", message })),
    );
  });

  it("keys that the transport has no use for are warned about", () => {
    const servers = { a: { command: "x", headers: {} }, b: { url: "https://example.org", cwd: ".", args: [] } };
    expect(load(JSON.stringify({ mcpServers: servers })).findings.map(({ code, message }) => [code, message])).toEqual([
      ["ignored_key", "`mcpServers.a.headers` is ignored: the server is started by `command`"],
      ["ignored_key", "`mcpServers.b.args` is ignored: the server is reached by `url`"],
      ["ignored_key", "`mcpServers.b.cwd` is ignored: the server is reached by `url`"],
    ]);
  });
});

describe("variables", () => {
  it("are filled into every string, keys aside", () => {
    const text = JSON.stringify({
      model: ref("M"),
      mcpServers: {
        [ref("M")]: { command: ref("C", "node"), args: [`-${ref("A")}-${ref("A")}-`], env: { [ref("M")]: ref("E") } },
      },
      permissions: { allow: [ref("R", "")] },
    });
    const { config } = load(text, { M: "openai:x", A: "1", E: "" });
    expect(config.model).toBe("openai:x");
    expect(config.mcpServers[ref("M")]).toMatchObject({ command: "node", args: ["-1-1-"], env: { [ref("M")]: "" } });
    expect(config.permissions.allow).toEqual([""]);
  });

  it("a default covers an empty variable; what a variable holds is not expanded again (variables-2) (variables-3)", () => {
    const servers = {
      a: { command: "x", args: [ref("EMPTY", "default"), ref("NESTED"), "$HOME", ref(""), ref("1")] },
    };
    const { config } = load(JSON.stringify({ mcpServers: servers }), { EMPTY: "", NESTED: ref("OTHER") });
    expect(config.mcpServers["a"]).toMatchObject({ args: ["default", ref("OTHER"), "$HOME", ref(""), ref("1")] });
  });

  it("an unset one is an error that names it, its key and its place (variables-1)", async () => {
    const text = `{\n  "mcpServers": { "docs": { "command": "x",\n    "env": { "T": "${ref("DOCS_TOKEN")}" } } }\n}`;
    expect(await refusalOf(() => load(text))).toEqual({
      code: "config_variable",
      message: "toolgate.json:3:14: `mcpServers.docs.env.T` needs the variable `DOCS_TOKEN`, which is not set",
      hint: "set `DOCS_TOKEN`", // no default is suggested: a secret should not be written into the file
    });
    expect(await refusalOf(() => load(text.replace("DOCS_TOKEN", "DOCS_ROOT")))).toMatchObject({
      hint: `set \`DOCS_ROOT\`, or give a default: \`${ref("DOCS_ROOT", "default")}\``,
    });
    expect(await refusalOf(() => load(`{ "model": "${ref("constructor")}" }`))).toMatchObject({
      code: "config_variable",
    });
  });

  it.each([ref("env:TOKEN"), ref("input:key"), "${TOKEN", ref("TOKEN-x"), `${ref("workspaceFolder")}/x`])(
    "%s is not passed on unchanged (variables-4)",
    async (text) => {
      const { code, message } = await refusalOf(() => load(JSON.stringify({ model: text })));
      expect(code).toBe("config_variable");
      expect(message).toMatch(
        /^toolgate.json:1:2: `model` (holds `.+`, which toolgate cannot fill in|needs the variable `workspaceFolder`, which is not set)$/,
      );
    },
  );
});

describe("mistakes", () => {
  const schemaHint = "toolgate.schema.json lists every key and what it takes";
  const server = (text: string) => `{ "mcpServers": { "s": ${text} } }`;
  const mistakes: [string, string, string][] = [
    ['{ "limits": { "calls": "12" } }', "1:15: `limits.calls` must be a number, not a string", schemaHint],
    ['{ "limits": { "calls": 1.5 } }', "1:15: `limits.calls` must be a whole number, not a fraction", schemaHint],
    ['{ "limits": { "calls": -1 } }', "1:15: `limits.calls` must be at least 0", schemaHint],
    ['{ "limits": { "wallMs": 0 } }', "1:15: `limits.wallMs` must be more than 0", schemaHint],
    ['{ "leaseMs": 3000000000 }', "1:3: `leaseMs` must be at most 2147483647", schemaHint],
    ['{ "limits": [] }', "1:3: `limits` must be an object, not a list", schemaHint],
    ['{ "mcpServers": null }', "1:3: `mcpServers` must be an object, not null", schemaHint],
    [
      '{ "store": { "kind": "mysql" } }',
      "1:14: `store.kind` must be one of `sqlite`, `postgres`, `memory`, not `mysql`",
      schemaHint,
    ],
    ['{ "store": { "kind": "postgres" } }', "1:3: `store.url` is missing; it must be a string", schemaHint],
    ['{ "scope": "" }', "1:3: `scope` must not be empty", schemaHint],
    [
      '{ "scope": "a\\u001fb" }',
      "1:3: `scope` must be a string of 1 to 255 characters, without control characters",
      schemaHint,
    ],
    [`{ "scope": "${"s".repeat(256)}" }`, "1:3: `scope` must have at most 255 characters", schemaHint],
    [
      '{ "permissions": { "default": "allow" } }',
      "1:20: `permissions.default` must be one of `ask`, `deny`, not `allow`",
      schemaHint,
    ],
    ['{ "permissions": { "deny": "x" } }', "1:20: `permissions.deny` must be a list, not a string", schemaHint],
    [
      '{ "permissions": { "deny": [1, 2] } }',
      "1:29: `permissions.deny[0]` must be a string, not a number, and 1 more key is wrong",
      schemaHint,
    ],
    [
      '{ "tools": { "mcp__a__b": { "contract": "x" } } }',
      "1:29: `tools.mcp__a__b.contract` must be `status`, not `x`",
      schemaHint,
    ],
    [
      '{ "tools": { "mcp__a__*": { "effect": "none" } } }',
      '1:29: `tools["mcp__a__*"].effect` must be one of `read`, `write`, not `none`',
      schemaHint,
    ],
    [
      '{ "catalog": { "limits": { "toolName": "(" } } }',
      "1:28: `catalog.limits.toolName` is not a regular expression",
      "write one as in JavaScript, without slashes",
    ],
    [
      '{ "approvals": { "secret": "short" } }',
      "1:18: `approvals.secret` has 5 characters and needs at least 32",
      "make one with: node -e \"console.log(require('crypto').randomBytes(32).toString('base64url'))\"",
    ],
    [
      server('{ "command": "x", "grantSecret": "short" }'),
      "1:42: `mcpServers.s.grantSecret` has 5 characters and needs at least 32",
      "make one with: node -e \"console.log(require('crypto').randomBytes(32).toString('base64url'))\"",
    ],
    [
      server('{ "command": "x", "credentialId": "" }'),
      "1:42: `mcpServers.s.credentialId` must not be empty",
      schemaHint,
    ],
    [
      server(`{ "command": "x", "credentialId": "${"c".repeat(201)}" }`),
      "1:42: `mcpServers.s.credentialId` must have at most 200 characters",
      schemaHint,
    ],
    [
      '{ "tools": { "mcp__s__save": { "inject": { "token": "grant" } } }, "mcpServers": { "s": { "command": "x" } } }',
      "1:32: `tools.mcp__s__save.inject` names a grant, and server `s` has no key to check it with",
      "set `grantSecret` of that server, and give the server the same value",
    ],
    [
      '{ "tools": { "mcp__s__save": { "reconcile": { "tool": "mcp__s__get", "arguments": {}, "happened": {} } } } }',
      "1:87: `tools.mcp__s__save.reconcile.happened` names nothing that could be met",
      schemaHint,
    ],
    [
      '{ "tools": { "mcp__s__save": { "reconcile": { "tool": "mcp__s__get", "arguments": {}, "happened": { "n": 1 } } } } }',
      "1:101: `tools.mcp__s__save.reconcile.happened.n` has a key that must be a JSON pointer such as `/data/state`",
      schemaHint,
    ],
    [
      server('{ "command": "x", "type": "pipe" }'),
      "1:42: `mcpServers.s.type` must be one of `stdio`, `http`, `sse`, `streamable-http`, `streamableHttp`, `streamable_http`, not `pipe`",
      schemaHint,
    ],
    [server('{ "command": "x", "args": "y" }'), "1:42: `mcpServers.s.args` must be a list, not a string", schemaHint],
    [
      server('{ "command": "x", "env": { "PORT": 80 } }'),
      "1:51: `mcpServers.s.env.PORT` must be a string, not a number",
      schemaHint,
    ],
    [server('{ "command": "" }'), "1:26: `mcpServers.s.command` must not be empty", schemaHint],
    [
      server('{ "command": "x", "disabled": "true" }'),
      "1:42: `mcpServers.s.disabled` must be `true` or `false`, not a string",
      schemaHint,
    ],
    [
      server('{ "command": "x", "url": "https://example.org" }'),
      "1:19: `mcpServers.s` has both `command` and `url`",
      "keep `command` to start a program, or `url` to reach a server",
    ],
    [
      server("{}"),
      "1:19: `mcpServers.s` has neither `command` nor `url`",
      "give the program to start, or the address to reach",
    ],
    [
      server('{ "command": "x", "type": "http" }'),
      "1:42: `mcpServers.s.type` is `http` beside a `command`",
      "leave it out: it follows from `command` or `url`",
    ],
    [
      server('{ "url": "https://example.org", "transport": "stdio" }'),
      "1:56: `mcpServers.s.transport` is `stdio` beside a `url`",
      "leave it out: it follows from `command` or `url`",
    ],
    [
      server('{ "url": "https://example.org", "type": "sse", "transport": "http" }'),
      "1:71: `mcpServers.s.transport` says `http` where `type` says `sse`",
      "keep one of them",
    ],
    [server('{ "url": "example.org" }'), "1:26: `mcpServers.s.url` is not a URL", "write it whole: https://host/path"],
    [
      server('{ "url": "ftp://example.org" }'),
      "1:26: `mcpServers.s.url` is a `ftp:` address",
      "toolgate speaks https, and http on this machine",
    ],
    [
      server('{ "url": "http://example.org" }'),
      "1:26: `mcpServers.s.url` is plain http to another machine",
      "use https; http is taken for localhost, 127.0.0.1, [::1]",
    ],
    [
      server('{ "url": "http://localhost.example.org" }'),
      "1:26: `mcpServers.s.url` is plain http to another machine",
      "use https; http is taken for localhost, 127.0.0.1, [::1]",
    ],
    [
      server('{ "url": "https://me:word@example.org" }'),
      "1:26: `mcpServers.s.url` holds a user name or password",
      "put credentials into `headers`: requests cannot carry them",
    ],
    [
      server('{ "url": "https://example.org", "headers": { "A B": "x" } }'),
      "1:56: `mcpServers.s.headers` names a header that HTTP does not take",
      "use letters, digits and `-`",
    ],
    [
      server('{ "url": "https://example.org", "headers": { "A": "x\\n" } }'),
      "1:69: `mcpServers.s.headers.A` holds a character that a header cannot carry",
      "look for a line break at its end",
    ],
    [
      server('{ "command": "x", "args": ["a\\u0000"] }'),
      "1:42: `mcpServers.s.args` holds a NUL character",
      "take it out: no program can be given one",
    ],
    [
      server('{ "command": "x", "env": { "A=B": "c" } }'),
      "1:42: `mcpServers.s.env` names a variable that no system takes",
      "use letters and `_`",
    ],
    [
      '{ "mcpServers": { "a": { "command": "x" } }, "servers": { "a": { "command": "x" } } }',
      "1:59: `servers.a` is also in `mcpServers`",
      "keep one, or rename one",
    ],
  ];
  it.each(mistakes)("%s (config-1)", async (text, message, hint) => {
    expect(await refusalOf(() => load(text))).toEqual({
      code: "config_invalid",
      message: `toolgate.json:${message}`,
      hint,
    });
  });

  it("what stands in a variable is not quoted when it is wrong (config-2)", async () => {
    const hidden = "canary-of-the-environment";
    for (const text of [
      `{ "store": { "kind": "${ref("V")}" } }`,
      `{ "approvals": { "secret": "${ref("V")}" } }`,
      server(`{ "url": "${ref("V")}" }`),
      server(`{ "url": "http://${ref("V")}.example.org" }`),
      server(`{ "url": "https://a:${ref("V")}@example.org" }`),
      server(`{ "url": "https://example.org", "headers": { "A": "${ref("V")}\\n" } }`),
      server(`{ "command": "x", "type": "${ref("V")}" }`),
    ]) {
      const { message, hint } = await refusalOf(() => load(text, { V: hidden }));
      expect(message + hint).not.toContain(hidden);
    }
  });

  it("a value given in code that is no JSON is refused in the same words, without a place", async () => {
    const options = { folder: "/srv/app", env: {} };
    const circular: Record<string, unknown> = {};
    circular["tools"] = circular;
    expect(await refusalOf(() => resolveConfig({ model: () => "x" }, options))).toEqual({
      code: "config_invalid",
      message: "`model` must be a string, not a function",
      hint: schemaHint,
    });
    expect((await refusalOf(() => resolveConfig(circular, options))).message).toMatch(
      /^`tools\.tools\..*…` is nested deeper than 128$/,
    );
    expect((await refusalOf(() => resolveConfig(undefined, options))).message).toBe(
      "a configuration must be an object, not nothing",
    );
    const forged = JSON.parse('{ "tools": { "__proto__": { "effect": "read" } } }');
    expect((await refusalOf(() => resolveConfig(forged, options))).message).toBe("`tools` has a key named `__proto__`");
  });

  it("a grant needs a key that its server has too: of the server, or the host's own", () => {
    const tools = '"tools": { "mcp__s__save": { "inject": { "token": "grant" } } }';
    const own = load(`{ ${tools}, "mcpServers": { "s": { "command": "x", "grantSecret": "${SECRET}" } } }`).config;
    expect(own.mcpServers["s"]).toMatchObject({ grantSecret: SECRET });
    expect(own.secrets).toEqual([SECRET]);
    const shared = load(
      `{ ${tools}, "approvals": { "secret": "${SECRET}" }, "mcpServers": { "s": { "command": "x" } } }`,
    ).config;
    expect(shared.mcpServers["s"]).not.toHaveProperty("grantSecret");
  });

  it("a name for who a server is called as, over either transport", () => {
    const { mcpServers } = load(
      '{ "mcpServers": { "a": { "command": "x", "credentialId": "ops" }, "b": { "url": "https://x.org/", "credentialId": "ops" }, "c": { "command": "x" } } }',
    ).config;
    expect(["a", "b", "c"].map((name) => mcpServers[name]?.credentialId)).toEqual(["ops", "ops", undefined]);
    expect(mcpServers["c"]).not.toHaveProperty("credentialId");
  });

  it("a secret of 32 characters is enough", () => {
    expect(load(`{ "approvals": { "secret": "${SECRET}" } }`).config.approvals.secret).toBe(SECRET);
  });
});
