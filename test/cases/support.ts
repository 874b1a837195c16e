// What the tests of real failures share: a hostile server as a process, a model that calls what its user names, and a look at
// everything that a call leaves: the server's log, the tool message, the ledger row, the stored body, the next turn.

import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync, inflateSync } from "node:zlib";
import Database from "better-sqlite3";
import { expect } from "vitest";
import type { OperationRow } from "../../src/contracts/index.js";
import { outcomeOf, type SettledRow } from "../../src/contracts/index.js";
import { type Agent, type Bench, type Steps, stdio, type Turn } from "../support/agent.js";
import { formatProblems } from "../support/provider-format.js";

/** Says which tool to call, in the words of a user; anything else is only answered. */
const TOOL = /^(look|act)\w*$/;

/** What no provider's JSON may hold. */
const LONE_SURROGATE = /\p{Cs}/u;

/** A model that calls the tool its user names, and says so when it has an answer. It keeps no place of its own. */
export const obedient: Steps = Array.from({ length: 12 }, () => ({ messages }) => {
  const last = messages.at(-1);
  const names = last?.getType() === "human" && TOOL.test(last.text);
  return names ? { calls: [{ name: `mcp__hostile__${last.text}`, args: {} }] } : { say: "Still here." };
});

/** Tools as they are listed; what is said of one stands behind its name. */
export const tools = (names: readonly string[], more: Readonly<Record<string, object>> = {}) =>
  names.map((name) => ({ name, inputSchema: { type: "object" }, ...more[name] }));

export const said = (text: string) => ({ content: [{ type: "text", text }] });

/** Answers with this result; a `look…` changes nothing, an `act…` has its effect first. */
export const answers = (result: unknown) => ({ do: "answer", result });

/**
 * An agent on one hostile server. Its tools are those that `calls` names: `look…` are reads, the others writes, and
 * all may run. Store and log are the test's own, so a second one goes on where the first ended.
 */
export function startHostile(
  b: Bench,
  hostile: { readonly calls?: Readonly<Record<string, unknown>>; readonly [key: string]: unknown },
  { steps = obedient, server = {}, config = {} }: { steps?: Steps; server?: object; config?: object } = {},
): Promise<Agent> {
  const listed = "tools" in hostile || "pages" in hostile ? {} : { tools: tools(Object.keys(hostile.calls ?? {})) };
  const calls = Object.fromEntries(
    Object.entries(hostile.calls ?? {}).map(([name, call]) => [
      name,
      name.startsWith("look") ? [call].flat().map((one) => ({ effect: false, ...(one as object) })) : call,
    ]),
  );
  const env = { SERVER_LOG: b.logPath(), HOSTILE: JSON.stringify({ ...listed, ...hostile, calls }) };
  return b.start({
    config: {
      mcpServers: { hostile: stdio("hostile", env, server) },
      permissions: { allow: ["mcp__hostile__*"] },
      tools: { "mcp__hostile__look*": { effect: "read" } },
      ...config,
    },
    steps,
  });
}

/** What one call left behind. */
export interface Left {
  /** `status reason`, as the ledger has it. */
  readonly outcome: string;
  readonly row: OperationRow;
  /** The stored body, `undefined` when none was kept. */
  readonly body: string | undefined;
  readonly status: string;
  readonly text: string;
  readonly artifact: Readonly<Record<string, unknown>>;
  /** How often the server did it. */
  readonly effects: number;
  readonly turn: Turn;
}

/** Has the model call one tool, in a thread of the tool's name, and looks at what that left. It was sent once. */
export async function called(b: Bench, agent: Agent, tool: string): Promise<Left> {
  const turn = await agent.ask(tool, tool);
  return left(b, agent, tool, turn);
}

export async function left(b: Bench, agent: Agent, tool: string, turn: Turn): Promise<Left> {
  const rows = await agent.toolgate.host.ledger.operations(tool);
  expect(rows).toHaveLength(1);
  const row = rows[0] as OperationRow;
  expect(b.log("accepted").filter((event) => event.operationId === row.operation.id)).toHaveLength(row.sent ? 1 : 0);
  // A question is open while an outcome is unknown: the tool message is in the state, not yet in an answer.
  const { values } = await agent.state(tool);
  const messages = (values["messages"] as Turn["messages"]).filter((message) => message.getType() === "tool");
  expect(messages).toHaveLength(1);
  const message = messages[0] as unknown as Pick<Left, "status" | "text" | "artifact"> & { tool_call_id: string };
  expect(message.tool_call_id).toBe(row.operation.callId);
  expect(message.artifact["operationId"]).toBe(row.operation.id);
  const ref = (row as SettledRow).result?.ref;
  return {
    outcome: `${outcomeOf(row)?.status} ${outcomeOf(row)?.reason}`,
    row,
    body: ref === undefined ? undefined : await agent.toolgate.host.results.read(tool, ref),
    status: message.status,
    text: message.text,
    artifact: message.artifact,
    effects: b.log("effect").filter((event) => event.tool === tool).length,
    turn,
  };
}

/** Another process on the same store finds the threads as they were, takes a turn in each, and sends nothing again. */
export async function goesOn(b: Bench, agent: Agent, again: () => Promise<Agent>, threads: readonly string[]) {
  const before = await Promise.all(threads.map(async (thread) => JSON.stringify((await agent.state(thread)).values)));
  const sent = b.log("accepted").length;
  await agent.toolgate.close();
  const other = await again();
  const after = await Promise.all(threads.map(async (thread) => JSON.stringify((await other.state(thread)).values)));
  expect(after).toEqual(before);
  for (const thread of threads) {
    const turn = await other.ask("and now?", thread);
    expect(turn.report.answer).toBe("Still here.");
    const messages = turn.messages.map((message) => message.getType());
    expect(messages).toEqual(["human", "ai", "tool", ...(messages.length === 6 ? ["ai"] : []), "human", "ai"]);
    expect(formatProblems([...turn.messages])).toEqual([]);
    expect(turn.messages.filter((message) => LONE_SURROGATE.test(message.text))).toEqual([]);
  }
  expect(b.log("accepted")).toHaveLength(sent);
}

/** Every text in a store's folder, by file, and by column for a database: blobs are unpacked first. */
export function storedTexts(folder: string): Record<string, string> {
  const texts: Record<string, string> = {};
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    if (!statSync(join(folder, name)).isFile()) continue;
    const bytes = readFileSync(join(folder, name));
    texts[name] = bytes.toString("utf8");
    if (bytes.subarray(0, 6).toString() !== "SQLite") continue;
    const db = new Database(join(folder, name), { readonly: true });
    const tables = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").pluck().all() as string[];
    for (const table of tables)
      for (const row of db.prepare(`SELECT * FROM "${table}"`).all() as Record<string, unknown>[])
        for (const [column, value] of Object.entries(row)) {
          const place = `${table}.${column}`;
          texts[place] = `${texts[place] ?? ""}${unpacked(value)}\n`;
        }
    db.close();
  }
  return texts;
}

function unpacked(value: unknown): string {
  if (!Buffer.isBuffer(value)) return String(value);
  for (const open of [gunzipSync, inflateSync])
    try {
      return open(value).toString("utf8");
    } catch {
      // packed in another way, or not at all
    }
  return value.toString("utf8");
}
