// The document workspace and G11: neither the key of the grants nor a grant is anywhere but in the one request that
// carries it: not in a message, a model request, the state, a checkpoint, the ledger, a byte of the store, the server's
// log or an error text, also when the server says it aloud. The grants searched for are the very ones that were sent.

import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { Command } from "@langchain/langgraph";
import { describe, expect, test } from "vitest";
import { definitions } from "../../servers/documents/contracts.js";
import { outcomeOf } from "../../src/contracts/index.js";
import { type Agent, bench, type Steps } from "../support/agent.js";
import { answers, call, DONE, desk, KEY, PROTOCOLS, READ, SAVE, SEARCH, said, shippedConfig } from "./desk.js";

const b = bench();

/** Not a secret: shows that what is searched would be found. */
const VISIBLE = "visible-marker-77d0";
const REPORT = `# Report\n\n${VISIBLE}\n`;
const thread = { configurable: { thread_id: "t1" } };
const save = (filename: string) => call(SAVE, { filename, content: REPORT }, filename);
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

/** Every form a secret could be met in. */
const formsOf = (secret: string) => [
  secret,
  Buffer.from(secret).toString("base64").replace(/=+$/, ""),
  Buffer.from(secret).toString("base64url"),
  Buffer.from(secret).toString("hex"),
];

/** A grant, and the parts of it that nobody could know by chance. */
const partsOf = (grant: string) => [grant, ...grant.split(".")];

interface Sent {
  readonly method?: string;
  readonly params?: { readonly name?: string; readonly arguments?: Record<string, unknown> };
}

describe.each(PROTOCOLS)("secrets and the document workspace over MCP %s (G11)", (protocol) => {
  const w = desk(b, protocol);

  const sent = () => w.kept().map((line) => JSON.parse(line) as Sent);
  /** The grants that were really sent. */
  const grants = () =>
    sent().flatMap(({ params }) => (params?.arguments?.["approval_token"] as string | undefined) ?? []);

  /** One run, streamed; `seen` gets everything that came of it, and what it threw. */
  async function run(agent: Agent, input: unknown, seen: unknown[]): Promise<void> {
    const config = { ...thread, durability: "sync", streamMode: ["custom", "updates", "values", "debug"] };
    try {
      for await (const event of await agent.toolgate.graph.stream(input as never, config as never)) seen.push(event);
    } catch (error) {
      const { message, stack, hint, data } = error as Error & { hint?: unknown; data?: unknown };
      seen.push({ message, stack, hint, data });
    }
  }

  /** Runs a turn and says yes to every question until none is left. */
  async function approving(agent: Agent, seen: unknown[]): Promise<void> {
    await run(agent, { messages: [{ role: "user", content: "go" }] }, seen);
    await approveAll(agent, seen);
  }

  /** Says yes to every question until none is left. */
  async function approveAll(agent: Agent, seen: unknown[]): Promise<void> {
    for (;;) {
      const open = await agent.toolgate.ledger.requests("t1");
      if (open.length === 0) return;
      const decisions = Object.fromEntries(open.map(({ approvalId }) => [approvalId, { type: "approve" }]));
      await run(agent, new Command({ resume: { decisions } }), seen);
    }
  }

  function filesBelow(folder: string): string[] {
    return readdirSync(folder, { recursive: true, encoding: "utf8" })
      .map((name) => join(folder, name))
      .filter((path) => statSync(path).isFile());
  }

  /** Every place a secret could have got to, as text. */
  async function places(agent: Agent, seen: readonly unknown[]): Promise<Record<string, string>> {
    const states = [];
    for await (const state of agent.toolgate.graph.getStateHistory(thread)) states.push(state);
    const { host, ledger } = agent.toolgate;
    const files = [join(b.folder(), "store"), w.root()].flatMap(filesBelow).concat(b.logPath());
    return {
      "what was streamed": JSON.stringify(seen),
      "model requests": JSON.stringify(agent.model.requests),
      checkpoints: JSON.stringify(states),
      "the snapshot": JSON.stringify(await agent.toolgate.snapshot()),
      "ledger rows": JSON.stringify(await host.ledger.operations("t1")),
      "what is unknown": JSON.stringify(await ledger.unknowns()),
      ...Object.fromEntries(files.map((path) => [path.slice(b.folder().length), readFileSync(path, "latin1")])),
    };
  }

  function leaks(found: Record<string, string>): string[] {
    const secrets = [KEY, ...grants().flatMap(partsOf)].flatMap(formsOf);
    return Object.entries(found).flatMap(([place, text]) =>
      secrets.flatMap((form) => (text.includes(form) ? [`${form} in ${place}`] : [])),
    );
  }

  const holders = (found: Record<string, string>, text: string) =>
    Object.keys(found).filter((place) => found[place]?.includes(text));

  test("the documents server: one grant, minted after the yes, for exactly this call, and nowhere else", async () => {
    w.source("bridge.md", `# Bridge\n${VISIBLE}\n`);
    const steps: Steps = [
      call(SEARCH, { query: "Bridge" }, "search"),
      call(READ, { filename: "bridge.md" }, "read"),
      save("r.md"),
      DONE,
    ];
    const agent = await w.start(w.teed(w.server()), steps);
    const seen: unknown[] = [];
    await run(agent, { messages: [{ role: "user", content: "go" }] }, seen);
    expect(grants()).toEqual([]); // nothing is minted for a question
    const [question] = await agent.toolgate.ledger.requests("t1");
    const before = Math.floor(Date.now() / 1_000);
    const yes = { decisions: { [question?.approvalId as string]: { type: "approve" } } };
    await run(agent, new Command({ resume: yes }), seen);
    expect(w.reports()).toEqual({ "r.md": REPORT });

    const [grant, ...others] = grants();
    expect(others).toEqual([]);
    const [header, claims, signature] = (grant as string).split(".");
    const decoded = (part = "") => JSON.parse(Buffer.from(part, "base64url").toString());
    expect(Buffer.from(header as string, "base64url").toString()).toBe('{"alg":"HS256","typ":"toolgate-grant+jwt"}');
    expect(signature).toMatch(/^[A-Za-z0-9_-]{43}$/);
    const { iat } = decoded(claims);
    expect(decoded(claims)).toEqual({
      iss: "toolgate",
      aud: "documents",
      jti: question?.operationId,
      iat,
      exp: iat + 60,
      scope: "local",
      thread: "t1",
      tool: "save_report",
      toolDigest: (await agent.toolgate.snapshot())?.tools.find(({ alias }) => alias === SAVE)?.digest,
      argumentsDigest: sha256(JSON.stringify({ content: REPORT, filename: "r.md" })),
      approver: "unauthenticated",
    });
    expect(iat - before).toBeGreaterThanOrEqual(0);
    expect(iat - before).toBeLessThanOrEqual(5);
    expect(sent().find(({ params }) => params?.name === "save_report")?.params?.arguments).toEqual({
      filename: "r.md",
      content: REPORT,
      approval_token: grant,
      operation_id: question?.operationId,
    });

    const found = await places(agent, seen);
    expect(leaks(found)).toEqual([]);
    expect(holders(found, VISIBLE)).toEqual(
      expect.arrayContaining(["what was streamed", "model requests", "checkpoints", "/store/toolgate.sqlite-wal"]),
    );
    expect(holders(found, question?.operationId as string)).toContain("/server.jsonl");
  });

  test("a server that says its grant aloud: in a result, an error, its definitions and its last words", async () => {
    const aloud = `you sent {{grant}}, in other words {{grant64}}, or {{headless}} with {{signature}} (${VISIBLE})`;
    const told = (status: string, field = "filename") => ({
      content: [{ type: "text", text: aloud }],
      structuredContent: { status, message: aloud, data: { [field]: aloud } },
      ...(status === "ok" ? {} : { isError: true }),
    });
    const { save_report, ...others } = definitions;
    const list = (description: string) => [{ tools: [...Object.values(others), { ...save_report, description }] }];
    const calls = {
      save_report: [
        answers(told("ok"), true),
        answers(told("failed")),
        { do: "answer", effect: false, error: { code: -32000, message: aloud, data: aloud } },
        { do: "stderrFlood", text: `${aloud}\n`, result: said("ok") },
        { do: "dieAfter", by: "exit" },
      ],
      get_operation: answers(told("ok", "detail")),
    };
    const lists = [{ pages: list("before") }, { pages: list(aloud), afterCalls: 1, notify: true }];
    const names = ["a.md", "b.md", "c.md", "d.md", "e.md"];
    const steps = [...names.flatMap((name) => [save(name)]), DONE];
    const agent = await w.start(w.teed(w.hostile({ calls, lists })), steps, {
      permissions: { allow: ["mcp__documents"], default: "deny" },
      tools: {
        [SAVE]: {
          ...shippedConfig().tools[SAVE],
          verify: "on-change",
        },
      },
    });
    const seen: unknown[] = [];
    await approving(agent, seen);
    for (let left = names.length; left > 0; left--) {
      const open = await agent.toolgate.ledger.unknowns("t1");
      if (open.length === 0) break;
      const resolutions = Object.fromEntries(open.map(({ operationId }) => [operationId, { type: "happened" }]));
      await run(agent, new Command({ resume: { resolutions } }), seen);
      await approveAll(agent, seen); // the definition has changed since the first list, so each later save is asked about
    }
    const rows = await agent.toolgate.host.ledger.operations("t1");
    expect(rows.map((row) => `${row.operation.callId} ${outcomeOf(row)?.status} ${outcomeOf(row)?.reason}`)).toEqual([
      "a.md ok contract",
      "b.md failed contract",
      "c.md ok resolved",
      "d.md ok contract",
      "e.md ok resolved",
    ]);
    expect(outcomeOf(rows.at(-1))?.evidence?.detail).toContain("its last words: you sent [redacted]");
    expect(grants()).toHaveLength(5);
    expect(new Set(grants()).size).toBe(5);
    const { "/server.jsonl": log = "", ...found } = await places(agent, seen);
    expect(leaks({ log })).not.toEqual([]); // a hostile server keeps what it gets, and what is searched for is found there
    expect(leaks(found)).toEqual([]);
    expect(found["the snapshot"]).toContain(VISIBLE); // of the server's last process, which was sent no grant that it could say
    for (const place of ["what was streamed", "model requests", "checkpoints", "ledger rows"]) {
      expect([place, found[place]?.includes(VISIBLE), found[place]?.includes("you sent [redacted]")]).toEqual([
        place,
        true,
        true,
      ]);
    }
  });
});
