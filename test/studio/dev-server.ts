// LangGraph Studio's server (`langgraphjs dev`) as a process, in a folder that looks like a checkout.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@langchain/langgraph-sdk";
import { freePort } from "../support/ports.js";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** A folder with the graphs and sources of this checkout, and nothing that a run leaves behind. */
export function checkout(): string {
  const folder = mkdtempSync(join(tmpdir(), "toolgate-studio-"));
  for (const name of ["graphs", "src", "node_modules", "package.json", "tsconfig.json"])
    symlinkSync(join(root, name), join(folder, name));
  copyFileSync(join(root, "langgraph.json"), join(folder, "langgraph.json"));
  return folder;
}

export function removeCheckout(folder: string): void {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

export interface DevServer {
  readonly client: Client;
  /** Resolves once the server and all that it started have ended. */
  stop(): Promise<void>;
}

/** Starts it in `folder` with `env` as its whole environment beside PATH and HOME. Rejects when it ends before it serves. */
export async function startDevServer(folder: string, env: Readonly<Record<string, string>>): Promise<DevServer> {
  const port = await freePort();

  const cli = join(root, "node_modules/@langchain/langgraph-cli/dist/cli/cli.mjs");
  const options = ["--no-browser", "--no-reload", "--host", "127.0.0.1", "--port", String(port)];
  const server = spawn(process.execPath, [cli, "dev", ...options], {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder, ...env },
    detached: true, // a group of its own: the cli starts a server process that would outlive it
    stdio: ["ignore", "pipe", "pipe"],
  });
  const closed = once(server, "close"); // after the last process that holds its output has ended, not the first
  let said = "";
  await new Promise<void>((resolve, reject) => {
    const look = (chunk: Buffer) => {
      said += chunk.toString();
      if (said.includes("Server running at")) resolve();
    };
    server.stdout.on("data", look);
    server.stderr.on("data", look);
    server.once("exit", (code) => reject(new Error(`langgraphjs dev ended with ${code}: ${said.slice(-2_000)}`)));
  });
  return {
    client: new Client({ apiUrl: `http://127.0.0.1:${port}`, apiKey: null }),
    async stop() {
      if (server.exitCode === null && server.signalCode === null) process.kill(-(server.pid as number), "SIGTERM");
      await closed;
    },
  };
}
