import { defineConfig } from "vitest/config";

/** Folders whose tests share nothing but what they import: loaded once for all of their files. */
const PURE = ["approval", "catalog", "config", "execution", "model", "observation", "policy", "store"];
const pure = PURE.map((folder) => `test/${folder}/**/*.test.ts`);

export default defineConfig({
  test: {
    testTimeout: 30_000,
    hookTimeout: 60_000,
    pool: "forks",
    maxWorkers: 3,
    projects: [
      { extends: true, test: { name: "rooms", include: pure, isolate: false } },
      {
        extends: true,
        test: {
          name: "whole",
          include: ["test/**/*.test.ts"],
          exclude: pure,
          isolate: false, // loading LangGraph takes longer than most of the tests that follow
          globalSetup: ["test/support/compile.ts"],
        },
      },
    ],
  },
});
