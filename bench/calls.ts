// 400 calls within one user turn, one in each of the model's responses: bytes on disk, and the last 50 against the first 50.
//
//   npx tsx bench/calls.ts [--calls 400]

import { measureCalls, measureTurns } from "./measure.js";
import { CASES, counts, report } from "./table.js";

const { calls } = counts();
await measureTurns({ tools: 20, effect: "read" }, 20); // what is slow only the first time is none of the first 50 calls
const costs = new Map();
for (const one of CASES) {
  costs.set(one, await measureCalls(one, calls));
  process.stderr.write(`${one.tools} tools, ${one.effect}: done\n`);
}
const window = Math.min(50, Math.floor(calls / 2));
report(`${calls} calls within one turn`, costs, { early: [0, window], late: window }, { megabytes: 10, ratio: 1.5 });
