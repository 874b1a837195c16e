// Where attacks happen: a root with canaries around it, and real servers over it. No host, no SDK in between.
//
//   attacks-1. Nothing around the root changes, nothing is written over or removed, and nothing new stands there but
//              what the test names.
//   attacks-2. A refusal is a structured `rejected` that names field and rule and repeats neither grant, secret nor a
//              path of this machine; the server serves the next request.
//   attacks-3. stdout carries JSON-RPC only; stderr and the effect log hold neither secret nor grant; no canary gets
//              out.

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { readLog, type ServerEvent, type ServerEventName } from "../../../servers/log.js";
import { type Message, type RpcProcess, startServer } from "../../support/rpc.js";
import { base64url, HEADER, SECRET } from "./grants.js";
import { type Changes, changesOf, lookAt } from "./tree.js";

/** Stands in everything that must not be read. */
export const CANARY = "canary-content";
export const GOOD = "this may be read\n";

/** A path of a machine, in a sentence. */
const PATH = /(?<![\w/.-])\/(tmp|proc|dev|home|work|root|etc|usr|var)\b.{0,40}/;

export class Field {
  readonly #base = mkdtempSync(join(tmpdir(), "toolgate-attack-"));
  readonly #log = join(this.#base, "log.jsonl");
  readonly #running: RpcProcess[] = [];
  /** The secret, and parts of grants that were sent. */
  readonly #words = new Set<string>([SECRET]);
  /** Everything that is looked at: the root and what is around it. */
  readonly ground = join(this.#base, "ground");
  readonly root = join(this.ground, "root");
  readonly outside = join(this.ground, "outside");

  constructor() {
    mkdirSync(join(this.root, "sources"), { recursive: true });
    mkdirSync(this.outside);
    writeFileSync(join(this.root, "sources/good.md"), GOOD);
    const baits = ["canary.md", "root/canary.md", "outside/canary.md", "outside/good.md"];
    for (const bait of baits) writeFileSync(join(this.ground, bait), `${CANARY} ${bait}\n`);
  }

  /** Makes the folders that a server would make, where a look must not depend on whether it already has. */
  prepare(): void {
    for (const name of ["reports", ".operations"]) mkdirSync(join(this.root, name), { mode: 0o700 });
  }

  /** Starts a server that nobody has spoken to. */
  launch(env: Readonly<Record<string, string>> = {}, entry: "server" | "faulty" = "server"): RpcProcess {
    const own = { DOCUMENTS_ROOT: this.root, DOCUMENTS_SECRET: SECRET, SERVER_LOG: this.#log };
    const process = startServer(`documents/${entry}`, { ...own, ...env });
    this.#running.push(process);
    return process;
  }

  /** What changed on the ground meanwhile. */
  async during<T>(run: () => Promise<T> | T): Promise<{ value: T; changes: Changes }> {
    const before = lookAt(this.ground);
    const value = await run();
    return { value, changes: changesOf(before, lookAt(this.ground)) };
  }

  /** The bytes of a report. */
  report(filename: string): Buffer {
    return readFileSync(join(this.root, "reports", filename));
  }

  log(...names: ServerEventName[]): ServerEvent[] {
    return readLog(this.#log, ...names);
  }

  /** A grant that is sent: none of it may be said again. The header is the same for all and says nothing. */
  remember(token: unknown): void {
    if (typeof token !== "string") return;
    for (const part of [token, ...token.split(".")])
      if (part.length >= 20 && part !== base64url(HEADER)) this.#words.add(part);
  }

  /** attacks-2, attacks-3: neither grant, secret, canary nor, in what others may read, a path of this machine. */
  mute(text: string, paths = true): void {
    const said = [...this.#words, CANARY, ...(paths ? [this.#base] : [])].filter((word) => text.includes(word));
    expect(said).toEqual([]);
    if (paths) expect(PATH.exec(text)?.[0]).toBeUndefined();
  }

  /** attacks-3, for all that was said so far. */
  muteSoFar(): void {
    for (const { lines, stderr } of this.#running) {
      for (const line of lines) expectProtocol(line);
      this.mute(lines.join("\n"));
      this.mute(stderr());
    }
    if (this.log().length > 0) this.mute(readFileSync(this.#log, "utf8"), false); // it may say what a client asked for
  }

  /** Ends every process that was started, and looks at all that they said. (attacks-3) */
  async end(): Promise<void> {
    try {
      for (const process of this.#running) await process.kill();
      this.muteSoFar();
    } finally {
      rmSync(this.#base, { recursive: true });
    }
  }
}

/** A field for one test. */
export async function onField(run: (field: Field) => Promise<void>): Promise<void> {
  const field = new Field();
  try {
    await run(field);
  } catch (error) {
    await field.end().catch(() => {}); // the first failure is the one to see
    throw error;
  }
  await field.end();
}

function expectProtocol(line: string): void {
  const message = JSON.parse(line) as Message;
  expect(message.jsonrpc).toBe("2.0");
  expect([message.result, message.error, message.method].filter((part) => part !== undefined)).toHaveLength(1);
}
