// What a call and a user turn cost against the least that an agent can do (`floor-run.ts` says what that is): the same
// model, the same server, one allowed write a call. Fails when a call within a turn costs more than 1.8 times the floor.
//
//   npm run bench:floor [-- --rounds 5 --calls 300 --turns 40 --old DIR]
//
// Each agent runs in a process of its own, the agents take turns, and the order changes every round, so that whatever else
// the machine does weighs on all of them alike. A figure is the median over the rounds. The first 50 calls and the first 10
// turns are not counted, because the process is still compiling then.
//
// The floor's user turn grows with the thread, because LangGraph's SQLite saver reads back every step to rebuild a messages
// channel; its ratio is printed and has no bound. The floor's saver does not wait for the disk at a commit, because
// better-sqlite3 is built so that it does not; toolgate's does. `--old DIR` measures another checkout of toolgate in the
// same rounds.

import { spawnSync } from "node:child_process";
import { availableParallelism, loadavg } from "node:os";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { type Compiled, compile } from "./compile.js";
import type { Times } from "./floor-run.js";

const MOST = 1.8;
const CALLS_BEFORE = 50;
const TURNS_BEFORE = 10;

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    calls: { type: "string", default: "300" },
    turns: { type: "string", default: "40" },
    old: { type: "string" },
  },
});
const [rounds, calls, turns] = [values.rounds, values.calls, values.turns].map(Number) as [number, number, number];
if (!(rounds >= 1) || !(calls > CALLS_BEFORE) || !(turns > TURNS_BEFORE)) {
  throw new Error(`give at least 1 round, ${CALLS_BEFORE + 1} calls and ${TURNS_BEFORE + 1} turns`);
}

/** Milliseconds, each the mean of one process. */
interface Row {
  readonly call: number[];
  readonly turn: number[];
}

function runOnce({ file }: Compiled, kind: string): Times {
  const args = [file("bench/floor-run.ts"), kind, String(calls), String(turns)];
  const ran = spawnSync(process.execPath, args, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
  if (ran.status !== 0) throw new Error(`the process of \`${kind}\` failed`);
  return JSON.parse(ran.stdout) as Times;
}

const mean = (of: readonly number[]) => of.reduce((sum, one) => sum + one, 0) / of.length;
const median = (of: readonly number[]) => [...of].sort((a, b) => a - b)[of.length >> 1] ?? Number.NaN;

const here = await compile(fileURLToPath(new URL("..", import.meta.url)), "new");
const old = values.old === undefined ? undefined : await compile(resolve(values.old), "old");
const agents: readonly (readonly [string, () => Times])[] = [
  ["floor", () => runOnce(here, "floor")],
  ["toolgate", () => runOnce(here, "toolgate")],
  ...(old ? ([["old toolgate", () => runOnce(old, "toolgate")]] as const) : []),
];
const rows = new Map<string, Row>(agents.map(([name]) => [name, { call: [], turn: [] }]));
const loads: number[] = [];
try {
  for (let round = 0; round < rounds; round++) {
    for (const [name, measure] of round % 2 === 0 ? agents : [...agents].reverse()) {
      const times = measure();
      rows.get(name)?.call.push(mean(times.calls.slice(CALLS_BEFORE)));
      rows.get(name)?.turn.push(mean(times.turns.slice(TURNS_BEFORE)));
    }
    loads.push(loadavg()[0] as number);
  }
} finally {
  here.remove();
  old?.remove();
}

const of = (name: string, what: keyof Row) => median(rows.get(name)?.[what] ?? []);
const ratio = (name: string, what: keyof Row) => of(name, what) / of("floor", what);
console.log(
  `calls ${CALLS_BEFORE + 1} to ${calls} of one turn, then turns of one call; ${rounds} rounds; load average ` +
    `${Math.min(...loads).toFixed(1)} to ${Math.max(...loads).toFixed(1)} on ${availableParallelism()} cores`,
);
console.table(
  Object.fromEntries(
    agents.map(([name]) => [
      name,
      {
        "ms a call": of(name, "call").toFixed(2),
        "least ms a call": Math.min(...(rows.get(name)?.call ?? [])).toFixed(2),
        "call by floor": ratio(name, "call").toFixed(2),
        "ms a turn of one call": of(name, "turn").toFixed(2),
        "turn by floor": ratio(name, "turn").toFixed(2),
      },
    ]),
  ),
);
const kept = ratio("toolgate", "call") <= MOST;
console.log(
  `${kept ? "PASS" : "FAIL"} a call within a turn: ${ratio("toolgate", "call").toFixed(2)} times the floor, at most ${MOST}`,
);
process.exitCode = kept ? 0 : 1;
