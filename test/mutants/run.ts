// A copy of the sources and tests, in which one text at a time is replaced and test files are run.
//
//   mutants-1. A mutant whose text does not stand exactly once in its file is an error, not a mutant that is noticed.
//
// A mutant is noticed only where a test failed. Files that could not be loaded, or in which no test ran, are an error: the
// change was not one that a host could run with.

import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Mutant } from "./mutants.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const COPIED = [
  "src",
  "servers",
  "test",
  "bench",
  "docs",
  "examples",
  "graphs",
  "package.json",
  "tsconfig.json",
  "vitest.config.ts",
  "toolgate.json",
  "toolgate.documents.json",
  "toolgate.schema.json",
  "langgraph.json",
  "README.md",
];

/** What a run of test files said. */
export interface Verdict {
  readonly passed: number;
  /** Names of the tests that failed. */
  readonly failed: readonly string[];
}

export interface Copy {
  /** Runs test files as the sources are. Throws where one cannot be loaded. */
  run(tests: readonly string[]): Verdict;
  /** Runs a mutant's test files with its change made, and takes the change back. */
  runMutant(mutant: Mutant): Verdict;
  remove(): void;
}

export function copySources(): Copy {
  const folder = mkdtempSync(join(tmpdir(), "toolgate-mutants-"));
  for (const name of COPIED) cpSync(join(root, name), join(folder, name), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"), "dir");
  const run = (tests: readonly string[]) => runTests(folder, tests);
  return {
    run,
    runMutant(mutant) {
      const path = join(folder, mutant.file);
      const text = readFileSync(path, "utf8");
      writeFileSync(path, changed(text, mutant));
      try {
        return run(mutant.tests);
      } finally {
        writeFileSync(path, text);
      }
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** The text of a file with a mutant's change made. (mutants-1) */
export function changed(text: string, { name, file, find, replace }: Omit<Mutant, "tests" | "tier">): string {
  const count = text.split(find).length - 1;
  if (count !== 1) throw new Error(`${name}: the text to replace stands ${count} times in ${file}: ${find}`);
  return text.replace(find, () => replace);
}

interface Report {
  readonly numPassedTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly message: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

function runTests(folder: string, tests: readonly string[]): Verdict {
  const output = join(folder, "verdict.json");
  rmSync(output, { force: true });
  const vitest = join(root, "node_modules/vitest/vitest.mjs");
  const args = [vitest, "run", ...tests, "--maxWorkers=1", "--reporter=json", `--outputFile=${output}`];
  const ran = spawnSync(process.execPath, args, { cwd: folder, encoding: "utf8" });
  let report: Report;
  try {
    report = JSON.parse(readFileSync(output, "utf8")) as Report;
  } catch {
    throw new Error(`the tests were not run: ${ran.stderr || ran.stdout}`);
  }
  for (const test of tests) {
    const file = report.testResults.find(({ name }) => name.endsWith(`/${test}`));
    if (file && file.assertionResults.length > 0) continue;
    throw new Error(`no test of ${test} ran: ${file?.message ?? "there is no such file"}`);
  }
  const failed = report.testResults.flatMap(({ assertionResults }) =>
    assertionResults.filter(({ status }) => status === "failed").map(({ fullName }) => fullName),
  );
  return { passed: report.numPassedTests, failed };
}
