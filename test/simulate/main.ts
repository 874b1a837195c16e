// The simulator's command.
//
//   tsx test/simulate/main.ts --runs N --seed S [--jobs 2]   runs the seeds S to S + N - 1; exit 1 when any fails
//   tsx test/simulate/main.ts --only SEED [--trace] [--whole]   one run: its shortest failing history, or its own

import { parseArgs } from "node:util";
import { draw } from "./draw.js";
import { runAll, runSeeds } from "./jobs.js";
import { runPlan } from "./run.js";
import { shrink } from "./shrink.js";
import { report } from "./tally.js";

const { values } = parseArgs({
  options: {
    runs: { type: "string", default: "1000" },
    seed: { type: "string", default: "1" },
    jobs: { type: "string", default: "2" },
    only: { type: "string" },
    /** Every port call, too. */
    trace: { type: "boolean", default: false },
    /** The run as it was drawn, not made shorter. */
    whole: { type: "boolean", default: false },
    /** One of the processes of `--jobs`: job/jobs. */
    job: { type: "string" },
  },
});
const say = (line: string) => process.stdout.write(`${line}\n`);
const range = { from: Number(values.seed), runs: Number(values.runs) };

if (values.job !== undefined) {
  const [job, jobs] = values.job.split("/").map(Number) as [number, number];
  process.on("disconnect", () => process.exit(1)); // nobody is there to hear of it
  await runSeeds(range, job, jobs, (part) => new Promise((sent) => process.send?.(part, () => sent())));
  process.exit(0);
} else if (values.only !== undefined) {
  process.exitCode = await one(Number(values.only));
} else {
  const began = performance.now();
  let shown = 0;
  const tally = await runAll(range, Number(values.jobs), ({ runs, failed }) => {
    if (runs - shown < 500 && runs < range.runs) return;
    shown = runs;
    say(`${runs} of ${range.runs} runs, ${failed.length} failed, ${Math.round((performance.now() - began) / 1_000)} s`);
  });
  say("");
  for (const line of report(tally)) say(line);
  const first = tally.failed[0];
  if (first) {
    say("");
    await one(first.seed);
    process.exitCode = 1;
  }
}

/** Prints one run; the exit code it asks for. */
async function one(seed: number): Promise<number> {
  const plan = draw(seed);
  const ran = await runPlan(plan);
  const [first] = ran.violations;
  const shrunk = first && !values.whole ? await shrink(plan, first.kind) : undefined;
  if (shrunk) say(`seed ${seed}: ${first?.kind}. The shortest history found, of ${shrunk.tried} tried:\n`);
  const shown = shrunk?.ran ?? ran;
  for (const line of values.trace ? shown.full : shown.lines) say(line);
  if (shrunk) say(`\nIts plan: ${JSON.stringify(shrunk.plan)}`);
  say(
    first
      ? `\nRun it alone: npx tsx test/simulate/main.ts --only ${seed} [--whole] [--trace]`
      : `\nseed ${seed}: nothing was wrong`,
  );
  return first ? 1 : 0;
}
