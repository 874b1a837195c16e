// What a call and a user turn cost against the least that an agent can do (`floor-run.ts` says what that is): the same
// model, the same server, one allowed write a call. Fails when a call within a turn costs more than 1.8 times the floor.
//
//   npm run bench:floor [-- --rounds 3 --old DIR]
//
// In each round every agent is a process of its own. The agents take turns in blocks of 25 calls of one long turn, and then
// of 5 user turns, while the others stand still, so that whatever else the machine does weighs on all of them alike. A
// block's figure is the median of its calls; the ratio to the floor is taken block by block, and what is printed is the
// median over all blocks. The first 50 calls and the first 10 turns of a process are not counted, because it is still
// compiling then.
//
// The floor's user turn grows with the thread, because LangGraph's SQLite saver reads back every step to rebuild a messages
// channel; its ratio is printed and has no bound. The floor's saver does not wait for the disk at a commit, because
// better-sqlite3 is built so that it does not; toolgate's does, so a slow disk raises the ratio. The stores are made in the
// system's folder for temporary files: with `TMPDIR` set to a folder in memory, such as /dev/shm on Linux, the disk is left
// out. `--old DIR` measures another checkout of toolgate in the same blocks.

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { availableParallelism, loadavg } from "node:os";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { type Compiled, compile } from "./compile.js";
import type { Ask, Block } from "./floor-run.js";

const MOST = 1.8;
/** How many are not counted, how many are, and how many are a block. */
const CALLS = { before: 50, counted: 250, block: 25 } as const;
const TURNS = { before: 10, counted: 30, block: 5 } as const;

const { values } = parseArgs({ options: { rounds: { type: "string", default: "3" }, old: { type: "string" } } });
const rounds = Number(values.rounds);
if (!(rounds >= 1)) throw new Error("give at least one round");

const here = await compile(fileURLToPath(new URL("..", import.meta.url)), "new");
const old = values.old === undefined ? undefined : await compile(resolve(values.old), "old");
const agents: readonly (readonly [string, Compiled, string])[] = [
  ["floor", here, "floor"],
  ["toolgate", here, "toolgate"],
  ...(old ? ([["old toolgate", old, "toolgate"]] as const) : []),
];
const names = agents.map(([name]) => name);

type Blocks = Map<string, Block[]>;
const noBlocks = (): Blocks => new Map(names.map((name) => [name, []]));
const calls = noBlocks();
const turns = noBlocks();
const loads: number[] = [];

function ask(child: ChildProcess, what: Ask["what"], count: number): Promise<Block> {
  return new Promise((settle, fail) => {
    const gone = () => fail(new Error("a measured process ended early"));
    child.once("exit", gone);
    child.once("message", (block) => {
      child.off("exit", gone);
      settle(block as Block);
    });
    child.send({ what, count } satisfies Ask);
  });
}

async function round(): Promise<void> {
  const children = new Map(
    agents.map(([name, { file }, kind]) => {
      const args = [kind, String(CALLS.before + CALLS.counted), String(TURNS.before + TURNS.counted)];
      return [name, fork(file("bench/floor-run.ts"), args, { execArgv: [] })];
    }),
  );
  try {
    for (const [what, { before, counted, block }, blocks] of [
      ["calls", CALLS, calls],
      ["turns", TURNS, turns],
    ] as const) {
      for (const child of children.values()) await ask(child, what, before);
      for (let n = 0; n < counted / block; n++) {
        for (const name of n % 2 === 0 ? names : [...names].reverse()) {
          blocks.get(name)?.push(await ask(children.get(name) as ChildProcess, what, block));
        }
        loads.push(loadavg()[0] as number);
      }
    }
    await Promise.all([...children.values()].map((child) => child.exitCode ?? once(child, "exit")));
  } finally {
    for (const child of children.values()) child.kill();
  }
}

try {
  for (let n = 0; n < rounds; n++) await round();
} finally {
  here.remove();
  old?.remove();
}

const median = (of: readonly number[]) => [...of].sort((a, b) => a - b)[of.length >> 1] ?? Number.NaN;
const wall = ({ each }: Block) => median(each);
const cpu = (block: Block) => block.cpu;
const of = (blocks: Blocks, name: string, what: (block: Block) => number) => (blocks.get(name) ?? []).map(what);
const ratio = (blocks: Blocks, name: string, what: (block: Block) => number) => {
  const floors = of(blocks, "floor", what);
  return median(of(blocks, name, what).map((one, n) => one / (floors[n] ?? Number.NaN)));
};

console.log(
  `${calls.get("floor")?.length} blocks of ${CALLS.block} calls and ${turns.get("floor")?.length} of ${TURNS.block} turns; ` +
    `load average ${Math.min(...loads).toFixed(1)} to ${Math.max(...loads).toFixed(1)} on ${availableParallelism()} cores`,
);
for (const [title, blocks] of [
  ["a call within a turn", calls],
  ["a user turn of one call", turns],
] as const) {
  console.log(title);
  console.table(
    Object.fromEntries(
      names.map((name) => [
        name,
        {
          ms: median(of(blocks, name, wall)).toFixed(2),
          "by floor": ratio(blocks, name, wall).toFixed(2),
          "least ms": Math.min(...of(blocks, name, wall)).toFixed(2),
          "cpu ms": median(of(blocks, name, cpu)).toFixed(2),
          "cpu by floor": ratio(blocks, name, cpu).toFixed(2),
        },
      ]),
    ),
  );
}
const found = ratio(calls, "toolgate", wall);
console.log(
  `${found <= MOST ? "PASS" : "FAIL"} a call within a turn: ${found.toFixed(2)} times the floor, at most ${MOST}`,
);
process.exitCode = found <= MOST ? 0 : 1;
