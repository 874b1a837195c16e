// Stage: a temporary folder, the real command as child processes, and the servers' own log, which verdicts come from.
//
//   G1. Every process that is started here is ended by its own id.
//   G2. Nothing is waited for by the clock: the log is watched.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, watch } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readLog, type ServerEvent, type ServerEventName } from "../../servers/log.js";
import type { RunReport } from "../../src/index.js";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** What a scene is played with, both files of this folder. */
export interface Scene {
  readonly config: "docs" | "deploy";
  readonly script: string;
}

export interface Told {
  readonly exitCode: number | null;
  readonly report: RunReport;
}

export class Stage {
  readonly #folder = mkdtempSync(join(tmpdir(), "toolgate-demo-"));
  readonly #log = join(this.#folder, "server.log");
  readonly #running = new Set<ChildProcess>();

  /** Runs `toolgate …` to its end and tells what it reported. The command is printed as a person would type it. */
  async toolgate(args: readonly string[], scene: Scene): Promise<Told> {
    const child = this.#start(args, scene, {});
    let [out, errors] = ["", ""];
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      out += text;
    });
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      errors += text;
    });
    const [exitCode] = (await once(child, "close")) as [number | null];
    if (out === "") throw new Error(`toolgate ${args.join(" ")} said nothing: ${errors}`);
    return { exitCode, report: JSON.parse(out) as RunReport };
  }

  /** Starts `toolgate …` and kills it, by its own id, as soon as the server has logged the effect of a write. */
  async killedInMidWrite(args: readonly string[], scene: Scene): Promise<void> {
    const before = this.events("effect").length;
    const child = this.#start(args, scene, { DEMO_DEPLOY: "slow" });
    const ended = once(child, "close");
    const seen = await Promise.race([this.#logged("effect", before + 1).then(() => true), ended.then(() => false)]);
    if (!seen) throw new Error(`toolgate ${args.join(" ")} ended before its write`);
    const server = this.events("started").at(-1)?.pid;
    child.kill("SIGKILL");
    await ended;
    if (server !== undefined) end(server); // without its host it would finish what is running first
    say("(killed with SIGKILL while the server was still at work)");
  }

  /** What the servers logged so far. */
  events(...names: ServerEventName[]): ServerEvent[] {
    return readLog(this.#log, ...names);
  }

  async close(): Promise<void> {
    for (const child of this.#running) {
      child.kill("SIGKILL");
      await once(child, "close");
    }
    rmSync(this.#folder, { recursive: true });
  }

  #start(args: readonly string[], { config, script }: Scene, env: Readonly<Record<string, string>>): ChildProcess {
    say(`$ toolgate ${args.map((arg) => (/\s/.test(arg) ? `"${arg}"` : arg)).join(" ")}`);
    const options = ["--config", `examples/demo/${config}.json`, "--json"];
    const child = spawn(process.execPath, ["--import", "tsx", "src/cli/main.ts", ...args, ...options], {
      cwd: root,
      env: {
        ...process.env,
        DEMO_SCRIPT: script,
        DEMO_LOG: this.#log,
        DEMO_STORE: join(this.#folder, "store"),
        ...env,
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#running.add(child);
    child.once("close", () => this.#running.delete(child));
    return child;
  }

  async #logged(name: ServerEventName, count: number): Promise<void> {
    const changes = watch(this.#folder); // G2
    try {
      while (this.events(name).length < count) await once(changes, "change");
    } finally {
      changes.close();
    }
  }
}

function end(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // it has ended by itself
  }
}

export function say(line: string): void {
  process.stdout.write(`   ${line}\n`);
}
