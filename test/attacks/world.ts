// World: what one attack has to itself. A folder, a log of effects, servers, hosts and commands; everything is ended with it.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readLog, type ServerEvent } from "../../servers/log.js";
import { createToolgate, type Toolgate, type ToolgateOptions } from "../../src/index.js";
import { scriptedModel } from "../../src/testing.js";
import type { Plan } from "../servers/programs/raw.js";
import { commandFile, serverFile } from "../support/compile.js";

export type Steps = Parameters<typeof scriptedModel>[0];

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export class World {
  readonly folder = mkdtempSync(join(tmpdir(), "toolgate-attack-"));
  readonly store = join(this.folder, "store");
  readonly #log = join(this.folder, "effects.jsonl");
  readonly #ends: (() => Promise<unknown> | unknown)[] = [];
  #made = 0;

  /** Effects so far, by tool. */
  effects(tool?: string): readonly ServerEvent[] {
    return readLog(this.#log, "effect").filter((event) => tool === undefined || event.tool === tool);
  }

  /** A server over stdio with this plan, as an entry of `mcpServers`. */
  stdio(plan: Plan, env: Readonly<Record<string, string>> = {}): Record<string, unknown> {
    return { command: process.execPath, args: [serverFile("raw")], env: { ...this.#environment(plan), ...env } };
  }

  /** The same over HTTP: a process of this world, which ends with it. */
  async http(plan: Plan): Promise<Record<string, unknown>> {
    const env = { PATH: process.env.PATH, ...this.#environment(plan), RAW_HTTP: "1", END_WITH_STDIN: "1" };
    const child = spawn(process.execPath, [serverFile("raw")], { env, stdio: ["pipe", "pipe", "inherit"] });
    const exited = new Promise((resolve) => child.once("exit", resolve));
    this.#ends.push(() => {
      child.stdin.end();
      child.kill("SIGKILL");
      return exited;
    });
    const first = await new Promise<string>((resolve, reject) => {
      child.stdout.once("data", (chunk: Buffer) => resolve(chunk.toString()));
      child.once("exit", () => reject(new Error("the server ended before it said its url")));
    });
    return { url: (JSON.parse(first) as { url: string }).url };
  }

  async server(door: string, plan: Plan): Promise<Record<string, unknown>> {
    return door === "http" ? this.http(plan) : this.stdio(plan);
  }

  /** A host of this world's store. */
  async host(config: Readonly<Record<string, unknown>>, steps: Steps, options: Partial<ToolgateOptions> = {}) {
    const toolgate = await createToolgate({
      config: { store: { kind: "memory" }, ...config },
      model: scriptedModel(steps),
      ...options,
    });
    this.#ends.push(() => toolgate.close());
    return toolgate;
  }

  /** Writes a file into the folder and returns its path. */
  write(name: string, content: unknown): string {
    const path = join(this.folder, name);
    writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
    return path;
  }

  /** One command line in this folder, with `toolgate.json` and the model's script beside it. */
  async command(
    config: Readonly<Record<string, unknown>>,
    steps: Steps,
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
  ): Promise<Ended> {
    this.write("script.json", steps);
    this.write("toolgate.json", { model: "scripted:script.json", ...config });
    const child = spawn(process.execPath, [commandFile(), ...args], {
      cwd: this.folder,
      env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let [stdout, stderr] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
    const limit = setTimeout(() => child.kill("SIGKILL"), 60_000);
    const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
    clearTimeout(limit);
    return { code, stdout, stderr };
  }

  /** Ends what this world started, the newest first. */
  async end(): Promise<void> {
    for (const end of this.#ends.splice(0).reverse()) await end();
    rmSync(this.folder, { recursive: true, force: true });
  }

  #environment(plan: Plan): Record<string, string> {
    this.#made += 1;
    return { RAW_FILE: this.write(`plan-${this.#made}.json`, plan), SERVER_LOG: this.#log };
  }
}

/** One user turn. */
export function ask(toolgate: Toolgate, text: string, more: object = {}, threadId = "t1") {
  return go(toolgate, { messages: [{ role: "user", content: text }] }, more, threadId);
}

/** A run of the graph with any input. */
export function go(toolgate: Toolgate, input: unknown, more: object = {}, threadId = "t1") {
  const { configurable, ...rest } = more as { configurable?: object };
  return toolgate.graph.invoke(
    input as never,
    { configurable: { thread_id: threadId, ...configurable }, durability: "sync", ...rest } as never,
  ) as Promise<Record<string, unknown>>;
}
