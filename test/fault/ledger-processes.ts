// Starts the process of `ledger-child.ts`, reads what it says line by line, and ends it by its own id.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const SCRIPT = fileURLToPath(new URL("./ledger-child.ts", import.meta.url));

export interface Child {
  readonly process: ChildProcess;
  /** The next thing it says. */
  said(): Promise<unknown>;
  go(): void;
  /** Ends it and waits until it is gone. */
  end(signal?: NodeJS.Signals): Promise<void>;
}

export function startChild(...args: string[]): Child {
  const child = spawn(process.execPath, ["--import", "tsx", SCRIPT, ...args], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    process: child,
    said: async () => {
      const { value, done } = await lines.next();
      if (done) throw new Error("the child ended without a word");
      return JSON.parse(value);
    },
    go: () => {
      child.stdin.write("go\n");
    },
    end: async (signal) => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, "exit");
      if (signal) child.kill(signal);
      else child.stdin.end();
      await gone;
    },
  };
}
