// Whatever is wrong: one line with what to do, the right exit code, no stack trace unless --verbose, nothing lost.

import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { inProcess, inProcessJson, type Surroundings } from "./in-process.js";
import { type Report, type Step, Workspace } from "./support.js";

let place: Workspace;
beforeEach(() => {
  place = new Workspace();
});
afterEach(() => place.end());

const path = () => join(place.folder, "toolgate.json");
const run = (args: readonly string[], given: Surroundings = {}) => inProcess([...args, "--config", path()], given);
const json = (args: readonly string[], given: Surroundings = {}) => inProcessJson([...args, "--config", path()], given);
const ask = (given: Surroundings = {}) => run(["run", "hello", "--thread", "t"], given);
const here = (text: string) => text.replaceAll(place.folder, "<folder>");

const variable = (name: string) => `\${${name}}`;
const trigger = (environment: string) => ({ name: "mcp__deploy__trigger", args: { environment } });

function configure(script: readonly Step[], more: object = {}): void {
  place.configure(script, {
    mcpServers: { deploy: place.server("deploy") },
    permissions: { allow: ["mcp__deploy__*"] },
    ...more,
  });
}

describe("the configuration", () => {
  test("is not there", async () => {
    const { code, stdout, stderr } = await ask();
    expect({ code, stdout, stderr: here(stderr) }).toEqual({
      code: 1,
      stdout: "",
      stderr:
        "toolgate: cannot read `<folder>/toolgate.json`: there is no such file\n  name it with --config, or write one\n",
    });
  });

  test("is no JSON", async () => {
    place.write("toolgate.json", '{"model": }');
    const { code, stderr } = await ask();
    expect({ code, stderr: here(stderr) }).toEqual({
      code: 1,
      stderr:
        "toolgate: <folder>/toolgate.json:1:11: expected a value, found `}`\n" +
        "  correct the JSON there; comments and a trailing comma are taken\n",
    });
  });

  test("needs a variable that is not set", async () => {
    configure([], { approvals: { secret: variable("NO_SUCH_VARIABLE") } });
    const { code, value } = await json(["run", "hello"]);
    expect({ code, error: value.error.code, hint: value.error.hint }).toEqual({
      code: 1,
      error: "config_variable",
      hint: "set `NO_SUCH_VARIABLE`", // no default is suggested: a secret should not be written into the file
    });
    expect(value.error.message).toContain("`approvals.secret` needs the variable `NO_SUCH_VARIABLE`, which is not set");
  });

  // A misspelt `permissions` was a line on stderr, and the run went on without the rules.
  test("has a key nobody knows that may restrict: config_invalid, and nothing is started", async () => {
    configure([{ say: "Hello." }], { permisions: { deny: ["mcp__deploy__*"] } });
    const { code, value } = await json(["run", "hello"]);
    expect({ code, error: value.error.code }).toEqual({ code: 1, error: "config_invalid" });
    expect(value.error.message).toContain("`permisions` is no key of toolgate's");
    expect(place.log()).toEqual([]);
  });

  test("has a key nobody knows: a warning, and the run goes on", async () => {
    configure([{ say: "Hello." }], { mcpServers: {}, permissions: {}, modle: "x" });
    const { code, stdout, stderr } = await ask();
    expect({ code, stdout }).toEqual({ code: 0, stdout: "Hello.\n" });
    const [warning, ...rest] = stderr.split("\n");
    expect(warning).toMatch(/^warning: .*`modle`.*`model`/);
    expect(rest).toEqual(["thread: t", ""]);
  });

  test("has a rule that can match nothing", async () => {
    configure([], { permissions: { allow: ["mcp__nowhere__x"] } });
    const { code, value } = await json(["run", "hello"]);
    expect({ code, status: value.status, error: value.error.code, hint: value.error.hint }).toEqual({
      code: 1,
      status: "error",
      error: "config_invalid",
      hint: "mend the configuration; `toolgate check` lists everything at once",
    });
    expect(place.log()).toEqual([]);
  });

  test("names no model, or a script that is not there", async () => {
    place.write("toolgate.json", {});
    expect(await json(["run", "hello"])).toMatchObject({
      code: 1,
      value: { status: "error", error: { code: "model_missing", message: "no model is configured" } },
    });
    const other = await json(["run", "hello", "--model", "scripted:none.json"], { cwd: place.folder });
    expect(other).toMatchObject({ code: 1, value: { error: { code: "model_missing" } } });
    expect(here(other.value.error.message)).toBe(
      "`model` names a script that is not there: `scripted:<folder>/none.json`",
    );
  });

  test("--model: a script is relative to the caller", async () => {
    place.write("toolgate.json", { model: "scripted:none.json" });
    place.write("other.json", [{ say: "From the other." }]);
    expect(await json(["run", "hello", "--model", "scripted:other.json"], { cwd: place.folder })).toMatchObject({
      code: 0,
      value: { answer: "From the other." },
    });
  });
});

describe("the store", () => {
  test("cannot be written", async () => {
    place.write("taken", "a file");
    configure([{ say: "Hello." }], { store: { kind: "sqlite", path: "taken" } });
    const { code, stdout, stderr } = await ask();
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    const [first, hint, ...rest] = here(stderr).split("\n");
    expect(first).toMatch(/^toolgate: the store's secret `<folder>\/taken\/secret` cannot be read or made: E[A-Z]+/);
    expect([hint, ...rest]).toEqual(["  make its folder one that you may write to, or set `approvals.secret`", ""]);
  });

  test("is no database", async () => {
    configure([{ say: "Hello." }], { mcpServers: {}, permissions: {} });
    await ask();
    place.write(".toolgate/toolgate.sqlite", "x".repeat(5_000));
    const { code, value } = await json(["threads"]);
    expect({ code, status: value.status, error: value.error.code }).toEqual({
      code: 1,
      status: "error",
      error: "store_failed",
    });
    expect(value.error.message).toContain("file is not a database");
    expect(place.log()).toEqual([]);
  });

  test("--verbose tells where it comes from, and nothing else does", async () => {
    place.write("taken", "a file");
    configure([], { store: { kind: "sqlite", path: "taken/store" }, approvals: { secret: "s".repeat(32) } });
    expect((await ask()).stderr).not.toContain("    at ");
    const { code, stderr } = await run(["run", "hello", "--verbose"]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^toolgate: the store `.*` cannot be opened/);
    expect(stderr).toContain("    at ");
  });
});

describe("a server", () => {
  const down = (more: object) => configure([{ say: "Without it." }], { permissions: {}, mcpServers: { bad: more } });
  const noise = "process.stdout.write('not json\\n[1,2]\\n'); console.error(process.env.SECRET_WORD); process.exit(7)";

  test("whose command is missing: told once, and the run goes on", async () => {
    down({ command: "no-such-program-anywhere" });
    const { code, stdout, stderr } = await ask();
    expect({ code, stdout }).toEqual({ code: 0, stdout: "Without it.\n" });
    const lines = stderr.split("\n");
    expect(lines).toHaveLength(3);
    expect(lines[1]).toMatch(
      /^server `bad` is not available: .*no-such-program-anywhere.*; the run goes on without it$/,
    );
  });

  test("that prints noise and exits: its code and last words, without the secret it said", async () => {
    down({ command: process.execPath, args: ["-e", noise], env: { SECRET_WORD: variable("WORD") } });
    const { code, stdout, stderr } = await ask({ env: { WORD: "correct-horse-battery" } });
    expect({ code, stdout }).toEqual({ code: 0, stdout: "Without it.\n" });
    expect(stderr).toMatch(/^server `bad` is not available: .*7/m);
    expect(stderr).not.toContain("correct-horse");
  });

  test("that is required: server_failed, 1, and the thread goes on once it is back", async () => {
    down({ command: process.execPath, args: ["-e", "process.exit(7)"], required: true });
    const failed = await json(["run", "hello", "--thread", "t"]);
    expect(failed).toMatchObject({
      code: 1,
      value: { threadId: "t", status: "error", error: { code: "server_failed" } },
    });
    configure([{ say: "With it." }]);
    expect(await json(["run", "--thread", "t"])).toMatchObject({ code: 0, value: { answer: "With it." } });
  });
});

describe("what `check` calls an error", () => {
  test("is refused by `run`, and no server is started", async () => {
    configure([{ say: "Hello." }], {
      mcpServers: {
        deploy: place.server("deploy"),
        must: { command: "no-such-program-anywhere", required: true },
      },
    });
    const checked = await json(["check"]);
    const errors = checked.value.problems.filter((one: Report) => one.level === "error");
    expect({ code: checked.code, codes: errors.map((one: Report) => one.code) }).toEqual({
      code: 1,
      codes: ["command_missing"],
    });
    const ran = await json(["run", "hello"]);
    expect({ code: ran.code, error: ran.value.error.code, message: ran.value.error.message }).toEqual({
      code: 1,
      error: "config_invalid",
      message: errors[0].message,
    });
    expect(place.log()).toEqual([]);
  });
});

describe("a model that answers with odd calls", () => {
  const outcomes = (value: Report) =>
    value.operations.map((item: Report) => [item.alias, item.status, item.reason, item.sent]);

  test("arguments that are no JSON, a key twice, a tool nobody has: refused one by one, nothing is sent", async () => {
    configure([
      {
        calls: [
          { name: "mcp__deploy__trigger", args: '{"environment": ' },
          { name: "mcp__deploy__trigger", args: '{"environment":"a","environment":"b"}' },
          { name: "mcp__deploy__trigger", args: {} },
          { name: "mcp__deploy__triger", args: { environment: "a" } },
        ],
      },
      { say: "I cannot." },
    ]);
    const { code, value } = await json(["run", "hello"]);
    expect({ code, answer: value.answer }).toEqual({ code: 0, answer: "I cannot." });
    expect(outcomes(value).sort()).toEqual([
      ["mcp__deploy__triger", "rejected", "unknown_tool", false],
      ["mcp__deploy__trigger", "rejected", "invalid_arguments", false],
      ["mcp__deploy__trigger", "rejected", "invalid_arguments", false],
      ["mcp__deploy__trigger", "rejected", "invalid_arguments", false],
    ]);
    expect(value.operations.find((item: Report) => item.alias === "mcp__deploy__triger")).toMatchObject({
      server: null,
      tool: null,
    });
    expect(place.log("accepted")).toEqual([]);
  });

  test("the same call id twice, the same write twice: the second one is asked about", async () => {
    const call = { ...trigger("a"), id: "same" };
    configure([{ calls: [call, call] }, { say: "Twice." }]);
    const { code, value } = await json(["run", "hello"]);
    expect(code).toBe(3);
    const ids = value.operations.map((item: Report) => item.callId);
    expect(new Set(ids).size).toBe(ids.length);
    expect(place.log("effect")).toEqual([]); // no call of a batch runs before all its questions are answered
  });
});

test("an unknown outcome outranks an error, in the status and the exit code (exit-1)", async () => {
  configure([], { mcpServers: { deploy: place.server("odd-deploy", { DEPLOY_MODE: "dies" }) } });
  place.write("script.json", [{ calls: [trigger("staging")] }, { fail: "the provider is down" }]);
  const { code, value } = await json(["run", "hello", "--thread", "t"]);
  expect({ code, status: value.status, error: value.error }).toEqual({
    code: 4,
    status: "result_unknown",
    error: undefined,
  });
  const left = await json(["resolve", value.unknowns[0].operationId, "--leave"]);
  expect({ code: left.code, status: left.value.status, error: left.value.error.code }).toEqual({
    code: 4,
    status: "result_unknown",
    error: "model_failed",
  });
  expect(place.log("effect")).toHaveLength(1);
});
