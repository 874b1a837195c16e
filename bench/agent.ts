// A whole agent to measure: `createToolgate`, a real server process that lists as many tools as asked, a scripted model
// and a SQLite store in a folder of its own.
//
// No two calls have equal arguments or results: otherwise the store would keep once what it keeps each time in use. The
// scripted model reads the whole conversation to find its place, and a real one runs elsewhere, so the time spent in it is
// kept apart (`model.ms`) and taken off; LangChain's own work for a request is not. Bytes are those of every file in the
// store's folder, after the write-ahead log was written back.

import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ChatResult } from "@langchain/core/outputs";
import Database from "better-sqlite3";
import { ScriptedModel } from "../src/adapters/model/scripted.js";
import { createToolgate, type Toolgate } from "../src/index.js";
import type { ScriptStep } from "../src/testing.js";

/** Bytes of the text of each result. */
export const RESULT_BYTES = 200;
/** The tool that is called, and the alias the model knows it by. */
export const TOOL = "find_document_7";
export const ALIAS = `mcp__documents__${TOOL}`;

/** What is measured: how many tools the server lists, and what the host says its tools do. */
export interface Case {
  readonly tools: number;
  readonly effect: "read" | "write";
}

/** A command that serves what HOSTILE_FILE says over stdio. */
export interface ServerCommand {
  readonly command: string;
  readonly args: readonly string[];
}

/** The configurable server, from its source. */
export const FROM_SOURCE: ServerCommand = {
  command: process.execPath,
  args: ["--import", "tsx", fileURLToPath(new URL("../test/servers/programs/hostile.ts", import.meta.url))],
};

export interface Measured {
  readonly toolgate: Toolgate;
  readonly model: TimedModel;
  /** Bytes of the database as it stands, read by a connection of its own. */
  bytes(): number;
  /** Closes the agent, and says how many bytes are left on disk. */
  close(): Promise<number>;
  /** Closes what is open and removes the folder. */
  remove(): Promise<void>;
}

/** Starts an agent whose server can answer so many calls. `steps` is the model's script. */
export async function startAgent(
  { tools, effect }: Case,
  options: { readonly calls: number; readonly steps: readonly ScriptStep[]; readonly server?: ServerCommand },
): Promise<Measured> {
  const folder = mkdtempSync(join(tmpdir(), "toolgate-bench-"));
  const store = join(folder, "store");
  const { command, args } = options.server ?? FROM_SOURCE;
  const model = new TimedModel(options.steps);
  const toolgate = await createToolgate({
    config: {
      mcpServers: {
        documents: { command, args, env: { HOSTILE_FILE: writeServerFile(folder, tools, options.calls) } },
      },
      permissions: { allow: ["mcp__documents__*"] },
      tools: { "mcp__documents__*": { effect } },
      catalog: { limits: { tools } },
      limits: {
        calls: options.calls,
        writes: options.calls,
        modelRequests: options.calls + 1,
        wallMs: 24 * 3_600_000,
      },
      approvals: { secret: "a-secret-for-measuring-that-is-long-enough" },
      store: { kind: "sqlite", path: store },
    },
    model,
  });
  const close = async () => {
    await toolgate.close();
    writeBack(store);
    return sizeOf(store);
  };
  return {
    toolgate,
    model,
    bytes: () => databaseBytes(store),
    close,
    async remove() {
      await toolgate.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The scripted model with a stopwatch, and without its memory of every request. */
export class TimedModel extends ScriptedModel {
  ms = 0;
  /** Awaited before each answer. */
  before: () => Promise<void> = async () => undefined;

  override async _generate(...args: Parameters<ScriptedModel["_generate"]>): Promise<ChatResult> {
    await this.before();
    const started = performance.now();
    try {
      return await super._generate(...args);
    } finally {
      this.requests.length = 0;
      this.ms += performance.now() - started;
    }
  }
}

/** The model's n-th step that calls the tool. */
export function callStep(...numbers: readonly number[]): ScriptStep {
  return { calls: numbers.map((n) => ({ name: ALIAS, args: { query: prose(40, n) } })) };
}

/** Text that compresses no better than prose does. The seed makes runs equal. */
export function prose(chars: number, seed: number): string {
  let state = seed + 1;
  let text = "";
  while (text.length < chars) {
    state = (state * 48_271) % 2_147_483_647;
    text += `${state.toString(36)} `;
  }
  return text.slice(0, chars);
}

/** Writes what the server lists and answers, and returns the file's path. */
export function writeServerFile(folder: string, tools: number, calls: number): string {
  const path = join(folder, "server.json");
  const answers = Array.from({ length: calls }, (_, n) => ({
    do: "answer",
    result: { content: [{ type: "text", text: prose(RESULT_BYTES, 1_000_000 + n) }] },
  }));
  writeFileSync(
    path,
    JSON.stringify({ tools: Array.from({ length: tools }, (_, n) => toolOf(n)), calls: { [TOOL]: answers } }),
  );
  return path;
}

function toolOf(n: number) {
  const text = (description: string) => ({ type: "string", description });
  return {
    name: `find_document_${n}`,
    description: `Finds documents of collection ${n} by words in their title or text. ${prose(80, n)}`,
    inputSchema: {
      type: "object",
      properties: {
        query: text("The words to look for."),
        since: text("Only documents changed since this date."),
        limit: { type: "integer", minimum: 1, maximum: 100, description: "How many to return." },
      },
      required: ["query"],
    },
  };
}

const databaseOf = (store: string) => join(store, "toolgate.sqlite");

function databaseBytes(store: string): number {
  const db = new Database(databaseOf(store), { readonly: true });
  try {
    return Number(db.pragma("page_count", { simple: true })) * Number(db.pragma("page_size", { simple: true }));
  } finally {
    db.close();
  }
}

function writeBack(store: string): void {
  const db = new Database(databaseOf(store));
  db.pragma("wal_checkpoint(TRUNCATE)");
  db.close();
}

function sizeOf(folder: string): number {
  return readdirSync(folder).reduce((bytes, name) => bytes + statSync(join(folder, name)).size, 0);
}
