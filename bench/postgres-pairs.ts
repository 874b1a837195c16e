// All statements that a call sends to Postgres, checkpoints and results included, and the processor time that it takes, with
// statements that have names (`store.prepared`) and without; and how many more writes a second that is than another
// checkout makes.
//
// Each run is a process of its own on a database of its own, the checkouts take turns, and the order changes every round,
// so that whatever else the machine does weighs on both alike.

import { spawnSync } from "node:child_process";
import { availableParallelism, loadavg } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { TestPostgres } from "../test/support/postgres.js";
import { type Compiled, compile } from "./compile.js";
import { median } from "./measure.js";
import type { Kind, Load } from "./postgres-run.js";

const HERE = "this checkout";
/** With `store.prepared`, for databases behind no pooler in transaction mode. */
const PREPARED = "this checkout, statements named";
const OLD = "the old one";

/** Statements of any kind, for each call. */
const MOST_STATEMENTS = 23;

export interface PairOptions {
  readonly threads: number;
  readonly writes: number;
  readonly rounds: number;
  /** The folder of another checkout. */
  readonly old: string | undefined;
}

/** Measures, prints, and says whether the bound was kept. `folder` is for the servers' logs. */
export async function measurePairs(server: TestPostgres, folder: string, options: PairOptions): Promise<boolean> {
  const { rounds, old } = options;
  const here = await compile(fileURLToPath(new URL("..", import.meta.url)), "new");
  const checkouts: (readonly [string, Compiled, ...string[]])[] = [
    [HERE, here],
    [PREPARED, here, "prepared"],
  ];
  if (old !== undefined) checkouts.push([OLD, await compile(old, "old")]);
  const runs = new Map<string, Load[]>(checkouts.map(([name]) => [name, []]));
  const loads: number[] = [];
  try {
    for (let round = 0; round < rounds; round++) {
      for (const [name, compiled, ...flags] of round % 2 === 0 ? checkouts : [...checkouts].reverse()) {
        const log = join(folder, `${name}-${round}`);
        runs.get(name)?.push(runOnce(compiled, await server.freshDatabase(), log, options, flags));
      }
      loads.push(loadavg()[0] as number);
    }
  } finally {
    for (const compiled of new Set(checkouts.map(([, one]) => one))) compiled.remove();
  }
  return report(runs, loads, options);
}

function runOnce(
  { file }: Compiled,
  url: string,
  log: string,
  { threads, writes }: PairOptions,
  flags: readonly string[],
): Load {
  const args = [file("bench/postgres-run.ts"), url, log, String(threads), String(writes), ...flags];
  const ran = spawnSync(process.execPath, args, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
  if (ran.status !== 0) throw new Error("a measured process failed");
  return JSON.parse(ran.stdout) as Load;
}

function report(runs: ReadonlyMap<string, readonly Load[]>, loads: readonly number[], options: PairOptions): boolean {
  const { threads, writes, rounds } = options;
  const of = (name: string, what: (load: Load) => number) => median((runs.get(name) ?? []).map(what));
  const all = ({ statements }: Load) => Object.values(statements).reduce((sum, one) => sum + one, 0);
  const kinds = Object.keys(runs.get(HERE)?.[0]?.statements ?? {}) as Kind[];
  console.log(
    `${threads} threads, ${writes} writes each, by the public door; ${rounds} rounds; load average ` +
      `${Math.min(...loads).toFixed(1)} to ${Math.max(...loads).toFixed(1)} on ${availableParallelism()} cores`,
  );
  console.table(
    Object.fromEntries(
      [...runs.keys()].map((name) => [
        name,
        {
          "writes a second": of(name, (load) => load.writesPerSecond).toFixed(1),
          "cpu ms a call": of(name, (load) => load.cpuMsPerCall).toFixed(1),
          "statements a call": of(name, all).toFixed(2),
          ...Object.fromEntries(kinds.map((kind) => [kind, of(name, (load) => load.statements[kind]).toFixed(2)])),
        },
      ]),
    ),
  );
  if (options.old !== undefined) {
    for (const name of [HERE, PREPARED]) {
      const pairs = (runs.get(name) ?? []).map(
        (load, round) => load.writesPerSecond / (runs.get(OLD)?.[round]?.writesPerSecond ?? Number.NaN),
      );
      const each = pairs.map((one) => one.toFixed(2)).join(", ");
      console.log(`writes a second, ${name} by ${OLD}: ${median(pairs).toFixed(2)} (pairs: ${each})`);
    }
  }
  const statements = of(HERE, all);
  const kept = statements <= MOST_STATEMENTS;
  console.log(
    `${kept ? "PASS" : "FAIL"} ${statements.toFixed(2)} statements a call in all, at most ${MOST_STATEMENTS}`,
  );
  return kept;
}
