// Taps: where the points of a host process are made. Each stands round a port of a toolgate that was put together as any
// host would: the ledger, the checkpointer, the model, and the pipes to its servers.

import childProcess, { type ChildProcess } from "node:child_process";
import { appendFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import Database from "better-sqlite3";
import { ScriptedModel } from "../../../src/adapters/model/scripted.js";
import type { Toolgate } from "../../../src/index.js";
import type { Halts } from "./points.js";

type Method = (...args: unknown[]) => unknown;

/** Round every method of the ledger and of the checkpointer that is awaited. */
export function tapPorts(toolgate: Toolgate, halts: Halts): void {
  const ledger = toolgate.host.ledger as unknown as Record<string, Method>;
  for (const name of Object.keys(ledger)) tap(ledger, name, `ledger.${name}`, halts);
  const saver = (toolgate.graph as unknown as { checkpointer: Record<string, Method> }).checkpointer;
  tap(saver, "put", "checkpoint.put", halts);
  tap(saver, "putWrites", "checkpoint.writes", halts);
}

function tap(port: Record<string, Method>, name: string, point: string, halts: Halts): void {
  const method = port[name];
  if (typeof method !== "function") return;
  port[name] = async (...args) => {
    await halts.at(`${point}.before`);
    const result = await method.apply(port, args);
    await halts.at(`${point}.after`);
    return result;
  };
}

/** The scripted model, with a point before each request. */
export class TappedModel extends ScriptedModel {
  readonly #halts: Halts;

  constructor(steps: ConstructorParameters<typeof ScriptedModel>[0], halts: Halts) {
    super(steps);
    this.#halts = halts;
  }

  override async _generate(...args: Parameters<ScriptedModel["_generate"]>) {
    await this.#halts.at(`model.${this.requests.length + 1}`);
    return super._generate(...args);
  }
}

/** A request as its line on the wire. */
interface Line {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: { readonly name?: string; readonly _meta?: Readonly<Record<string, unknown>> };
}

/** Round the pipes of every process that is started from now on. Call it before anything is started. */
export function tapServers(halts: Halts, wirePath: string): void {
  const { spawn } = childProcess;
  childProcess.spawn = ((...args: Parameters<typeof spawn>) => {
    const child = spawn(...args);
    tapPipes(child, halts, wirePath);
    return child;
  }) as typeof spawn;
  syncBuiltinESMExports();
}

function tapPipes({ stdin, stdout }: ChildProcess, halts: Halts, wirePath: string): void {
  if (!stdin || !stdout) return;
  const sent = new Set<unknown>();
  const write = stdin.write.bind(stdin) as (chunk: string, done?: unknown) => boolean;
  stdin.write = ((chunk: unknown, done?: unknown) => {
    const line = typeof chunk === "string" ? parsed(chunk) : undefined;
    if (line?.method !== "tools/call" || line.params?.name === "lookup") return write(chunk as string, done);
    sent.add(line.id);
    halts.now("send.before");
    const operationId = line.params?._meta?.["toolgate/operationId"];
    appendFileSync(wirePath, `${JSON.stringify({ tool: line.params?.name, operationId })}\n`);
    const text = chunk as string;
    const half = halts.next("send.half") ? Math.floor(text.length / 2) : 0;
    if (half > 0) write(text.slice(0, half));
    const handed = (stdin as unknown as { _handle?: { writeQueueSize?: number } })._handle?.writeQueueSize ?? 0;
    if (half > 0 && handed > 0) throw new Error("half of the line is not in the pipe yet");
    halts.now("send.half");
    const more = write(text.slice(half), done);
    halts.now("send.after");
    return more;
  }) as typeof stdin.write;

  const on = stdout.on.bind(stdout);
  stdout.on = ((event: string, listener: (chunk: Buffer) => void) =>
    on(
      event,
      event !== "data"
        ? listener
        : (chunk: Buffer) => {
            const answers = chunk
              .toString("utf8")
              .split("\n")
              .some((text) => sent.has(parsed(text)?.id));
            if (answers) halts.now("receive.before");
            listener(chunk);
            if (answers) halts.now("receive.after");
          },
    )) as typeof stdout.on;
}

function parsed(text: string): Line | undefined {
  try {
    return JSON.parse(text) as Line;
  } catch {
    return undefined;
  }
}

/**
 * The SQLite handles that are open, so that their disk can fail. Call it before anything is opened. `opened` is told of
 * each. A handle that is closed again, as a tap's own, has no disk any more.
 */
export function tapHandles(opened: (db: Database.Database) => void): Iterable<Database.Database> {
  const handles = new Set<Database.Database>();
  const { prepare } = Database.prototype;
  Database.prototype.prepare = function (this: Database.Database, source: string) {
    if (!handles.has(this)) {
      handles.add(this);
      opened(this);
    }
    return prepare.call(this, source);
  } as typeof prepare;
  return {
    *[Symbol.iterator]() {
      for (const db of handles) if (db.open) yield db;
    },
  };
}
