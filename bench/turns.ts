// 400 user turns of one call each, in one thread of one SQLite store: bytes on disk, and turn 400 against turn 10.
//
//   npx tsx bench/turns.ts [--turns 400]

import { measureTurns } from "./measure.js";
import { CASES, counts, report } from "./table.js";

const { turns } = counts();
await measureTurns({ tools: 20, effect: "read" }, 20); // what is slow only the first time is no one's tenth turn
const costs = new Map();
for (const one of CASES) {
  costs.set(one, await measureTurns(one, turns));
  process.stderr.write(`${one.tools} tools, ${one.effect}: done\n`);
}
report(`${turns} turns of one call`, costs, { early: [5, 15], late: 10 }, { megabytes: 20, ratio: 2.5 });
