// 400 user turns of one call each, in one thread of one SQLite store: bytes on disk, and the last turns against the tenth.
//
//   npx tsx bench/turns.ts [--turns 400]

import { measureTurns } from "./measure.js";
import { counts, run } from "./table.js";

const { turns } = counts();
await run(`${turns} turns of one call`, (one) => measureTurns(one, turns, { pairs: 20 }), {
  megabytes: 20,
  ratio: 2.5,
});
