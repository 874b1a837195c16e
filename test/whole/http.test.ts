// Whole runs against servers over Streamable HTTP: answers that never came, turned-away requests, both revisions of the
// protocol, and the order in which a batch is sent. Effects are counted in the server's own log.

import { tool } from "@langchain/core/tools";
import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { type Agent, bench, type Steps, stdio, type Turn } from "../support/agent.js";
import { formatProblems } from "../support/provider-format.js";
import { startHttpServer } from "../support/rpc.js";

const running: Awaited<ReturnType<typeof startHttpServer>>[] = [];
afterEach(async () => {
  for (const server of running.splice(0)) await server.kill();
});
const b = bench(); // registered last: agents are closed before their servers end

async function serve(name: "http" | "hostile-http", env: Record<string, string>) {
  const server = await startHttpServer(name, { SERVER_LOG: b.logPath(), ...env });
  running.push(server);
  return server;
}

const DONE = { say: "Done." };
const act = (id: string, name = "act") => ({ name: `mcp__hostile__${name}`, args: { text: id }, id });

/** An agent with a hostile server over HTTP. `act` is a write; tools named `look…` are reads. */
async function start(
  hostile: object,
  steps: Steps,
  config: Record<string, unknown> = {},
  server: object = {},
): Promise<Agent> {
  const { url } = await serve("hostile-http", { HOSTILE: JSON.stringify(hostile) });
  return b.start({
    config: {
      mcpServers: { hostile: { type: "http", url, ...server } },
      permissions: { allow: ["mcp__hostile"] },
      tools: { "mcp__hostile__look*": { effect: "read" } },
      lateAnswerMs: 0,
      ...config,
    },
    steps,
  });
}

const tools = (...names: string[]) => names.map((name) => ({ name, inputSchema: { type: "object" } }));
const effects = () => b.log("effect").length;
const posts = () => b.log("request").filter((event) => event.method === "tools/call");
const outcomes = (turn: Turn) => turn.report.operations.map((one) => `${one.callId} ${one.status} ${one.reason}`);

describe("the docs service over HTTP", () => {
  for (const format of ["sse", "json"]) {
    test(`the allowed path, answers as ${format}: four model requests, one call`, async () => {
      const { url } = await serve("http", { HTTP_SERVES: "docs", HTTP_FORMAT: format, HTTP_TOKEN: "token-of-s1" });
      const readFile = tool(async () => "Running main.py needs a permission for that run.", {
        name: "read_file",
        description: "Reads a file of the policy folder.",
        schema: z.object({ path: z.string() }),
      });
      const headers = { Authorization: "Bearer token-of-s1" };
      const agent = await b.start({
        config: {
          mcpServers: { docs: { type: "http", url, headers, connect: "on-demand" } },
          permissions: { allow: ["mcp__docs__*", "read_file"] },
          tools: { mcp__docs__search_docs: { effect: "read" }, read_file: { effect: "read" } },
        },
        steps: [
          { calls: [{ name: "connect_server", args: { name: "docs" }, id: "load" }] },
          { calls: [{ name: "mcp__docs__search_docs", args: { query: "main.py" }, id: "query" }] },
          { calls: [{ name: "read_file", args: { path: "policy.txt" }, id: "read" }] },
          { say: "They agree." },
        ],
        tools: [readFile],
      });
      const turn = await agent.ask("Do they agree?");
      expect(turn.report).toMatchObject({ status: "done", answer: "They agree.", modelRequests: 4 });
      expect(outcomes(turn)).toEqual(["load ok success", "query ok success", "read ok success"]);
      expect(b.log("accepted").map((event) => event.tool)).toEqual(["search.docs"]);
      expect((await agent.toolgate.snapshot())?.servers).toMatchObject([
        { name: "docs", status: "connected", protocol: "2025-11-25" },
      ]);
      expect(formatProblems([...turn.messages])).toEqual([]);
    });
  }
});

describe("turned away: certainly not run, for reads and writes alike", () => {
  for (const [what, behaviour] of [
    [
      "401 for the token",
      { do: "status", status: 401, headers: { "www-authenticate": 'Bearer error="invalid_token"' } },
    ],
    // A POST was redirected, and the client repeated its body, and its headers, at another address.
    ["307 to another origin", { do: "status", status: 307, location: "{{other}}" }],
    ["308 to itself", { do: "status", status: 308, location: "{{own}}" }],
  ] as const) {
    test(`${what} is unavailable, one request, no effect, and no halt`, async () => {
      const hostile = { tools: tools("act", "look"), calls: { "*": [behaviour, { do: "answer" }] } };
      const agent = await start(hostile, [{ calls: [act("c1"), act("c2", "look")] }, { calls: [act("c3")] }, DONE]);
      const turn = await agent.ask("go");
      expect(outcomes(turn)).toEqual(["c1 unavailable turned_away", "c2 unavailable turned_away", "c3 ok success"]);
      expect(turn.report.status).toBe("done");
      expect(effects()).toBe(1);
      expect(posts()).toHaveLength(3);
      expect(b.log("request").filter((event) => event.origin === "other")).toEqual([]);
    });
  }

  // A server did what it was asked and answered with 303. The host told the model that it was not run and that it might ask
  // again, and the same call went out a second time with nobody asked.
  for (const [what, behaviour] of [
    ["303", { status: 303, location: "/receipt" }],
    ["302", { status: 302, location: "{{own}}" }],
    ["304", { status: 304 }],
    [
      "401 without a word of the token",
      { status: 401, headers: { "www-authenticate": 'Basic realm="Bearer error=invalid_token"' } },
    ],
  ] as const) {
    test(`${what} after the effect is no word that it was not run`, async () => {
      const hostile = { calls: { act: { do: "status", effect: true, ...behaviour } } };
      const agent = await start(hostile, [{ calls: [act("c1")] }, { calls: [{ ...act("c1"), id: "c2" }] }, DONE]);
      const turn = await agent.ask("go");
      expect(outcomes(turn)[0]).toBe("c1 result_unknown server_error");
      expect(turn.report.status).toBe("result_unknown");
      expect(effects()).toBe(1);
      expect(posts()).toHaveLength(1);
    });
  }

  // Node's fetch sends a request again by itself after 421: one call made two effects.
  test("421 after the effect is one request and one effect", async () => {
    const hostile = { calls: { act: { do: "status", status: 421, effect: true } } };
    const agent = await start(hostile, [{ calls: [act("c1")] }, DONE]);
    expect(outcomes(await agent.ask("go"))).toEqual(["c1 result_unknown server_error"]);
    expect([effects(), posts().length]).toEqual([1, 1]);
  });

  test("what was turned away was sent: the identical call is asked about", async () => {
    const hostile = { calls: { act: [{ do: "status", status: 307, location: "{{own}}" }, { do: "answer" }] } };
    const same = { name: "mcp__hostile__act", args: { text: "same" } };
    const agent = await start(hostile, [{ calls: [{ ...same, id: "c1" }] }, { calls: [{ ...same, id: "c2" }] }, DONE]);
    const turn = await agent.ask("go");
    expect(turn.report.status).toBe("awaiting_approval");
    expect(turn.report.approvals[0]?.why).toContain("earlier writes bear on this one");
    expect(posts()).toHaveLength(1);
    expect(effects()).toBe(0);
  });

  // A session expired: some clients stayed broken, others sent the call again without looking.
  test("a session the server forgot: unavailable, then a new session; nothing runs twice", async () => {
    const hostile = { http: { forgetSessionsAfterCalls: 1 } };
    const steps = ["c1", "c2", "c3"].map((id) => ({ calls: [act(id)] }));
    const config = { tools: { mcp__hostile__act: { verify: "on-change" } } };
    const agent = await start(hostile, [...steps, DONE], config);
    const turn = await agent.ask("go");
    expect(outcomes(turn)).toEqual(["c1 ok success", "c2 unavailable turned_away", "c3 ok success"]);
    expect(b.log("effect").map((event) => event.arguments)).toEqual([{ text: "c1" }, { text: "c3" }]);
    expect(b.log("session").filter((event) => event.reason === "opened")).toHaveLength(2);
  });

  test("the same where the listing before the call meets it first: nothing was sent", async () => {
    const steps = ["c1", "c2", "c3"].map((id) => ({ calls: [act(id)] }));
    const agent = await start({ http: { forgetSessionsAfterCalls: 1 } }, [...steps, DONE]);
    expect(outcomes(await agent.ask("go"))).toEqual(["c1 ok success", "c2 unavailable not_sent", "c3 ok success"]);
    expect(effects()).toBe(2);
    expect(posts()).toHaveLength(2);
  });

  test("a server that asks for authorization, or is not there, has failed and says so; the run goes on", async () => {
    const { url } = await serve("hostile-http", {
      HOSTILE: JSON.stringify({ http: { authorization: "Bearer right" } }),
    });
    const gone = await serve("http", {});
    await gone.kill();
    const agent = await b.start({
      config: {
        mcpServers: {
          closed: { type: "http", url, headers: { Authorization: "Bearer wrong-token" } },
          gone: { type: "http", url: gone.url },
        },
      },
      steps: [DONE],
    });
    expect((await agent.ask("go")).report).toMatchObject({ status: "done", tools: ["read_result"] });
    expect((await agent.toolgate.snapshot())?.servers.map((one) => [one.name, one.status, one.problem])).toEqual([
      ["closed", "failed", "HTTP 401: the server asks for authorization"],
      ["gone", "failed", "nobody was reached (ECONNREFUSED)"],
    ]);
  });
});

describe("an answer that never came (G7)", () => {
  for (const protocol of ["2025-11-25", "2026-07-28"]) {
    for (const [when, format] of [
      ["before-headers", "json"],
      ["half-body", "json"],
      ["after-headers", "sse"],
    ]) {
      // An event stream was dropped, and the calls that waited on it stayed open for the rest of the session.
      test(`cut ${when} (${format}) on ${protocol}: a write is unknown, a read unavailable; one effect, nothing sent again`, async () => {
        const cut = { do: "drop", when };
        const calls = { act: cut, look: { ...cut, effect: false } };
        const hostile = { protocol, tools: tools("act", "look"), calls, http: { format } };
        const steps = [{ calls: [act("c1", "look"), act("c2"), act("c3"), act("c4", "look")] }, DONE];
        const agent = await start(hostile, steps, {}, { protocol });
        const turn = await agent.ask("go");
        expect(outcomes(turn)).toEqual([
          "c1 unavailable connection_lost",
          "c2 result_unknown connection_lost",
          "c3 rejected halted",
          "c4 unavailable connection_lost",
        ]);
        expect(turn.interrupt).toMatchObject({ kind: "result_unknown" });
        expect(effects()).toBe(1);
        expect(posts()).toHaveLength(3);
        expect(formatProblems([...turn.messages])).toEqual([]);
      });
    }
  }

  test("500 after the effect: a write is unknown, also where the host declared honest errors: a gateway may have said it", async () => {
    for (const errors of ["conservative", "honest"] as const) {
      const hostile = { calls: { act: { do: "status", status: 500, effect: true } } };
      const agent = await start(hostile, [{ calls: [act("c1")] }, DONE], { tools: { mcp__hostile__act: { errors } } });
      expect(outcomes(await agent.ask("go", errors))).toEqual(["c1 result_unknown server_error"]);
    }
    expect(posts()).toHaveLength(2);
  });
});

describe("both revisions of the protocol", () => {
  for (const protocol of ["2025-11-25", "2026-07-28"]) {
    for (const transport of ["http", "stdio"]) {
      test(`${protocol} over ${transport}: pinned, negotiated, and refused where the server speaks the other`, async () => {
        const env = { SERVER_LOG: b.logPath(), HOSTILE: JSON.stringify({ protocol }) };
        const http = transport === "http" ? await serve("hostile-http", env) : undefined;
        const entry = (pin: string) =>
          http === undefined
            ? stdio("hostile", env, { protocol: pin })
            : { type: "http", url: http.url, protocol: pin };
        const other = protocol === "2025-11-25" ? "2026-07-28" : "2025-11-25";
        const agent = await b.start({
          config: {
            mcpServers: { pinned: entry(protocol), auto: entry("auto"), other: entry(other) },
            permissions: { allow: ["mcp__pinned", "mcp__auto"] },
          },
          steps: [
            {
              calls: ["pinned", "auto"].map((name) => ({ name: `mcp__${name}__act`, args: { text: name }, id: name })),
            },
            DONE,
          ],
        });
        const turn = await agent.ask("go");
        expect(outcomes(turn)).toEqual(["pinned ok success", "auto ok success"]);
        expect((await agent.toolgate.snapshot())?.servers.map((one) => [one.name, one.status, one.protocol])).toEqual([
          ["auto", "connected", protocol],
          ["other", "failed", undefined],
          ["pinned", "connected", protocol],
        ]);
        expect(b.log("effect").map((event) => event.operationId)).toEqual(
          turn.report.operations.map((one) => one.operationId),
        );
      });
    }
  }
});

describe("the order of a batch (call-order-3)", () => {
  const slow = { do: "slow", ms: 60, effect: false };
  const order = () => b.log("accepted", "finished").map((event) => `${event.event} ${event.tool}`);

  test("reads run side by side up to `limits.parallelReads`, and no more", async () => {
    const names = Array.from({ length: 5 }, (_, index) => `look${index}`);
    const agent = await start(
      { tools: tools(...names), calls: { "*": slow } },
      [{ calls: names.map((name) => act(name, name)) }, DONE],
      { limits: { parallelReads: 2 } },
    );
    expect(outcomes(await agent.ask("go"))).toEqual(names.map((name) => `${name} ok success`));
    let [now, most] = [0, 0];
    for (const event of b.log("accepted", "finished")) {
      now += event.event === "accepted" ? 1 : -1;
      most = Math.max(most, now);
    }
    expect(most).toBe(2);
    expect(order().slice(0, 2).sort()).toEqual(["accepted look0", "accepted look1"]);
    expect(order().slice(-2)).toEqual(["accepted look4", "finished look4"]);
  });

  test("a write waits for the reads before it, and the reads behind it wait for the write", async () => {
    const agent = await start(
      { tools: tools("act", "look0", "look1", "look2"), calls: { act: { ...slow, effect: true }, "*": slow } },
      [{ calls: [act("c0", "look0"), act("c1", "look1"), act("c2"), act("c3", "look2")] }, DONE],
    );
    await agent.ask("go");
    expect(order().slice(0, 2).sort()).toEqual(["accepted look0", "accepted look1"]);
    expect(order().slice(2, 4).sort()).toEqual(["finished look0", "finished look1"]);
    expect(order().slice(4)).toEqual(["accepted act", "finished act", "accepted look2", "finished look2"]);
    expect(effects()).toBe(1);
  });
});
