// The effect log: what a server really did, one JSON line per event, on disk before the server acts on it.
//
// Env: SERVER_LOG names the file. Without it nothing is written. Started servers never inherit TOOLGATE_*, so a config
// names this one in the server's `env`.
//
//   A line is on disk (fsync) before what it announces happens: `accepted` before the call is looked at, `effect`
//   before anything that follows the effect, `finished` before the answer is written.
//   `accepted` stands for every tools/call that arrived, also one that the server then refuses: a client that
//   promised to send nothing is found out here.
//   `effect` stands for one change of the world. Nothing else is one, and tests count effects nowhere else.
//   log-1. The file is only appended to, so servers that are started again, or run side by side, share it.

import { fsyncSync, openSync, readFileSync, writeSync } from "node:fs";

export const serverEvents = [
  "started",
  "listed",
  "accepted",
  "refused",
  "effect",
  "finished",
  "cancelled",
  "grandchild",
  "reply",
  "session",
  "request",
] as const;
export type ServerEventName = (typeof serverEvents)[number];

/** One line of the log. Which fields stand beside `event` is said at each. */
export interface ServerEvent {
  readonly event: ServerEventName;
  /** `started`: the server's own process. `grandchild`: the process it started. */
  readonly pid?: number;
  /** Number of the tools/call within its process, from 1: `accepted`, `refused`, `effect`, `finished`, `cancelled`, `reply`. */
  readonly n?: number;
  readonly tool?: string;
  readonly arguments?: unknown;
  /** `_meta["toolgate/operationId"]` of the call, when it carries one. */
  readonly operationId?: string;
  /** `listed`: the cursor that was asked for, null for the first page. */
  readonly cursor?: unknown;
  /** `refused`: why. `cancelled`: the client's words. `session`: `opened`, `unknown`, `forgotten` or `deleted`. */
  readonly reason?: string;
  /** `request` (an HTTP request arrived at hostile-http): its HTTP method, JSON-RPC method, origin, Authorization. */
  readonly http?: string;
  readonly method?: string;
  readonly origin?: "own" | "other";
  readonly authorization?: string;
  /** `reply`: the client's answer to a request of the server. */
  readonly answer?: unknown;
}

/** Writes events. L1: returns when the line is on disk. */
export type ServerLog = (event: ServerEvent) => void;

/** Opens the log for appending (log-1); without a path the log swallows everything. */
export function openLog(path: string | undefined): ServerLog {
  if (path === undefined || path === "") return () => {};
  const file = openSync(path, "a");
  return (event) => {
    writeSync(file, `${JSON.stringify(event)}\n`);
    fsyncSync(file);
  };
}

/** The events so far, in order; empty when there is no file yet. With names, only the events of these kinds. */
export function readLog(path: string, ...names: readonly ServerEventName[]): ServerEvent[] {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
  const whole = text.slice(0, text.lastIndexOf("\n") + 1); // a server killed inside a write leaves half a line
  const events = whole.split("\n").filter((line) => line !== "");
  return events
    .map((line) => JSON.parse(line) as ServerEvent)
    .filter(({ event }) => names.length === 0 || names.includes(event));
}

/** The operation id that a call carries, as a field to spread into an event. */
export function operationIdOf(meta: unknown): { operationId?: string } {
  const id = (meta as Record<string, unknown> | undefined)?.["toolgate/operationId"];
  return typeof id === "string" ? { operationId: id } : {};
}
