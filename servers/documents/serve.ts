// Serve: the documents server on stdin and stdout. One factory serves both generations of the protocol; the tools are listed
// exactly as they are written in contracts.ts.
//
//   documents-serve-1. stdout carries the protocol only; what keeps the server from starting is one line on stderr and
//                      exit code 1.
//   documents-serve-2. When stdin ends, or SIGTERM or SIGINT comes, what is running is finished, the descriptors are
//                      closed and the process ends by itself.

import { ProtocolError, ProtocolErrorCode, Server } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { openLog } from "../log.js";
import { type CallDeps, call } from "./calls.js";
import { definitions, toolNames } from "./contracts.js";
import { readEnvironment } from "./environment.js";
import type { Io } from "./io.js";
import { ownLife } from "./life.js";
import { mute } from "./mute.js";
import { operationsIn } from "./operations.js";
import { PatientStdio } from "./stdio.js";
import { openWorkspace } from "./workspace.js";

type Env = Readonly<Record<string, string | undefined>>;

/** Serves until stdin ends. `ioOf` gives what changes files: node:fs, or one with faults; it may throw. */
export function serveDocuments(env: Env, ioOf: (env: Env) => Io): void {
  try {
    serve(env, ioOf(env));
  } catch (error) {
    process.stderr.write(`documents: ${(error as Error).message}\n`); // documents-serve-1
    process.exitCode = 1;
  }
}

function serve(env: Env, io: Io): void {
  const { root, terms, logPath } = readEnvironment(env);
  const log = mute(openLog(logPath));
  const workspace = openWorkspace(root, io);
  let calls = 0;
  const deps: CallDeps = {
    sources: workspace.sources,
    reports: workspace.reports,
    operations: operationsIn(workspace.operations, io, Date.now),
    terms,
    life: ownLife(),
    io,
    now: Date.now,
    log,
    count: () => ++calls,
  };
  const transport = new PatientStdio();
  transport.onended = workspace.close; // documents-serve-2
  log({ event: "started", pid: process.pid });
  serveStdio(() => documentsServer(deps, transport), { transport });
  const stop = (): void => void transport.close();
  process.once("SIGTERM", stop).once("SIGINT", stop);
}

function documentsServer(deps: CallDeps, transport: PatientStdio): Server {
  const server = new Server({ name: "documents", version: "1.0.0" }, { capabilities: { tools: {} } });
  server.setRequestHandler("tools/list", ({ params }) => {
    deps.log({ event: "listed", cursor: params?.cursor ?? null });
    if (params?.cursor !== undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, "no such page here");
    return { tools: toolNames.map((name) => definitions[name]) };
  });
  server.setRequestHandler("tools/call", ({ params }) => transport.hold(call(params, deps)));
  return server;
}
