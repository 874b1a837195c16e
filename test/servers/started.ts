// What every test of a server needs: a log file of its own, and an end for each process, by its own id.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach } from "vitest";
import { readLog, type ServerEvent, type ServerEventName } from "../../servers/log.js";
import { type RpcProcess, startHttpServer, startServer } from "../support/rpc.js";

export interface Started {
  start(name: string, env?: Record<string, string>): RpcProcess;
  /** `hostile`, with its config. */
  hostile(config: object, env?: Record<string, string>): RpcProcess;
  startHttp(name: "http" | "hostile-http", env?: Record<string, string>): ReturnType<typeof startHttpServer>;
  hostileHttp(config: object, env?: Record<string, string>): ReturnType<typeof startHttpServer>;
  log(...names: ServerEventName[]): ServerEvent[];
  logPath(): string;
}

/** Call it once at the top of a test file. */
export function servers(): Started {
  let folder = "";
  const running: RpcProcess[] = [];

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "toolgate-servers-"));
  });
  afterEach(async () => {
    for (const server of running.splice(0)) await server.kill();
    rmSync(folder, { recursive: true });
  });

  const logPath = (): string => join(folder, "log.jsonl");
  function start(name: string, env: Record<string, string> = {}): RpcProcess {
    const server = startServer(name, { SERVER_LOG: logPath(), ...env });
    running.push(server);
    return server;
  }
  async function startHttp(name: "http" | "hostile-http", env: Record<string, string> = {}) {
    const server = await startHttpServer(name, { SERVER_LOG: logPath(), ...env });
    running.push(server);
    return server;
  }
  return {
    start,
    startHttp,
    hostile: (config, env = {}) => start("hostile", { HOSTILE: JSON.stringify(config), ...env }),
    hostileHttp: (config, env = {}) => startHttp("hostile-http", { HOSTILE: JSON.stringify(config), ...env }),
    log: (...names) => readLog(logPath(), ...names),
    logPath,
  };
}
