// All measurements, each in a process of its own. Takes their options; exits with 1 where a bound is broken.
//
//   npm run bench [-- --turns 60 --calls 60]

import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const scripts = ["turns.ts", "calls.ts", "compare.ts"];
const codes = scripts.map((name) => {
  const path = fileURLToPath(new URL(name, import.meta.url));
  const args = ["--import", "tsx", path, ...process.argv.slice(2)];
  return spawnSync(process.execPath, args, { stdio: "inherit" }).status ?? 1;
});
process.exitCode = Math.max(...codes);
