// The road of one call, found by running one: an approved write, through the public door, on a SQLite store and a real
// server. Who called whom is known from an AsyncLocalStorage: a function's caller is the function in which the call was
// made or the callback handed over, also where an `await` stands between the two.
//
// The first two calls are made without looking, so that servers are started and schemas compiled; the third is recorded.

import { AsyncLocalStorage } from "node:async_hooks";
import { mkdtempSync, rmSync } from "node:fs";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { Command } from "@langchain/langgraph";
import Database from "better-sqlite3";
import { CallingModel } from "../bench/floor-model.js";
import { nodeId, roomOf, root } from "./architecture-source.js";
import { instrument, RECORDER, type Traced } from "./architecture-trace.js";

/** The file whose first function begins the road. */
const ENTRY = "graph/nodes/execute.ts";
const TOOL = "mcp__deploy__trigger";

/** Something that leaves the process's own memory, and the files that were on the stack then, from the entry down. */
export interface Effect {
  readonly what: string;
  readonly files: readonly string[];
}

export interface Road {
  /** In the order in which they happened; the last is the call itself. */
  readonly effects: readonly Effect[];
  readonly files: readonly string[];
  /** Pairs of files of different rooms, the first of which calls the second. */
  readonly roomChanges: readonly (readonly [string, string])[];
  /** Every file of which a function ran meanwhile, in the order of their first ones. */
  readonly ran: readonly string[];
}

interface Frame {
  readonly of: Traced;
  readonly caller: Frame | undefined;
}

export async function findRoad(): Promise<Road> {
  const copy = await instrument();
  const stack = new AsyncLocalStorage<Frame>();
  let phase: "before" | "armed" | "road" | "after" = "before";
  const effects: Effect[] = [];
  const ran = new Set<string>();
  const effect = (what: string) => {
    const files = filesOf(stack.getStore());
    if (phase === "road" && files.length > 0) effects.push({ what, files });
  };
  const undo = [
    watch(Socket.prototype, "write", (_socket, [chunk]) => {
      const method = /"method":"([^"]+)"/.exec(String(chunk))?.[1];
      if (method === undefined) return;
      effect(`bytes to the server: ${method}`);
      if (method === "tools/call" && phase === "road") phase = "after";
    }),
    watch(Worker.prototype, "postMessage", () => effect("a message to the schema worker")),
    ...watchStatements(effect),
  ];
  (globalThis as Record<string, unknown>)[RECORDER] = (number: number, body: () => unknown) => {
    const of = copy.functions[number] as Traced;
    if (phase === "armed" && of.file === ENTRY) phase = "road";
    const frame = { of, caller: stack.getStore() };
    if (phase === "road" && filesOf(frame).length > 0) ran.add(of.file);
    return stack.run(frame, body);
  };
  try {
    await runCalls(copy.index, (n) => {
      if (n === 3) phase = "armed";
    });
  } finally {
    for (const back of undo) back();
    copy.remove();
  }
  if ((phase as string) !== "after") throw new Error(`no call was sent after a function of ${ENTRY} was called`);
  return {
    effects,
    files: [...new Set(effects.flatMap(({ files }) => files))],
    roomChanges: changes(effects),
    ran: [...ran],
  };
}

/** The files of a stack, from the entry down; one after another only once. Empty where the entry is not on it. */
function filesOf(frame: Frame | undefined): string[] {
  const files: string[] = [];
  for (let one = frame; one !== undefined; one = one.caller) if (files[0] !== one.of.file) files.unshift(one.of.file);
  const entry = files.indexOf(ENTRY);
  return entry < 0 ? [] : files.slice(entry);
}

function changes(effects: readonly Effect[]): [string, string][] {
  const pairs = new Map<string, [string, string]>();
  for (const { files } of effects) {
    for (const [index, to] of files.entries()) {
      const from = files[index - 1];
      if (from !== undefined && roomOf(from) !== roomOf(to)) pairs.set(`${from} ${to}`, [from, to]);
    }
  }
  return [...pairs.values()];
}

type Method = (this: unknown, ...args: unknown[]) => unknown;

/** Calls `before` before each call of a method. Returns what puts the method back. */
function watch(prototype: object, name: string, before: (self: unknown, args: readonly unknown[]) => void): () => void {
  const own = Object.getOwnPropertyDescriptor(prototype, name); // undefined where the method is inherited
  const real = (prototype as Record<string, unknown>)[name] as Method;
  const value: Method = function (...args) {
    before(this, args);
    return real.apply(this, args);
  };
  Object.defineProperty(prototype, name, { configurable: true, writable: true, ...own, value });
  return () => {
    if (own) Object.defineProperty(prototype, name, own);
    else Reflect.deleteProperty(prototype, name);
  };
}

/** Transactions by their first statement, and statements outside of one. */
function watchStatements(effect: (what: string) => void): (() => void)[] {
  const probe = new Database(":memory:");
  const prototype = Object.getPrototypeOf(probe.prepare("SELECT 1")) as object;
  probe.close();
  return ["run", "get", "all"].map((name) =>
    watch(prototype, name, (self) => {
      const { source, database } = self as { source: string; database: Database.Database };
      if (database.inTransaction) return;
      const [, kind] = /^\s*(BEGIN \w+|\w+)/.exec(source) ?? [];
      effect(kind === "BEGIN IMMEDIATE" ? "a write of the store" : "a read of the store");
    }),
  );
}

interface Answer {
  readonly __interrupt__?: readonly {
    readonly value: { readonly actionRequests: readonly { approvalId: string }[] };
  }[];
}

/** Makes three approved calls; `before` is told the number of each when its question has been asked. */
async function runCalls(index: string, before: (n: number) => void): Promise<void> {
  const { createToolgate } = (await import(pathToFileURL(index).href)) as typeof import("../src/index.js");
  const folder = mkdtempSync(join(tmpdir(), "toolgate-architecture-"));
  const model = new CallingModel(TOOL);
  const server = { command: process.execPath, args: ["--import", "tsx", join(root, "servers/deploy.ts")], cwd: root };
  const toolgate = await createToolgate({
    config: {
      mcpServers: { deploy: server },
      permissions: { ask: [TOOL] },
      approvals: { secret: "a-secret-for-measuring-that-is-long-enough" },
      store: { kind: "sqlite", path: join(folder, "store") },
    },
    model,
  });
  const thread = { configurable: { thread_id: "road" }, durability: "sync" as const };
  try {
    for (const n of [1, 2, 3]) {
      model.left = 1;
      const asked = (await toolgate.graph.invoke(
        { messages: [{ role: "user", content: "Deploy, please." }] },
        thread,
      )) as Answer;
      before(n);
      const questions = asked.__interrupt__?.[0]?.value.actionRequests ?? [];
      const yes = Object.fromEntries(questions.map(({ approvalId }) => [approvalId, { type: "approve" }]));
      await toolgate.graph.invoke(new Command({ resume: { decisions: yes } }) as never, thread);
    }
  } finally {
    await toolgate.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The road as a Mermaid drawing: files in their rooms, an arrow where one calls another. */
export function drawRoad({ effects, files }: Road): string {
  const rooms = [...new Set(files.map(roomOf))];
  const boxes = rooms.flatMap((room) => [
    `  subgraph ${nodeId(`room ${room}`)}["${room}"]`,
    ...files
      .filter((file) => roomOf(file) === room)
      .map((file) => `    ${nodeId(file)}["${file.slice(room.length + 1) || file}"]`),
    "  end",
  ]);
  const arrows = new Set(
    effects.flatMap(({ files: on }) => on.slice(1).map((to, n) => `  ${nodeId(on[n] as string)} --> ${nodeId(to)}`)),
  );
  return ["flowchart LR", ...boxes, ...arrows].join("\n");
}
