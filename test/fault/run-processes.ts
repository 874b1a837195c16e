// Starts the process of `run-child.ts`, bundled so that it starts fast, and ends it by its own id at the point it was told
// to stop at.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, watch } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { afterEach, beforeAll } from "vitest";
import { readLog, type ServerEventName } from "../../servers/log.js";
import { sourceFile } from "../support/compile.js";
import type { Plan, Said } from "./run-plan.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const bundled = () => join(dirname(sourceFile("index")), "../run-child");

export interface Killer {
  /** Runs a plan until the child says that it is there, kills it with SIGKILL and waits until it is gone. */
  killedAt(at: Exclude<Said, { error: string }>["at"], plan: Plan): Promise<void>;
  /** Runs a plan until a server has logged this, kills the child with SIGKILL and waits until it is gone. */
  killedWhen(event: ServerEventName, logPath: string, plan: Plan): Promise<void>;
}

/** Call it once at the top of a test file. What a broken test left running is ended after each test. */
export function killer(): Killer {
  const running: ChildProcess[] = [];
  beforeAll(async () => {
    await build({
      entryPoints: [join(root, "test/fault/run-child.ts")],
      outdir: bundled(),
      bundle: true,
      external: ["better-sqlite3"],
      format: "esm",
      platform: "node",
      target: "node20",
      logLevel: "error",
      banner: {
        js: 'import { createRequire as _require } from "node:module"; const require = _require(import.meta.url);',
      },
    });
    copyFileSync(join(root, "src/adapters/schema/worker.mjs"), join(bundled(), "worker.mjs"));
  });
  afterEach(async () => {
    for (const child of running.splice(0)) await end(child);
  });

  function start(plan: Plan) {
    const child = spawn(process.execPath, [join(bundled(), "run-child.js"), JSON.stringify(plan)], {
      cwd: root,
      stdio: ["pipe", "pipe", "inherit"],
    });
    running.push(child);
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const said = async (): Promise<Said> => {
      const { value, done } = await lines.next();
      return done ? { error: "it ended without a word" } : (JSON.parse(value) as Said);
    };
    return { child, said };
  }

  return {
    async killedAt(at, plan) {
      const { child, said } = start(plan);
      const words = await said();
      if (!("at" in words) || words.at !== at) throw new Error(`expected \`${at}\`, got ${JSON.stringify(words)}`);
      await end(child);
    },
    async killedWhen(event, logPath, plan) {
      const { child, said } = start(plan);
      const early = said().then((words) => {
        throw new Error(`no \`${event}\` was logged: ${JSON.stringify(words)}`);
      });
      await Promise.race([logged(logPath, event), early]);
      early.catch(() => {}); // its last word, once it is killed
      await end(child);
    },
  };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
}

/** Waits for a line of a server's log; its folder must exist. */
export async function logged(path: string, event: ServerEventName): Promise<void> {
  const changes = watch(dirname(path));
  try {
    while (readLog(path, event).length === 0) await once(changes, "change");
  } finally {
    changes.close();
  }
}
