// What every command prints with --json, as a literal, and the exit code that goes with it. Real servers, a scripted model.

import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { inProcess, inProcessJson } from "./in-process.js";
import { masked, type Report, type Step, Workspace } from "./support.js";

const trigger = (environment: string) => ({ name: "mcp__deploy__trigger", args: { environment } });
const status = { name: "mcp__deploy__status", args: {} };

const policy = {
  permissions: { allow: ["mcp__deploy__status"], ask: ["mcp__deploy__trigger"] },
  tools: { mcp__deploy__status: { effect: "read" } },
};

const operation = {
  operationId: "<digest>",
  callId: "call_1_1",
  alias: "mcp__deploy__trigger",
  server: "deploy",
  tool: "trigger",
  effect: "write",
  decision: "ask",
  by: "server",
  status: "ok",
  reason: "success",
  sent: true,
  replayed: false,
};

const untouched = { status: "proposed", reason: null, by: null, sent: false };
const ofStatus = {
  callId: "call_1_2",
  alias: "mcp__deploy__status",
  tool: "status",
  effect: "read",
  decision: "allow",
};

const question = {
  approvalId: "<id>",
  operationId: "<digest>",
  callId: "call_1_1",
  alias: "mcp__deploy__trigger",
  server: "deploy",
  tool: "trigger",
  arguments: { environment: "staging" },
  effect: "write",
  destination: "runs `<server>`",
  why: "asked about by `mcp__deploy__trigger`",
  expiresAt: "<time>",
};

const report = {
  threadId: "t",
  status: "done",
  answer: "",
  approvals: [],
  unknowns: [],
  operations: [],
  modelRequests: 1,
  snapshotId: "<digest>",
  tools: ["read_result", "mcp__deploy__status", "mcp__deploy__trigger"],
};

let place: Workspace;
beforeAll(() => {
  place = new Workspace();
});
afterAll(() => place.end());

const config = () => ["--config", join(place.folder, "toolgate.json")];
const json = (...args: string[]) => inProcessJson([...args, ...config()]);

function configure(script: readonly Step[], more: object = {}): void {
  place.configure(script, { mcpServers: { deploy: place.server("deploy") }, ...policy, ...more });
}

/** Runs a new thread up to its questions. */
async function asked(threadId: string, script: readonly Step[]): Promise<{ code: number; value: Report }> {
  configure(script);
  return json("run", "deploy it", "--thread", threadId);
}

describe("run, approvals, approve", () => {
  let approvalId = "";

  test("run stops at the first question: 3", async () => {
    const { code, value } = await asked("t", [
      { say: "I shall.", calls: [trigger("staging"), status] },
      { say: "It is deployed." },
    ]);
    approvalId = value.approvals[0].approvalId;
    expect(code).toBe(3);
    expect(masked(value)).toEqual({
      ...report,
      status: "awaiting_approval",
      approvals: [question],
      operations: [
        { ...operation, ...untouched },
        { ...operation, ...ofStatus, ...untouched },
      ],
    });
    expect(place.log("accepted")).toEqual([]);
  });

  test("approvals lists it, with its thread", async () => {
    const { code, value } = await json("approvals");
    expect({ code, value: masked(value) }).toEqual({
      code: 0,
      value: { approvals: [{ ...question, threadId: "t" }] },
    });
  });

  test("threads says that it waits", async () => {
    expect(await json("threads")).toMatchObject({
      code: 0,
      value: { threads: [{ threadId: "t", status: "awaiting_approval" }] },
    });
  });

  test("approve lets it run, and the thread goes on to its end: 0", async () => {
    const { code, value } = await json("approve", approvalId);
    expect(code).toBe(0);
    expect(masked(value)).toEqual({
      ...report,
      answer: "It is deployed.",
      operations: [operation, { ...operation, ...ofStatus }],
      modelRequests: 2,
    });
    expect(place.log("effect").map((event) => event.arguments)).toEqual([{ environment: "staging" }]);
  });

  test("approving again is already_decided, with where the thread stands: 1", async () => {
    const { code, value } = await json("approve", approvalId);
    expect(code).toBe(1);
    expect(value).toMatchObject({
      threadId: "t",
      status: "error",
      answer: "It is deployed.",
      error: {
        code: "already_decided",
        message: `approval \`${approvalId}\` was already decided`,
        hint: "run `toolgate threads` to see where the thread stands",
      },
    });
    expect(place.log("effect")).toHaveLength(1);
  });

  test("without --json: the answer, and nothing else, on stdout", async () => {
    configure([{ say: "Hello.\u001b[31m" }]);
    const { code, stdout, stderr } = await inProcess(["run", "hello", ...config()]);
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: "Hello.\\u{1B}[31m\n", stderr: "thread: fresh-1\n" });
  });

  test("approvals without --json shows the whole call", async () => {
    await asked("text", [{ calls: [trigger("staging\u202E")] }]);
    const { stdout } = await inProcess(["approvals", ...config()]);
    const shown = stdout
      .replace(/^[0-9a-f]{32}$/m, "<id>")
      .replace(/expires: .*/, "expires: <time>")
      .replace(/runs `\S+ \S+\/servers\/deploy\.js` in `\S+`/, "runs `<server>`");
    expect(shown).toBe(
      [
        "Waiting for approval: 1",
        "",
        "<id>",
        "  mcp__deploy__trigger (write): tool trigger of deploy",
        "  thread: text",
        "  where it goes: runs `<server>`",
        "  why: asked about by `mcp__deploy__trigger`",
        "  expires: <time>",
        "  {",
        '    "environment": "staging\\u{202E}"',
        "  }",
        "",
        "Answer with one of:",
        `  toolgate approve ID --config ${join(place.folder, "toolgate.json")}`,
        `  toolgate reject ID --reason TEXT --config ${join(place.folder, "toolgate.json")}`,
        `  toolgate edit ID --args JSON --config ${join(place.folder, "toolgate.json")}`,
        "",
      ].join("\n"),
    );
  });
});

describe("reject and edit", () => {
  test("a batch is answered one by one; until it is complete nothing runs: 3, then 0", async () => {
    const before = place.log("effect").length;
    const { value } = await asked("two", [{ calls: [trigger("a"), trigger("b")] }, { say: "Only one." }]);
    const [first, second] = value.approvals.map((item: Report) => item.approvalId) as [string, string];

    const half = await json("reject", first, "--reason", "not on a Friday");
    expect(half.code).toBe(3);
    expect(half.value).toMatchObject({ status: "awaiting_approval", approvals: [{ approvalId: second }] });
    expect(place.log("effect")).toHaveLength(before);

    const whole = await json("edit", second, "--args", '{"environment":"c"}');
    expect(whole.code).toBe(0);
    const operations = whole.value.operations.map((item: Report) => [item.callId, item.status, item.reason, item.by]);
    expect(operations).toEqual([
      ["call_1_1", "rejected", "person", "person"],
      ["call_1_2", "rejected", "edited", "person"],
      ["call_1_2", "ok", "success", "server"],
    ]);
    expect(
      place
        .log("effect")
        .slice(before)
        .map((event) => event.arguments),
    ).toEqual([{ environment: "c" }]);
  });

  test("an unknown id: not_found, 1", async () => {
    expect(await json("approve", "nothing")).toMatchObject({
      code: 1,
      value: {
        status: "error",
        error: {
          code: "not_found",
          message: "there is no approval `nothing`",
          hint: "run `toolgate approvals` to list the open ones",
        },
      },
    });
  });
});

describe("going on with a thread", () => {
  test("a thread nobody has run: not_found, 1", async () => {
    const { code, value } = await json("run", "--thread", "nobody");
    expect({ code, value }).toEqual({
      code: 1,
      value: {
        status: "error",
        error: {
          code: "not_found",
          message: "there is no thread `nobody`",
          hint: "nothing of it was stored: run `toolgate threads` to list those that are, or give the question (again) to begin it",
        },
      },
    });
  });

  test("a finished thread stays finished", async () => {
    configure([{ say: "Done." }]);
    await json("run", "hello", "--thread", "finished");
    expect(await json("run", "--thread", "finished")).toMatchObject({
      code: 0,
      value: { status: "done", answer: "Done.", modelRequests: 1 },
    });
  });

  test("a new question withdraws what waits", async () => {
    const { value } = await asked("withdrawn", [{ calls: [trigger("x")] }, { say: "As you wish." }]);
    const { code, value: next } = await json("run", "never mind", "--thread", "withdrawn");
    expect({ code, answer: next.answer, approvals: next.approvals }).toEqual({
      code: 0,
      answer: "As you wish.",
      approvals: [],
    });
    expect(await json("approve", value.approvals[0].approvalId)).toMatchObject({
      code: 1,
      value: { error: { code: "already_decided" } },
    });
  });

  test("an answered question is not listed any more and keeps its first answer while its siblings wait (G4)", async () => {
    const { value } = await asked("half", [{ calls: [trigger("x"), trigger("y")] }, { say: "Done." }]);
    const [first, second] = value.approvals;
    expect(await json("approve", first.approvalId)).toMatchObject({ code: 3, value: { approvals: [second] } });
    const { value: listed } = await json("approvals");
    const ofThread = listed.approvals.filter((one: { threadId: string }) => one.threadId === "half");
    expect(ofThread).toEqual([{ ...second, threadId: "half" }]);
    for (const again of [["reject"], ["edit", "--args", '{"environment":"z"}']] as const) {
      const [command, ...rest] = again;
      expect(await json(command, first.approvalId, ...rest)).toMatchObject({
        code: 1,
        value: { error: { code: "already_decided" } },
      });
    }
    expect(await json("reject", second.approvalId)).toMatchObject({ code: 0, value: { status: "done" } });
  });

  test("a model that fails: model_failed, 1, and the thread goes on", async () => {
    configure([]);
    place.write("script.json", [{ fail: "the provider is down" }]);
    const failed = await json("run", "hello", "--thread", "down");
    expect(failed.code).toBe(1);
    expect(failed.value).toMatchObject({
      threadId: "down",
      status: "error",
      answer: "",
      error: { code: "model_failed", message: "the model failed: the provider is down" },
    });
    configure([{ say: "Here I am." }]);
    expect(await json("run", "--thread", "down")).toMatchObject({
      code: 0,
      value: { status: "done", answer: "Here I am." },
    });
  });
});

describe("tools, unknowns, check", () => {
  const offered = {
    snapshotId: "<digest>",
    servers: [
      { name: "deploy", status: "connected", protocol: "2025-11-25", toolCount: 2 },
      { name: "later", status: "not_connected", protocol: null, toolCount: 0 },
    ],
    tools: [
      {
        alias: "connect_server",
        server: "local",
        tool: "connect_server",
        effect: "read",
        decision: "allow",
        rules: [],
      },
      { alias: "read_result", server: "local", tool: "read_result", effect: "read", decision: "allow", rules: [] },
      {
        alias: "mcp__deploy__status",
        server: "deploy",
        tool: "status",
        effect: "read",
        decision: "allow",
        rules: ["mcp__deploy__status"],
      },
      {
        alias: "mcp__deploy__trigger",
        server: "deploy",
        tool: "trigger",
        effect: "write",
        decision: "ask",
        rules: ["mcp__deploy__trigger"],
      },
    ],
    withheld: [],
  };

  test("tools: the snapshot with each tool's decision, now and by its id", async () => {
    const later = { ...place.server("docs"), connect: "on-demand" };
    configure([], { mcpServers: { deploy: place.server("deploy"), later } });
    const now = await json("tools");
    expect({ code: now.code, value: masked(now.value) }).toEqual({ code: 0, value: offered });
    const again = await json("tools", "--snapshot", now.value.snapshotId);
    expect(again.code).toBe(0);
    expect(again.value.tools).toEqual(now.value.tools);
    expect(await json("tools", "--snapshot", "0".repeat(64))).toMatchObject({
      code: 1,
      value: { status: "error", error: { code: "not_found" } },
    });
  });

  test("unknowns: none", async () => {
    expect(await json("unknowns")).toMatchObject({ code: 0, value: { unknowns: [] } });
  });

  test("check: warnings alone end with 0", async () => {
    configure([], { modle: "x", approvals: { secret: "s".repeat(32) } });
    expect(await json("check")).toMatchObject({
      code: 0,
      value: { problems: [{ level: "warning", code: "unknown_key", message: expect.stringContaining("modle") }] },
    });
  });

  test("check: every error at once, 1, and nothing is started", async () => {
    const before = place.log().length;
    configure([], {
      permissions: { allow: ["mcp__nowhere__x"], ask: ["mcp__deploy__trigger(("] },
      mcpServers: { deploy: place.server("deploy"), gone: { command: "no-such-program-anywhere", required: true } },
    });
    const { code, value } = await json("check");
    expect(code).toBe(1);
    const errors = value.problems.filter((problem: Report) => problem.level === "error");
    expect(errors.map((problem: Report) => problem.code)).toEqual([
      "command_missing",
      "rule_malformed",
      "rule_no_server",
    ]);
    expect(place.log()).toHaveLength(before);
  });

  test("check --connect: what only the servers' lists can tell", async () => {
    configure([], {
      permissions: { allow: ["mcp__deploy__stat"] },
      tools: {},
      approvals: { secret: "s".repeat(32) },
    });
    const { code, value } = await json("check", "--connect");
    expect({ code, problems: value.problems }).toEqual({
      code: 0,
      problems: [
        {
          level: "warning",
          code: "rule_unmatched",
          message: expect.stringContaining("matches no tool that its server lists"),
        },
      ],
    });
  });

  // A rule by a parameter that the server does not have allowed nothing or denied everything, and nobody was told.
  test("check --connect: rules that no call can meet, and tools that a deny cannot be tested on", async () => {
    const permissions = { allow: ["mcp__deploy__trigger(env:a)"], deny: ["mcp__deploy__status(amount:>5)"] };
    configure([], { permissions, tools: {}, approvals: { secret: "s".repeat(32) } });
    const { code, value } = await json("check", "--connect");
    const never = "never matches on `mcp__deploy__trigger`: it has no parameter `env`";
    const rule = "`permissions.deny` `mcp__deploy__status(amount:>5)`";
    expect({ code, problems: value.problems }).toEqual({
      code: 0,
      problems: [
        {
          level: "warning",
          code: "tool_withheld",
          message: `\`status\` of \`deploy\` is withheld: ${rule} cannot be tested on it: it has no parameter \`amount\``,
        },
        {
          level: "warning",
          code: "rule_unfit",
          message: `permissions.allow: \`mcp__deploy__trigger(env:a)\` ${never}`,
        },
      ],
    });
  });
});

describe("a scope", () => {
  test("the command sees and settles what is of the configuration's scope, by the ids of its threads", async () => {
    const before = place.log("effect").length;
    const inScope = (scope: string) => configure([{ calls: [trigger("scoped")] }, { say: "Done." }], { scope });
    inScope("north");
    const { code, value } = await json("run", "deploy", "--thread", "scoped");
    expect([code, value.threadId, value.approvals.length]).toEqual([3, "scoped", 1]);
    const approvalId = value.approvals[0].approvalId as string;
    expect((await json("threads")).value.threads).toEqual([{ threadId: "scoped", status: "awaiting_approval" }]);

    inScope("south");
    expect((await json("threads")).value.threads).toEqual([]);
    expect((await json("approvals")).value.approvals).toEqual([]);
    expect((await json("approve", approvalId)).value.error).toMatchObject({ code: "not_found" });
    expect((await json("run", "--thread", "scoped")).value.error).toMatchObject({
      code: "not_found",
      message: "there is no thread `scoped`",
    });
    expect(place.log("effect")).toHaveLength(before);

    inScope("north");
    expect((await json("approve", approvalId)).value).toMatchObject({
      threadId: "scoped",
      status: "done",
      answer: "Done.",
    });
    expect(place.log("effect")).toHaveLength(before + 1);
  });
});
