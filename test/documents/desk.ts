// A desk: a document workspace of one test, under toolgate.documents.json as it is shipped, with a real server behind it:
// the documents server, the same with a fault, or a hostile one whose tools have the same names.

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeEach } from "vitest";
import { definitions } from "../../servers/documents/contracts.js";
import type { Agent, AgentOptions, Bench, Steps, Turn } from "../support/agent.js";
import { stdio } from "../support/agent.js";

export const PROTOCOLS = ["2026-07-28", "2025-11-25"] as const;
export type Protocol = (typeof PROTOCOLS)[number];
/** For what does not depend on the version: one of them, or with LONG_TESTS (`npm run test:long`) each. */
export const SAMPLED: readonly Protocol[] = process.env.LONG_TESTS ? PROTOCOLS : ["2026-07-28"];

export const SEARCH = "mcp__documents__search_documents";
export const READ = "mcp__documents__read_document";
export const SAVE = "mcp__documents__save_report";
export const LOOK = "mcp__documents__get_operation";

/** The key of the grants; a canary, too. */
export const KEY = "canary-key-of-grants-2f81c6d09e4b7a35";

const shipped = fileURLToPath(new URL("../../toolgate.documents.json", import.meta.url));

/** toolgate.documents.json as it stands, variables unfilled. */
export function shippedConfig() {
  return JSON.parse(readFileSync(shipped, "utf8"));
}

export type ServerEntry = ReturnType<typeof stdio>;

export interface Desk {
  readonly root: () => string;
  source(name: string, content: string | Buffer): void;
  /** The reports that are there, by name. */
  reports(): Record<string, string>;
  /** The documents server, or with `fault` the one for tests. */
  server(how?: { readonly fault?: string; readonly env?: Readonly<Record<string, string>> }): ServerEntry;
  /** A hostile server with the documents server's tools, or those in `config`. */
  hostile(config: object): ServerEntry;
  /** A server behind the tee, which keeps what the host sent. */
  teed(server: ServerEntry): ServerEntry;
  /** Lines that the host sent to a teed server. */
  kept(): string[];
  start(
    server: object,
    steps: Steps,
    more?: Record<string, unknown>,
    options?: AgentOptions["options"],
  ): Promise<Agent>;
}

/** Call it once in a `describe`, after `bench()`. */
export function desk(b: Bench, protocol: Protocol): Desk {
  const root = () => join(b.folder(), "workspace");
  const keptPath = () => join(b.folder(), "kept.jsonl");
  beforeEach(() => {
    mkdirSync(join(root(), "sources"), { recursive: true });
  });
  const env = () => ({
    DOCUMENTS_ROOT: root(),
    DOCUMENTS_SECRET: KEY,
    SERVER_LOG: b.logPath(),
  });
  return {
    root,
    source: (name, content) => writeFileSync(join(root(), "sources", name), content),
    reports: () => {
      const folder = join(root(), "reports");
      const names = existsSync(folder) ? readdirSync(folder) : [];
      return Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, name), "utf8")]));
    },
    server: ({ fault, env: more = {} } = {}) =>
      stdio(fault === undefined ? "documents/server" : "documents/faulty", {
        ...env(),
        ...(fault === undefined ? {} : { DOCUMENTS_FAULT: fault }),
        ...more,
      }),
    hostile: (config) =>
      stdio("hostile", {
        SERVER_LOG: b.logPath(),
        HOSTILE: JSON.stringify({
          protocol,
          ...("lists" in config || "pages" in config ? {} : { tools: Object.values(definitions) }),
          ...config,
        }),
      }),
    teed: ({ args, ...server }) => ({
      ...server,
      args: [fileURLToPath(new URL("tee.mjs", import.meta.url)), keptPath(), ...args],
    }),
    kept: () => readFileSync(keptPath(), "utf8").split("\n").slice(0, -1),
    start: (server, steps, more = {}, options = {}) => {
      const { $schema, model, store, ...config } = shippedConfig();
      return b.start({
        config: {
          ...config,
          ...more,
          mcpServers: { documents: { ...server, grantSecret: KEY, protocol } },
        },
        steps,
        options,
      });
    },
  };
}

export const DONE = { say: "Done." };
export const call = (name: string, args: object, id: string): Steps[number] =>
  ({ calls: [{ name, args, id }] }) as never;
export const save = (filename: string, content: string, id = "save"): Steps[number] =>
  call(SAVE, { filename, content }, id);

/** `callId status reason` of each call. */
export const outcomes = (turn: Pick<Turn, "report">): string[] =>
  turn.report.operations.map(({ callId, status, reason }) => `${callId} ${status} ${reason}`);

/** What a tool of the documents server answers. */
export const said = (status: string, data: object | null = null, more: object = {}) => ({
  content: [{ type: "text", text: `it is ${status}` }],
  structuredContent: { status, message: `it is ${status}`, data },
  ...(status === "ok" ? {} : { isError: true }),
  ...more,
});
/** A hostile server's behaviour: this result. `effect`: whether something happened. */
export const answers = (result: unknown, effect = false) => ({ do: "answer", effect, result });

interface Shown {
  readonly approvalId: string;
  readonly operationId: string;
  readonly args: Record<string, unknown>;
  readonly description: string;
}

/** What the open question shows. */
export const shown = (turn: Pick<Turn, "interrupt">): readonly Shown[] =>
  (turn.interrupt as unknown as { actionRequests: readonly Shown[] }).actionRequests;

/** The same answer to every open question. */
export const answer = (turn: Pick<Turn, "interrupt">, decision: object = { type: "approve" }) => ({
  decisions: Object.fromEntries(shown(turn).map((one) => [one.approvalId, decision])),
});

/** The text of the tool message that answers a call. */
export const toolText = (turn: Pick<Turn, "messages">, callId: string): string =>
  turn.messages.find((message) => (message as { tool_call_id?: string }).tool_call_id === callId)?.text ?? "";

/** The candidate's text as the description of a question shows it, without the marks of its lines. */
export function candidateIn(description: string): string {
  const lines = description.split("\n");
  const at = lines.findIndex((line) => line.startsWith("content: "));
  const first = (lines[at] as string).slice("content: ".length);
  if (first.startsWith('"')) return JSON.parse(first) as string; // one line
  const rest = lines.slice(at + 1);
  const end = rest.findIndex((line) => !line.startsWith("  | "));
  const block = end === -1 ? rest : rest.slice(0, end);
  return block.map((line) => line.slice(4)).join("\n");
}
