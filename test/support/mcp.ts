// Hostile servers as configs of the MCP adapter: a folder and a log of their own, and an end for each of them.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readLog, type ServerEvent, type ServerEventName } from "../../servers/log.js";
import { createServers, type McpDeps } from "../../src/adapters/mcp/pool.js";
import { HttpServer, type ServerConfig, StdioServer } from "../../src/contracts/index.js";
import type { CallRequest, ServerConnection, Servers } from "../../src/contracts/mcp-port.js";
import { type RpcProcess, serverCommand, startHttpServer } from "./rpc.js";

export type Started = RpcProcess & { readonly url: string; readonly otherUrl: string };

export class World {
  readonly folder = mkdtempSync(join(tmpdir(), "toolgate-mcp-"));
  readonly #logPath = join(this.folder, "log.jsonl");
  readonly #hubs: Servers[] = [];
  readonly #running: Started[] = [];

  /** `hostile.ts` over stdio. */
  stdio(hostile: object, more: Partial<StdioServer> = {}): StdioServer {
    const { env, ...rest } = more;
    return StdioServer.parse({
      type: "stdio",
      ...serverCommand("hostile"),
      env: { HOSTILE: JSON.stringify(hostile), SERVER_LOG: this.#logPath, ...env },
      ...rest,
    });
  }

  /** A program given as text. */
  script(code: string, more: Partial<StdioServer> = {}): StdioServer {
    return StdioServer.parse({
      type: "stdio",
      command: process.execPath,
      args: ["-e", code],
      cwd: this.folder,
      ...more,
    });
  }

  /** Starts `hostile-http.ts`. */
  async startHttp(hostile: object): Promise<Started> {
    const env = { HOSTILE: JSON.stringify(hostile), SERVER_LOG: this.#logPath };
    const server = await startHttpServer("hostile-http", env);
    this.#running.push(server);
    return server;
  }

  async http(hostile: object, more: Partial<HttpServer> = {}): Promise<HttpServer> {
    const { url } = await this.startHttp(hostile);
    return HttpServer.parse({ type: "http", url, ...more });
  }

  /** A hub that is closed with this world. */
  hub(configs: Readonly<Record<string, ServerConfig>>, deps: Partial<McpDeps> = {}): Servers {
    const hub = createServers(configs, { now: Date.now, redact: (text) => text, lateAnswerMs: 1_000, ...deps });
    return this.track(hub);
  }

  track(hub: Servers): Servers {
    this.#hubs.push(hub);
    return hub;
  }

  log(...names: ServerEventName[]): ServerEvent[] {
    return readLog(this.#logPath, ...names);
  }

  async end(): Promise<void> {
    await Promise.all(this.#hubs.splice(0).map((hub) => hub.close()));
    await Promise.all(this.#running.splice(0).map((server) => server.kill()));
    rmSync(this.folder, { recursive: true });
  }
}

/** The connection, or the problem as an error. */
export async function connected(servers: Servers, name: string): Promise<ServerConnection> {
  const result = await servers.connect(name);
  if (!result.ok) throw new Error(result.problem);
  return result.connection;
}

/** A write of `act`; what a test is about is given. */
export function asks(more: Partial<CallRequest> = {}): CallRequest {
  return {
    tool: "act",
    arguments: {},
    meta: {},
    inputSchema: { type: "object" },
    deadlineMs: 10_000,
    keepListeningMs: 0,
    maxBytes: 100_000,
    maySend: () => true,
    ...more,
  };
}
