// Secrets and the command. test/whole/secrets.test.ts shows for the graph that no secret gets out; here the same is shown
// for the command as a process, with every switch on that makes it print more. Then come arguments that only their author
// knows to be secret.

import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { outcomeOf } from "../../src/contracts/index.js";
import { type Ended, Workspace } from "../cli/support.js";
import { bench } from "../support/agent.js";
import { commandFile, serverFile } from "../support/compile.js";
import { type RpcProcess, startHttpServer } from "../support/rpc.js";
import { said, startHostile, storedTexts, tools } from "./support.js";

/** In a server's environment, as a configuration's own text. */
const LITERAL = "canary-1-7c0d2f9b";
/** In a server's environment, from the command's. */
const VARIABLE = 'canary-2-"quoted"\\/ü-51e0';
/** In an address. */
const QUERY = "canary-6-a94b11d7";
/** Among a server's arguments. */
const ARGUMENT = "canary-7-3e58cc02";
/** In a header. */
const BEARER = "canary-8-0f6d7a35";
const SECRETS = [LITERAL, VARIABLE, QUERY, ARGUMENT, BEARER];
/** Stands beside every secret that a server says: where this is found, a secret would be. */
const VISIBLE = "visible-marker-20c1";

/** A secret in the forms it may take on the way. */
const formsOf = (secret: string) => [
  secret,
  JSON.stringify(secret).slice(1, -1),
  Buffer.from(secret).toString("base64").replace(/=+$/, ""),
  Buffer.from(secret).toString("base64url"),
  encodeURIComponent(secret),
];
const leaks = (texts: Record<string, string>) =>
  Object.entries(texts).flatMap(([place, text]) =>
    SECRETS.flatMap(formsOf).flatMap((form) => (text.includes(form) ? [`${form} in ${place}`] : [])),
  );
const holders = (texts: Record<string, string>, text: string) =>
  Object.keys(texts).filter((place) => texts[place]?.includes(text));

/** How a configuration names a variable of the environment. */
const variable = (name: string) => `\${${name}}`;
/** JSON text that spells every letter of a string as an escape. */
const escaped = (text: string) =>
  `"${[...Array(text.length).keys()].map((at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, "0")}`).join("")}"`;

let place: Workspace;
let http: RpcProcess | undefined;
/** Everything the command said, by command line and stream. */
let heard: Record<string, string>;
beforeEach(() => {
  place = new Workspace();
  heard = {};
});
afterEach(async () => {
  await http?.kill();
  http = undefined;
  await place.end();
});

/** The command as a process of its own, talking as much as it can. */
async function run(...args: string[]): Promise<Ended> {
  const env = { DEBUG: "*", GITHUB_TOKEN: VARIABLE };
  const how = await place.spawn(process.execPath, [commandFile(), ...args, "--verbose"], env).ended;
  const line = `\`${args.join(" ")}\` (${Object.keys(heard).length})`;
  heard[`stdout of ${line}`] = how.stdout;
  heard[`stderr of ${line}`] = how.stderr;
  return how;
}

const json = async (...args: string[]) => JSON.parse((await run(...args, "--json")).stdout);

const hostile = (config: object) => ({ SERVER_LOG: join(place.folder, "server.log"), HOSTILE: JSON.stringify(config) });
const command = (config: object, more: object = {}) => ({
  command: process.execPath,
  args: [serverFile("hostile"), "--token", ARGUMENT],
  env: { ...hostile(config), GITHUB_PERSONAL_ACCESS_TOKEN: LITERAL, GITHUB_TOKEN: variable("GITHUB_TOKEN") },
  ...more,
});

// The whole configuration of a server, with its environment, was written to the log.
// Response bodies, passwords in addresses and command lines reached the text that a user sees.
describe("the command", () => {
  const everything = `${VISIBLE} ${SECRETS.flatMap(formsOf).join(" ")}`;
  const calls = {
    look_env: { do: "env" },
    look_text: { do: "answer", effect: false, result: said(everything) },
    look_escapes: {
      do: "answer",
      effect: false,
      resultText: `{"content":[{"type":"text","text":${escaped(`${VISIBLE} ${SECRETS.join(" ")}`)}}]}`,
    },
    look_error: { do: "answer", effect: false, error: { code: 1, message: everything } },
    look_flood: { do: "stderrFlood", text: `${everything}\n`, effect: false },
    act_asked: { do: "answer", result: said(everything) },
    act_error: { do: "answer", result: { ...said(everything), isError: true } },
    act_dies: [
      { do: "stderrFlood", text: `${everything}\n` },
      { do: "dieAfter", by: "exit" },
    ],
  };
  const web = {
    tools: tools(["look_401", "look_500", "act_500"]),
    calls: {
      look_401: { do: "status", status: 401, body: `got {{authorization}} ${everything}` },
      look_500: { do: "status", status: 500, body: `got {{authorization}} ${everything}` },
      act_500: { do: "status", status: 500, effect: true, body: `got {{authorization}} ${everything}` },
    },
  };
  const dies = "console.error(process.argv.slice(1).join(' '), process.env.GITHUB_TOKEN); process.exit(3)";
  const call = (name: string) => ({ name, args: {}, id: name.replace(/^mcp__/, "") });

  test("says no secret in anything it prints or keeps, whatever servers do and however loud it is", {
    timeout: 120_000,
  }, async () => {
    http = await startHttpServer("hostile-http", hostile({ ...web, http: { authorization: `Bearer ${BEARER}` } }));
    const { url } = http as unknown as { url: string };
    const description = `Uses ${everything}`;
    const works = {
      echo: command({
        serverInfo: { name: everything, version: LITERAL },
        instructions: everything,
        tools: tools(Object.keys(calls)).map((tool) => ({ ...tool, description })),
        calls,
      }),
      web: { url: `${url}?key=${QUERY}`, headers: { Authorization: `Bearer ${BEARER}` } },
    };
    const fails = {
      dies: command({}, { args: ["-e", dies, "--", `--token=${ARGUMENT}`] }),
      missing: command({}, { command: `no-such-command-${LITERAL}` }),
      refuses: command({ duringStart: { do: "error", error: { code: 1, message: everything } } }),
      unlisted: command({ pages: [{ error: { code: 1, message: everything } }] }),
      unreached: { url: `https://127.0.0.1:1/mcp?key=${QUERY}`, headers: { "X-Key": BEARER } },
    };
    place.configure([], { mcpServers: { ...works, ...fails } });
    await run("check");
    await run("check", "--connect");
    await run("tools");

    const reads = ["look_env", "look_text", "look_escapes", "look_error", "look_flood"].map(
      (name) => `mcp__echo__${name}`,
    );
    const rest = ["mcp__web__look_401", "mcp__web__look_500", "mcp__echo__act_asked", "mcp__echo__act_error"];
    const script = [
      { calls: [...reads, ...rest].map(call) },
      { say: "The first turn is over." },
      { calls: [call("mcp__echo__act_dies")] },
      { calls: [call("mcp__echo__act_dies")] },
      { say: "The second turn is over." },
      { calls: [call("mcp__web__act_500")] },
    ];
    place.configure(script, {
      mcpServers: works,
      permissions: { allow: ["mcp__echo", "mcp__web"], ask: ["mcp__echo__act_asked"] },
      tools: {
        "mcp__echo__look*": { effect: "read" },
        "mcp__web__look*": { effect: "read" },
        mcp__echo__act_dies: { repeat: "allow" },
      },
    });
    const asked = await json("run", "go", "--thread", "t1");
    expect([asked.status, asked.approvals.length]).toEqual(["awaiting_approval", 1]);
    expect((await run("approvals")).stdout).toContain("act_asked");
    await run("approve", "no-such-id");
    const first = await json("approve", asked.approvals[0].approvalId);
    expect(first.operations.map((one: { callId: string; status: string }) => `${one.callId} ${one.status}`)).toEqual([
      "echo__look_env ok",
      "echo__look_text ok",
      "echo__look_escapes ok",
      "echo__look_error failed",
      "echo__look_flood ok",
      "web__look_401 unavailable",
      "web__look_500 failed",
      "echo__act_asked ok",
      "echo__act_error result_unknown",
    ]);
    expect((await run("unknowns")).stdout).toContain("act_error");
    expect((await run("resolve", first.unknowns[0].operationId, "--did-not-happen", "--note", "seen")).code).toBe(0);
    const second = await json("run", "again", "--thread", "t1");
    expect(second.unknowns[0].evidence.detail).toMatch(
      /^the process ended with code 1; its last words: visible-marker-20c1 \[redacted\]/,
    );
    expect((await run("resolve", second.unknowns[0].operationId, "--happened")).stdout).toContain(
      "The second turn is over.",
    );
    const third = await run("run", "once more", "--thread", "t1");
    expect(third.code).toBe(4);
    await run("threads");
    await run("run", "go", "--thread", "t2", "--model", `scripted:no-such-file-${VISIBLE}`);

    const stored = storedTexts(join(place.folder, ".toolgate"));
    // What is written in the configuration itself masks text and leaves definitions as they are (secrets-4).
    const { "snapshots.body": kept = "", ...others } = stored;
    expect(leaks({ ...heard, ...others })).toEqual([]);
    expect(formsOf(VARIABLE).filter((form) => kept.includes(form))).toEqual([]);
    // The search would find them: what stood beside them is in all these places.
    expect(holders(heard, VISIBLE)).toContain("stdout of `run again --thread t1 --json` (18)");
    expect(holders(heard, "[redacted]")).toEqual(
      expect.arrayContaining(["stdout of `check --connect` (2)", "stdout of `tools` (4)"]),
    );
    expect(holders(stored, "stateVersion")).toContain("checkpoints.checkpoint"); // packed, and looked into
    for (const column of ["bodies.body", "operations.outcome", "snapshots.body", "writes.value"]) {
      expect(holders(stored, VISIBLE)).toContain(column);
      expect(holders(stored, "[redacted]")).toContain(column);
    }
  });

  test("a required server that is not there: its address, its path and what it was started with stay unsaid", async () => {
    const path = "canary-in-a-path-66f1";
    const started = `${ARGUMENT}-and-more`;
    for (const server of [
      { url: `https://127.0.0.1:1/${path}/mcp?key=${QUERY}`, headers: { Authorization: `Bearer ${BEARER}` } },
      { ...command({}), args: ["-e", dies, "--", "--token", started] },
    ]) {
      place.configure([{ say: "Hello." }], { mcpServers: { must: { ...server, required: true } } });
      const how = await run("run", "go", "--thread", "t1");
      expect([how.code, how.stderr]).toEqual([
        1,
        expect.stringContaining("the required server `must` is not available"),
      ]);
    }
    expect(leaks(heard)).toEqual([]);
    expect(holders(heard, path)).toEqual([]);
    expect(holders(heard, started)).toEqual([]);
  });

  test.each([
    ["a password in an address", { url: `https://u:${LITERAL}@127.0.0.1/mcp?key=${QUERY}` }],
    ["an address that is none", { url: `https//${LITERAL}` }],
    ["both kinds at once", { command: "node", args: ["--token", ARGUMENT], url: `https://x/?key=${QUERY}` }],
    ["a wrong type", { command: "node", env: { TOKEN: [LITERAL] } }],
    [
      "a header that cannot be sent",
      { url: "https://127.0.0.1/mcp", headers: { Authorization: `Bearer ${BEARER}\n` } },
    ],
  ])("%s in the configuration is an error that quotes no secret", async (_, server) => {
    place.configure([], { mcpServers: { odd: server } });
    for (const how of [await run("check"), await run("run", "go"), await run("tools", "--json")])
      expect(how.code).toBe(1);
    expect(leaks(heard)).toEqual([]);
    expect(Object.values(heard).join("")).toContain("odd");
  });
});

// A debug line printed a call's arguments in full.
describe("arguments that only their author knows to be secret", () => {
  const PASSWORD = "canary-9-c2a7e4d1";
  const text = { type: "object", properties: { password: { type: "string", pattern: "^c" } } };
  const number = { type: "object", properties: { password: { type: "number" } }, additionalProperties: false };
  const named = (name: string, inputSchema: object) => ({ name, inputSchema });
  const listed = [named("look", text), named("look_number", number), named("act", text), named("act_lost", text)];
  const calls = {
    look: { do: "answer", effect: false, error: { code: 1, message: "no" } },
    act: { do: "answer" },
    act_lost: { do: "dieAfter", by: "exit" },
  };
  const call = (name: string) => ({ name, args: { password: PASSWORD }, id: name });
  const step = ["look", "look_number", "act", "act_lost", "no_such"].map((name) =>
    call(name === "no_such" ? name : `mcp__echo__${name}`),
  );

  // The host cannot mark arguments as secret: there is no such key, so nothing masks them in questions and reports.
  test.skipIf(!process.env.LONG_TESTS)(
    "with DEBUG=* and --verbose they stand in questions, in reports of them, in the ledger and in the state alone",
    {
      timeout: 120_000,
    },
    async () => {
      place.configure([{ calls: step }, { say: "Done." }], {
        mcpServers: { echo: command({ tools: listed, calls }) },
        permissions: { allow: ["mcp__echo__look*"], ask: ["mcp__echo__act*"] },
        tools: { "mcp__echo__look*": { effect: "read" } },
      });
      const asked = await json("run", "go", "--thread", "t1");
      const lines = await run("approvals");
      expect(asked.approvals.map((one: { arguments: unknown }) => one.arguments)).toEqual([
        { password: PASSWORD },
        { password: PASSWORD },
      ]);
      expect(lines.stdout).toContain(PASSWORD);
      await json("approve", asked.approvals[0].approvalId);
      const lost = await json("approve", asked.approvals[1].approvalId);
      expect(lost.unknowns.map((one: { arguments: unknown }) => one.arguments)).toEqual([{ password: PASSWORD }]);
      await run("unknowns");
      await run("threads");
      await run("tools");
      await run("resolve", lost.unknowns[0].operationId, "--leave");
      await run("reject", asked.approvals[0].approvalId);

      const streams = holders(heard, PASSWORD);
      expect(streams.filter((stream) => stream.startsWith("stderr"))).toEqual([]);
      expect(
        streams.filter((stream) => !/^stdout of `(run|approvals|approve|reject|unknowns|resolve)[ `]/.test(stream)),
      ).toEqual([]);
      for (const stream of streams.filter((one) => one.includes("--json"))) {
        const { approvals, unknowns, ...rest } = JSON.parse(heard[stream] as string);
        expect([approvals.length + unknowns.length > 0, JSON.stringify(rest).includes(PASSWORD)]).toEqual([
          true,
          false,
        ]);
      }
      const stored = storedTexts(join(place.folder, ".toolgate"));
      expect(holders(stored, PASSWORD).filter((name) => !name.startsWith("toolgate.sqlite"))).toEqual([
        "operations.arguments",
        "writes.value",
      ]);
    },
  );

  test("--json stays one object on stdout when LangChain is told to trace itself", async () => {
    place.configure([{ say: "Hello." }]);
    const env = { LANGCHAIN_VERBOSE: "true" };
    const args = [commandFile(), "run", "go", "--thread", "t1", "--json"];
    const { code, stdout } = await place.spawn(process.execPath, args, env).ended;
    expect([code, stdout.split("\n").length, stdout.slice(0, 16)]).toEqual([0, 2, '{"threadId":"t1"']);
  });
});

// An adapter wrote the arguments of each call into its debug output.
describe("in a run", () => {
  const b = bench();
  const PASSWORD = "canary-9-c2a7e4d1";

  test("no event, tool message or error holds the arguments of a call", async () => {
    const schema = { type: "object", properties: { password: { type: "string" }, n: { enum: ["a", "b"] } } };
    const args = { password: PASSWORD };
    const steps = [
      {
        calls: [
          { name: "mcp__hostile__look", args, id: "c1" },
          { name: "mcp__hostile__look", args: { ...args, n: PASSWORD }, id: "c2" },
          { name: "mcp__hostile__look", args: { [PASSWORD]: 1, n: PASSWORD }, id: "c3" },
          { name: "mcp__hostile__nothing", args, id: "c4" },
        ],
      },
      { say: "Done." },
    ];
    const calls = { look: { do: "answer", isError: true, error: { code: -32602, message: "invalid" } } };
    const { isError: _, ...look } = calls.look;
    const agent = await startHostile(b, { tools: [{ name: "look", inputSchema: schema }], calls: { look } }, { steps });
    const events: unknown[] = [];
    const config = { configurable: { thread_id: "t1" }, durability: "sync", streamMode: "custom" };
    const question = { messages: [{ role: "user", content: "go" }] };
    for await (const event of await agent.toolgate.graph.stream(question as never, config as never)) events.push(event);
    expect(events.map((event) => (event as { type: string }).type)).toContain("toolgate.call");
    const { messages, ...rest } = (await agent.state()).values as { messages: { getType(): string }[] };
    const rows = await agent.toolgate.host.ledger.operations("t1");
    const places = {
      events: JSON.stringify(events),
      "tool messages": JSON.stringify(messages.filter((message) => message.getType() === "tool")),
      "the rest of the state": JSON.stringify(rest),
      "what became of it": JSON.stringify(rows.map(({ operation: _operation, ...row }) => row)),
      reports: JSON.stringify(await agent.toolgate.ledger.operations("t1")),
    };
    expect(holders(places, PASSWORD)).toEqual([]);
    expect(rows.map((row) => outcomeOf(row)?.reason)).toEqual([
      "server_error",
      "invalid_arguments",
      "invalid_arguments",
      "unknown_tool",
    ]);
  });
});
