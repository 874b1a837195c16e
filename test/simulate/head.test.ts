// A sample of simulated runs that is another one for each state of the sources: the seed is that of HEAD's tree. What fails
// here is run again by `npm run simulate -- --only SEED`.

import { execFile, execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const RUNS = 300;

/** The first 28 bits of the id of HEAD's tree. A copy without a history has one seed for good. */
function seedOfHead(): number {
  try {
    const tree = execFileSync("git", ["rev-parse", "HEAD^{tree}"], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
    return Number.parseInt(tree.slice(0, 7), 16);
  } catch {
    return 1;
  }
}

it("random runs from the seed of HEAD's tree (G4, G5, G6, G7, G8, G9)", { timeout: 300_000 }, async () => {
  const main = fileURLToPath(new URL("./main.ts", import.meta.url));
  const args = ["--import", "tsx", main, "--runs", String(RUNS), "--seed", String(seedOfHead())];
  const { stdout } = await promisify(execFile)(process.execPath, args); // rejects where one fails, and says which
  expect(stdout).toContain(`0 of ${RUNS} runs failed`);
});
