import { defineConfig } from "vitest/config";

/** Folders whose tests start no process of ours: nothing is compiled for them. */
const PURE = ["approval", "catalog", "config", "execution", "model", "observation", "policy", "store"];
const pure = PURE.map((folder) => `test/${folder}/**/*.test.ts`);

export default defineConfig({
  test: {
    testTimeout: 30_000,
    hookTimeout: 60_000,
    pool: "forks",
    maxWorkers: 3, // most tests wait for a process to start
    isolate: false, // loading LangGraph takes longer than most of the tests that follow
    projects: [
      { extends: true, test: { name: "rooms", include: pure } },
      {
        extends: true,
        test: {
          name: "whole",
          include: ["test/**/*.test.ts"],
          exclude: pure,
          globalSetup: ["test/support/compile.ts"],
        },
      },
    ],
  },
});
