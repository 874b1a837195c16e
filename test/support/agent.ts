// A whole agent for tests: real servers as processes, a scripted model, a store in a folder of its own.
// The same without processes: in-process.ts.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { BaseMessage } from "@langchain/core/messages";
import type { StructuredToolInterface } from "@langchain/core/tools";
import { Command } from "@langchain/langgraph";
import { afterEach, beforeEach } from "vitest";
import { readLog, type ServerEvent, type ServerEventName } from "../../servers/log.js";
import { createToolgate, type Toolgate, type ToolgateOptions } from "../../src/index.js";
import { reportTurn } from "../../src/report/report.js";
import { scriptedModel } from "../../src/testing.js";
import { serverFile } from "./compile.js";

const root = fileURLToPath(new URL("../..", import.meta.url));

export type Steps = Parameters<typeof scriptedModel>[0];

/** A server of `servers/` over stdio, as an entry of `mcpServers`. */
export function stdio(name: string, env: Record<string, string> = {}, rest: object = {}) {
  return { command: process.execPath, args: [serverFile(name)], cwd: root, env, ...rest };
}

export interface AgentOptions {
  readonly config: Record<string, unknown>;
  readonly steps?: Steps;
  readonly tools?: readonly StructuredToolInterface[];
  readonly options?: Partial<ToolgateOptions>;
}

export interface Agent {
  readonly toolgate: Toolgate;
  readonly model: ReturnType<typeof scriptedModel>;
  /** One user turn, or with `undefined` a thread that goes on. Resolves with the report and the messages. */
  ask(question: string | undefined, threadId?: string, options?: object): Promise<Turn>;
  /** Resumes the open question. */
  resume(value: unknown, threadId?: string): Promise<Turn>;
  state(
    threadId?: string,
  ): Promise<{ values: Record<string, unknown>; next: readonly string[]; interrupts: unknown[] }>;
}

export interface Turn {
  readonly report: Awaited<ReturnType<typeof reportTurn>>;
  readonly messages: readonly BaseMessage[];
  /** `role: text`, tool messages as `tool(status): text`. */
  readonly lines: readonly string[];
  readonly interrupt: Record<string, unknown> | undefined;
}

export interface Bench {
  readonly folder: () => string;
  /** Path of the effect log that servers of this test share. */
  readonly logPath: () => string;
  readonly log: (...names: ServerEventName[]) => ServerEvent[];
  /** From now on agents of this test share one SQLite store, as hosts on one machine do. */
  onDisk(): void;
  /** A server of this name that writes to the shared log, as an entry of `mcpServers`. */
  server(name: string, env?: Record<string, string>, rest?: object): object;
  start(options: AgentOptions): Promise<Agent>;
  /** Opens the same store in another toolgate, as another process would. */
  readonly agents: readonly Agent[];
}

/** Call it once at the top of a test file. Every agent is closed and every folder removed after each test. */
export function bench(): Bench {
  return benchOf({
    opened: () => undefined,
    inMemory: false,
    log: (path) => readLog(path),
    server: (name, env, rest, path) => stdio(name, { SERVER_LOG: path, ...env }, rest),
    create: createToolgate,
  });
}

/** How the agents of a bench are made. */
export interface Making {
  /** A test begins. */
  opened(): void;
  /** Whether agents keep everything in memory until a test asks for a store on disk. */
  readonly inMemory: boolean;
  log(path: string): readonly ServerEvent[];
  server(name: string, env: Record<string, string>, rest: object, logPath: string): object;
  create(options: ToolgateOptions): Promise<Toolgate>;
}

export function benchOf(making: Making): Bench {
  let folder = "";
  let { inMemory } = making;
  let made = 0;
  const agents: Agent[] = [];
  beforeEach(() => {
    inMemory = making.inMemory;
    made = 0;
    folder = mkdtempSync(join(tmpdir(), "toolgate-agent-"));
    making.opened();
  });
  afterEach(async () => {
    for (const agent of agents.splice(0)) await agent.toolgate.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const logPath = () => join(folder, "server.jsonl");
  return {
    folder: () => folder,
    logPath,
    log: (...names) => making.log(logPath()).filter(({ event }) => names.length === 0 || names.includes(event)),
    onDisk: () => {
      inMemory = false;
    },
    server: (name, env = {}, rest = {}) => making.server(name, env, rest, logPath()),
    agents,
    async start({ config, steps = [], tools = [], options = {} }) {
      if (inMemory && made > 0) throw new Error("agents in memory share nothing: call `onDisk()` before the first one");
      made += 1;
      const model = scriptedModel(steps);
      const toolgate = await making.create({
        config: {
          store: inMemory ? { kind: "memory" } : { kind: "sqlite", path: join(folder, "store") },
          approvals: { secret: "a-secret-for-tests-that-is-long-enough" },
          ...config,
        },
        model,
        tools,
        ...options,
      });
      const agent = agentOf(toolgate, model);
      agents.push(agent);
      return agent;
    },
  };
}

function agentOf(toolgate: Toolgate, model: ReturnType<typeof scriptedModel>): Agent {
  const config = (threadId: string) => ({ configurable: { thread_id: threadId } });
  async function turn(input: unknown, threadId: string, options: object): Promise<Turn> {
    const result = (await toolgate.graph.invoke(
      input as never,
      { ...config(threadId), durability: "sync", ...options } as never,
    )) as unknown as {
      messages: BaseMessage[];
      __interrupt__?: { value: Record<string, unknown> }[];
    };
    const state = await toolgate.graph.getState(config(threadId));
    const messages = result?.messages ?? [];
    return {
      report: await reportTurn(toolgate.host, threadId, state.values),
      messages,
      lines: messages.map(lineOf),
      interrupt: result?.__interrupt__?.[0]?.value,
    };
  }
  return {
    toolgate,
    model,
    ask: (question, threadId = "t1", options = {}) =>
      turn(question === undefined ? null : { messages: [{ role: "user", content: question }] }, threadId, options),
    resume: (value, threadId = "t1") => turn(new Command({ resume: value }), threadId, {}),
    async state(threadId = "t1") {
      const state = await toolgate.graph.getState(config(threadId));
      return {
        values: state.values as Record<string, unknown>,
        next: state.next,
        interrupts: state.tasks.flatMap((task) => (task.interrupts ?? []).map((one) => one.value)),
      };
    },
  };
}

function lineOf(message: BaseMessage): string {
  const { status } = message as { status?: string };
  const kind = message.getType() === "tool" ? `tool(${status})` : message.getType();
  return `${kind}: ${message.text}`;
}
