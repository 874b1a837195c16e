// A server on a field, spoken to raw in one era of the protocol: as its clients write it, one JSON-RPC message a line.
//

import { lstatSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect } from "vitest";
import type { Message, RpcProcess } from "../../support/rpc.js";
import { Field, GOOD } from "./field.js";
import { newId, type Report } from "./grants.js";
import { NOTHING } from "./tree.js";

export const ERAS = ["2025-11-25", "2026-07-28"] as const;
export type Era = (typeof ERAS)[number];
/** Eras of attacks that are the same in both: one of them, or with LONG_TESTS (`npm run test:long`) each. */
export const SAMPLED: readonly Era[] = process.env.LONG_TESTS ? ERAS : ["2026-07-28"];

/** What every request of 2026-07-28 carries. */
export const ENVELOPE = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1.0.0" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

export interface Told {
  readonly status: string;
  readonly message: string;
  // biome-ignore lint/suspicious/noExplicitAny: read by literals in tests
  readonly data: any;
}

export class Target {
  constructor(
    readonly field: Field,
    readonly era: Era,
    readonly process: RpcProcess,
  ) {}

  /** Opens the connection as a client of this era does. */
  async open(): Promise<this> {
    if (this.era === "2025-11-25") await this.process.initialize();
    else await this.request("server/discover");
    return this;
  }

  /** Params as a request of this era has them. */
  params(params: object): object {
    return this.era === "2025-11-25" ? params : { ...params, _meta: ENVELOPE };
  }

  /** The whole answer to a request. */
  request(method: string, params: object = {}): Promise<Message> {
    return this.process.request(method, this.params(params));
  }

  /** The whole answer to a tools/call. */
  call(tool: string, args: unknown): Promise<Message> {
    this.field.remember((args as { approval_token?: unknown } | null)?.approval_token);
    return this.request("tools/call", { name: tool, arguments: args });
  }

  /** The structured answer of a tool; an error of the protocol fails the test. */
  async ask(tool: string, args: unknown): Promise<Told> {
    return toldBy(await this.call(tool, args));
  }

  /** The structured answer to arguments as they stand in the request's text. */
  async askText(tool: string, args: string): Promise<Told> {
    this.field.remember((JSON.parse(args) as { approval_token?: unknown }).approval_token);
    const id = `text-${newId()}`;
    const rest = JSON.stringify(this.params({ name: tool })).slice(0, -1);
    this.process.write(`{"jsonrpc":"2.0","id":"${id}","method":"tools/call","params":${rest},"arguments":${args}}}\n`);
    return toldBy(await this.process.message((message) => message.id === id));
  }

  /** A call that must be refused: attacks-1, attacks-2. Resolves with what was said; `added` names what may be new. */
  async refused(tool: string, args: unknown, added: readonly string[] = []): Promise<Told> {
    return this.#refused(() => this.ask(tool, args), added);
  }

  /** The same for arguments as text. */
  async refusedText(tool: string, args: string): Promise<Told> {
    return this.#refused(() => this.askText(tool, args), []);
  }

  /** A save that must be carried out: attacks-1, and its report and journal are what is new. */
  async saved(report: Report, id: string, approval_token: string): Promise<void> {
    const save = () => this.ask("save_report", { ...report, approval_token });
    const { value, changes } = await this.field.during(save);
    expect(value.status).toBe("ok");
    expect(changes).toEqual({ ...NOTHING, added: [`root/.operations/${id}`, `root/reports/${report.filename}`] });
    expect(lstatSync(join(this.field.root, "reports", String(report.filename))).mode.toString(8)).toBe("100600");
    expect(this.field.report(String(report.filename))).toEqual(Buffer.from(String(report.content)));
  }

  /** attacks-2: the next request is served. */
  async serves(): Promise<void> {
    const { result } = await this.call("read_document", { filename: "good.md" });
    expect(result.content).toEqual([{ type: "text", text: GOOD }]);
  }

  async #refused(ask: () => Promise<Told>, added: readonly string[]): Promise<Told> {
    const { value, changes } = await this.field.during(ask);
    expect(changes).toEqual({ ...NOTHING, added }); // attacks-1
    expect(value.status).toBe("rejected"); // attacks-2
    expect(Object.keys(value.data).sort()).toEqual(["field", "rule"]);
    this.field.mute(JSON.stringify(value));
    await this.serves();
    return value;
  }
}

/** Starts a server on a field and opens it in an era. */
export function targetOn(field: Field, era: Era, env: Readonly<Record<string, string>> = {}): Promise<Target> {
  return new Target(field, era, field.launch(env)).open();
}

/** Call it in a `describe`: its tests share a server and its field, which is looked at as a whole when they are over. */
export function attacked(era: Era): () => Target {
  let target: Target;
  beforeAll(async () => {
    target = await targetOn(new Field(), era);
  });
  afterAll(() => target.field.end());
  return () => target;
}

/** One text block, status, message and data and nothing else, isError unless ok. */
function toldBy({ result, error }: Message): Told {
  expect(error).toBeUndefined();
  const told = result.structuredContent;
  expect(Object.keys(told).sort()).toEqual(["data", "message", "status"]);
  expect(result.content).toHaveLength(1);
  expect(result.content[0].type).toBe("text");
  if (told.status !== "ok") expect(result.content[0].text).toBe(told.message);
  expect(result.isError).toBe(told.status === "ok" ? undefined : true);
  return told;
}
