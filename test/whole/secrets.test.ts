// G11: values a host configured as secrets come back from servers in every way we can think of, and arrive nowhere:
// not in a model request, a message, a checkpoint, an event, an error, the ledger, or a byte of the store.

import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { tool } from "@langchain/core/tools";
import { Command } from "@langchain/langgraph";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { type Agent, bench, type Steps, stdio } from "../support/agent.js";
import { startHttpServer } from "../support/rpc.js";

const b = bench();

/** From the environment, by `${CANARY}`. */
const CANARY = "canary-env-5e1f0b7a93c2";
/** From the environment too; needs escaping in JSON, in URLs and in Base64url. */
const ODD = 'c"na\\ry/odd+??>>ü~77';
/** In an Authorization header. */
const BEARER = "canary-bearer-44d09ae1";
/** In a server's arguments. */
const ARGUMENT = "canary-argument-9b31";
const SEAL = "canary-seal-of-approvals-that-is-long-enough";
const SECRETS = [CANARY, ODD, BEARER, ARGUMENT, SEAL];
/** Not a secret: shows that what is searched would be found. */
const VISIBLE = "visible-marker-20c1";

/** How a configuration names a variable of the environment. */
const variable = (name: string) => `\${${name}}`;
const base64 = (text: string) => Buffer.from(text).toString("base64");
const base64url = (text: string) => Buffer.from(text).toString("base64url");
const formsOf = (secret: string) => [
  secret,
  JSON.stringify(secret).slice(1, -1),
  base64(secret).replace(/=+$/, ""),
  base64url(secret),
  encodeURIComponent(secret),
];
const said = (text: string) => ({ content: [{ type: "text", text }] });
const echo = (result: unknown) => ({ do: "answer", effect: false, result });

beforeEach(() => {
  vi.stubEnv("CANARY", CANARY);
  vi.stubEnv("CANARY_ODD", ODD);
});
afterEach(() => {
  vi.unstubAllEnvs();
});

/** Tools of a server that echoes secrets, all of them reads unless they are named `write…`. */
function hostile(calls: Record<string, unknown>, more: object = {}) {
  const tools = Object.keys(calls).map((name) => ({ name, description: VISIBLE, inputSchema: { type: "object" } }));
  return { tools, calls, ...more };
}

function start(
  mcpServers: Record<string, unknown>,
  steps: Steps,
  more: Record<string, unknown> = {},
  tools: never[] = [],
) {
  return b.start({
    config: {
      mcpServers,
      approvals: { secret: SEAL },
      permissions: { allow: Object.keys(mcpServers).map((name) => `mcp__${name}`) },
      tools: "echo" in mcpServers ? { "mcp__echo__read_*": { effect: "read" } } : {},
      limits: { resultBytes: 2_000 },
      ...more,
    },
    steps,
    tools,
  });
}

function echoServer(config: object) {
  return stdio("hostile", {
    SERVER_LOG: b.logPath(),
    HOSTILE: JSON.stringify(config),
    KEY: variable("CANARY"),
    ODD: variable("CANARY_ODD"),
  });
}

const calling = (...aliases: string[]): Steps[number] => ({
  calls: aliases.map((name) => ({ name, args: {}, id: name.replace(/^mcp__/, "") })),
});

/** One run; `seen` gets everything that was streamed of it, and what it threw. Resolves with the message of that. */
async function run(agent: Agent, input: unknown, seen: unknown[]): Promise<string | undefined> {
  const config = { configurable: { thread_id: "t1" }, durability: "sync", streamMode: ["custom", "updates", "values"] };
  try {
    for await (const event of await agent.toolgate.graph.stream(input as never, config as never)) seen.push(event);
  } catch (error) {
    const { message, stack, hint, data } = error as Error & { hint?: unknown; data?: unknown };
    seen.push({ message, stack, hint, data });
    return message;
  }
  return undefined;
}

const question = { messages: [{ role: "user", content: "go" }] };

/** Every place a secret could have got to, as text. */
async function places(agent: Agent, seen: readonly unknown[]): Promise<Record<string, string>> {
  const states = [];
  for await (const state of agent.toolgate.graph.getStateHistory({ configurable: { thread_id: "t1" } }))
    states.push(state);
  const { host, ledger } = agent.toolgate;
  const texts = {
    "what was streamed": JSON.stringify(seen),
    "model requests": JSON.stringify(agent.model.requests),
    checkpoints: JSON.stringify(states),
    "the snapshot": JSON.stringify((await agent.toolgate.snapshot()) ?? null),
    "ledger rows": JSON.stringify(await host.ledger.operations("t1")),
    questions: JSON.stringify([await ledger.requests(), await ledger.unknowns()]),
  };
  const store = join(b.folder(), "store");
  const files = readdirSync(store, { recursive: true, encoding: "utf8" })
    .filter((name) => statSync(join(store, name)).isFile())
    .map((name) => [`the file ${name}`, readFileSync(join(store, name), "utf8")] as const);
  return { ...texts, ...Object.fromEntries(files) };
}

function leaks(found: Record<string, string>): string[] {
  return Object.entries(found).flatMap(([place, text]) =>
    SECRETS.flatMap(formsOf).flatMap((form) => (text.includes(form) ? [`${form} in ${place}`] : [])),
  );
}

const holders = (found: Record<string, string>, text: string) =>
  Object.keys(found).filter((place) => found[place]?.includes(text));

async function toolMessages(agent: Agent) {
  const { values } = await agent.state();
  return (values["messages"] as { getType(): string; text: string; artifact: Record<string, unknown> }[]).filter(
    (message) => message.getType() === "tool",
  );
}

describe("secrets (G11)", () => {
  // The whole configuration of a server, with its environment, was written to the log.
  // Response bodies, passwords in addresses and command lines reached the text that a user sees.
  test("answers that carry a secret are redacted before they are stored or shown (settle-call-2)", async () => {
    const all = [CANARY, ODD, SEAL];
    const encoded = all.flatMap((secret) => [
      base64(secret),
      base64url(secret),
      encodeURIComponent(secret),
      JSON.stringify(secret),
    ]);
    const structured = { token: CANARY, [`key of ${CANARY}`]: [{ odd: ODD, count: 7 }], nothing: null };
    const config = hostile({
      read_env: { do: "env" },
      read_text: echo(said(`${VISIBLE} ${all.join(" ")}`)),
      read_encoded: echo(said(encoded.join("\n"))),
      read_inside: echo(said(base64(`user:${CANARY}`))),
      read_structured: echo({ content: [], structuredContent: structured }),
      read_blob: echo({
        content: [{ type: "resource", resource: { uri: `file:///${CANARY}`, blob: base64(ODD), mimeType: "x/y" } }],
      }),
      read_link: echo({
        content: [{ type: "resource_link", uri: `https://x/?key=${encodeURIComponent(ODD)}`, name: ODD }],
      }),
      read_meta: echo({ ...said("ok"), _meta: { [CANARY]: ODD } }),
      read_error: echo({ ...said(`${"x".repeat(1_990)}${CANARY} ${ODD}`), isError: true }),
      read_rpc: { do: "answer", effect: false, error: { code: 1, message: `no ${CANARY}`, data: { ODD } } },
      read_long: echo(said(`${"y".repeat(2_500)}${CANARY}${"z".repeat(2_500)}`)),
      read_noise: { do: "noise", lines: [CANARY], effect: false },
    });
    const names = Object.keys(config.calls).map((name) => `mcp__echo__${name}`);
    const pageOn: Steps[number] = ({ messages }) => {
      const refs = messages.map((message) => (message as { artifact?: { ref?: string } }).artifact?.ref);
      const long = refs[names.indexOf("mcp__echo__read_long") + 3] as string; // after system, question and proposal
      return { calls: [{ name: "read_result", args: { ref: long, offset: 2_400 }, id: "page" }] };
    };
    const agent = await start({ echo: echoServer(config) }, [calling(...names), pageOn, { say: "Done." }]);
    const seen: unknown[] = [];
    expect(await run(agent, question, seen)).toBeUndefined();
    const found = await places(agent, seen);
    expect(leaks(found)).toEqual([]);
    expect(holders(found, VISIBLE)).toContain("the file toolgate.sqlite-wal");
    expect(holders(found, "[redacted]")).toContain("the file toolgate.sqlite-wal");
    expect(b.log("accepted").map((event) => `mcp__echo__${event.tool}`)).toEqual(names);

    const messages = await toolMessages(agent);
    const byName = new Map(messages.map((message) => [(message as unknown as { name: string }).name, message]));
    expect(byName.get("mcp__echo__read_text")?.text).toContain(`${VISIBLE} [redacted] [redacted] [redacted]`);
    expect(byName.get("mcp__echo__read_structured")?.artifact["structuredContent"]).toEqual({
      token: "[redacted]",
      "key of [redacted]": [{ odd: "[redacted]", count: 7 }],
      nothing: null,
    });
    expect(byName.get("read_result")?.text).toContain("y[redacted]z");
  });

  test("a definition says what it may and keeps its names and rules", async () => {
    const definition = {
      name: "read_docs",
      title: `Docs of ${CANARY}`,
      description: `Uses the key ${CANARY}.`,
      inputSchema: {
        type: "object",
        description: ODD,
        properties: { description: { type: "string", default: CANARY, examples: [ODD] } },
      },
    };
    const agent = await start({ echo: echoServer({ tools: [definition] }) }, [
      calling("mcp__echo__read_docs"),
      { say: "Done." },
    ]);
    const seen: unknown[] = [];
    expect(await run(agent, question, seen)).toBeUndefined();
    expect(leaks(await places(agent, seen))).toEqual([]);
    expect(agent.model.requests[0]?.tools.find((one) => one.name === "mcp__echo__read_docs")).toEqual({
      name: "mcp__echo__read_docs",
      description: "Uses the key [redacted].",
      schema: {
        type: "object",
        description: "[redacted]",
        properties: { description: { type: "string", default: "[redacted]", examples: ["[redacted]"] } },
      },
    });
    expect(b.log("accepted")).toHaveLength(1); // the listing before the call has the same digest
  });

  test("last words, deaths, late answers and questions of writes (G7)", async () => {
    const config = hostile({
      write_asked: echo({ ...said(`refused: ${CANARY}`), isError: true }),
      read_flood: { do: "stderrFlood", text: `key ${CANARY}\n${VISIBLE}\n`, effect: false },
      write_dies: { do: "dieAfter", by: "exit" },
    });
    const names = { asked: "mcp__echo__write_asked", flood: "mcp__echo__read_flood", dies: "mcp__echo__write_dies" };
    const agent = await start(
      { echo: echoServer(config) },
      [calling(names.asked), calling(names.flood, names.dies), { say: "Done." }],
      { permissions: { allow: ["mcp__echo"], ask: [names.asked] }, tools: { [names.flood]: { effect: "read" } } },
    );
    const seen: unknown[] = [];
    expect(await run(agent, question, seen)).toBeUndefined();
    const [asked] = await agent.toolgate.ledger.requests("t1");
    const yes = { decisions: { [asked?.approvalId as string]: { type: "approve" } } };
    expect(await run(agent, new Command({ resume: yes }), seen)).toBeUndefined();
    const [first] = await agent.toolgate.ledger.unknowns("t1");
    const settled = { resolutions: { [first?.operationId as string]: { type: "did_not_happen" } } };
    expect(await run(agent, new Command({ resume: settled }), seen)).toBeUndefined();
    const unknown = await agent.toolgate.ledger.unknowns("t1");
    expect(unknown).toMatchObject([
      {
        alias: names.dies,
        evidence: { detail: `the process ended with code 1; its last words: key [redacted] ${VISIBLE}` },
      },
    ]);
    expect(leaks(await places(agent, seen))).toEqual([]);
  });

  test("servers that do not start: arguments, environment and last words", async () => {
    const script = "console.error(process.argv.slice(1).join(' '), process.env.KEY); process.exit(3)";
    const args = ["-e", script, "--", "--token", ARGUMENT];
    const key = { KEY: variable("CANARY") };
    const servers = {
      dies: { command: process.execPath, args, env: key },
      missing: { command: `no-such-command-${CANARY}`, args: ["--api-key", ARGUMENT], env: key },
      later: { command: process.execPath, args, env: key, connect: "on-demand" },
      must: { command: process.execPath, args, env: key, required: true },
    };
    const { must, ...optional } = servers;
    const load = { calls: [{ name: "connect_server", args: { name: "later" }, id: "load" }] };
    const agent = await start(optional, [load, { say: "Done." }]);
    const seen: unknown[] = [];
    expect(await run(agent, question, seen)).toBeUndefined();
    expect((await agent.toolgate.snapshot())?.servers.map((one) => [one.name, one.status, one.problem])).toEqual([
      [
        "dies",
        "failed",
        "it did not start: the process ended with code 3; its last words: --token [redacted] [redacted]",
      ],
      [
        "missing",
        "failed",
        "the command `no-such-command-[redacted]` was not found in PATH (from the environment toolgate was started in)",
      ],
    ]);
    expect((await toolMessages(agent))[0]?.text).toContain("later could not be connected: it did not start");
    expect(leaks(await places(agent, seen))).toEqual([]);
    await agent.toolgate.close();

    const failing = await start({ must }, [{ say: "Done." }]);
    expect(await run(failing, question, seen)).toContain("the required server `must` is not available");
    expect(leaks(await places(failing, seen))).toEqual([]);
  });

  // A POST was redirected, and the client repeated its body, and its headers, at another address.
  test("a header that comes back in a result, a 500, a 401, a redirect and an error", async () => {
    const echoed = "got {{authorization}}";
    const server = await startHttpServer("hostile-http", {
      SERVER_LOG: b.logPath(),
      HOSTILE: JSON.stringify({
        ...hostile({
          read_ok: echo(said(`Bearer ${BEARER}`)),
          read_500: { do: "status", status: 500, body: echoed, headers: { "content-type": "text/plain" } },
          read_rpc: {
            do: "status",
            status: 500,
            body: JSON.stringify({ jsonrpc: "2.0", id: 0, error: { code: 1, message: echoed } }),
          },
          read_401: { do: "status", status: 401, body: echoed },
          read_307: { do: "status", status: 307, location: "{{other}}", body: echoed },
          write_500: { do: "status", status: 500, effect: true, body: echoed },
        }),
        http: { authorization: `Bearer ${BEARER}` },
      }),
    });
    try {
      const names = ["read_ok", "read_500", "read_rpc", "read_401", "read_307", "write_500"].map(
        (name) => `mcp__echo__${name}`,
      );
      const agent = await start(
        { echo: { type: "http", url: server.url, headers: { Authorization: `Bearer ${BEARER}` } } },
        [calling(...names), { say: "Done." }],
      );
      const seen: unknown[] = [];
      expect(await run(agent, question, seen)).toBeUndefined();
      expect(leaks(await places(agent, seen))).toEqual([]);
      expect(
        (await agent.toolgate.ledger.operations("t1")).map((one) => `${one.tool} ${one.status} ${one.reason}`),
      ).toEqual([
        "read_ok ok success",
        "read_500 failed server_error",
        "read_rpc failed server_error",
        "read_401 unavailable server_error",
        "read_307 unavailable turned_away",
        "write_500 result_unknown server_error",
      ]);
      expect((await toolMessages(agent))[0]?.text).toContain("[redacted]");
      expect(new Set(b.log("request").map((event) => event.origin))).toEqual(new Set(["own"]));
      await agent.toolgate.close();
    } finally {
      await server.kill();
    }
  });

  test("the host's own tools: what they return and what they throw", async () => {
    const leaky = tool(
      async ({ fail }: { fail: boolean }) => {
        if (fail) throw new Error(`connect to https://x/?key=${CANARY}`);
        return { key: CANARY };
      },
      { name: "leaky", description: `Uses ${VISIBLE}`, schema: z.object({ fail: z.boolean() }) },
    );
    const calls = [true, false].map((fail) => ({ name: "leaky", args: { fail }, id: String(fail) }));
    const agent = await start(
      { echo: echoServer({}) },
      [{ calls }, { say: "Done." }],
      { permissions: { allow: ["leaky"] }, tools: { leaky: { effect: "read" } } },
      [leaky as never],
    );
    const seen: unknown[] = [];
    expect(await run(agent, question, seen)).toBeUndefined();
    expect(leaks(await places(agent, seen))).toEqual([]);
    expect((await toolMessages(agent)).map((message) => message.text.split("\n")[0])).toEqual([
      "connect to https://x/?key=[redacted]",
      '{"key":"[redacted]"}',
    ]);
  });
});
