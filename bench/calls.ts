// 400 calls within one user turn, one in each of the model's responses: bytes on disk, and the last 50 against the first 50.
//
//   npx tsx bench/calls.ts [--calls 400]

import { measureCalls } from "./measure.js";
import { counts, run } from "./table.js";

const { calls } = counts();
const pairs = Math.min(50, Math.floor(calls / 2));
await run(`${calls} calls within one turn`, (one) => measureCalls(one, calls, { pairs }), {
  megabytes: 10,
  ratio: 1.5,
});
