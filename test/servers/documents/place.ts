// What every test of the documents server needs: a workspace of its own, grants as a host makes them, and an end for each
// process, by its own id.

import { execFileSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { SignJWT } from "jose";
import { afterEach, beforeEach } from "vitest";
import { readLog, type ServerEvent, type ServerEventName } from "../../../servers/log.js";
import { type Message, type RpcProcess, serverCommand, startServer } from "../../support/rpc.js";

export const SECRET = "the-secret-of-this-test-0123456789";
export const PROTOCOLS = ["2026-07-28", "2025-11-25"] as const;
export type Protocol = (typeof PROTOCOLS)[number];

/** What a tool answered. */
export interface Told {
  readonly status: string;
  readonly message: string;
  // biome-ignore lint/suspicious/noExplicitAny: read by literals in tests
  readonly data: any;
}

export interface Report {
  readonly filename: string;
  readonly content: string;
}

/** What a test changes about a grant. */
export interface GrantChanges {
  readonly header?: object;
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly secret?: string;
}

export const newId = (): string => randomBytes(32).toString("hex");
export const sha256 = (data: string | Uint8Array): string => createHash("sha256").update(data).digest("hex");

/** A grant as the host makes it; `undefined` as a claim leaves it out. */
export function grant(report: Report, id: string, { header, claims, secret }: GrantChanges = {}): Promise<string> {
  const iat = Math.floor(Date.now() / 1_000);
  const payload = {
    iss: "toolgate",
    aud: "documents",
    jti: id,
    iat,
    exp: iat + 60,
    scope: "local",
    thread: "t1",
    tool: "save_report",
    toolDigest: "d".repeat(64),
    argumentsDigest: sha256(JSON.stringify({ content: report.content, filename: report.filename })),
    approver: "ada",
    ...claims,
  };
  return new SignJWT(JSON.parse(JSON.stringify(payload)))
    .setProtectedHeader({ alg: "HS256", typ: "toolgate-grant+jwt", ...header })
    .sign(new TextEncoder().encode(secret ?? SECRET));
}

export interface Place {
  readonly root: () => string;
  /** Starts the server, after the handshake. */
  start(env?: Record<string, string>, entry?: "server" | "faulty"): Promise<RpcProcess>;
  /** The server with a fault (faults.ts). */
  faulty(fault: string, env?: Record<string, string>): Promise<RpcProcess>;
  /** Starts it without a handshake. */
  launch(env?: Record<string, string>, entry?: "server" | "faulty"): RpcProcess;
  client(protocol: Protocol): Promise<Client>;
  source(name: string, content: string | Buffer): void;
  /** The reports that are there, by name. */
  reports(): Record<string, string>;
  log(...names: ServerEventName[]): ServerEvent[];
  /** A pipe at which a process with a `hold` fault waits. */
  pipe(): { readonly path: string; held(): Promise<FileHandle> };
}

/** Call it once at the top of a test file. */
export function place(): Place {
  let folder = "";
  const running: RpcProcess[] = [];
  const clients: Client[] = [];
  const gates: FileHandle[] = [];
  const root = (): string => join(folder, "root");

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "toolgate-documents-"));
    mkdirSync(join(root(), "sources"), { recursive: true });
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) await client.close();
    for (const server of running.splice(0)) await server.kill();
    for (const gate of gates.splice(0)) await gate.close(); // closing twice is nothing
    rmSync(folder, { recursive: true });
  });

  const logPath = (): string => join(folder, "log.jsonl");
  const envOf = (env: Record<string, string>): Record<string, string> => ({
    DOCUMENTS_ROOT: root(),
    DOCUMENTS_SECRET: SECRET,
    SERVER_LOG: logPath(),
    ...env,
  });
  function launch(env: Record<string, string> = {}, entry = "server"): RpcProcess {
    const server = startServer(`documents/${entry}`, envOf(env));
    running.push(server);
    return server;
  }
  async function start(env: Record<string, string> = {}, entry = "server"): Promise<RpcProcess> {
    const server = launch(env, entry);
    await server.initialize();
    return server;
  }
  return {
    root,
    launch,
    start,
    faulty: (fault, env = {}) => start({ DOCUMENTS_FAULT: fault, ...env }, "faulty"),
    async client(protocol) {
      const versionNegotiation = { mode: { pin: protocol } } as const;
      const client = new Client(
        { name: "test", version: "1.0.0" },
        protocol === "2026-07-28" ? { versionNegotiation } : {},
      );
      await client.connect(new StdioClientTransport({ ...serverCommand("documents/server"), env: envOf({}) }));
      clients.push(client);
      return client;
    },
    source: (name, content) => writeFileSync(join(root(), "sources", name), content),
    reports() {
      const reports = join(root(), "reports");
      const names = existsSync(reports) ? readdirSync(reports) : [];
      return Object.fromEntries(names.map((name) => [name, readFileSync(join(reports, name), "utf8")]));
    },
    log: (...names) => readLog(logPath(), ...names),
    pipe() {
      const path = join(folder, `pipe-${newId().slice(0, 8)}`);
      execFileSync("mkfifo", [path]);
      const held = async (): Promise<FileHandle> => {
        const gate = await open(path, "w"); // opens once the other end is read: somebody waits there
        gates.push(gate);
        return gate;
      };
      return { path, held };
    },
  };
}

/** Calls a tool; an answer of the protocol (an error) fails the test. */
export async function ask(server: RpcProcess, name: string, args: object): Promise<Told> {
  const { result, error }: Message = await server.request("tools/call", { name, arguments: args });
  if (error !== undefined) throw new Error(`${name} answered ${JSON.stringify(error)}`);
  if (result.isError !== (result.structuredContent.status === "ok" ? undefined : true)) throw new Error("isError");
  return result.structuredContent;
}

/** Saves a report under a grant for exactly that. */
export async function save(server: RpcProcess, report: Report, id = newId()): Promise<Told> {
  return ask(server, "save_report", { ...report, approval_token: await grant(report, id), operation_id: id });
}

export async function readBack(server: RpcProcess, id: string): Promise<Told["data"]> {
  return (await ask(server, "get_operation", { operation_id: id })).data;
}
