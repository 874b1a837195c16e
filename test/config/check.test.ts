// What `toolgate check` finds without starting a server.

import { chmod, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { examine } from "../../src/adapters/config/findings.js";
import { resolveConfig } from "../../src/adapters/config/load.js";
import { findCommand } from "../../src/adapters/mcp/command.js";
import type { Config } from "../../src/contracts/index.js";

const SECRET = "0123456789abcdef0123456789abcdef";
let folder: string;
beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "toolgate-check-")));
  await mkdir(join(folder, "bin"));
  await mkdir(join(folder, "app", "data"), { recursive: true });
  await writeFile(join(folder, "bin", "tool"), "");
  await chmod(join(folder, "bin", "tool"), 0o755);
  await writeFile(join(folder, "bin", "plain"), "");
  await chmod(join(folder, "bin", "plain"), 0o644);
  await mkdir(join(folder, "bin", "folder"));
  await writeFile(join(folder, "bin", "shim.CMD"), "");
  await symlink(join(folder, "app"), join(folder, "link"));
  await writeFile(join(folder, "app", "script.json"), "[]");
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** The findings about a configuration that is otherwise in order, with the test's folder as `T`. */
function check(value: Record<string, unknown>, env: Record<string, string> = { PATH: join(folder, "bin") }): string[] {
  const whole = { model: "openai:x", approvals: { secret: SECRET }, ...value };
  const { config } = resolveConfig(whole, { folder: join(folder, "app"), env });
  return render(config, env);
}
function render(config: Config, env: Record<string, string>): string[] {
  return examine({ config, findings: [] }, { env }).findings.map(
    ({ level, code, message }) => `${level} ${code}: ${message.replaceAll(folder, "T")}`,
  );
}
const server = (value: object) => ({ mcpServers: { s: value } });

it("a configuration in order has no findings", () => {
  expect(check(server({ command: "tool", args: ["script.json", "data", "--root=data"] }))).toEqual([]);
});

describe("commands and folders", () => {
  // A missing command became an unhandled error event, or a message that named neither the command nor the PATH.
  it("a command that is not there, may not be executed, or is a directory", () => {
    expect(check(server({ command: "does-not-exist" }))).toEqual([
      "warning command_missing: server `s`: command `does-not-exist` is not on PATH (PATH is toolgate's own)",
    ]);
    expect(check(server({ command: "tool", env: { PATH: "/none" } }))).toEqual([
      "warning command_missing: server `s`: command `tool` is not on PATH (PATH is from the server's `env`)",
    ]);
    expect(check(server({ command: "plain" }))).toEqual([
      "warning command_missing: server `s`: command `plain` may not be executed (PATH is toolgate's own)",
    ]);
    expect(check(server({ command: "../bin/folder" }))).toEqual([
      "warning command_missing: server `s`: command `../bin/folder` is a directory (looked for from `T/app`)",
    ]);
    expect(check(server({ command: "./none" }))).toEqual([
      "warning command_missing: server `s`: command `./none` is not there (looked for from `T/app`)",
    ]);
    expect(check(server({ command: "tool" }), {})).toEqual([
      "warning command_missing: server `s`: command `tool` cannot be found: PATH is empty (PATH is toolgate's own)",
    ]);
  });

  // A server worked in a shell and failed under its host, because its working folder was another one.
  it("a folder that is not there or is a file; a command with a slash is looked for from the folder", () => {
    expect(check(server({ command: "tool", cwd: "none" }))).toEqual([
      "warning cwd_missing: server `s`: its folder `T/app/none` is not there",
    ]);
    expect(check(server({ command: "tool", cwd: "script.json" }))).toEqual([
      "warning cwd_missing: server `s`: its folder `T/app/script.json` is a file",
    ]);
    expect(check(server({ command: "../../bin/tool", cwd: "data" }))).toEqual([]);
  });

  // On Windows a command such as `npx` is a file with another ending, and was not found without a shell.
  it("on Windows the endings of PATHEXT are tried, and no shell is needed to find the file", () => {
    const bin = join(folder, "bin");
    const lookup = { cwd: folder, path: bin, platform: "win32", pathExt: ".EXE;.CMD" } as const;
    expect(findCommand("shim", lookup)).toEqual({ file: join(bin, "shim.CMD") });
    expect(findCommand("shim", { ...lookup, pathExt: ".EXE" })).toEqual({ at: "PATH", fault: "missing" });
    expect(findCommand("shim", { ...lookup, platform: "linux" })).toEqual({ at: "PATH", fault: "missing" });
  });

  it("a file on PATH is found behind one that may not be executed", async () => {
    const other = join(folder, "other");
    await mkdir(other);
    await writeFile(join(other, "plain"), "");
    await chmod(join(other, "plain"), 0o755);
    const path = `${join(folder, "bin")}:${other}`;
    expect(findCommand("plain", { cwd: folder, path, platform: "linux" })).toEqual({ file: join(other, "plain") });
  });

  // A file of the working folder was started, because PATH had an empty entry or `.`, or was built from an empty variable.
  it.each([
    ["a relative folder", "bin", ""],
    ["a dot", ".", "bin"],
    ["nothing at all", "", "bin"],
    ["an empty entry at the end", "/none:", "bin"],
    ["a way through the parent", "../app/../bin", "app"],
    ["a tilde, which no system expands", "~/bin:./bin", ""],
  ])("a command is not looked for in an entry of PATH that is %s (command-1)", (_, path, cwd) => {
    const lookup = { cwd: join(folder, cwd), platform: "linux" } as const;
    expect(findCommand("tool", { ...lookup, path })).toMatchObject({ at: "PATH", fault: "missing" });
    const behind = { ...lookup, path: `${path}:${join(folder, "bin")}` };
    expect(findCommand("tool", behind)).toEqual({ file: join(folder, "bin", "tool") });
    expect(findCommand("./tool", { cwd: join(folder, "bin"), path })).toEqual({ file: join(folder, "bin", "tool") });
  });

  it("on Windows a folder without a drive or a share is relative, too (command-1)", () => {
    const lookup = { cwd: join(folder, "bin"), platform: "win32", pathExt: ".CMD" } as const;
    expect(findCommand("shim", { ...lookup, path: ".;C:bin" })).toEqual({
      at: "PATH",
      fault: "missing",
      passedOver: ".",
    });
  });

  it("says that a command is only where it is not looked for (command-1)", () => {
    expect(check(server({ command: "tool", cwd: "../bin", env: { PATH: ":/none" } }))[0]).toBe(
      "warning command_missing: server `s`: command `tool` is only in a relative folder of PATH, and those are not looked in (PATH is from the server's `env`)",
    );
  });

  // A run was refused, or went on without the one server it could not do without.
  it("is an error where the server is required from the start, and else a warning (check-4)", () => {
    const levels = (more: object) => check(server({ command: "none", ...more })).map((line) => line.split(" ", 2)[0]);
    expect(levels({ required: true })).toEqual(["error"]);
    expect(levels({ required: true, connect: "on-demand" })).toEqual(["warning"]);
    expect(levels({})).toEqual(["warning"]);
    expect(check(server({ command: "tool", cwd: "none", required: true }))[0]).toMatch(/^error cwd_missing/);
  });

  it("a command and a folder with names that no system can look up are not there, and the check goes on", () => {
    const long = "x".repeat(5_000);
    expect(check(server({ command: long }))).toEqual([
      `warning command_missing: server \`s\`: command \`${long}\` is not on PATH (PATH is toolgate's own)`,
    ]);
    expect(check(server({ command: "tool", cwd: long }))).toEqual([
      `warning cwd_missing: server \`s\`: its folder \`T/app/${long}\` is not there`,
    ]);
  });
});

describe("what guards a server is out of its reach", () => {
  const both = (root: string, level = "warning") => [
    `${level} writable_by_server: server \`s\` may write \`${root}\`, which holds this configuration and its lock file: give it a folder of its own, or move them out`,
    `${level} writable_by_server: server \`s\` may write \`${root}\`, which holds the store: give it a folder of its own, or move them out`,
  ];
  const store = (root: string) => both(root).slice(1);

  it("a folder among arguments or environment (roots-1)", () => {
    expect(check(server({ command: "tool", args: ["."] }))).toEqual(both("T/app"));
    expect(check(server({ command: "tool", args: ["--verbose", "/"] }))).toEqual(both("/"));
    expect(check(server({ command: "tool", args: ["--root=.."] }))).toEqual(both("T"));
    expect(check(server({ command: "tool", env: { WORKSPACE: folder } }))).toEqual(both("T"));
  });

  it("the store, also when it stands elsewhere (roots-1)", () => {
    const elsewhere = { store: { kind: "sqlite", path: "data/store" } };
    expect(check({ ...elsewhere, ...server({ command: "tool", args: ["data"] }) })).toEqual(store("T/app/data"));
    expect(check({ store: { kind: "sqlite", path: "." }, ...server({ command: "tool", args: ["data"] }) })).toEqual(
      store("T/app/data"),
    );
  });

  it("the folder it starts in, unless that is the configuration's own (roots-2)", () => {
    expect(check(server({ command: "tool" }))).toEqual([]);
    expect(check(server({ command: "tool", cwd: "." }))).toEqual([]);
    expect(check(server({ command: "tool", cwd: ".." }))).toEqual(both("T"));
  });

  it("links are followed (roots-3)", () => {
    expect(check(server({ command: "tool", args: [join(folder, "link")] }))).toEqual(both("T/app"));
  });

  it("a folder beside them, one that begins alike, a URL and a missing folder are no roots", () => {
    const args = ["data", "../bin", `${folder}/ap`, "https://example.org/", "none", "--", ""];
    expect(check(server({ command: "tool", args }))).toEqual([]);
  });
});

// A model that may write its own rules without a question has none.
describe("a server that may write what guards it", () => {
  const rules = (permissions: object, tools: object = {}, more: object = {}) => {
    const found = check({ ...server({ command: "tool", args: ["."], ...more }), permissions, tools });
    return [...new Set(found.filter((line) => line.includes("writable_by_server")).map((line) => line.split(" ")[0]))];
  };
  const all = { "mcp__s__*": { effect: "read" } };

  it.each<[string, object, object, object?]>([
    ["its tools", { allow: ["mcp__s__*"] }, {}],
    ["the server", { allow: ["mcp__s"] }, {}],
    ["one tool", { allow: ["mcp__s__write"] }, {}],
    ["some arguments", { allow: ["mcp__s__write(path:drafts/*)"] }, {}],
    ["all but some arguments", { allow: ["mcp__s__write"], ask: ["mcp__s__write(path:secret/*)"] }, {}],
    ["all but what is denied", { allow: ["mcp__s__*"], deny: ["mcp__s__delete_*", "mcp__*(path:/*)"] }, {}],
    ["one write among its reads", { allow: ["mcp__s__*"] }, { ...all, mcp__s__put: { effect: "write" } }],
    ["some writes among its reads", { allow: ["mcp__s__*"] }, { ...all, "mcp__s__set_*": { effect: "write" } }],
    ["two globs that overlap", { allow: ["mcp__s__doc_*"] }, { ...all, "mcp__s__*_put": { effect: "write" } }],
    ["what is not hidden", { allow: ["mcp__s__*"] }, {}, { hide: ["delete_*"] }],
  ])("is an error where a write is allowed unasked: %s (exposure-1) (exposure-2)", (_, permissions, tools, more) => {
    expect(rules(permissions, tools, more)).toEqual(["error"]);
  });

  it.each<[string, object, object, object?]>([
    ["nothing is allowed", {}, {}],
    ["only reads are", { allow: ["mcp__s__*"] }, all],
    ["only one read is", { allow: ["mcp__s__get"] }, { mcp__s__get: { effect: "read" } }],
    ["every call is asked about", { allow: ["mcp__s__*"], ask: ["mcp__s"] }, {}],
    ["what is allowed is denied", { allow: ["mcp__s__put"], deny: ["mcp__*__put"] }, {}],
    ["what is allowed is hidden", { allow: ["mcp__s__put"] }, {}, { hide: ["put"] }],
    ["nothing of it is shown", { allow: ["mcp__s__*"] }, {}, { show: [] }],
    [
      "only its reads are shown",
      { allow: ["mcp__s__*"] },
      { "mcp__s__get_*": { effect: "read" } },
      { show: ["get_*"] },
    ],
  ])("is a warning where %s (exposure-1)", (_, permissions, tools, more) => {
    expect(rules(permissions, tools, more)).toEqual(["warning"]);
  });

  it("what another server may do unasked does not count", () => {
    const mcpServers = { s: { command: "tool", args: ["."] }, other: { command: "tool" } };
    const lines = check({ mcpServers, permissions: { allow: ["mcp__other__*"] } });
    expect(lines.map((line) => line.split(" ", 2).join(" "))).toEqual([
      "warning writable_by_server:",
      "warning writable_by_server:",
    ]);
  });
});

describe("the rest", () => {
  it("a read-back whose tool is hidden", () => {
    const tools = { mcp__s__save: { errors: "honest", reconcile: { tool: "mcp__s__get", arguments: {} } } };
    const found = (more: object) => check({ ...server({ command: "tool", ...more }), tools });
    expect(found({ show: ["*"], hide: ["get*"] })).toEqual([
      "error read_back_hidden: `tools.mcp__s__save.reconcile` names `mcp__s__get`, which cannot be called: hidden: `hide` of its server names `get*`",
    ]);
    expect(found({ show: ["save"] })).toEqual([
      "error read_back_hidden: `tools.mcp__s__save.reconcile` names `mcp__s__get`, which cannot be called: hidden: `show` of its server does not name it",
    ]);
    expect(found({ show: ["save", "get"] })).toEqual([]);
  });

  it("a rule about a server that is turned off is in order", () => {
    const mcpServers = { off: { command: "tool", enabled: false } };
    expect(check({ mcpServers, permissions: { deny: ["mcp__off__x"] } })).toEqual([]);
  });

  it("a write that no error answer and no read-back can settle", () => {
    const tools = {
      mcp__s__send: { effect: "write" },
      mcp__s__unnamed: {},
      mcp__s__get_one: {},
      "mcp__s__get_*": { effect: "read" },
      mcp__s__honest: { effect: "write", errors: "honest" },
      mcp__s__told: { effect: "write", errors: "conservative" },
      mcp__s__known: { effect: "write", reconcile: { tool: "mcp__s__get_one", arguments: {} } },
    };
    const what =
      "has neither `errors` nor `reconcile`: an error answer leaves its outcome unknown, and only a person can settle it";
    expect(check({ ...server({ command: "tool" }), tools })).toEqual([
      `warning write_unsettled: write \`mcp__s__send\` ${what}`,
      `warning write_unsettled: write \`mcp__s__unnamed\` ${what}`,
    ]);
    expect(check({ ...server({ command: "tool", errors: "honest" }), tools })).toEqual([]);
  });

  it("a name in a read-back that stands for nothing", () => {
    const args = { a: "$operationID", b: ["$operationId", { c: "$arguments.name" }], d: "five $" };
    const tools = { mcp__s__save: { errors: "honest", reconcile: { tool: "mcp__s__get", arguments: args } } };
    expect(check({ ...server({ command: "tool" }), tools })).toEqual([
      "warning read_back_name: `tools.mcp__s__save.reconcile`: `$operationID` is sent as it stands; `$operationId` and `$arguments.NAME` are the names there are",
    ]);
  });

  it("no secret, and what that means", () => {
    expect(check({ approvals: {} })).toEqual([]); // one is kept in the store's folder
    expect(check({ approvals: {}, store: { kind: "memory" } })).toContain(
      "warning secret_missing: no `approvals.secret` is set, so a random one is used",
    );
    expect(check({ approvals: {}, store: { kind: "postgres", url: "postgres://localhost/x" } })).toEqual([
      "warning secret_missing: no `approvals.secret` is set, so a random one is used: answers given before a restart must be given again, and the ledger's rows are not sealed: an edit of the database is not noticed",
    ]);
  });

  it("a mark inside of the store's folder, or where a server may write", () => {
    expect(check({ store: { kind: "sqlite", path: "state", mark: "state/mark" } })).toEqual([
      "error store_mark: `store.mark` lies in the store's folder: whoever sets the store back sets it back, too; name a file somewhere else",
    ]);
    expect(check({ store: { kind: "sqlite", path: "state", mark: "marks/mark" } })).toEqual([]);
  });

  it("stores: what is no connection string, memory forgets, a file is no folder", () => {
    expect(check({ store: { kind: "postgres", url: "postgres://localhost/x" } })).toEqual([]);
    expect(check({ store: { kind: "postgres", url: "localhost:5432" } })).toEqual([
      "error store_url: `store.url` is no connection string; write `postgres://user@host/database`",
    ]);
    expect(check({ store: { kind: "memory" } })).toEqual([
      "warning store_memory: the `memory` store forgets what was sent when the process ends",
    ]);
    expect(check({ store: { kind: "sqlite", path: "script.json" } })).toEqual([
      "error store_path: `store.path` is a file; name a folder: `T/app/script.json`",
    ]);
  });

  it("a model: none, and a script that is not there", () => {
    expect(check({ model: undefined })).toEqual([
      "warning model_missing: no `model` is set; name one here or with --model",
    ]);
    expect(check({ model: "scripted:none.json" })).toEqual([
      "error script_missing: `model` names a script that is not there: `scripted:T/app/none.json`",
    ]);
    expect(check({ model: "scripted:script.json" })).toEqual([]);
  });

  it("an address that loading would have refused", () => {
    const { config } = resolveConfig({ model: "x", approvals: { secret: SECRET } }, { folder, env: {} });
    const common = { connect: "start", required: false, protocol: "auto", errors: "conservative" } as const;
    const plain = { type: "http", url: "http://example.org", headers: {}, ...common } as const;
    expect(render({ ...config, mcpServers: { s: plain } }, {})).toEqual([
      "error url: server `s`: `url` is plain http to another machine; use https; http is taken for localhost, 127.0.0.1, [::1]",
    ]);
  });

  it("errors come first (check-1)", () => {
    const levels = check({
      approvals: {},
      store: { kind: "memory" },
      model: undefined,
      ...server({ command: "none", required: true }),
    }).map((line) => line.split(" ")[0]);
    expect(levels).toEqual(["error", "warning", "warning", "warning"]);
  });

  it("what a secret filled in is not shown (check-2)", () => {
    const place = `${dirname(folder)}/canary-place`;
    const findings = check(server({ command: "tool", cwd: `\${PLACE}` }), { PLACE: place, PATH: join(folder, "bin") });
    expect(findings).toEqual(["warning cwd_missing: server `s`: its folder `[redacted]` is not there"]);
  });
});
