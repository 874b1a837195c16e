// Breaks one rule at a time and says whether the tests notice. Fails where they do not.
//
//   npm run mutants [-- --only TEXT] [-- --tier test]
//
// `--only` takes mutants whose name or file contains the text.

import { parseArgs } from "node:util";
import { MUTANTS } from "./mutants.js";
import { copySources } from "./run.js";

const { values } = parseArgs({ options: { only: { type: "string", default: "" }, tier: { type: "string" } } });
const chosen = MUTANTS.filter(
  ({ name, file, tier }) => `${name} ${file}`.includes(values.only) && (values.tier ?? tier) === tier,
);
if (chosen.length === 0) throw new Error("there is no such mutant");

const copy = copySources();
try {
  const unchanged = copy.run([...new Set(chosen.flatMap(({ tests }) => tests))]);
  if (unchanged.failed.length > 0) throw new Error(`tests fail without any change: ${unchanged.failed.join("; ")}`);
  console.log(`without a change: ${unchanged.passed} tests pass`);
  let green = 0;
  for (const mutant of chosen) {
    const { failed } = copy.runMutant(mutant);
    if (failed.length === 0) green += 1;
    console.log(
      `${failed.length > 0 ? "red  " : "GREEN"} ${mutant.file}: ${mutant.name} (${failed.length} tests fail)`,
    );
  }
  console.log(`${chosen.length - green} of ${chosen.length} mutants were noticed`);
  process.exitCode = green === 0 ? 0 : 1;
} finally {
  copy.remove();
}
