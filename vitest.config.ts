import { defineConfig } from "vitest/config";

// `npm test` runs the project `daily`. `npm run test:all` runs the other two and repeats nothing, because `.ci/run` runs one
// command after the other. A test file belongs to `daily` unless its folder or file is named here.

/** Folders and files whose tests start processes or servers, or take long. */
const WHOLE = [
  "attacks",
  "cases",
  "cli",
  "cost",
  "documents",
  "examples",
  "fault",
  "golden",
  "hostile",
  "servers",
  "simulate/head",
  "simulate/mutants",
  "store/log",
  "studio",
  "whole",
];
/** Folders and files that need a Postgres server. One server is started for all of them. */
const POSTGRES = ["cli/postgres", "fault/matrix", "golden/postgres", "postgres"];

const testsOf = (names: readonly string[]) =>
  names.flatMap((name) => [`test/${name}/**/*.test.ts`, `test/${name}.test.ts`]);

export default defineConfig({
  test: {
    testTimeout: 30_000,
    hookTimeout: 60_000,
    pool: "forks",
    maxWorkers: 3, // most tests wait for a process to start
    isolate: false, // loading LangGraph takes longer than most of the tests that follow
    projects: [
      {
        extends: true,
        test: {
          name: "daily",
          include: ["test/**/*.test.ts"],
          exclude: testsOf([...WHOLE, ...POSTGRES]),
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: "whole",
          include: testsOf(WHOLE),
          exclude: testsOf(POSTGRES),
          globalSetup: ["test/support/compile.ts"],
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: "postgres",
          include: testsOf(POSTGRES),
          globalSetup: ["test/support/compile.ts", "test/support/one-postgres.ts"],
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
